// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * While the parameter stall is set, rds_rdma gets no pages: each page that it
 * allocates is freed and the allocation fails, and pages that it lent to
 * messages are not recycled. All other callers, the software device included,
 * get pages.
 *
 * A return probe is set on the function that allocates pages. The return
 * address, at the stack pointer when the function begins, identifies the
 * caller.
 */
#include <linux/gfp.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/string.h>

static bool stall;
module_param(stall, bool, 0644);
MODULE_PARM_DESC(stall, "rds_rdma gets no pages");

static atomic_t refused = ATOMIC_INIT(0);

static int refused_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&refused));
}

static const struct kernel_param_ops refused_ops = { .get = refused_get };
module_param_cb(refused, &refused_ops, NULL, 0444);
MODULE_PARM_DESC(refused, "pages it did not get");

static bool from_rds_rdma(unsigned long addr)
{
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol(name, addr);
	return strstr(name, "[rds_rdma]");
}

/* Return 1 to ignore this call. */
static int alloc_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (!READ_ONCE(stall) || regs_get_kernel_argument(regs, 1))
		return 1;
	return !from_rds_rdma(regs_get_kernel_stack_nth(regs, 0));
}

static int alloc_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct page *page = (struct page *)regs_return_value(regs);

	if (!page)
		return 0;
	__free_page(page);
	regs_set_return_value(regs, 0);
	atomic_inc(&refused);
	return 0;
}

static struct kretprobe probe = {
	.entry_handler	= alloc_begins,
	.handler	= alloc_ends,
	.maxactive	= 64,
};

static int back_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return !READ_ONCE(stall);
}

static int back_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	regs_set_return_value(regs, 0);
	return 0;
}

static struct kretprobe back_probe = {
	.entry_handler	= back_begins,
	.handler	= back_ends,
	.maxactive	= 64,
	.kp.symbol_name	= "rds_rdma_page_back",
};

/*
 * Names of the function behind alloc_page(), which depend on kernel and
 * configuration
 */
static const char * const names[] = {
	"alloc_pages_noprof", "alloc_pages", "__alloc_pages_noprof", "__alloc_pages",
};

static int __init rds_stall_init(void)
{
	int err = -ENOENT, i;

	for (i = 0; i < ARRAY_SIZE(names) && err; i++) {
		probe.kp.symbol_name = names[i];
		probe.kp.addr = NULL;
		probe.kp.flags = 0;
		err = register_kretprobe(&probe);
	}
	if (err)
		return err;
	err = register_kretprobe(&back_probe);
	if (err)
		unregister_kretprobe(&probe);
	return err;
}
module_init(rds_stall_init);

static void __exit rds_stall_exit(void)
{
	unregister_kretprobe(&back_probe);
	unregister_kretprobe(&probe);
}
module_exit(rds_stall_exit);

MODULE_DESCRIPTION("Keeps pages from rds_rdma, for tests");
MODULE_LICENSE("Dual BSD/GPL");

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Real DMA for Soft RoCE: its ib_device gets the struct device of a PCI device
 * of the guest, so ib_core and its users map memory as they do for hardware,
 * and each access to that memory goes through here.
 *
 * An access must fall into memory that is mapped for the PCI device in a
 * direction that allows it: the tracepoints of the DMA API tell what is mapped.
 * rxe_dma_map counts mappings for each piece of BIT(PIECE_SHIFT) bytes, which
 * is the unit of swiotlb, and three counters, one per direction, are in one
 * word.  Counting makes the order of the events of two processors irrelevant:
 * an address may be mapped anew before the probe of its unmapping runs.
 *
 * With an IOMMU its tables translate the address, for each access; else the bus
 * address is a physical one, of a bounce buffer under swiotlb=force.
 */
#include <linux/dma-direct.h>
#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/tracepoint.h>
#include <linux/xarray.h>
#include <trace/events/dma.h>

#include "rxe_dma.h"

#define PIECE_SHIFT	11
#define COUNT_BITS	20
#define COUNT_MASK	(BIT(COUNT_BITS) - 1)

static char *pci = "";
module_param(pci, charp, 0444);
MODULE_PARM_DESC(pci, "address of the PCI device (QEMU's edu)");

static atomic_t accesses, faults, bounced;
module_param_named(accesses, accesses.counter, int, 0444);
MODULE_PARM_DESC(accesses, "accesses to mapped memory");
module_param_named(faults, faults.counter, int, 0444);
MODULE_PARM_DESC(faults, "accesses that no mapping allows");
module_param_named(bounced, bounced.counter, int, 0444);
MODULE_PARM_DESC(bounced, "mappings of single pages by a bounce buffer");

static int iommu;
module_param(iommu, int, 0444);
MODULE_PARM_DESC(iommu, "1: an IOMMU translates");

static struct pci_dev *rxe_dma_pci;
static DEFINE_XARRAY_FLAGS(rxe_dma_map, XA_FLAGS_LOCK_IRQ);
/* A count is lost: rxe_dma_map says nothing any more. */
static bool rxe_dma_lost;

static unsigned long one(enum dma_data_direction dir)
{
	return BIT(dir * COUNT_BITS);
}

static void count(dma_addr_t addr, size_t size, unsigned long add)
{
	unsigned long i, flags, n;
	void *old;

	for (i = addr >> PIECE_SHIFT; i <= (addr + size - 1) >> PIECE_SHIFT;
	     i++) {
		xa_lock_irqsave(&rxe_dma_map, flags);
		n = xa_to_value(xa_load(&rxe_dma_map, i)) + add;
		old = __xa_store(&rxe_dma_map, i, xa_mk_value(n & LONG_MAX),
				 GFP_ATOMIC | __GFP_NOWARN);
		xa_unlock_irqrestore(&rxe_dma_map, flags);
		if (xa_is_err(old) && !xchg(&rxe_dma_lost, true))
			pr_err("rxe-dma: no memory, mappings are not checked\n");
	}
}

static void map_page(void *data, struct device *dev, phys_addr_t phys,
		     dma_addr_t addr, size_t size, enum dma_data_direction dir,
		     unsigned long attrs)
{
	if (dev != rxe_dma_device() || addr == DMA_MAPPING_ERROR)
		return;
	count(addr, size, one(dir));
	if (!iommu && dma_to_phys(dev, addr) != phys)
		atomic_inc(&bounced);
}

static void unmap_page(void *data, struct device *dev, dma_addr_t addr,
		       size_t size, enum dma_data_direction dir,
		       unsigned long attrs)
{
	if (dev == rxe_dma_device())
		count(addr, size, -one(dir));
}

/* An IOMMU may join entries; the entries behind the last then have length 0. */
static void count_sg(struct scatterlist *sgl, int nents, unsigned long add)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i) {
		if (!sg_dma_len(sg))
			return;
		count(sg_dma_address(sg), sg_dma_len(sg), add);
	}
}

static void map_sg(void *data, struct device *dev, struct scatterlist *sgl,
		   int nents, int ents, enum dma_data_direction dir,
		   unsigned long attrs)
{
	if (dev == rxe_dma_device())
		count_sg(sgl, ents, one(dir));
}

static void unmap_sg(void *data, struct device *dev, struct scatterlist *sgl,
		     int nents, enum dma_data_direction dir,
		     unsigned long attrs)
{
	if (dev == rxe_dma_device())
		count_sg(sgl, nents, -one(dir));
}

static struct probe {
	const char		*name;
	void			*func;
	struct tracepoint	*tp;
} probes[] = {
	{ "dma_map_page", map_page },
	{ "dma_unmap_page", unmap_page },
	{ "dma_map_sg", map_sg },
	{ "dma_unmap_sg", unmap_sg },
};

static void find(struct tracepoint *tp, void *priv)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(tp->name, probes[i].name))
			probes[i].tp = tp;
}

static void unprobe(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (probes[i].tp)
			tracepoint_probe_unregister(probes[i].tp,
						    probes[i].func, NULL);
	tracepoint_synchronize_unregister();
	xa_destroy(&rxe_dma_map);
}

static int probe(void)
{
	int i, err = 0;

	check_trace_callback_type_dma_map_page(map_page);
	check_trace_callback_type_dma_unmap_page(unmap_page);
	check_trace_callback_type_dma_map_sg(map_sg);
	check_trace_callback_type_dma_unmap_sg(unmap_sg);
	for_each_kernel_tracepoint(find, NULL);
	for (i = 0; i < ARRAY_SIZE(probes) && !err; i++) {
		err = probes[i].tp ? tracepoint_probe_register(probes[i].tp,
							       probes[i].func,
							       NULL) : -ENOENT;
		if (err)
			probes[i].tp = NULL;
	}
	for (; i < ARRAY_SIZE(probes); i++)
		probes[i].tp = NULL;
	if (err)
		unprobe();
	return err;
}

/* @rights: 0 asks for any mapping */
static bool allowed(u64 addr, unsigned int bytes, unsigned int rights)
{
	unsigned long i, n, both;

	for (i = addr >> PIECE_SHIFT; i <= (addr + bytes - 1) >> PIECE_SHIFT;
	     i++) {
		n = xa_to_value(xa_load(&rxe_dma_map, i));
		both = n & COUNT_MASK;
		if (!n)
			return false;
		if (rights & RXE_DMA_READ &&
		    !(both | (n & COUNT_MASK << COUNT_BITS * DMA_TO_DEVICE)))
			return false;
		if (rights & RXE_DMA_WRITE &&
		    !(both | (n & COUNT_MASK << COUNT_BITS * DMA_FROM_DEVICE)))
			return false;
	}
	return true;
}

static phys_addr_t translate(u64 addr)
{
	struct device *dev = rxe_dma_device();
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain ? iommu_iova_to_phys(domain, addr) :
			dma_to_phys(dev, addr);
}

struct page *rxe_dma_page(u64 addr, unsigned int bytes, unsigned int rights)
{
	bool ok = READ_ONCE(rxe_dma_lost) || allowed(addr, bytes, rights);
	phys_addr_t phys = translate(addr);

	atomic_inc(&accesses);
	if (ok && phys && pfn_valid(PHYS_PFN(phys)))
		return pfn_to_page(PHYS_PFN(phys));
	atomic_inc(&faults);
	pr_err_ratelimited("rxe-dma: access to %s address %#llx, %u bytes, %s%s\n",
			   !ok && allowed(addr, bytes, 0) ? "forbidden" :
							    "unmapped",
			   addr, bytes, rights & RXE_DMA_READ ? "r" : "",
			   rights & RXE_DMA_WRITE ? "w" : "");
	return NULL;
}

struct device *rxe_dma_device(void)
{
	return &rxe_dma_pci->dev;
}

static struct pci_dev *find_pci(void)
{
	unsigned int domain, bus, slot, func;

	if (!*pci)
		return pci_get_device(0x1234, 0x11e8, NULL);	/* edu */
	if (sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &slot, &func) != 4)
		return NULL;
	return pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, func));
}

int rxe_dma_init(void)
{
	struct iommu_domain *domain;
	int err;

	rxe_dma_pci = find_pci();
	if (!rxe_dma_pci) {
		pr_err("rxe-dma: no PCI device\n");
		return -ENODEV;
	}
	err = pci_enable_device(rxe_dma_pci);
	if (err)
		goto put;
	pci_set_master(rxe_dma_pci);
	err = dma_set_mask_and_coherent(rxe_dma_device(), DMA_BIT_MASK(64));
	if (!err)
		err = probe();
	if (err)
		goto disable;
	dma_set_max_seg_size(rxe_dma_device(), SZ_2G);
	domain = iommu_get_domain_for_dev(rxe_dma_device());
	iommu = domain && domain->type & __IOMMU_DOMAIN_DMA_API;
	return 0;

disable:
	pci_disable_device(rxe_dma_pci);
put:
	pci_dev_put(rxe_dma_pci);
	return err;
}

void rxe_dma_exit(void)
{
	unprobe();
	pci_disable_device(rxe_dma_pci);
	pci_dev_put(rxe_dma_pci);
}

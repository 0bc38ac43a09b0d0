// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program in the kernel that changes the protocol of sockets.
 *
 * The kernel asks update_socket_protocol() in each socket(2), and lets programs
 * of BPF answer instead: those of the type that modifies a return value. What
 * is not 0 is the protocol; with 0 the kernel takes that of the call. The
 * function has a number in the kernel's description of types.
 *
 * The program is made here, one instruction after the other. So neither a
 * compiler nor a library for BPF is needed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"

#define TYPES "/sys/kernel/btf/vmlinux"
#define FUNCTION "update_socket_protocol"
#define TYPE_MASK 0xf	/* the rest of socket()'s second argument are flags */

static int bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* ---- the number of the function */

/* Bytes behind a type, or -1 for a kind that is not known */
static long behind(const struct btf_type *t)
{
	long n = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * (long)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * (long)sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return n * 12;
	case BTF_KIND_FUNC_PROTO:
		return n * (long)sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * (long)sizeof(struct btf_var_secinfo);
	default:
		return -1;
	}
}

/* Types are numbered from 1 on, in their order. 0: not found */
static int find(const char *data, size_t len, const char *name)
{
	const struct btf_header *h = (const void *)data;
	const char *at, *end, *strings;
	const struct btf_type *t;
	int id = 0;

	if (len < sizeof(*h) || h->magic != BTF_MAGIC ||
	    (uint64_t)h->hdr_len + h->type_off + h->type_len > len ||
	    (uint64_t)h->hdr_len + h->str_off + h->str_len > len)
		return 0;
	at = data + h->hdr_len + h->type_off;
	end = at + h->type_len;
	strings = data + h->hdr_len + h->str_off;
	while (at + sizeof(*t) <= end) {
		t = (const void *)at;
		id++;
		if (BTF_INFO_KIND(t->info) == BTF_KIND_FUNC &&
		    t->name_off < h->str_len &&
		    !strcmp(strings + t->name_off, name))
			return id;
		if (behind(t) < 0)
			return 0;
		at += sizeof(*t) + (size_t)behind(t);
	}
	return 0;
}

/* The file says 0 bytes to mmap() on older kernels, so it is read. */
static char *content(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *data = NULL;
	struct stat st;
	ssize_t n = 1;

	*len = 0;
	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
		data = malloc((size_t)st.st_size + 1);
	while (data && n > 0 && *len < (size_t)st.st_size) {
		n = read(fd, data + *len, (size_t)st.st_size - *len);
		*len += n > 0 ? (size_t)n : 0;
	}
	if (data)
		data[*len] = 0;
	if (fd >= 0)
		close(fd);
	return data;
}

static int function_id(void)
{
	size_t len;
	char *data = content(TYPES, &len);
	int id = data ? find(data, len, FUNCTION) : 0;

	free(data);
	if (!data)
		run_fail("this kernel does not describe its types in " TYPES);
	else if (!id)
		run_fail("this kernel has no " FUNCTION "(), as those from 6.6 on have");
	return id;
}

/* ---- the program */

#define INSN(c, d, s, o, i)						\
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), \
			    .off = (o), .imm = (i) })
#define MOV(d, s)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define SET(d, i)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define AND(d, i)	INSN(BPF_ALU64 | BPF_AND | BPF_K, d, 0, 0, i)
#define ARG(d, n)	INSN(BPF_LDX | BPF_MEM | BPF_DW, d, BPF_REG_6, 8 * (n), 0)
#define JEQ(d, i, o)	INSN(BPF_JMP32 | BPF_JEQ | BPF_K, d, 0, o, i)
#define JNE(d, i, o)	INSN(BPF_JMP32 | BPF_JNE | BPF_K, d, 0, o, i)
#define CALL(f)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define EXIT		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* A map, by its descriptor: two instructions */
#define MAP(d, fd)							\
	INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd),	\
	INSN(0, 0, 0, 0, 0)

static int load(int map, int protocol, int id)
{
	const struct bpf_insn insns[] = {
		MOV(BPF_REG_6, BPF_REG_1),
		ARG(BPF_REG_2, 0),			/* family */
		JEQ(BPF_REG_2, AF_INET, 1),
		JNE(BPF_REG_2, AF_INET6, 13),
		ARG(BPF_REG_2, 1),			/* type */
		AND(BPF_REG_2, TYPE_MASK),
		JNE(BPF_REG_2, SOCK_STREAM, 10),
		ARG(BPF_REG_2, 2),			/* protocol */
		JEQ(BPF_REG_2, 0, 1),
		JNE(BPF_REG_2, 6, 7),			/* TCP */
		MAP(BPF_REG_1, map),
		SET(BPF_REG_2, 0),
		CALL(BPF_FUNC_current_task_under_cgroup),
		JNE(BPF_REG_0, 1, 2),
		SET(BPF_REG_0, protocol),
		EXIT,
		SET(BPF_REG_0, 0),
		EXIT,
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = BPF_MODIFY_RETURN,
		.attach_btf_id = (uint32_t)id,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(insns[0]),
		.license = (uintptr_t)"Dual BSD/GPL",
		.prog_name = "rds_run",
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		run_fail("the kernel does not take the program of BPF: %m");
	return fd;
}

/* The cgroup as a map, which is how a program can ask about it */
static int map_of(const struct run_cgroup *cg)
{
	union bpf_attr make = {
		.map_type = BPF_MAP_TYPE_CGROUP_ARRAY,
		.key_size = 4,
		.value_size = 4,
		.max_entries = 1,
	};
	uint32_t key = 0, value = (uint32_t)cg->fd;
	int fd = bpf(BPF_MAP_CREATE, &make);
	union bpf_attr set = {
		.map_fd = (uint32_t)fd,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&value,
	};

	if (fd >= 0 && !bpf(BPF_MAP_UPDATE_ELEM, &set))
		return fd;
	run_fail("no map of BPF: %m");
	if (fd >= 0)
		close(fd);
	return -1;
}

int run_attach(const struct run_cgroup *cg, int protocol)
{
	int id = function_id(), map = id ? map_of(cg) : -1, prog, link = -1;
	union bpf_attr attr = { 0 };

	if (map < 0)
		return -1;
	prog = load(map, protocol, id);
	if (prog >= 0) {
		attr.raw_tracepoint.prog_fd = (uint32_t)prog;
		link = bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
		if (link < 0)
			run_fail("cannot attach the program of BPF: %m");
		close(prog);
	}
	/* The program has the map. */
	close(map);
	return link;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The part of rds-failnth-rdma for operations and their notifications. */
#include "failnth_rdma.h"

/**
 * struct op - an operation of @tx on the memory of @rx
 * @write: WRITE or READ
 * @cookie: key of @there
 * @len: bytes
 * @pieces: number of parts of the local memory
 * @seq: number of the operation, which its message carries
 */
struct op {
	bool		write;
	uint64_t	cookie;
	size_t		len;
	unsigned int	pieces;
	unsigned int	seq;
};

static void new_op(void *arg)
{
	struct op *o = arg;

	o->seq++;
	fill(o->write ? here : there, o->len, o->seq);
	memset(o->write ? there : here, 0, o->len);
}

static long do_op(void *arg)
{
	struct op *o = arg;
	struct rds_iovec vec[8];
	struct rds_rdma_args a = {
		.cookie = o->cookie, .remote_vec = { 0, o->len },
		.local_vec_addr = (uintptr_t)vec, .nr_local = o->pieces,
		.flags = NOTE | (o->write ? RW : 0), .user_token = o->seq,
	};
	unsigned int i;

	for (i = 0; i < o->pieces; i++)
		vec[i] = (struct rds_iovec){
			(uintptr_t)here + i * (o->len / o->pieces),
			o->len / o->pieces
		};
	return put(RDS_CMSG_RDMA_ARGS, &a, sizeof(a), o->seq);
}

static bool is_zero(const uint8_t *p, size_t len)
{
	return !p[0] && !memcmp(p, p + 1, len - 1);
}

static void not_done(void *arg)
{
	const struct op *o = arg;

	nothing_at(rx, "an operation that was not sent");
	nothing_at(tx, "an operation that was not sent");
	if (!is_zero(o->write ? there : here, o->len))
		nth_wrong("an operation that was not sent was carried out");
	check_pins("an operation that was not sent");
}

/* The message of an operation comes, and the report that it is done. */
static void op_over(unsigned int seq)
{
	struct got g;

	if (take(rx, &g) != sizeof(g.seq) || g.seq != seq)
		nth_wrong("message %u of an operation was lost: %ld, %u", seq,
			  g.ret, g.seq);
	if (take(tx, &g) || g.notes != 1 || g.note.user_token != seq)
		nth_wrong("operation %u: %ld, %u notifications", seq, g.ret,
			  g.notes);
	else if (g.note.status != RDS_RDMA_SUCCESS)
		nth_wrong("operation %u: status %d", seq, g.note.status);
	nothing_at(rx, "an operation");
	nothing_at(tx, "an operation");
	check_pins("an operation");
}

static void op_done(void *arg)
{
	const struct op *o = arg;

	op_over(o->seq);
	if (!filled(o->write ? there : here, o->len, o->seq))
		nth_wrong("operation %u has damaged memory", o->seq);
}

static void group_ops(void)
{
	static const struct {
		const char	*what;
		bool		write;
		size_t		len;
		unsigned int	pieces;
	} kinds[] = {
		{ "write", true, PAGE, 1 },
		{ "read", false, PAGE, 1 },
		{ "write 64 KiB", true, 65536, 8 },
		{ "read 64 KiB", false, 65536, 8 },
	};
	struct nth_call c = { "", new_op, do_op, not_done, op_done, 0, 0 };
	struct key k;
	size_t i;

	begin_group(&k);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct op o = { kinds[i].write, k.cookie, kinds[i].len,
				kinds[i].pieces, 0 };

		c.what = kinds[i].what;
		nth_every(&c, &o);
	}
	end_group(&k, "rdma_send_args");
}

/**
 * struct atomic - an atomic operation of @tx on the first word of @there
 * @type: RDS_CMSG_ATOMIC_*
 * @cookie: key of @there
 * @seq: number of the operation
 * @old: the word that it finds
 */
struct atomic {
	int		type;
	uint64_t	cookie;
	unsigned int	seq;
	uint64_t	old;
};

static uint64_t word(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void new_atomic(void *arg)
{
	struct atomic *a = arg;

	a->seq++;
	a->old = word(there);
}

static bool adds(const struct atomic *a)
{
	return a->type == RDS_CMSG_ATOMIC_FADD ||
	       a->type == RDS_CMSG_MASKED_ATOMIC_FADD;
}

/* Each of them makes @old one more. */
static long do_atomic(void *arg)
{
	const struct atomic *a = arg;
	struct rds_atomic_args args = {
		.cookie = a->cookie, .local_addr = (uintptr_t)here,
		.flags = NOTE, .user_token = a->seq,
	};

	if (adds(a)) {
		args.fadd.add = 1;
	} else {
		args.cswp.compare = a->old;
		args.cswp.swap = a->old + 1;
	}
	return put(a->type, &args, sizeof(args), a->seq);
}

static void atomic_not_done(void *arg)
{
	const struct atomic *a = arg;

	nothing_at(rx, "an atomic operation that was not sent");
	nothing_at(tx, "an atomic operation that was not sent");
	if (word(there) != a->old)
		nth_wrong("an atomic operation that was not sent took place");
	check_pins("an atomic operation that was not sent");
}

static void atomic_done(void *arg)
{
	const struct atomic *a = arg;

	op_over(a->seq);
	if (word(here) != a->old || word(there) != a->old + 1)
		nth_wrong("atomic operation %u was not carried out once",
			  a->seq);
}

static void group_atomic(void)
{
	static const struct {
		const char	*what;
		int		type;
	} kinds[] = {
		{ "fetch and add", RDS_CMSG_ATOMIC_FADD },
		{ "compare and swap", RDS_CMSG_ATOMIC_CSWP },
	};
	struct nth_call c = {
		"", new_atomic, do_atomic, atomic_not_done, atomic_done, 0, 0
	};
	struct key k;
	size_t i;

	begin_group(&k);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct atomic a = { kinds[i].type, k.cookie, 0, 0 };

		c.what = kinds[i].what;
		nth_every(&c, &a);
	}
	end_group(&k, "rdma_send_atomic");
}

/* ---- notifications */

static struct got news;

static void note_waits(void *arg)
{
	new_op(arg);
	if (do_op(arg) < 0)
		die("send: %m");
	if (take(rx, &news) < 0 || !readable(tx, NTH_PATIENCE * slow_factor()))
		die("no notification");
}

static long do_note(void *arg)
{
	(void)arg;
	return take(tx, &news);
}

static void noted(void *arg)
{
	const struct op *o = arg;

	if (news.notes != 1 || news.note.user_token != o->seq ||
	    news.note.status != RDS_RDMA_SUCCESS)
		nth_wrong("operation %u: %u notifications, the last of %llu",
			  o->seq, news.notes,
			  (unsigned long long)news.note.user_token);
	nothing_at(tx, "a notification");
}

static void group_notes(void)
{
	const struct nth_call c = {
		"recv status", note_waits, do_note, NULL, noted, 0, 0
	};
	struct op o = { true, 0, PAGE, 1, 0 };
	struct key k;

	begin_group(&k);
	o.cookie = k.cookie;
	nth_every(&c, &o);
	end_group(&k, "rdma_recv_status");
}

void rdma_ops(void)
{
	group_ops();
	group_atomic();
	group_notes();
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-rdmabugs rxe|siw SELF PEER
 * Tests of RDMA bugs of other implementations of RDS, each test named after its
 * bug (Documentation/known-bugs.rst). SELF and PEER are addresses of this host,
 * and all sockets are in this program.
 *
 * rds-rdmabugs flood ADDR
 * Send messages to ADDR over many new connections, until killed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bugs.h"

struct rt r;
struct rt_addr there;
int peer_fd;
uint8_t here[LEN] __attribute__((aligned(4096)));
static uint8_t far[LEN] __attribute__((aligned(4096)));
uint64_t next_token = 1;

#define OUTLIVE	20	/* rounds of keys_outlive() */
#define OPS	8	/* operations in each round */

/* Get a key of the peer socket for @far. */
uint64_t far_key(uint64_t flags)
{
	uint64_t cookie = 0;

	take_key(peer_fd, &there, HOW_GET_MR, far, LEN, flags, &cookie);
	return cookie;
}

int post(uint64_t cookie, struct rds_iovec *v, uint64_t nr, uint64_t bytes,
	 uint64_t flags, uint64_t token)
{
	struct rdma_op o = { .cookie = cookie,
			     .bytes = bytes,
			     .vec = v,
			     .nvec = nr,
			     .flags = flags | NOTE,
			     .token = token,
			     .data = "x",
			     .len = 1 };

	return rdma_send(r.fd, &there, &o);
}

/* Post one operation and wait for it; return its status or a negative errno. */
static int whole_op(uint64_t cookie, size_t len, uint64_t flags)
{
	struct rds_iovec v = { (uintptr_t)here, len };
	uint64_t token = next_token++;
	int rc = post(cookie, &v, 1, len, flags, token);

	return rc ? rc : wait_token(&r, r.fd, token, 20000);
}

void drain(int fd)
{
	static uint8_t scrap[4096];
	int n;

	do {
		n = recv_one(&r, fd, scrap, sizeof(scrap), 0, NULL);
	} while (n >= 0 || n == -EINTR);
}

/*
 * Receive the next message; poll() also reports events without a message, such
 * as a congestion map.
 */
int next_msg(int fd, void *buf, size_t size, uint64_t *cookie)
{
	uint64_t end = now_ns() + 20000000000ull * r.slow;
	int n;

	do {
		n = recv_one(&r, fd, buf, size, 1000, cookie);
	} while ((n == -ETIMEDOUT || n == -EINTR) && now_ns() < end);
	return n;
}

/*
 * Does a connection move data within 40 attempts, also if the last one was
 * lost?
 */
bool works(void)
{
	uint64_t cookie = far_key(RW);
	bool good = false;

	for (int i = 0; i < 40 && !good; i++) {
		pattern(here, LEN, 77 + (uint64_t)i, 0);
		good = !whole_op(cookie, LEN, RW) &&
		       !pattern_diff(far, LEN, 77 + (uint64_t)i, 0);
	}
	free_key(peer_fd, cookie, 0);
	drain(peer_fd);
	return good;
}

bool pins_back(long before)
{
	uint64_t end = now_ns() + 15000000000ull * r.slow;
	struct timespec pause = { .tv_nsec = 20000000 };
	long now = pins();

	for (; now > before && now_ns() < end; now = pins())
		nanosleep(&pause, NULL);
	printf("# pinned pages: %ld, before %ld\n", now, before);
	return now <= before;
}

/* ---- keys and requests */

static void key_errors(void)
{
	struct rt_addr blackhole = there;
	uint64_t cookie = 0;
	long before = pins();
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0), bad = 0, rc, none;

	/* The socket is not bound and has no transport. */
	rc = take_key(fd, &there, HOW_GET_MR, here, LEN, RW, &cookie);
	bad += rc != -ENOTCONN;
	rc = take_key(fd, &there, HOW_FOR_DEST, here, LEN, RW, &cookie);
	bad += rc != -ENOTCONN;
	bad += free_key(fd, 1, 0) != -EINVAL;
	rc = take_key(fd, &there, HOW_MAP, here, LEN, RW, &cookie);
	rt_ok(!bad && rc < 0, "bugs.cve_2018_7492 # %d, message %d", bad, rc);
	none = cmsg_send(fd, &there, RDS_CMSG_RDMA_ARGS, here,
			 sizeof(struct rds_rdma_args), "x", 1);
	rt_ok(none < 0, "bugs.cve_2015_6937 # %d", none);
	close(fd);
	/*
	 * No host has this address; a key belongs to a device, not to a
	 * connection.
	 */
	if (blackhole.ss.ss_family == AF_INET)
		((uint8_t *)&((struct sockaddr_in *)&blackhole.ss)
			 ->sin_addr)[3] = 99;
	rc = take_key(r.fd, &blackhole, HOW_FOR_DEST, here, LEN, RW, &cookie);
	rt_ok(!rc && !free_key(r.fd, cookie, 0), "bugs.cve_2024_27024 # %d",
	      rc);
	rc = take_key(r.fd, &there, HOW_GET_MR, (void *)4096, LEN, RW, &cookie);
	none = take_key(r.fd, &there, HOW_FOR_DEST, (void *)4096, LEN, RW,
			&cookie);
	rt_ok(rc == -EFAULT && none == -EFAULT, "bugs.cve_2024_35902 # %d, %d",
	      rc, none);
	for (bad = 0, rc = 0; rc < 200; rc++) {
		bad += take_key(r.fd, &there, HOW_GET_MR, here, LEN, RW,
				(uint64_t *)16) != -EFAULT;
		bad += take_key(r.fd, &there, HOW_MAP, here, LEN, RW,
				(uint64_t *)16) != -EFAULT;
	}
	rt_ok(!bad && pins_back(before), "bugs.cve_2026_46053 # %d, %ld pages",
	      bad, pins() - before);
	rc = take_key(r.fd, &there, HOW_GET_MR, here, 2 << 20, RW, &cookie);
	none = take_key(r.fd, &there, HOW_GET_MR, here, LEN, RW, &cookie);
	bad = free_key(r.fd, cookie, 0);
	rt_ok(rc == -EMSGSIZE && !none && !bad && pins_back(before),
	      "bugs.failed_map_then_free # %d, %d, %d, %ld pages", rc, none, bad, pins() - before);
}

static void vectors(void)
{
	static struct rds_iovec v[1025];
	uint64_t key = far_key(RW),
		 counts[] = { 0,	  1025,	      0x40001,
			      1ull << 31, 1ull << 32, 1ull << 63 };
	uint64_t cookie = 0;
	long before = pins();
	int bad = 0, rc;

	for (int i = 0; i < 1025; i++)
		v[i] = (struct rds_iovec){
			(uintptr_t)here + 8 * (unsigned int)i, 4
		};
	for (int i = 0; i < 6; i++)
		bad += post(key, v, counts[i], LEN, RW, 2) !=
		       (counts[i] ? -EMSGSIZE : -EINVAL);
	rt_ok(!bad, "bugs.cve_2010_4175 # %d of 6", bad);
	rc = post(key, v, 0x40001, LEN, RW, 3);
	rt_ok(rc == -EMSGSIZE, "bugs.vector_of_40001 # %d", rc);
	bad = 0;
	for (uint64_t n = 1ull << 31; n; n <<= 1) {
		v[0].bytes = n - 1;
		bad += post(key, v, 1, LEN, RW, 4) != -EINVAL;
		v[0].bytes = n + 4096;
		bad += post(key, v, 2, LEN, RW, 4) != -EINVAL;
		/* The sum of the lengths is 0 in 32 bits. */
		v[0].bytes = n - 4;
		bad += post(key, v, 2, LEN, RW, 4) != -EINVAL;
		rc = take_key(r.fd, &there, HOW_GET_MR, here, n - 1, RW,
			      &cookie);
		bad += rc != ((n - 1) >> 32 ? -EINVAL : -EMSGSIZE);
	}
	v[0].bytes = 4;
	rt_ok(!bad && pins_back(before), "bugs.cve_2010_3865 # %d", bad);
	v[1].bytes = 0;
	rc = post(key, v, 2, LEN, RW, 5);
	v[1].bytes = 4;
	rt_ok(rc == -EINVAL, "bugs.cve_2018_5332 # %d", rc);
	for (bad = 0, rc = 0; rc < 1000; rc++)
		bad += post(key, (void *)16, 1 + (unsigned int)rc, LEN, RW, 6) !=
		       -EFAULT;
	rt_ok(!bad && pins_back(before), "bugs.vector_not_readable # %d", bad);
	rc = post(key, v, 1024, LEN, RW, next_token);
	rc = rc ? rc : wait_token(&r, r.fd, next_token, 20000);
	next_token++;
	rt_ok(!rc, "bugs.cve_2022_21385 # %d", rc);
	free_key(peer_fd, key, 0);
}

static void atomics(void)
{
	static const int types[] = { RDS_CMSG_ATOMIC_FADD, RDS_CMSG_ATOMIC_CSWP,
				     RDS_CMSG_MASKED_ATOMIC_FADD,
				     RDS_CMSG_MASKED_ATOMIC_CSWP };
	static uint64_t result;
	uint64_t key = far_key(RW);
	long before = pins();
	int bad = 0, rc;

	for (int i = 0; i < 4; i++) {
		struct rds_atomic_args a = { .cookie = key,
					     .local_addr = 4096,
					     .flags = NOTE,
					     .user_token = 7 };

		bad += cmsg_send(r.fd, &there, types[i], &a, sizeof(a), "x",
				 1) != -EFAULT;
	}
	rt_ok(!bad && pins_back(before), "bugs.cve_2018_5333 # %d of 4", bad);
	for (int i = 0; i < 4; i++) {
		struct rds_atomic_args a = { .cookie = key,
					     .local_addr = (uintptr_t)&result,
					     .flags = NOTE,
					     .user_token = next_token++ };

		rc = cmsg_send(r.fd, &there, types[i], &a, sizeof(a), "x", 1);
		if (rc != -EOPNOTSUPP &&
		    (rc || wait_token(&r, r.fd, a.user_token, 20000) ||
		     r.told[a.user_token] != 1))
			bad++;
		bad += rc == -EOPNOTSUPP && !r.siw && i < 2;
	}
	rt_ok(!bad, "bugs.cve_2026_52939 # %d of 4", bad);
	free_key(peer_fd, key, 0);
}

/* ---- operations */

/*
 * A notification without a message: recvmsg() writes no address, no byte of the
 * buffer and no uninitialised padding.
 */
static void notification(void)
{
	union {
		struct cmsghdr h;
		char room[256];
	} c;
	struct sockaddr_storage from, same;
	uint64_t key = far_key(RW), token = next_token++;
	struct rds_iovec v = { (uintptr_t)here, 512 };
	uint8_t buf[64], tail = 0xff;
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr m = { .msg_name = &from,
			    .msg_namelen = sizeof(from),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = c.room,
			    .msg_controllen = sizeof(c.room) };
	struct pollfd p = { .fd = r.fd, .events = POLLIN };
	size_t clean = 0, i;
	ssize_t n = -1;

	drain(r.fd);
	memset(buf, 0x5a, sizeof(buf));
	memset(&from, 0xa5, sizeof(from));
	same = from;
	memset(&c, 0xff, sizeof(c));
	if (!post(key, &v, 1, 512, RW, token) &&
	    poll(&p, 1, (int)(20000 * r.slow)) == 1)
		n = recvmsg(r.fd, &m, MSG_DONTWAIT);
	for (i = 0; i < sizeof(buf); i++)
		clean += buf[i] == 0x5a;
	rt_ok(!n && !m.msg_namelen && !memcmp(&from, &same, sizeof(from)) &&
		      clean == sizeof(buf),
	      "bugs.cve_2012_3430 # %zd, name of %u bytes", n, m.msg_namelen);
	if (!n && CMSG_FIRSTHDR(&m) && c.h.cmsg_type == RDS_CMSG_RDMA_STATUS &&
	    c.h.cmsg_len == CMSG_LEN(sizeof(struct rds_rdma_notify)))
		for (i = sizeof(uint64_t) + sizeof(int32_t), tail = 0;
		     i < sizeof(struct rds_rdma_notify); i++)
			tail |= CMSG_DATA(&c.h)[i];
	rt_ok(!tail, "bugs.notification_hole # %02x", tail);
	free_key(peer_fd, key, 0);
	drain(peer_fd);
}

static void return_value(void)
{
	uint64_t key = far_key(RW), token = next_token++;
	struct rds_iovec v = { (uintptr_t)here, LEN };
	struct rds_rdma_args a = { .cookie = key,
				   .remote_vec = { 0, LEN },
				   .nr_local = 1,
				   .local_vec_addr = (uintptr_t)&v,
				   .flags = RW | NOTE,
				   .user_token = token };
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(a))];
	} c = { 0 };
	struct iovec iov = { "0123456789", 10 };
	struct msghdr m = { .msg_name = &there.ss,
			    .msg_namelen = there.len,
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = c.room,
			    .msg_controllen = sizeof(c.room) };
	ssize_t n, none;

	c.h.cmsg_level = SOL_RDS;
	c.h.cmsg_type = RDS_CMSG_RDMA_ARGS;
	c.h.cmsg_len = CMSG_LEN(sizeof(a));
	memcpy(CMSG_DATA(&c.h), &a, sizeof(a));
	n = sendmsg(r.fd, &m, 0);
	wait_token(&r, r.fd, token, 20000);
	a.user_token = next_token++;
	memcpy(CMSG_DATA(&c.h), &a, sizeof(a));
	iov.iov_len = 0;
	none = sendmsg(r.fd, &m, 0);
	wait_token(&r, r.fd, a.user_token, 20000);
	rt_ok(n == 10 && !none, "bugs.send_returns_payload # %zd, %zd", n,
	      none);
	free_key(peer_fd, key, 0);
	drain(peer_fd);
}

/*
 * A peer writes to a page of a file through a key: the page must be marked
 * dirty.
 */
static void dirty_pages(void)
{
	char name[] = "/dev/shm/rdmabugs.XXXXXX",
	     old[] = "/tmp/rdmabugs.XXXXXX";
	int fd = mkstemp(name), rc;
	uint64_t cookie = 0;
	uint8_t *p, *back = malloc(LEN);

	if (fd < 0)
		fd = mkstemp(old);
	if (fd < 0 || ftruncate(fd, LEN))
		die("no file");
	unlink(name);
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	rc = take_key(peer_fd, &there, HOW_GET_MR, p, LEN, RW, &cookie);
	pattern(here, LEN, 4711, 0);
	rc = rc ? rc : whole_op(cookie, LEN, RW);
	free_key(peer_fd, cookie, 0);
	munmap(p, LEN);
	rt_ok(!rc && pread(fd, back, LEN, 0) == LEN &&
		      !pattern_diff(back, LEN, 4711, 0),
	      "bugs.mr_pages_dirty # %d", rc);
	close(fd);
	unlink(old);
	free(back);
	drain(peer_fd);
}

/* ---- many at once */

static void *churn(void *arg)
{
	long bad = 0;

	for (int i = 0; i < 100; i++) {
		uint64_t cookie = 0;

		bad += !!take_key(r.fd, &there, HOW_GET_MR, here,
				  i & 1 ? LEN : 4096, RW, &cookie);
		bad += !!free_key(r.fd, cookie,
				  i & 2 ? RDS_RDMA_INVALIDATE : 0);
		if (i % 25 == 0)
			bad += !!free_key(r.fd, 0, 0);
	}
	return arg ? NULL : (void *)bad;
}

static void many_keys(void)
{
	long before = pins(), bad = 0;
	pthread_t t[8];
	void *res;

	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, churn, NULL);
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &res);
		bad += (long)res;
	}
	rt_ok(!bad, "bugs.many_registrations # %ld failed", bad);
	rt_ok(pins_back(before), "bugs.flush_of_pools # %ld pages",
	      pins() - before);
}

/*
 * The socket of the key and the socket that posts close while operations are in
 * progress.
 */
static void keys_outlive(void)
{
	long before = pins();
	unsigned int posted = 0;
	int rounds;

	for (rounds = 0; rounds < OUTLIVE; rounds++) {
		struct rds_iovec v = { (uintptr_t)here, LEN };
		int owner = rt_open(&r.peer, 0), user = rt_open(&r.self, 0);
		struct rdma_op o = { .bytes = LEN,
				     .vec = &v,
				     .nvec = 1,
				     .flags = NOTE,
				     .data = "x",
				     .len = 1 };

		if (owner < 0 || user < 0 ||
		    take_key(owner, &there, HOW_GET_MR, far, LEN, RW,
			     &o.cookie))
			break;
		for (int i = 0; i < OPS; i++) {
			o.flags ^= RW;
			posted += !rdma_send(user, &there, &o);
		}
		close(rounds & 1 ? owner : user);
		close(rounds & 1 ? user : owner);
	}
	rt_ok(rounds == OUTLIVE && posted == OUTLIVE * OPS && pins_back(before),
	      "bugs.mr_outlives_socket # round %d, %u posted, %ld pages",
	      rounds, posted, pins() - before);
	rt_ok(works(), "bugs.mr_outlives_socket_works");
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "flood"))
		return flood(argv[2]);
	if (argc != 4 || !rt_addr_parse(&r.self, argv[2]) ||
	    !rt_addr_parse(&r.peer, argv[3])) {
		fprintf(stderr,
			"usage: rds-rdmabugs rxe|siw SELF PEER | flood ADDR\n");
		return 2;
	}
	r.siw = !strcmp(argv[1], "siw");
	r.slow = rt_slow();
	forget_tokens(&r);
	/* The functions in the order of their calls, and two results between. */
	rt_plan(1 + 1 + 1 + 6 + 6 + 2 + 2 + 1 + 2 + 2 + 1 + 2 + 2 + 1 + 1 + 1 + 2);
	bind_elsewhere();
	first_map();
	there = r.peer;
	rt_addr_port(&there, PORT);
	r.fd = rt_open(&r.self, PORT);
	peer_fd = rt_open(&r.peer, PORT);
	if (!rt_ok(r.fd >= 0 && peer_fd >= 0 && works(), "bugs.works"))
		return rt_exit();
	key_errors();
	vectors();
	atomics();
	notification();
	return_value();
	cancelled();
	cancelled_amid();
	dirty_pages();
	many_keys();
	keys_outlive();
	crossed();
	rt_ok(!ping(&r.self, &r.self), "bugs.cve_2012_2372");
	own_map();
	nobody();
	return rt_exit();
}

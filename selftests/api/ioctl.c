// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ioctls, system calls that RDS does not support, /proc/net/protocols. */
#include "api.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <linux/sockios.h>

static long tos_set(int fd, uint8_t v)
{
	return ioctl(fd, SIOCRDSSETTOS, &v) ? -errno : 0;
}

static long tos_get(int fd)
{
	uint8_t v = 0x55;

	return ioctl(fd, SIOCRDSGETTOS, &v) ? -errno : v;
}

static void tos(const struct api_case *c)
{
	int fd = sock(), v, bad = 0;
	union addr to = addr_of(c->arg, 4000);

	r("get_unbound", tos_get(fd));
	r("set_unbound", tos_set(fd, 1));
	need(!do_bind(fd, c->arg, lane0_port()));
	r("get", tos_get(fd));
	for (v = 0; v < 256; v++)
		bad += tos_set(fd, v) != 0 || tos_get(fd) != 0;
	r("bad", bad);
	r("send", send_to(fd, &to, 1, 0));
	r("after_send", tos_set(fd, 1));
	r("after_send0", tos_set(fd, 0));
	r("get", tos_get(fd));
}

static void tos_loopback(const struct api_case *c)
{
	int fd = bound(NS_A, c->arg, 0);

	r("set", tos_set(fd, 1));
	r("set0", tos_set(fd, 0));
	r("get", tos_get(fd));
}

static void tos_selected(const struct api_case *c)
{
	int fd = sock();

	(void)c;
	need(!set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	r("set", tos_set(fd, 3));
	r("get", tos_get(fd));
}

static void tos_faults(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0);

	(void)c;
	r("set", ioctl(fd, SIOCRDSSETTOS, page_hole(0)) ? -errno : 0);
	r("get", ioctl(fd, SIOCRDSGETTOS, page_hole(0)) ? -errno : 0);
	r("one_byte", ioctl(fd, SIOCRDSGETTOS, page_hole(1)) ? -errno : 0);
	r("null", ioctl(fd, SIOCRDSSETTOS, NULL) ? -errno : 0);
	r("set_unbound",
	  ioctl(sock(), SIOCRDSSETTOS, page_hole(0)) ? -errno : 0);
}

static void others(const struct api_case *c)
{
	static const unsigned long req[] = { FIONREAD,
					     SIOCOUTQ,
					     SIOCATMARK,
					     SIOCPROTOPRIVATE + 2,
					     SIOCPROTOPRIVATE + 15,
					     SIOCGSTAMP_OLD,
					     0,
					     0x12345678 };
	int fd = bound(NS_A, c->arg, 0), v[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(req); i++)
		r(NULL, ioctl(fd, req[i], v) ? -errno : 0);
	v[0] = 1;
	r("fionbio", ioctl(fd, FIONBIO, v) ? -errno : 0);
	r("nonblock", recv(fd, v, 4, 0) < 0 ? -errno : 0);
}

static void unsupported(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), pair[2];

	(void)c;
	r("listen", listen(fd, 1) ? -errno : 0);
	r("accept", accept(fd, NULL, NULL) < 0 ? -errno : 0);
	r("accept4", accept4(fd, NULL, NULL, SOCK_NONBLOCK) < 0 ? -errno : 0);
	r("shut_rd", shutdown(fd, SHUT_RD) ? -errno : 0);
	r("shut_wr", shutdown(fd, SHUT_WR) ? -errno : 0);
	r("shut_rdwr", shutdown(fd, SHUT_RDWR) ? -errno : 0);
	r("socketpair",
	  socketpair(AF_RDS, SOCK_SEQPACKET, 0, pair) ? -errno : 0);
	r("mmap", mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ?
			  -errno :
			  0);
	r("lseek", lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0);
	r("pread", pread(fd, &pair, 4, 0) < 0 ? -errno : 0);
	r("ftruncate", ftruncate(fd, 0) ? -errno : 0);
	r("fsync", fsync(fd) ? -errno : 0);
}

static void splice_to(const struct api_case *c)
{
	struct link l = link_open(c->num);
	int pipefd[2], f = open("/proc/self/exe", O_RDONLY);

	need(!connect(l.tx, &l.to.sa, addr_len(&l.to)));
	need(!pipe(pipefd));
	need(write(pipefd[1], "hello", 5) == 5);
	r("splice", splice(pipefd[0], NULL, l.tx, NULL, 5, 0) < 0 ? -errno : 0);
	r("sendfile", sendfile(l.tx, f, NULL, 100) < 0 ? -errno : 0);
}

static void splice_from(const struct api_case *c)
{
	struct link l = link_open(c->num);
	int pipefd[2];

	need(!pipe(pipefd));
	need(send_to(l.tx, &l.to, 4, 0) == 4);
	link_sync(&l);
	r(NULL, splice(l.rx, NULL, pipefd[1], NULL, 5, SPLICE_F_NONBLOCK));
}

static void protocols(const struct api_case *c)
{
	char line[256], name[32] = "";
	int size, sockets;
	FILE *f = fopen("/proc/net/protocols", "r");

	(void)c;
	need(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%31s %d %d", name, &size, &sockets) == 3 &&
		    !strcmp(name, "RDS"))
			note("%s", name);
	}
	fclose(f);
}

#define TOS "get_unbound=0 set_unbound=ENOTTY get=0 bad=0 send=1 after_send=EINVAL " \
	"after_send0=EINVAL get=0"

const struct api_case ioctl_cases[] = {
	{ "ioctl.tos.v4", tos, TOS, .arg = A4 },
	{ "ioctl.tos.v6", tos, TOS, .arg = A6 },
	{ "ioctl.tos_loopback.v4", tos_loopback, "set=ENOTTY set0=ENOTTY get=0",
	  .arg = "127.0.0.1" },
	{ "ioctl.tos_loopback.v6", tos_loopback, "set=ENOTTY set0=ENOTTY get=0", .arg = "::1" },
	{ "ioctl.tos_selected", tos_selected, "set=0 get=0" },
	{ "ioctl.tos_faults", tos_faults, "set=EFAULT get=EFAULT one_byte=0 null=EFAULT "
	  "set_unbound=EFAULT" },
	{ "ioctl.others.tcp", others, "ENOTTY ENOTTY ENOTTY ENOTTY ENOTTY ENOTTY ENOTTY ENOTTY "
	  "fionbio=0 nonblock=EAGAIN", .arg = A4 },
	{ "ioctl.others.loopback", others, "ENOTTY ENOTTY ENOTTY ENOTTY ENOTTY ENOTTY ENOTTY "
	  "ENOTTY fionbio=0 nonblock=EAGAIN", .arg = "127.0.0.1" },
	{ "ioctl.unsupported", unsupported, "listen=EOPNOTSUPP accept=EOPNOTSUPP "
	  "accept4=EOPNOTSUPP shut_rd=EOPNOTSUPP shut_wr=EOPNOTSUPP shut_rdwr=EOPNOTSUPP "
	  "socketpair=EOPNOTSUPP mmap=ENODEV lseek=ESPIPE pread=ESPIPE ftruncate=EINVAL "
	  "fsync=EINVAL" },
	{ "ioctl.splice_to.tcp4", splice_to, "splice=EOPNOTSUPP sendfile=EOPNOTSUPP",
	  .flags = C_NOT_6_1, .num = TCP4 },
	{ "ioctl.splice_to.lo4", splice_to, "splice=EOPNOTSUPP sendfile=EOPNOTSUPP",
	  .flags = C_NOT_6_1, .num = LO4 },
	{ "ioctl.splice_from.tcp4", splice_from, "4", .num = TCP4 },
	{ "ioctl.splice_from.lo4", splice_from, "4", .num = LO4 },
	{ "ioctl.protocols", protocols, "RDS" },
	{ }
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Advice for the most frequent mistakes of users. The error number alone does
 * not identify the mistake, so these functions make further system calls, which
 * in-tree RDS answers in the same way.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include <linux/rds.h>

#include "rdstool.h"

static const char *module_of(int transport)
{
	return transport == RDS_TRANS_IB ? "rds_rdma" : "rds_tcp";
}

/*
 * The RDS_INFO_* table of a transport's connections exists while the module of
 * the transport is loaded. The number of records in it does not matter.
 */
static bool loaded(int transport)
{
	int id = transport == RDS_TRANS_IB ? RDS_INFO_IB_CONNECTIONS :
					     RDS_INFO_TCP_SOCKETS;
	socklen_t len = 0;
	bool missing;
	int fd;

	fd = rt_socket();
	if (fd < 0)
		return false;
	missing = getsockopt(fd, rt_level(), id, NULL, &len) < 0 &&
		  errno == ENOPROTOOPT;
	close(fd);
	return !missing;
}

/* UDP can bind to each address of the host, independent of RDS transports. */
static bool host_has(const union rt_addr *a)
{
	union rt_addr any_port = *a;
	bool has;
	int fd;

	fd = socket(a->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	rt_set_port(&any_port, 0);
	has = !bind(fd, &any_port.sa, rt_addrlen(a));
	close(fd);
	return has;
}

static bool wildcard(const union rt_addr *a)
{
	if (a->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
	return a->in.sin_addr.s_addr == htonl(INADDR_ANY);
}

/*
 * No loaded transport has the address. rds_tcp has every address of the network
 * namespace.
 */
static void hint_no_transport(const union rt_addr *a)
{
	char host[RT_ADDRSTRLEN];

	rt_host_str(a, host, sizeof(host));
	if (!host_has(a) || loaded(RDS_TRANS_TCP))
		fprintf(stderr,
			"hint: %s is no address of this host, or not of this network "
			"namespace%s: see ip address\n",
			host,
			a->sa.sa_family == AF_INET6 ? ", or still tentative" :
						      "");
	else if (loaded(RDS_TRANS_IB))
		fprintf(stderr,
			"hint: rds_rdma has no device with %s, and rds_tcp is not "
			"loaded: modprobe rds_tcp\n",
			host);
	else
		fprintf(stderr,
			"hint: neither rds_tcp nor rds_rdma is loaded: modprobe rds_tcp, "
			"or modprobe rds_rdma if an RDMA device has %s\n",
			host);
}

void rt_hint_socket(int err)
{
	if (err == EAFNOSUPPORT)
		fprintf(stderr,
			"hint: the RDS modules are not loaded: modprobe rds_tcp, "
			"or modprobe rds_rdma for RDMA\n");
	else if (err == EACCES)
		fprintf(stderr,
			"hint: /proc/sys/net/rds/access does not let this "
			"process use RDS here\n");
}

void rt_hint_transport(int err, int transport)
{
	const char *module = module_of(transport);

	if (err == ENOPROTOOPT && !loaded(transport))
		fprintf(stderr, "hint: %s is not loaded: modprobe %s\n", module,
			module);
	else if (err == EPROTOTYPE)
		fprintf(stderr,
			"hint: %s is not loaded, or does not serve this network "
			"namespace\n",
			module);
}

void rt_hint_bind(int err, const union rt_addr *a, int transport)
{
	char host[RT_ADDRSTRLEN];

	if (err == EADDRNOTAVAIL ||
	    (err == ENOPROTOOPT && transport == RDS_TRANS_TCP))
		hint_no_transport(a);
	else if (err == ENOPROTOOPT)
		fprintf(stderr, "hint: rds_rdma has no device with %s\n",
			rt_host_str(a, host, sizeof(host)));
	else if (err == EINVAL && wildcard(a))
		fprintf(stderr,
			"hint: RDS has no wildcard address: name one of this host's\n");
}

void rt_hint_stream(int err, const union rt_addr *a)
{
	char host[RT_ADDRSTRLEN];

	if (!a && (err == EAFNOSUPPORT || err == ESOCKTNOSUPPORT)) {
		fprintf(stderr,
			"hint: rds_stream is not loaded: modprobe rds_stream\n");
	} else if (!a) {
		rt_hint_socket(err);
	} else if (err == EADDRNOTAVAIL) {
		rt_host_str(a, host, sizeof(host));
		fprintf(stderr,
			host_has(a) ?
				"hint: no RDMA device has %s: see rdma link\n" :
				"hint: %s is no address of this host: see ip address\n",
			host);
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who may make sockets: net.rds.access, net.rds.access_group_range and the
 * parameter access_new. Most cases change a namespace that they have made.
 * Who may connect, and where: net.rds.peer_networks and listen_networks.
 */
#include "api.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/wait.h>

#define ACCESS	"/proc/sys/net/rds/access"
#define GROUPS	"/proc/sys/net/rds/access_group_range"
#define NEW	"/sys/module/rds/parameters/access_new"
#define PEERS	"/proc/sys/net/rds/peer_networks"
#define LISTEN	"/proc/sys/net/rds/listen_networks"
#define DROPS	"/proc/net/rds/drops"

#define USER	65534
#define GROUP	4000

static long put(const char *path, const char *text)
{
	return file_write(path, text) ? 0 : -errno;
}

static void put_ok(const char *path, const char *text)
{
	if (!file_write(path, text))
		bail("%s to %s: %s", text, path, strerror(errno));
}

static long try_socket(void)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	long ret = fd < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

/* The value of a reason in namespace @ns */
static long drops_in(enum ns ns, const char *why)
{
	FILE *f = fdopen(ns_open(ns, DROPS, O_RDONLY), "r");
	char name[64];
	long n;

	need(f);
	while (fscanf(f, "%63s %ld", name, &n) == 2) {
		if (strcmp(name, why))
			continue;
		fclose(f);
		return n;
	}
	bail("no reason %s", why);
}

/* The value of a reason in the calling process's namespace */
static long drops(const char *why)
{
	return drops_in(NS_A, why);
}

/* Identities, and the letter of each in the result of levels() */
enum who { ROOT, EGID, MEMBER, OTHER, WHOS };

static const char letters[WHOS] = "rgmo";

static void become(enum who who)
{
	gid_t member = GROUP + 1, gid = who == EGID ? GROUP : USER;

	if (who == ROOT)
		return;
	need(!setgroups(who == MEMBER, &member));
	need(!setresgid(gid, gid, gid) && !setresuid(USER, USER, USER));
}

/* Call @fn in a process of its own, and return what it returns. */
static long apart(long (*fn)(long arg), long arg)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	need(pid >= 0);
	if (!pid)
		_exit(-fn(arg));
	need(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static long socket_as(long who)
{
	become(who);
	return try_socket();
}

static void text_of(int fd, char *text, size_t size)
{
	memset(text, 0, size);
	need(fd >= 0 && read(fd, text, size - 1) > 0);
	close(fd);
}

static void defaults(const struct api_case *c)
{
	char text[32];

	(void)c;
	text_of(ns_open(NS_INIT, ACCESS, O_RDONLY), text, sizeof(text));
	r("first", atol(text));
	need(!unshare(CLONE_NEWNET | (user_mode ? CLONE_NEWUSER : 0)));
	r("new", file_number(ACCESS));
	text_of(open(GROUPS, O_RDONLY), text, sizeof(text));
	r("groups", !strcmp(text, "1\t0\n"));
	r("socket", try_socket());
}

/* For each level the letters of those who get a socket */
static void levels(const struct api_case *c)
{
	char level[2] = "0", got[WHOS + 1];
	int i;

	(void)c;
	need(!unshare(CLONE_NEWNET));
	put_ok(GROUPS, "4000 4001");
	for (; *level <= '3'; ++*level) {
		put_ok(ACCESS, level);
		for (i = 0; i < WHOS; i++) {
			long ret = apart(socket_as, i);

			need(!ret || ret == -EACCES);
			got[i] = ret ? '-' : letters[i];
		}
		got[WHOS] = 0;
		note("%s=%s", level, got);
	}
}

/* The range: limits, order, and what is no group of the namespace's owner */
static void groups(const struct api_case *c)
{
	static const char *const v[] = { "4000 4000", "4001 4001", "0 2147483647",
					 "4001 4000", "3000 3999" };
	unsigned int i;

	(void)c;
	need(!unshare(CLONE_NEWNET));
	put_ok(ACCESS, "2");
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		put_ok(GROUPS, v[i]);
		sweep(i, apart(socket_as, EGID));
	}
	sweep_end("egid");
	r("large", put(GROUPS, "0 2147483648"));
	r("text", put(GROUPS, "x"));
	put_ok(GROUPS, "4001 4000");
	r("kept", apart(socket_as, ROOT));
}

/* A refusal is counted in its namespace; a socket that exists goes on. */
static void refused(const struct api_case *c)
{
	int fd;
	long was;

	(void)c;
	need(!unshare(CLONE_NEWNET));
	need(!system("ip link set lo up"));
	fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	need(fd >= 0);
	put_ok(ACCESS, "0");
	was = drops("access_denied");
	r("socket", try_socket());
	r("again", try_socket());
	r("counted", drops("access_denied") - was);
	r("type", socket(AF_RDS, SOCK_STREAM, 0) < 0 ? -errno : 0);
	r("bind", do_bind(fd, "127.0.0.1", 4000));
	put_ok(ACCESS, "1");
	r("back", try_socket());
}

/* What the root of a user namespace may write in its network namespace */
static long owner_writes(long fd)
{
	char go;

	if (!user_mode && other_user())
		return -errno;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return -errno;
	r("socket", try_socket());
	r("raise", put(ACCESS, "3"));
	r("same", put(ACCESS, "1"));
	r("groups", put(GROUPS, "0 100"));
	r("no_groups", put(GROUPS, "1 0"));
	r("lower", put(ACCESS, "0"));
	r("socket", try_socket());
	r("again", put(ACCESS, "1"));
	r("new", put(NEW, "3"));
	if (fd < 0)
		return 0;
	/* The administrator of the host raises it. */
	need(write(fd, "", 1) == 1 && read(fd, &go, 1) == 1);
	r("raised", file_number(ACCESS));
	r("socket", try_socket());
	return 0;
}

static void owner(const struct api_case *c)
{
	int pair[2], ns, status;
	char path[64], go;
	pid_t pid;

	(void)c;
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	fflush(NULL);
	pid = fork();
	need(pid >= 0);
	if (!pid) {
		close(pair[0]);
		_exit(-owner_writes(pair[1]));
	}
	close(pair[1]);
	need(read(pair[0], &go, 1) == 1);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	ns = open(path, O_RDONLY);
	need(ns >= 0 && !setns(ns, CLONE_NEWNET));
	put_ok(ACCESS, "3");
	need(write(pair[0], "", 1) == 1);
	need(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	r("done", -WEXITSTATUS(status));
}

static void owner_alone(const struct api_case *c)
{
	(void)c;
	r("done", apart(owner_writes, -1));
}

/* The level of namespaces that are made from now on */
static long new_level(long unused)
{
	(void)unused;
	need(!unshare(CLONE_NEWNET));
	r("new", file_number(ACCESS));
	r("socket", try_socket());
	return 0;
}

static void access_new(const struct api_case *c)
{
	static const char *const v[] = { "0", "3", "-1", "4" };
	unsigned int i;
	long err;

	(void)c;
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		err = put(NEW, v[i]);
		r(v[i], err);
		need(!apart(new_level, 0));
	}
	put_ok(NEW, "1");
	need(!apart(new_level, 0));
	/* A namespace that exists keeps its level, here that of api.sh. */
	r("own", file_number(ACCESS));
}

static void level_range(const struct api_case *c)
{
	static const char *const v[] = { "-1", "4", "x", "2" };
	unsigned int i;

	(void)c;
	need(!unshare(CLONE_NEWNET));
	for (i = 0; i < ARRAY_SIZE(v); i++)
		r(v[i], put(ACCESS, v[i]));
	r("is", file_number(ACCESS));
}

/* The lists of networks, and how a connection is counted that one keeps out */
static const struct list {
	const char *path, *why;
} peers_list = { PEERS, "peer_denied" }, listen_list = { LISTEN, "address_denied" };

static void list_put(const struct list *list, const char *text)
{
	int fd = ns_open(NS_B, list->path, O_WRONLY);

	need(fd >= 0 && write(fd, text, strlen(text)) > 0);
	close(fd);
}

static void list_get(const struct list *list, char *text, size_t size)
{
	int fd = open(list->path, O_RDONLY);
	ssize_t n = read(fd, text, size - 1);

	need(n >= 0);
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	close(fd);
}

/* What is read back after each is written; a bad one changes nothing. */
static void list_text(const struct list *list, const struct list *other)
{
	static const char *const v[] = {
		"10.0.0.1", "10.1.2.3/8 fd00::/16", "0.0.0.0/0 ::/0", "fe80::1",
		"10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "x",
		"10.0.0.1/8/8", "::ffff:10.0.0.1", "\n",
	};
	char text[64], many[33 * 9 + 1];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(v); i++) {
		long err = put(list->path, v[i]);

		list_get(list, text, sizeof(text));
		if (err)
			r(NULL, err);
		else
			note("(%s)", text);
	}
	for (i = 0; i < 33; i++)
		memcpy(many + i * 9, "10.0.0.1 ", 10);
	r("33", put(list->path, many));
	many[32 * 9] = 0;
	r("32", put(list->path, many));
	list_get(other, text, sizeof(text));
	note("other=(%s)", text);
	put_ok(list->path, "\n");
}

static void peers_text(const struct api_case *c)
{
	(void)c;
	list_text(&peers_list, &listen_list);
}

static void listen_text(const struct api_case *c)
{
	(void)c;
	list_text(&listen_list, &peers_list);
}

/* A count of refusals in B, and its value a while ago */
struct refusals {
	const char *why;
	long was;
};

static bool denied(void *arg)
{
	const struct refusals *n = arg;

	return drops_in(NS_B, n->why) > n->was;
}

static bool refuses(const struct list *list)
{
	struct refusals n = { list->why, drops_in(NS_B, list->why) };

	return wait_true(denied, &n, 15000);
}

#define UNDER_WAY	40

/* Receive messages of @size bytes, @size + 1 and so on; returns the next. */
static long take(int fd, long size, long end, int flags)
{
	char b[256];
	long n;

	for (; size < end; size++) {
		n = recv(fd, b, sizeof(b), flags);
		if (n < 0 && errno == EAGAIN)
			break;
		if (n != size)
			bail("%ld bytes instead of %ld", n, size);
	}
	return size;
}

/*
 * A dials B, which closes the connection when the list does not permit it any
 * more, and refuses A until the list does.  Nothing is lost.
 */
static void list_closes(const struct api_case *c, const struct list *list)
{
	struct link l = link_open(c->num);
	long size, last = UNDER_WAY, at;

	need(send_to(l.tx, &l.to, 1, 0) == 1);
	r("first", take(l.rx, 1, 2, 0));
	link_sync(&l);
	for (size = 2; size < last; size++)
		need(send_to(l.tx, &l.to, size, 0) == size);
	list_put(list, c->arg);
	/* From the first refusal on the connection is closed. */
	r("refused", refuses(list));
	need(send_to(l.tx, &l.to, last, 0) == last);
	r("again", refuses(list));
	at = take(l.rx, 2, last + 1, MSG_DONTWAIT);
	r("kept_out", at <= last);
	list_put(list, "10.0.0.0/24 fd00::/64");
	r("then", take(l.rx, at, last + 1, 0) - last);
	list_put(list, "\n");
	link_sync(&l);
}

static void peers(const struct api_case *c)
{
	list_closes(c, &peers_list);
}

/* The number of lines in the kernel's log that have the text */
static int log_lines(const char *text)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK), lines = 0;
	char b[8192];
	ssize_t n;

	need(fd >= 0);
	while ((n = read(fd, b, sizeof(b) - 1)) > 0 || errno == EPIPE) {
		if (n < 0)
			continue;
		b[n] = 0;
		lines += !!strstr(b, text);
	}
	need(errno == EAGAIN);
	close(fd);
	return lines;
}

static bool logged(void *text)
{
	return log_lines(text) > 0;
}

/* The log is slower than the connections are. */
static void listen_at(const struct api_case *c)
{
	long peers_were = drops_in(NS_B, peers_list.why);

	list_closes(c, &listen_list);
	r("logged", wait_true(logged, "see net.rds.listen_networks", 5000));
	r("rarely", log_lines("see net.rds.listen_networks") <
			    drops_in(NS_B, listen_list.why));
	r("peers", drops_in(NS_B, peers_list.why) - peers_were);
}

/*
 * Give a namespace a further address, which it keeps: a TCP connection that has
 * lost its address ends late, and its namespace with it.
 */
static void ip_add(const char *ns, const char *addr)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "ip -n %s addr replace %s/%d dev veth0%s", ns, addr,
		 strchr(addr, ':') ? 64 : 24, strchr(addr, ':') ? " nodad" : "");
	need(!system(command));
}

/* Send a message from @tx to @rx and receive it. */
static long arrives(int tx, int rx)
{
	union addr to = name_of(rx);
	char b[64];

	need(send_to(tx, &to, 5, 0) == 5);
	return recv(rx, b, sizeof(b), 0);
}

/* B gets an address that is in the list already. */
static void listen_added(const struct api_case *c)
{
	list_put(&listen_list, c->arg);
	ip_add("B", c->arg);
	r("arrived", arrives(bound(NS_A, c->num == TCP6 ? A6 : A4, 0),
			     bound(NS_B, c->arg, 0)));
	list_put(&listen_list, "\n");
}

/*
 * B dials an address of A that is larger, from one that is not in the list.
 * Those of other cases are: their connections are not refused meanwhile.
 */
static void listen_dials(const struct api_case *c)
{
	const char *larger = c->num == TCP6 ? "fd00::be" : "10.0.0.190";
	struct refusals n = { listen_list.why, 0 };
	int tx, rx;

	list_put(&listen_list, "10.0.0.0/25 fd00::/121");
	ip_add("A", larger);
	ip_add("B", c->arg);
	n.was = drops_in(NS_B, n.why);
	rx = bound(NS_A, larger, 0);
	tx = bound(NS_B, c->arg, 0);
	r("there", arrives(tx, rx));
	r("back", arrives(rx, tx));
	r("refused", denied(&n));
	list_put(&listen_list, "\n");
}

#define LISTED	"first=2 refused=1 again=1 kept_out=1 then=1"
#define TEXTS	"(10.0.0.1/32) (10.1.2.3/8 fd00::/16) (0.0.0.0/0 ::/0) (fe80::1/128) EINVAL EINVAL " \
	"EINVAL EINVAL EINVAL EINVAL EINVAL () 33=EINVAL 32=0 other=()"

#define OWNER "socket=0 raise=EPERM same=0 groups=EPERM no_groups=0 lower=0 socket=EACCES " \
	"again=EPERM new=EACCES"

const struct api_case access_cases[] = {
	{ "access.defaults", defaults, "first=3 new=1 groups=1 socket=0", .flags = C_OURS },
	{ "access.levels", levels, "0=---- 1=r--- 2=rgm- 3=rgmo", .flags = C_OURS | C_ROOT },
	{ "access.groups", groups, "egid=0:0,1:EACCES,2:0,3-4:EACCES large=EINVAL text=EINVAL kept=0",
	  .flags = C_OURS | C_ROOT },
	{ "access.range", level_range, "-1=EINVAL 4=EINVAL x=EINVAL 2=0 is=2", .flags = C_OURS |
	  C_ROOT },
	{ "access.refused", refused, "socket=EACCES again=EACCES counted=2 type=ESOCKTNOSUPPORT "
	  "bind=0 back=0", .flags = C_OURS | C_ROOT },
	{ "access.owner", owner, OWNER " raised=3 socket=0 done=0", .flags = C_OURS | C_ROOT },
	{ "access.owner_alone", owner_alone, OWNER " done=0", .flags = C_OURS },
	{ "access.new", access_new, "0=0 new=0 socket=EACCES 3=0 new=3 socket=0 -1=EINVAL new=3 "
	  "socket=0 4=EINVAL new=3 socket=0 new=1 socket=0 own=3", .flags = C_OURS | C_ROOT },
	{ "access.peers_text", peers_text, TEXTS, .flags = C_OURS | C_ROOT },
	{ "access.peers.tcp4", peers, LISTED, .flags = C_OURS | C_ROOT, .num = TCP4,
	  .arg = "10.0.0.0/32 10.0.0.2 10.0.0.128/25 fd00::/64 ::/0" },
	{ "access.peers.tcp6", peers, LISTED, .flags = C_OURS | C_ROOT, .num = TCP6,
	  .arg = "10.0.0.0/24 fd00:0:0:1::/64 fd00::2 0.0.0.0/0" },
	{ "access.listen_text", listen_text, TEXTS, .flags = C_OURS | C_ROOT },
	{ "access.listen.tcp4", listen_at, LISTED " logged=1 rarely=1 peers=0",
	  .flags = C_OURS | C_ROOT, .num = TCP4,
	  .arg = "10.0.0.1 10.0.0.3/32 10.0.0.128/25 fd00::/64 ::/0" },
	{ "access.listen.tcp6", listen_at, LISTED " logged=1 rarely=1 peers=0",
	  .flags = C_OURS | C_ROOT, .num = TCP6,
	  .arg = "10.0.0.0/24 fd00:0:0:1::/64 fd00::1 0.0.0.0/0" },
	{ "access.listen_added.tcp4", listen_added, "arrived=5", .flags = C_OURS | C_ROOT,
	  .num = TCP4, .arg = "10.0.0.77" },
	{ "access.listen_added.tcp6", listen_added, "arrived=5", .flags = C_OURS | C_ROOT,
	  .num = TCP6, .arg = "fd00::77" },
	{ "access.listen_dials.tcp4", listen_dials, "there=5 back=5 refused=0",
	  .flags = C_OURS | C_ROOT, .num = TCP4, .arg = "10.0.0.180" },
	{ "access.listen_dials.tcp6", listen_dials, "there=5 back=5 refused=0",
	  .flags = C_OURS | C_ROOT, .num = TCP6, .arg = "fd00::b4" },
	{ }
};

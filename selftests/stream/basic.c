// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-stream-basic tcp|rds|inet LABEL SERVER [CLIENT [CASE...]]: runs the cases
 * of basic.h on TCP, AF_RDS or IPPROTO_RDS_STREAM and prints a result
 * stream.LABEL.CASE for each. SERVER and CLIENT are addresses of this host; "-"
 * for CLIENT leaves the choice to connect().
 *
 * A case that hangs is ended by SIGALRM. When a call gives something else than
 * on TCP, a line before the result says what was got and what was wanted.
 */
#define _GNU_SOURCE
#include "basic.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct env env;

static const struct test *const all[] = {
	setup_tests, call_tests, option_tests, end_tests, poll_tests,
	bulk_tests, inet_tests, unlike_tests,
};

/* ---- results of calls */

void unlike_at(int line, const char *id, const char *what, long got, long tcp,
	       long rds, long inet)
{
	long want = env.family == AF_RDS ? rds : env.protocol ? inet : tcp;

	want_at(line, what, got, want);
	if (want != tcp)
		printf("# unlike TCP: %s %s %s\n", env.kind, id, env.test);
}

static const char *bits(short b, char *room, size_t len)
{
	static const struct { short bit; const char *name; } names[] = {
		{ POLLIN, "IN" }, { POLLOUT, "OUT" }, { POLLPRI, "PRI" },
		{ POLLRDHUP, "RDHUP" }, { POLLHUP, "HUP" }, { POLLERR, "ERR" },
		{ POLLNVAL, "NVAL" },
	};
	size_t at = 0;

	room[0] = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (b & names[i].bit)
			at += (size_t)snprintf(room + at, len - at, "%s%s",
					       at ? "|" : "", names[i].name);
	return at ? room : "nothing";
}

struct bits_wanted {
	int fd;
	short bits, seen;
};

static bool bits_came(void *arg)
{
	struct bits_wanted *w = arg;
	struct pollfd p = { .fd = w->fd,
			    .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP };

	poll(&p, 1, 0);
	w->seen = p.revents;
	return w->seen == w->bits;
}

void want_poll(int line, const char *what, int fd, short want)
{
	struct bits_wanted w = { .fd = fd, .bits = want };
	char g[64], t[64];

	if (wait_until(bits_came, &w, WAIT_MS))
		return;
	wants_failed++;
	printf("# line %d: poll of %s: got %s, want %s\n", line, what,
	       bits(w.seen, g, sizeof(g)), bits(want, t, sizeof(t)));
}

/* ---- sockets */

int opened(int flags)
{
	int fd = socket(env.family, SOCK_STREAM | SOCK_CLOEXEC | flags,
			env.protocol);

	if (fd < 0)
		die("socket: %m");
	return fd;
}

int dialler(int flags)
{
	int fd = opened(flags);

	if (env.client.sa.sa_family &&
	    bind(fd, &env.client.sa, addr_len(&env.client)))
		die("bind: %m");
	return fd;
}

int listening(union addr *a, int backlog)
{
	int fd = opened(0);

	if (bind(fd, &env.server.sa, addr_len(&env.server)) ||
	    listen(fd, backlog))
		die("listen: %m");
	*a = name_of(fd);
	return fd;
}

int dial(int fd, const union addr *a)
{
	return (int)err(connect(fd, &a->sa, addr_len(a)));
}

struct pair paired(void)
{
	union addr a;
	struct pair p = { .l = listening(&a, 8), .a = dialler(0) };

	if (dial(p.a, &a))
		die("connect: %m");
	p.b = accept4(p.l, NULL, NULL, SOCK_CLOEXEC);
	if (p.b < 0)
		die("accept: %m");
	return p;
}

void unpair(struct pair *p)
{
	close(p->a);
	close(p->b);
	close(p->l);
}

void nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK))
		die("fcntl: %m");
}

void put(int fd, size_t len, unsigned int seed)
{
	unsigned char *p = malloc(len);
	size_t done = 0;
	ssize_t n;

	fill(p, len, seed);
	while (done < len) {
		n = send(fd, p + done, len - done, MSG_NOSIGNAL);
		if (n < 0)
			die("send: %m");
		done += (size_t)n;
	}
	free(p);
}

bool got(int fd, size_t len, unsigned int seed)
{
	unsigned char *p = malloc(len);
	size_t done = 0;
	ssize_t n = 1;
	bool ok;

	while (done < len && n > 0) {
		n = recv(fd, p + done, len - done, 0);
		done += n > 0 ? (size_t)n : 0;
	}
	ok = done == len && filled(p, len, seed);
	if (done != len)
		printf("# %zu of %zu bytes came: %m\n", done, len);
	free(p);
	return ok;
}

struct amount {
	int fd, want, have;
};

static bool amount_there(void *arg)
{
	struct amount *a = arg;

	if (ioctl(a->fd, FIONREAD, &a->have))
		die("FIONREAD: %m");
	return a->have == a->want;
}

bool arrived(int fd, int len)
{
	struct amount a = { fd, len, 0 };

	if (wait_until(amount_there, &a, WAIT_MS))
		return true;
	printf("# %d bytes can be read, not %d\n", a.have, len);
	return false;
}

/*
 * What is under way may make room again, and poll() does not report a little
 * room, so it is full when there is none twice, with a moment between in which
 * bytes within the host come to rest.
 */
size_t fill_up(int fd)
{
	static char chunk[65536];
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	size_t sum = 0;
	int none = 0;

	while (none < 2) {
		ssize_t n = send(fd, chunk, none ? 1 : sizeof(chunk),
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			die("send: %m");
		none = n < 0 ? none + 1 : 0;
		sum += n > 0 ? (size_t)n : 0;
		if (none == 1)
			poll(&p, 1, 300 * slow_factor());
	}
	return sum;
}

static bool sleeps(void *arg)
{
	char path[64], line[256], state = 0;
	const pid_t *tid = arg;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", *tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(line, sizeof(line), f) && strrchr(line, ')'))
		state = strrchr(line, ')')[2];
	fclose(f);
	return state == 'S';
}

static void *thread(void *arg)
{
	struct sleeper *s = arg;

	s->tid = (pid_t)syscall(SYS_gettid);
	s->result = err(s->call(s));
	return NULL;
}

pthread_t sleeping(struct sleeper *s)
{
	pthread_t t;
	pid_t tid;

	s->tid = 0;
	if (pthread_create(&t, NULL, thread, s))
		die("no thread");
	while (!s->tid)
		sched_yield();
	tid = s->tid;
	TRUE(wait_until(sleeps, &tid, WAIT_MS));
	return t;
}

long receives(struct sleeper *s)
{
	return recv(s->fd, s->buf, s->len, s->flags);
}

bool child_ok(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && !status;
}

/* ---- cases */

static void run(const void *arg)
{
	const struct test *t = arg;

	env.test = t->name;
	t->run();
}

static bool chosen(const struct test *t, const struct test *group, char **words)
{
	bool any = !*words;

	if (group == inet_tests && env.family == AF_RDS)
		return false;
	for (; *words; words++)
		any |= !strcmp(t->name, *words);
	return any;
}

int main(int argc, char **argv)
{
	const size_t groups = sizeof(all) / sizeof(all[0]);
	char **words = argv + (argc < 5 ? argc : 5);
	const struct test *t;
	int n = 0;

	if (argc < 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	env.kind = argv[1];
	env.server = addr_of(argv[3], 0);
	env.family = strcmp(argv[1], "rds") ? env.server.sa.sa_family : AF_RDS;
	env.protocol = strcmp(argv[1], "inet") ? 0 : IPPROTO_RDS_STREAM;
	if (argc > 4 && strcmp(argv[4], "-"))
		env.client = addr_of(argv[4], 0);
	for (size_t g = 0; g < groups; g++)
		for (t = all[g]; t->name; t++)
			n += chosen(t, all[g], words);
	ktap_plan(n);
	for (size_t g = 0; g < groups; g++)
		for (t = all[g]; t->name; t++)
			if (chosen(t, all[g], words))
				ktap_ok(run_alone(t->name, run, t),
					"stream.%s.%s", argv[2], t->name);
	return ktap_exit();
}

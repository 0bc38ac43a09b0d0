// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The parent process of rds-stress: negotiate options with the other side,
 * start the tasks, end them.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rdma.h"

#define START_DELAY_US	2000000
#define BURN_IN_S	4

static struct shared *shared;
static struct soaker *soaker;
static pid_t *child_pid;	/* by child; 0 after waitpid() */
static unsigned int nr_children;
static pid_t parent;
static volatile sig_atomic_t got_signal;

static void on_signal(int sig)
{
	got_signal = sig;
}

/* kill() of 0 or a negative number would signal whole process groups. */
static void signal_children(int sig)
{
	unsigned int i;

	for (i = 0; i < nr_children; i++)
		if (child_pid[i] > 0)
			kill(child_pid[i], sig);
}

/* The parent kills its children before it ends, also after an error. */
void leave(int status)
{
	fflush(stdout);
	if (getpid() != parent)
		_exit(status);
	signal_children(SIGKILL);
	soak_stop(soaker);
	exit(status);
}

void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	leave(1);
}

static int complain(const char *fmt, va_list ap)
{
	int err = errno;

	fflush(stdout);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, ", errno: %d (%s)\n", err, strerror(err));
	return err;
}

int complain_errno(const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = complain(fmt, ap);
	va_end(ap);
	return err;
}

void die_errno(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap);
	va_end(ap);
	leave(1);
}

const char *ip_str(uint32_t host_order, char buf[INET_ADDRSTRLEN])
{
	struct in_addr a = { htonl(host_order) };

	return inet_ntop(AF_INET, &a, buf, INET_ADDRSTRLEN);
}

/* End the run if a child ended before the start. */
static void check_starting(void)
{
	unsigned int i;

	for (i = 0; i < nr_children; i++) {
		pid_t pid = child_pid[i];

		if (waitpid(pid, NULL, WNOHANG) == pid) {
			child_pid[i] = 0;
			die("child %u (pid %d) exited\n", i, pid);
		}
	}
}

static void start_children(const struct options *o, int control)
{
	size_t size = sizeof(*shared) + o->tasks * sizeof(struct child);
	unsigned int ready = 0;
	int fds[2];
	char byte;

	shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child_pid = calloc(o->tasks, sizeof(*child_pid));
	if (shared == MAP_FAILED || !child_pid || pipe(fds))
		die_errno("cannot start the tasks");
	fflush(stdout);
	while (nr_children < o->tasks) {
		pid_t pid = fork();

		if (pid < 0)
			die_errno("fork() failed");
		if (!pid) {
			signal(SIGINT, SIG_IGN);
			signal(SIGTERM, SIG_DFL);
			close(control);
			close(fds[0]);
			run_child(o, shared, nr_children, parent, fds[1]);
		}
		child_pid[nr_children++] = pid;
	}
	close(fds[1]);
	while (ready < nr_children) {
		struct pollfd pfd = { .fd = fds[0], .events = POLLIN };

		/* End of file on the pipe: a child ended before being ready. */
		if (poll(&pfd, 1, 100) > 0) {
			if (read(fds[0], &byte, 1) == 1)
				ready++;
			else
				poll(NULL, 0, 10);
		}
		check_starting();
		if (got_signal)
			leave(128 + got_signal);
	}
	close(fds[0]);
}

static void describe_end(pid_t pid, int status, bool *bad)
{
	if (WIFEXITED(status) && WEXITSTATUS(status)) {
		fprintf(stderr, "child pid %d exited with status %d\n", pid,
			WEXITSTATUS(status));
		*bad = true;
	} else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM) {
		fprintf(stderr, "child pid %d exited with signal %d\n", pid,
			WTERMSIG(status));
		*bad = true;
	}
}

/* waitpid() for children that ended. Returns false if one of them failed. */
static bool reap(bool wait)
{
	bool bad = false;
	unsigned int i;
	int status;

	for (i = 0; i < nr_children; i++) {
		pid_t pid = child_pid[i];

		if (pid <= 0 ||
		    waitpid(pid, &status, wait ? 0 : WNOHANG) != pid)
			continue;
		child_pid[i] = 0;
		describe_end(pid, status, &bad);
	}
	return !bad;
}

/*
 * Wait until time @until. Returns false early if a signal arrives or the
 * control connection is closed.
 */
static bool wait_until(int control, uint64_t until)
{
	struct pollfd pfd = { .fd = control, .events = POLLIN | POLLRDHUP };
	sigset_t none;
	uint64_t now;

	sigemptyset(&none);
	while ((now = rt_now_us()) < until) {
		struct timespec ts = {
			(until - now) / 1000000, (until - now) % 1000000 * 1000,
		};
		int n = ppoll(&pfd, 1, &ts, &none);

		if (got_signal || n > 0)
			return false;
	}
	return true;
}

static void set_realtime(void)
{
	struct sched_param param = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_RR, &param))
		die_errno("sched_setscheduler(SCHED_RR) failed");
}

/* Returns false if a child failed or the passive side closed the connection. */
static bool measure(const struct options *o, struct report *r, int control,
		    uint64_t next)
{
	uint64_t begin = next;
	bool alive;

	for (;;) {
		next += 1000000;
		alive = wait_until(control, next);
		if (!alive && !o->active)
			return reap(false);
		if (!alive && !got_signal) {
			fprintf(stderr,
				"Peer unexpectedly closed connection\n");
			return false;
		}
		if (!alive)
			return reap(false);
		report_line(r);
		if (!reap(false))
			return false;
		if (o->active && o->run_time &&
		    rt_now_us() - begin >= o->run_time * 1000000ULL)
			return true;
	}
}

static bool burn_in(struct report *r, int control, uint64_t *next)
{
	unsigned int i;

	printf("Starting up");
	for (i = 0; i < BURN_IN_S; i++) {
		fflush(stdout);
		*next += 1000000;
		if (!wait_until(control, *next)) {
			printf("\n");
			return false;
		}
		report_discard(r);
		printf(".");
	}
	printf("\n");
	return true;
}

static bool stop_children(void)
{
	bool fine;

	atomic_store(&shared->stopping, true);
	/* Keep the sockets open for 1 s, while the other side is stopping. */
	poll(NULL, 0, 1000);
	fine = reap(false);
	signal_children(SIGTERM);
	fine = reap(true) && fine;
	return fine;
}

static int run(const struct options *o, int control)
{
	struct report *r = report_new(o, shared, soaker);
	uint64_t next = rt_now_us();
	bool fine = true;

	atomic_store(&shared->start_us, next + START_DELAY_US);
	if (burn_in(r, control, &next)) {
		if (o->rtprio)
			set_realtime();
		report_header(r);
		fine = measure(o, r, control, next);
	} else if (!got_signal) {
		fprintf(stderr, "Peer unexpectedly closed connection\n");
		fine = !o->active;
	}
	close(control);
	fine = stop_children() && fine;
	soak_stop(soaker);
	soaker = NULL;
	if (!fine)
		return 1;
	report_summary(r);
	return got_signal ? 128 + got_signal : 0;
}

static void negotiate(struct options *o, int control)
{
	static const char text[] =
		"negotiated options, tasks will start in 2 seconds\n";
	uint8_t msg[LONG_LEN] = { 0 };
	uint8_t go = 0;

	if (o->active) {
		fputs(text, stdout);
		control_send(control, msg, encode_options(msg, o));
		start_children(o, control);
		control_send(control, &go, 1);
		control_recv(control, &go, 1);
		return;
	}
	start_children(o, control);
	control_recv(control, &go, 1);
	control_send(control, &go, 1);
	fputs(text, stdout);
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

/* End the connection of the two hosts: messages under way are sent again. */
static void __attribute__((noreturn)) reset_connection(const struct options *o)
{
	struct rds_reset reset = {
		.tos = o->tos,
		.src = htonl(o->recv_addr),
		.dst = htonl(o->send_addr),
	};
	int fd = bound_socket(o, o->port);

	if (setsockopt(fd, rt_level(), SO_RDS_TRANSPORT, &reset, sizeof(reset)))
		die_errno("setsockopt RDS_CONN_RESET failed");
	leave(0);
}

int main(int argc, char **argv)
{
	bool own_addr;
	struct options o;
	int control, fd, status;

	parent = getpid();
	setvbuf(stdout, NULL, _IOLBF, 0);
	parse_args(&o, argc, argv);
	/* Fail without RDS before the other side waits for this one. */
	fd = rt_socket();
	if (fd < 0) {
		rt_hint_socket(complain_errno("socket(%d, 5, 0) failed",
					      rt_family()));
		leave(1);
	}
	close(fd);
	if (o.reset)
		reset_connection(&o);
	if (o.soak)
		soaker = soak_start();
	own_addr = o.recv_addr;
	if (o.active && o.show_params)
		report_params(&o);
	if (o.active && o.rdma_size && own_addr)
		rdma_probe(&o);
	control = o.active ? control_connect(&o) : control_accept(&o);
	/* A passive side learns from the options whether RDMA is needed. */
	if (o.rdma_size && (!o.active || !own_addr))
		rdma_probe(&o);
	catch_signals();
	negotiate(&o, control);
	status = run(&o, control);
	leave(status);
}

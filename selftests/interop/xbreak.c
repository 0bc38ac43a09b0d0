// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Breaks and heals the network through another program: this end writes a line
 * to it, and gets the name of the kind of break back when all is healed. What
 * is measured is how long a stream gets no message.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "xchg.h"

void break_open(struct xchg *x)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	x->brk.fd = -1;
	if (!x->o.breaker)
		return;
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", x->o.breaker);
	x->brk.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (x->brk.fd < 0 || connect(x->brk.fd, (void *)&a, sizeof(a)))
		die("%s: %s", x->o.breaker, strerror(errno));
}

/* A stream gets a message, the last one came at @last. */
void break_heard(struct xchg *x, uint64_t last, uint64_t now)
{
	struct breaks *b = &x->brk;

	if (b->state == BREAK_NONE)
		return;
	last = last > b->began ? last : b->began;
	if (now - last > b->gap)
		b->gap = now - last;
}

static struct break_kind *kind_of(struct breaks *b, const char *name)
{
	unsigned int i;

	for (i = 0; i < MAX_KINDS - 1; i++) {
		if (!strcmp(b->kinds[i].name, name))
			return &b->kinds[i];
		if (!*b->kinds[i].name)
			break;
	}
	snprintf(b->kinds[i].name, sizeof(b->kinds[i].name), "%s", name);
	return &b->kinds[i];
}

/* Has each stream got a message since all is healed? */
static bool all_heard(const struct xchg *x)
{
	unsigned int i;

	for (i = 0; i < x->o.streams; i++) {
		const struct rxs *r = &x->s[i].rx;

		if (!r->done && r->last_ns <= x->brk.healed)
			return false;
	}
	return true;
}

static void note(struct breaks *b, uint64_t now)
{
	struct break_kind *k = kind_of(b, b->name);

	k->times++;
	if (b->gap > k->gap)
		k->gap = b->gap;
	if (now - b->healed > k->after)
		k->after = now - b->healed;
}

static void begin(struct breaks *b, uint64_t now)
{
	if (send(b->fd, "break", 5, 0) != 5)
		die("breaker: %s", strerror(errno));
	b->state = BREAK_RUNS;
	b->began = now;
	b->gap = 0;
}

static void look(struct breaks *b)
{
	ssize_t n = recv(b->fd, b->name, sizeof(b->name) - 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		die("the breaker is gone");
	b->name[n] = 0;
	b->state = BREAK_HEALED;
	b->healed = now_ns();
}

bool break_one(struct xchg *x)
{
	struct breaks *b = &x->brk;
	uint64_t now = now_ns();

	if (b->state == BREAK_NONE)
		begin(b, now);
	if (b->state == BREAK_RUNS)
		look(b);
	if (b->state != BREAK_HEALED || !all_heard(x))
		return false;
	note(b, now_ns());
	b->state = BREAK_NONE;
	return true;
}

void break_report(const struct xchg *x)
{
	const struct break_kind *k;

	for (k = x->brk.kinds; k < x->brk.kinds + MAX_KINDS && *k->name; k++)
		printf("# %s: %s %u times, a stream had nothing for %llu ms at most, and for %llu ms once healed\n",
		       x->o.label, k->name, k->times,
		       (unsigned long long)(k->gap / MS),
		       (unsigned long long)(k->after / MS));
}

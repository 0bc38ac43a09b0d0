// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sender and receiver of rdscat, with a link that delivers messages of the
 * input.  The first byte of the input selects the end, the next byte gives the
 * size of its buffers.  Messages follow, each after one byte of HOW_* flags and
 * one byte with the message's length.  Time passes only in rc_link_wait() and
 * rt_drain().
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "quiet.h"
#include "rdscat.h"

/* Flags in the first byte before a message */
#define HOW_OURS	0x01	/* correct the magic, version and session */
#define HOW_STRANGER	0x02	/* the message comes from another address */
#define HOW_NOTHING	0x04	/* then no message, until the program waits */
#define HOW_FULL	0x08	/* the next send fails with RC_FULL */
#define HOW_LATE	0x10	/* the wait after an invalid message is long */

#define FILE_LEN	3000	/* bytes of the sender's input */
#define MAX_WAITS	64	/* after the last message: interrupt */

static const struct rc_options options = {
	.quiet = true, .timeout_us = 1000000,
	.addr = { .in = { .sin_family = AF_INET, .sin_port = 1 } },
	.src = { .in = { .sin_family = AF_INET, .sin_port = 2 } },
	.have_src = true,
};

static struct fuzz_in in;
static uint8_t *message, how;
static uint64_t now, session, told;
static unsigned int waits;
static bool listens, full;

static uint8_t file_byte(uint64_t offset)
{
	return offset * 7 + (offset >> 8);
}

ssize_t __wrap_getrandom(void *buf, size_t len, unsigned int flags);

/* A constant session number, so that an input always has the same result. */
ssize_t __wrap_getrandom(void *buf, size_t len, unsigned int flags)
{
	(void)flags;
	memset(buf, 0x5a, len);
	return len;
}

uint64_t rt_now_us(void)
{
	return now;
}

int rt_source_for(const union rt_addr *dst, union rt_addr *src)
{
	*src = *dst;
	return 0;
}

bool rt_drain(int fd, const union rt_addr *self, unsigned int timeout_ms)
{
	(void)fd;
	(void)self;
	now += timeout_ms * 1000;
	return true;
}

void rc_complain(const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int i;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (i = 0; text[i]; i++)
		HOLDS(text[i] >= ' ' && text[i] <= '~');
	fputs(text, stderr);
}

void rc_progress(uint64_t bytes, uint64_t size, bool last)
{
	(void)last;
	HOLDS(listens || bytes <= size);
}

int rc_interrupted(void)
{
	return waits > MAX_WAITS ? 15 : 0;
}

int rc_link_open(struct rc_link *l, const union rt_addr *self, int transport)
{
	(void)transport;
	l->fd = -1;
	l->self = *self;
	l->rcv = fuzz_byte(&in) << 12;
	l->snd = l->rcv;
	return 0;
}

/* Check that a sent message is valid, and that its data are from the file. */
static void judge(const struct rc_frame *f)
{
	uint8_t hdr[RC_HDR_LEN];
	struct rc_frame again;
	size_t i;

	rc_encode(hdr, f);
	HOLDS(rc_decode(hdr, sizeof(hdr), &again) &&
	      again.version == RC_VERSION);
	HOLDS(again.type == f->type && again.session == f->session &&
	      again.arg == f->arg);
	HOLDS(f->len <= RC_MAX_PAYLOAD);
	if (f->type == RC_DATA) {
		HOLDS(!listens && f->len && f->offset + f->len <= FILE_LEN);
		for (i = 0; i < f->len; i++)
			HOLDS(f->payload[i] == file_byte(f->offset + i));
	}
	if (f->type == RC_ACK) {
		HOLDS(listens && f->offset >= told);
		told = f->offset;
	}
}

int rc_link_send_to(struct rc_link *l, const union rt_addr *to,
		    const struct rc_frame *f)
{
	HOLDS(to->sa.sa_family == AF_INET);
	judge(f);
	if (full) {
		full = false;
		l->blocked = RC_FULL;
		return 0;
	}
	l->blocked = RC_FREE;
	return 1;
}

int rc_link_send(struct rc_link *l, const struct rc_frame *f)
{
	struct rc_frame own = *f;

	session = l->session;
	own.session = session;
	if (rc_link_send_to(l, &l->peer, &own) <= 0)
		return 0;
	l->last_tx = now;
	return 1;
}

int rc_link_recv(struct rc_link *l, struct rc_frame *f, union rt_addr *from)
{
	struct rc_frame fixed = { 0 };
	size_t len;

	if (how & HOW_NOTHING || !in.n) {
		how = 0;
		return 0;
	}
	how = fuzz_byte(&in);
	full = how & HOW_FULL;
	free(message);
	message = fuzz_copy(&in, fuzz_byte(&in), &len);
	*from = options.addr;
	if (how & HOW_STRANGER)
		from->in.sin_port = 3;
	if (how & HOW_OURS && len >= RC_HDR_LEN) {
		fixed.type = message[5];
		fixed.flags = message[6] << 8 | message[7];
		fixed.session = l->session;
		memcpy(&fixed.offset, message + 8, 8);
		memcpy(&fixed.arg, message + 16, 8);
		rc_encode(message, &fixed);
	}
	return rc_decode(message, len, f);
}

void rc_link_pace(struct rc_link *l, uint64_t peer_timeout_ms)
{
	(void)peer_timeout_ms;
	l->alive_us = 100000;
}

short rc_link_wait(struct rc_link *l, bool want_send, int fd, short events,
		   uint64_t until)
{
	(void)want_send;
	now += how & HOW_LATE ? 300000 : 1000;
	if (!in.n) {
		waits++;
		if (until > now && until - now < 10000000)
			now = until;
	}
	l->blocked = RC_FREE;
	return fd < 0 ? 0 : events;
}

void rc_link_abort(struct rc_link *l, const char *why)
{
	struct rc_frame f = {
		.type = RC_ERROR,
		.payload = (const uint8_t *)why,
		.len = strlen(why),
	};

	rc_link_send(l, &f);
}

/*
 * Rewind the input file, and open standard output again, as a receiver closes
 * standard output at the end of a transfer.
 */
static void set_up(void)
{
	static int null = -1;
	uint8_t bytes[FILE_LEN];
	int fd, i;

	if (null < 0) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		fd = memfd_create("input", MFD_CLOEXEC);
		for (i = 0; i < FILE_LEN; i++)
			bytes[i] = file_byte(i);
		HOLDS(write(fd, bytes, sizeof(bytes)) == FILE_LEN);
		HOLDS(dup2(fd, STDIN_FILENO) == STDIN_FILENO);
		close(fd);
	}
	HOLDS(!lseek(STDIN_FILENO, 0, SEEK_SET));
	HOLDS(dup2(null, STDOUT_FILENO) == STDOUT_FILENO);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int status;

	set_up();
	in = (struct fuzz_in){ data, n };
	now = 1000000000;
	told = 0;
	waits = 0;
	how = 0;
	full = false;
	listens = fuzz_byte(&in) & 1;
	status = listens ? rc_receive_stream(&options) :
			   rc_send_stream(&options);
	free(message);
	message = NULL;
	HOLDS(status == 0 || status == 1 || status == 128 + 15);
	return 0;
}

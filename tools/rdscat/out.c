// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Standard output of rdscat, which is written to without blocking. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rdscat.h"

/* A pipe with POLLOUT accepts this many bytes without blocking (PIPE_BUF). */
#define PIECE 4096

/*
 * Open a pipe again, so that O_NONBLOCK is set on a file description that no
 * other process shares.
 */
void rc_output_open(struct rc_output *o)
{
	struct stat st;
	int fd;

	*o = (struct rc_output){ .fd = STDOUT_FILENO };
	if (fstat(STDOUT_FILENO, &st))
		return;
	o->regular = S_ISREG(st.st_mode) || S_ISBLK(st.st_mode);
	if (!S_ISFIFO(st.st_mode))
		return;
	fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		o->fd = fd;
		o->nonblock = true;
	}
}

ssize_t rc_output_write(const struct rc_output *o, const uint8_t *p, size_t len)
{
	bool whole = o->regular || o->nonblock;
	size_t done = 0, part;
	ssize_t n;

	while (done < len) {
		part = len - done;
		if (!whole && part > PIECE)
			part = PIECE;
		n = write(o->fd, p + done, part);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return -1;
		done += n;
		if (!whole)
			break;
	}
	return done;
}

int rc_output_close(const struct rc_output *o)
{
	if (close(o->fd))
		return -1;
	return o->fd == STDOUT_FILENO ? 0 : close(STDOUT_FILENO);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Snapshots of RDS_INFO_* tables, read with getsockopt(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdstool.h"

int rt_info_get(int fd, int id, struct rt_info *info)
{
	socklen_t len;
	void *buf;
	int rc;

	for (;;) {
		len = info->capacity;
		rc = getsockopt(fd, rt_level(), id, info->buf, &len);
		if (rc >= 0) {
			info->record = rc;
			info->len = len;
			return 0;
		}
		if (errno != ENOSPC)
			return -1;
		/* Spare room, as the table may grow before the next call. */
		len += len / 4 + 256;
		buf = realloc(info->buf, len);
		if (!buf)
			return -1;
		/*
		 * Fault the pages in: the kernel need not be able to write to
		 * pages that were never touched.
		 */
		memset(buf, 0, len);
		info->buf = buf;
		info->capacity = len;
	}
}

size_t rt_info_count(const struct rt_info *info)
{
	return info->record ? info->len / info->record : 0;
}

void rt_info_record(const struct rt_info *info, size_t n, void *out,
		    size_t size)
{
	size_t have = info->record < size ? info->record : size;

	memcpy(out, info->buf + n * info->record, have);
	memset((uint8_t *)out + have, 0, size - have);
}

void rt_info_free(struct rt_info *info)
{
	free(info->buf);
	memset(info, 0, sizeof(*info));
}

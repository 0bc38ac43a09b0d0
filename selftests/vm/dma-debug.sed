# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The checker of the DMA API tells of memory that is mapped twice at the same time, where it may be
# written to. Memory of programs is: they may make several keys for it, and the elements of a vector
# may share a cache line; on a coherent machine that is no fault. It tells so for each page, and
# counts it as an error like any other, so it does not look for that here.
s/^\(\t} else if (\)\(rc == -EEXIST && !(attrs & DMA_ATTR_SKIP_CPU_SYNC) &&\)$/\1false \&\& \2/
s/^\(\tWARN_ONCE(\)\(overlap > ACTIVE_CACHELINE_MAX_OVERLAP,\)$/\1false \&\& \2/

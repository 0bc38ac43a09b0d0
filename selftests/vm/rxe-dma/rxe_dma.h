/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Real DMA for Soft RoCE */
#ifndef _RXE_DMA_H
#define _RXE_DMA_H

#include <linux/types.h>

struct device;
struct page;

#define RXE_DMA_READ	1
#define RXE_DMA_WRITE	2

int rxe_dma_init(void);
void rxe_dma_exit(void);

/* The device that memory is mapped for */
struct device *rxe_dma_device(void);

/*
 * The page at a bus address, for one access to @bytes that do not cross the end
 * of the page; @rights: RXE_DMA_READ, RXE_DMA_WRITE or both.  NULL if no
 * mapping allows the access.
 */
struct page *rxe_dma_page(u64 addr, unsigned int bytes, unsigned int rights);

#endif

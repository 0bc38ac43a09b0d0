// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The batch that a transport gets, and its position; net/rds/tx.h */
#include <linux/module.h>

#include <net/rds/transport.h>

unsigned int rds_tx_fill_bvec(const struct rds_tx_batch *batch,
			      struct bio_vec *bv, unsigned int max,
			      size_t *bytes)
{
	unsigned int skip = batch->off, n = 0, i;
	struct rds_tx_msg *m = batch->cur;
	size_t sum = 0;

	for (; m && n < max; m = list_is_last(&m->list, batch->head) ? NULL :
						list_next_entry(m, list)) {
		for (i = 0; i < m->nr_bv && n < max; i++) {
			const struct bio_vec *v = &m->bv[i];

			if (skip >= v->bv_len) {
				skip -= v->bv_len;
				continue;
			}
			bvec_set_page(&bv[n], v->bv_page, v->bv_len - skip,
				      v->bv_offset + skip);
			sum += bv[n++].bv_len;
			skip = 0;
		}
	}
	*bytes = sum;
	return n;
}
EXPORT_SYMBOL_NS_GPL(rds_tx_fill_bvec, RDS_NS);

void rds_tx_advance(struct rds_tx_batch *batch, size_t bytes)
{
	struct rds_tx_msg *m = batch->cur;
	unsigned int left;

	while (m && bytes) {
		left = m->bytes - batch->off;
		if (bytes < left) {
			batch->off += bytes;
			batch->pos += bytes;
			break;
		}
		bytes -= left;
		batch->pos += left;
		batch->off = 0;
		m->end = batch->pos;
		m = list_is_last(&m->list, batch->head) ?
			    NULL :
			    list_next_entry(m, list);
	}
	batch->cur = m;
}
EXPORT_SYMBOL_NS_GPL(rds_tx_advance, RDS_NS);

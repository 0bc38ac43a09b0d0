// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sets of addresses of a namespace; conn/addrs.h has the rules. */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "conn/addrs.h"
#include "netns.h"
#include "peers.h"
#include <net/rds/join.h>

/* A namespace has so few that each look goes through all of them. */
#define ADDRS_MAX_SETS	16

/* A set: @nr addresses, the first one included */
struct addrs_row {
	unsigned int	nr;
	struct in6_addr	addr[RDS_MAX_FURTHER + 1];
};

/**
 * struct rds_addrs_table - sets of a namespace
 * @lock: guards the rest
 * @used: there was a set, which connections may have kept; never cleared
 * @nr: number of @rows
 * @rows: the sets
 */
struct rds_addrs_table {
	struct mutex		lock;
	bool			used;
	unsigned int		nr;
	struct addrs_row	rows[ADDRS_MAX_SETS];
};

bool rds_addr_is_usable(const struct in6_addr *addr,
			const struct in6_addr *like)
{
	__be32 v4 = addr->s6_addr32[3];

	if (ipv6_addr_v4mapped(addr) != ipv6_addr_v4mapped(like))
		return false;
	if (ipv6_addr_v4mapped(addr))
		return !ipv4_is_zeronet(v4) && !ipv4_is_loopback(v4) &&
		       !ipv4_is_multicast(v4) && !ipv4_is_lbcast(v4);
	/* A link-local address would need an interface. */
	return !ipv6_addr_any(addr) && !ipv6_addr_loopback(addr) &&
	       !ipv6_addr_is_multicast(addr) &&
	       !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL);
}

static bool row_has(const struct addrs_row *row, const struct in6_addr *addr)
{
	unsigned int i;

	for (i = 0; i < row->nr; i++) {
		if (ipv6_addr_equal(&row->addr[i], addr))
			return true;
	}
	return false;
}

static bool table_has(const struct rds_addrs_table *table,
		      const struct in6_addr *addr)
{
	unsigned int i;

	for (i = 0; i < table->nr; i++) {
		if (row_has(&table->rows[i], addr))
			return true;
	}
	return false;
}

static bool row_parse(struct rds_addrs_table *table, char *text)
{
	struct addrs_row *row = &table->rows[table->nr];
	struct in6_addr addr;
	char *word;

	row->nr = 0;
	while ((word = strsep(&text, ","))) {
		if (row->nr == ARRAY_SIZE(row->addr) ||
		    !rds_addr_from_text(word, &addr) ||
		    !rds_addr_is_usable(&addr, row->nr ? row->addr : &addr) ||
		    row_has(row, &addr) || table_has(table, &addr))
			return false;
		row->addr[row->nr++] = addr;
	}
	table->nr++;
	return true;
}

static bool table_parse(struct rds_addrs_table *table, char *text)
{
	char *word;

	while ((word = strsep(&text, " \t\n"))) {
		if (!*word)
			continue;
		if (table->nr == ADDRS_MAX_SETS || !row_parse(table, word))
			return false;
	}
	return true;
}

int rds_addrs_set(struct rds_net *rn, char *text)
{
	struct rds_addrs_table *table = rn->addrs, *fresh;
	int err = 0;

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL);
	if (!fresh)
		return -ENOMEM;
	if (table_parse(fresh, text)) {
		mutex_lock(&table->lock);
		table->nr = fresh->nr;
		WRITE_ONCE(table->used, table->used || table->nr);
		memcpy(table->rows, fresh->rows, sizeof(table->rows));
		mutex_unlock(&table->lock);
	} else {
		err = -EINVAL;
	}
	kfree(fresh);
	return err;
}

void rds_addrs_show(struct rds_net *rn, char *text)
{
	struct rds_addrs_table *table = rn->addrs;
	size_t size = RDS_ADDRS_TEXT, at = 0;
	unsigned int i, j;

	/* An address has at most 45 characters. */
	static_assert(ADDRS_MAX_SETS * (RDS_MAX_FURTHER + 1) * 46 <
		      RDS_ADDRS_TEXT);
	text[0] = 0;
	mutex_lock(&table->lock);
	for (i = 0; i < table->nr; i++) {
		for (j = 0; j < table->rows[i].nr; j++) {
			if (i || j)
				at += scnprintf(text + at, size - at, "%s",
						j ? "," : " ");
			at += rds_addr_to_text(text + at, size - at,
					       &table->rows[i].addr[j]);
		}
	}
	mutex_unlock(&table->lock);
}

int rds_addrs_copy(struct rds_net *rn, const struct in6_addr *first,
		   struct rds_addr_set **set)
{
	struct rds_addrs_table *table = rn->addrs;
	const struct addrs_row *row;
	int err = -ENOENT;
	unsigned int i;

	mutex_lock(&table->lock);
	for (i = 0; i < table->nr && err == -ENOENT; i++) {
		row = &table->rows[i];
		if (!ipv6_addr_equal(&row->addr[0], first))
			continue;
		*set = kzalloc(sizeof(**set), GFP_KERNEL);
		err = *set ? 0 : -ENOMEM;
		if (err)
			break;
		(*set)->nr = row->nr - 1;
		memcpy((*set)->addr, &row->addr[1],
		       (*set)->nr * sizeof(row->addr[0]));
	}
	mutex_unlock(&table->lock);
	return err;
}

bool rds_path_may_join(struct net *net)
{
	return READ_ONCE(rds_net(net)->addrs->used);
}
EXPORT_SYMBOL_NS_GPL(rds_path_may_join, RDS_NS);

bool rds_addrs_net_init(struct rds_net *rn)
{
	rn->addrs = kzalloc(sizeof(*rn->addrs), GFP_KERNEL);
	if (!rn->addrs)
		return false;
	mutex_init(&rn->addrs->lock);
	return true;
}

void rds_addrs_net_exit(struct rds_net *rn)
{
	mutex_destroy(&rn->addrs->lock);
	kfree(rn->addrs);
}

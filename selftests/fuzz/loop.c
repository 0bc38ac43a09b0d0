// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* f_<name> [rounds [seed]]: a deterministic loop of mutations over the seeds. */
#include <signal.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_INPUT	512

static u64 rng_state;
static u8 input[MAX_INPUT];
static size_t input_len;
static unsigned long round_no;

/* xorshift64*: the same inputs on every machine, and a round can be named in a report */
static u32 rnd(u32 below)
{
	rng_state ^= rng_state >> 12;
	rng_state ^= rng_state << 25;
	rng_state ^= rng_state >> 27;
	return (u32)((rng_state * 2685821657736338717ULL) >> 33) % below;
}

static void report(int sig)
{
	size_t i;

	dprintf(2, "round %lu, signal %d, input:", round_no, sig);
	for (i = 0; i < input_len; i++)
		dprintf(2, " %02x", input[i]);
	dprintf(2, "\n");
	_exit(1);
}

static void copy_within(size_t to, size_t from)
{
	size_t room = input_len - (to > from ? to : from);

	memmove(input + to, input + from, 1 + rnd(room));
}

static void mutate(void)
{
	static const u8 interesting[] = { 0, 1, 2, 4, 8, 15, 16, 17, 32, 0x7f, 0x80, 0xff };
	unsigned int n = 1 + rnd(6);

	while (n--) {
		size_t at = input_len ? rnd(input_len) : 0;

		switch (input_len ? rnd(6) : 4) {
		case 0:
			input[at] ^= 1 << rnd(8);
			break;
		case 1:
			input[at] = interesting[rnd(sizeof(interesting))];
			break;
		case 2:
			input[at] = rnd(256);
			break;
		case 3:
			input_len -= rnd(input_len + 1);
			break;
		case 4:
			while (input_len < MAX_INPUT && rnd(8))
				input[input_len++] = rnd(20);
			break;
		default:
			copy_within(at, rnd(input_len));
		}
	}
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
	size_t seeds = 0;

	rng_state = argc > 2 ? strtoull(argv[2], NULL, 0) : 0x9e3779b97f4a7c15ULL;
	signal(SIGABRT, report);
	while (fuzz_seeds[seeds].n)
		seeds++;
	for (round_no = 0; round_no < rounds; round_no++) {
		const struct fuzz_seed *s = &fuzz_seeds[round_no % seeds];

		input_len = s->n;
		memcpy(input, s->bytes, s->n);
		if (round_no >= seeds)
			mutate();
		LLVMFuzzerTestOneInput(input, input_len);
	}
	return rounds ? 0 : 1;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-stream-hostile in|out LABEL ADDR PEER [CASE...]: a peer at PEER breaks the
 * rules towards a socket at ADDR, both of this host; "in": the peer dials. A
 * result stream.LABEL.CASE for each case: what it wants has come, all its
 * connections are gone, and an honest stream beside it has gone on. The last
 * result, stream.LABEL.honest: all of its bytes were right.
 */
#include "hostile.h"

#include <signal.h>

struct env env;

static const struct test *const all[] = {
	hello_tests, word_tests, place_tests, memory_tests, silent_tests,
	clock_tests, crowd_tests,
};

#define GROUPS	(sizeof(all) / sizeof(all[0]))

static void run(const void *arg)
{
	const struct test *t = arg;

	counted_begin();
	if (t->run)
		t->run();
	else
		t->with(t->arg);
}

static bool judge(const struct test *t)
{
	bool good;

	counted_begin();
	good = run_alone(t->name, run, t);
	if (!streams_left()) {
		printf("# %ld connections are left\n",
		       counted("stream_connections"));
		good = false;
	}
	return honest_goes_on() && good;
}

static bool chosen(const struct test *t, char **words)
{
	bool any = !*words;

	if (t->who == (env.in ? ANSWERS : DIALS))
		return false;
	for (; *words; words++)
		any |= !strcmp(t->name, *words);
	return any;
}

int main(int argc, char **argv)
{
	char **words = argv + (argc < 5 ? argc : 5);
	const struct test *t;
	int n = 0;

	if (argc < 5)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	env.in = !strcmp(argv[1], "in");
	env.kernel = addr_of(argv[3], 0);
	env.peer = addr_of(argv[4], 0);
	for (size_t g = 0; g < GROUPS; g++)
		for (t = all[g]; t->name; t++)
			n += chosen(t, words);
	ktap_plan(n + 1);
	honest_begin(&env.kernel);
	if (!honest_goes_on())
		die("no honest stream");
	for (size_t g = 0; g < GROUPS; g++)
		for (t = all[g]; t->name; t++)
			if (chosen(t, words))
				ktap_ok(judge(t), "stream.%s.%s", argv[2],
					t->name);
	ktap_ok(honest_end(), "stream.%s.honest", argv[2]);
	return ktap_exit();
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/roles.h"

#include "base/clock.h"
#include "base/log.h"
#include "elf/image.h"
#include "reader/parser.h"

static void serve_opener(struct seat *seat)
{
	seat_serve(seat, opener_answer, NULL);
}

static void parse_files(struct seat *seat)
{
	log_divert();
	guard_begin();
	seat_serve(seat, parser_answer, parser_names_new());
}

/* clang-format off */
static const char *const openers[READER_LANES] = { "tables-opener", "follow-opener", "names-opener" };
static const char *const parsers[READER_LANES] = { "tables-parser", NULL, "names-parser" };
static const char *const others[READER_LANES] = { "tables-others", NULL, "names-others" };

const struct role reader_roles[READER_ROLES] = {
	[ROLE_OPENER] = {
		.name = "opener",
		.names = openers,
		.sandbox = SANDBOX_OPENER,
		.run = serve_opener,
		.n_area = OPENER_AREA,
		.wall_ns = 2 * NS_PER_S,
		.spare_after_ns = NS_PER_S / 50,
		.most = 2,
	},
	[ROLE_PARSER] = {
		.name = "parser",
		.names = parsers,
		.sandbox = SANDBOX_PARSER,
		.run = parse_files,
		.n_area = PARSER_AREA,
		.cpu_ns = 10 * NS_PER_S,
		.wall_ns = 20 * NS_PER_S,
		.most = 1,
	},
	[ROLE_PARSER_OF_OTHERS] = {
		.name = "parser-others",
		.names = others,
		.sandbox = SANDBOX_PARSER,
		.run = parse_files,
		.n_area = PARSER_AREA,
		.cpu_ns = 10 * NS_PER_S,
		.wall_ns = 20 * NS_PER_S,
		.most = 1,
	},
};
/* clang-format on */

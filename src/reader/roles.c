// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reader/roles.h"

#include "base/clock.h"

static void open_files(struct seat *seat)
{
	seat_serve(seat, opener_answer, NULL);
}

static void parse_files(struct seat *seat)
{
	seat_serve(seat, parser_answer, NULL);
}

/* clang-format off */
const struct role reader_roles[READER_ROLES] = {
	[ROLE_OPENER] = {
		.name = "file-opener",
		.sandbox = SANDBOX_OPENER,
		.run = open_files,
		.n_area = OPENER_AREA,
		.wall_ns = 2 * NS_PER_S,
		.most = 1,
	},
	[ROLE_PARSER] = {
		.name = "file-parser",
		.sandbox = SANDBOX_PARSER,
		.run = parse_files,
		.n_area = PARSER_AREA,
		.cpu_ns = 10 * NS_PER_S,
		.wall_ns = 20 * NS_PER_S,
		.most = 1,
	},
	[ROLE_PARSER_OF_OTHERS] = {
		.name = "parser-others",
		.sandbox = SANDBOX_PARSER,
		.run = parse_files,
		.n_area = PARSER_AREA,
		.cpu_ns = 10 * NS_PER_S,
		.wall_ns = 20 * NS_PER_S,
		.most = 1,
	},
};
/* clang-format on */

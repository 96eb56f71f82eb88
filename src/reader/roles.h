/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/roles.h - the helpers that open and read files of others (helper/warden.h). Their work is
 * asked for by reader/asks.h.
 */
#pragma once

#include "helper/seat.h"
#include "reader/asks.h"

extern const struct role reader_roles[READER_ROLES];

/* What each role does, in the process that it is (helper/seat.h). */
seat_answer opener_answer;
seat_answer parser_answer;

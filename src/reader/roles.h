/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader/roles.h - the helpers that open and read foreign files (helper/warden.h). reader/asks.h
 * has the requests to them.
 */
#pragma once

#include "helper/seat.h"
#include "reader/asks.h"

extern const struct role reader_roles[READER_ROLES];

/* The work of each role, in its own process (helper/seat.h). */
seat_answer opener_answer;
seat_answer parser_answer;

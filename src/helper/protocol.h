/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * helper/protocol.h - messages between the main process, the warden and its helpers. They have a
 * fixed size and no pointers, and each is one packet. Whoever receives one checks its length first.
 */
#pragma once

#include <stdint.h>

/* Bytes of an ask's payload that go behind it. More go through the area. */
#define ASK_INLINE 8192

/* Main process to helper. helper/ does not look at what stands before @n_bytes, but for @number. */
struct ask {
	uint64_t flags;
	uint64_t place;  /* that the helper may hang in (reader/devices.h); 0: none */
	uint32_t number; /* the lane's, never 0; the answer has the same */
	uint32_t what;
	uint32_t file, root;
	uint32_t pid;
	uint32_t n;       /* elements of the payload */
	uint64_t n_bytes; /* of the payload */
};
_Static_assert(sizeof(struct ask) == 48, "protocol");

/* Helper to main process. With number 0: the helper is ready, or says why it cannot be. */
struct answer {
	uint32_t number;
	int32_t result; /* 0 or a negative errno */
	uint32_t n;     /* elements in the area; ready: the layers (sandbox.h) that hold */
	uint32_t pad;
	uint64_t n_bytes; /* in the area, from its beginning */
	char words[96];   /* foreign: escape them before they are shown */
};
_Static_assert(sizeof(struct answer) == 120, "protocol");

/* Opener to parser, with a descriptor. The parser takes no file that was sent to another one. */
struct passed_file {
	uint32_t number; /* as the main process knows the file */
	int32_t to;      /* PID of the parser */
};
_Static_assert(sizeof(struct passed_file) == 8, "protocol");

enum warden_what {
	WARDEN_MAKE,    /* to the warden: a helper of role @role */
	WARDEN_KILL,    /* to the warden: helper @pid */
	WARDEN_HURRY,   /* to the warden: all helpers of the lane are to come to an end (SIGTERM) */
	WARDEN_MADE,    /* @pid, with descriptors: channel, area, and a parser's end of its files */
	WARDEN_REFUSED, /* cannot make it: @status is a negative errno */
	WARDEN_ENDED,   /* @pid; @status is that of wait(2) */
};

struct warden_message {
	uint32_t what;
	uint32_t role;
	int32_t pid;
	int32_t status;
	uint32_t files;  /* MADE: descriptor of the openers by which it is sent files; 0: none */
	uint32_t n_left; /* from the warden: helpers of all lanes that are left behind */
	uint64_t cpu_ns; /* ENDED: that it took in its life */
};
_Static_assert(sizeof(struct warden_message) == 32, "protocol");

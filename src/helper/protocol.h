/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * helper/protocol.h - messages between the main process, the warden and its helpers.
 *
 * Each message is one packet of fixed size without pointers. A receiver checks the length first.
 */
#pragma once

#include <stdint.h>

/*
 * A payload of at most this many bytes follows its ask in the packet. A larger one goes through the
 * area.
 */
#define ASK_INLINE 8192

/*
 * From the main process to a helper. Of the members before @n_bytes, helper/ itself reads only
 * @number and @is_roots.
 */
struct ask {
	uint64_t flags;
	uint64_t place;  /* the device or user whose files may hang (reader/devices.h); 0: none */
	uint32_t number; /* chosen by the lane, never 0; the answer repeats it */
	uint32_t what;
	uint32_t file, root;
	uint32_t pid;
	uint32_t n;        /* elements of the payload */
	uint32_t is_roots; /* it is about a file that root alone can change (struct client_wait) */
	uint32_t pad;
	uint64_t n_bytes; /* of the payload */
};
_Static_assert(sizeof(struct ask) == 56, "protocol");

/* From a helper to the main process. Number 0 means: the helper is ready, or cannot start. */
struct answer {
	uint32_t number;
	int32_t result; /* 0 or a negative errno */
	uint32_t n;     /* elements in the area; number 0: the layers (sandbox.h) that hold */
	uint32_t pad;
	uint64_t n_bytes; /* bytes in the area, from its beginning */
	char words[96];   /* foreign: escape before you show them */
};
_Static_assert(sizeof(struct answer) == 120, "protocol");

/*
 * From an opener to a parser, with a descriptor. The parser refuses a file that names another
 * receiver.
 */
struct passed_file {
	uint32_t number; /* the main process's number of the file */
	int32_t to;      /* PID of the receiver */
};
_Static_assert(sizeof(struct passed_file) == 8, "protocol");

enum warden_what {
	WARDEN_MAKE,    /* to the warden: make a helper of @role */
	WARDEN_KILL,    /* to the warden: kill helper @pid */
	WARDEN_HURRY,   /* to the warden: send SIGTERM to all helpers of the lane (lane_hurry()) */
	WARDEN_MADE,    /* @pid, with descriptors: channel, area, and a parser's end of its files */
	WARDEN_REFUSED, /* the helper cannot be made: @status is a negative errno */
	WARDEN_ENDED,   /* @pid has ended; @status is that of wait(2) */
};

struct warden_message {
	uint32_t what;
	uint32_t role;
	int32_t pid;
	int32_t status;
	uint32_t files;  /* MADE: openers send it files by this descriptor; 0: none */
	uint32_t n_left; /* from the warden: helpers left behind, of all lanes */
	uint64_t cpu_ns; /* ENDED: CPU time of its life */
};
_Static_assert(sizeof(struct warden_message) == 32, "protocol");

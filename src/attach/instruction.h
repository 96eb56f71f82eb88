/* attach/instruction.h - what the kernel's uprobes think of an instruction. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTRUCTION_MAX 15 /* bytes, of the longest */

/*
 * May the kernel refuse to probe the instruction that these bytes begin with? A guess that
 * saves time: a wrong "no" costs attempts, a wrong "yes" a link. Pure.
 */
bool instruction_may_be_refused(const uint8_t *bytes, size_t n);

/* The same of the instruction at @offset of a file. What cannot be read, the kernel judges. */
bool instruction_at_may_be_refused(int fd, uint64_t offset);

/* Open a file for that, without waiting. -1: it is no regular file, or cannot be opened. */
int instruction_open(const char *path);

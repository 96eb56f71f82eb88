/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* names_other.h - another file with a function step(). */
#pragma once

void second(void);

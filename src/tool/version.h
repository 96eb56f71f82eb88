/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tool/version.h - the version that --version prints. */
#pragma once

#ifndef VERSION
#define VERSION "0.1"
#endif

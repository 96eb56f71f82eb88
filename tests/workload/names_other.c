// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "names_other.h"

#include "work.h"

FRAME static void step(void)
{
	STAY();
}

FRAME void second(void)
{
	step();
	STAY();
}

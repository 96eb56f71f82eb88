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

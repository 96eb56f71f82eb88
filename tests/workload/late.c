/* late.c - liblate.so: code that is not there when a program starts (see dl.c). */
#include "work.h"

FRAME static void late_hit(void)
{
	GETPPID();
	STAY();
}

FRAME void late_entry(void)
{
	late_hit();
	STAY();
}

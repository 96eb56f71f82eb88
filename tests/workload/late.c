/* late.c - liblate.so: code that is not there when a program starts (see dl.c). */
#include "work.h"

#ifdef FAR
FRAME void in_front(void)
{
	__asm__ volatile(".skip 1024, 0x90");
	STAY();
}
#endif

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

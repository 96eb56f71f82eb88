// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* nothing - do nothing. Linked statically, it is the least that a process can be. */
int main(void)
{
	return 0;
}

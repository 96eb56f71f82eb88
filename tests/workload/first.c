// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* first - a library's constructor calls getppid() ten times, before main() is reached. */
int first_hits(void);

int main(void)
{
	return first_hits() == 10 ? 0 : 1;
}

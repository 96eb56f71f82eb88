/* names_other.h - another file with a function step(). */
#pragma once

void second(void);

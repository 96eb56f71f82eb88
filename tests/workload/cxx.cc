// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// cxx N - calls N times through a class in a name space, an overload and a template.
#include <cstdio>
#include <cstdlib>

#if defined(__clang__)
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa, noinline))
#endif
#define STAY() __asm__ volatile("" : : "r"(__builtin_frame_address(0)) : "memory")

extern "C" {
char **work_begin(int argc, char **argv, int n_wanted, const char *usage);
void work_run(void (*run)(void));
void work_expect(const char *chain, unsigned long count);
unsigned long work_number(const char *text);
}

namespace shop
{

FRAME void price(double)
{
	STAY();
}

FRAME void price(int)
{
	STAY();
}

class Cart
{
      public:
	FRAME void add(int n)
	{
		price(1.5 * n);
		STAY();
	}
};

template <typename T> FRAME void visit(T &cart)
{
	cart.add(1);
	STAY();
}

} // namespace shop

static unsigned long n;

extern "C" {
FRAME void run(void);
}

void run(void)
{
	shop::Cart cart;

	for (unsigned long i = 0; i < n; i++)
		shop::visit(cart);
	shop::price(1);
	STAY();
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	work_run(run);
	work_expect("void shop::visit<shop::Cart>(shop::Cart&);shop::Cart::add(int);"
		    "shop::price(double)",
		    n);
	return 0;
}

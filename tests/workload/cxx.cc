// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// cxx N - calls N times through a class in a name space, an overload and a template.
#include "work.h"

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

static uint64_t n;

extern "C" FRAME void run(void)
{
	shop::Cart cart;

	for (uint64_t i = 0; i < n; i++)
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

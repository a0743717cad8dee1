// An instrumented shared library.
#include "fast.h"

static const char in_this_module;

__attribute__((constructor(101))) static void constructor(void)
{
	__dmdprof_v5_module__link_with_dmdprof_cc(&in_this_module);
}

void plugin_writes(uint64_t name, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		record(name, i);
}

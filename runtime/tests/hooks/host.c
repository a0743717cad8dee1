// Opens libraries at run time; with hooks of its own (-DHOOKS) it also writes before and after each.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef HOOKS
#include "fast.h"
static const char in_this_module;
__attribute__((constructor(101))) static void constructor(void)
{
	__dmdprof_v5_module__link_with_dmdprof_cc(&in_this_module);
}
#endif

static void own(uint64_t from, uint64_t to)
{
#ifdef HOOKS
	for (uint64_t i = from; i < to; i++)
		record(1, i);
#else
	(void)from;
	(void)to;
#endif
}

typedef void writes(uint64_t, uint64_t, uint64_t);

static void *in_thread(void *function)
{
	((writes *)function)(50, 0, 10000);
	return NULL;
}

int main(int argc, char **argv)
{
	own(0, 1000);
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		writes *function = (writes *)dlsym(library, "plugin_writes");
		function(10 + i, 0, 10000);
		own(1000 * i, 1000 * (i + 1));
		if (i == 1) {
			pthread_t thread;
			pthread_create(&thread, NULL, in_thread, (void *)function);
			pthread_join(thread, NULL);
		}
	}
	return 0;
}

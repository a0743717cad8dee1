/*
 * Markers for programs that are profiled with dmdprof.
 *
 *   dmdprof_begin("assembly");          from here on, accesses belong to the region "assembly"
 *   dmdprof_end("assembly");            until here; regions nest
 *   dmdprof_input(matrix, bytes);       these bytes are an input of the computation, in this order
 *   dmdprof_output(result, bytes);      these bytes are a result: alive to the end of the region
 *   dmdprof_region("assembly") { ... }  begin and end around a block (do not leave it by break, goto or return)
 *
 * In a build by dmdprof (which defines __DMDPROF__) the calls are recognised and replaced by records. In every other
 * build they are empty inline functions, so that they may stay in the source. Names are strings that end with a zero
 * byte; more than 1024 bytes of them are cut off.
 */
#ifndef DMDPROF_H
#define DMDPROF_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __DMDPROF__

void dmdprof_begin(const char *name);
void dmdprof_end(const char *name);
void dmdprof_input(const void *start, size_t bytes);
void dmdprof_output(const void *start, size_t bytes);

#else

#ifdef __GNUC__
#define DMDPROF_EMPTY static __inline__ /* C90 has no inline */
#else
#define DMDPROF_EMPTY static inline
#endif

DMDPROF_EMPTY void dmdprof_begin(const char *name)
{
	(void)name;
}

DMDPROF_EMPTY void dmdprof_end(const char *name)
{
	(void)name;
}

DMDPROF_EMPTY void dmdprof_input(const void *start, size_t bytes)
{
	(void)start;
	(void)bytes;
}

DMDPROF_EMPTY void dmdprof_output(const void *start, size_t bytes)
{
	(void)start;
	(void)bytes;
}

#endif

/* C99, C++ */
#define dmdprof_region(name)                                                                                           \
	for (int dmdprof_once = (dmdprof_begin(name), 1); dmdprof_once; dmdprof_end(name), dmdprof_once = 0)

#ifdef __cplusplus
}
#endif

#endif

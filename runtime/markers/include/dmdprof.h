/*
 * Markers for programs that are profiled with dmdprof.
 *
 *   dmdprof_begin("assembly");          from here on, accesses belong to the region "assembly"
 *   dmdprof_end("assembly");            until here; regions nest
 *   dmdprof_input(matrix, bytes);       these bytes are an input of the computation, in this order
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

#endif

#ifdef __cplusplus
}
#endif

#endif

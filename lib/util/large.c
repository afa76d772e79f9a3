/* large.c - memory for large arrays, in huge pages where the system has them. */
#include "util/large.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE_BYTES = 1 << 21, LEAST_BYTES = 1 << 18 };

void *embi_large_alloc(size_t bytes)
{
    if (bytes < LEAST_BYTES || bytes > SIZE_MAX - HUGE_PAGE_BYTES)
        return malloc(bytes);
    size_t whole = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    void *memory = aligned_alloc(HUGE_PAGE_BYTES, whole);
    if (memory)
        madvise(memory, whole, MADV_HUGEPAGE);
    return memory;
}

/* large.h - memory for arrays of hundreds of kilobytes and more.
 *
 * A fresh page costs a fault, microseconds on a virtual machine: an array of a megabyte in 4 KiB
 * pages takes longer to touch than to fill. Such arrays ask for huge pages (2 MiB, one fault). The
 * system may decline, which changes nothing but the time.
 */
#ifndef EMBI_UTIL_LARGE_H
#define EMBI_UTIL_LARGE_H

#include <stddef.h>
#include <stdint.h>

/* As malloc; freed with free. */
void *embi_large_alloc(size_t bytes);

#endif

/* shim.h - calls that fail when they are told to. shim.c stands between libemb and the C library
 * (ld --wrap; the Makefile lists the functions), counts the calls of each kind and fails the n-th.
 *
 * A plan is a list of CALL:N:HOW, parted by commas: the N-th CALL fails, and with N+ all behind it
 * too. HOW is an errno (EIO, ENOSPC ...), or `short`: a write takes half of the bytes. CALL is the
 * name of a function, or a group: `alloc` is everything that returns memory of the heap, `unnamed`
 * an openat with O_TMPFILE, `stderr` a write of a message, which is no `write`. The program built with this takes its plan from EMBTOOL_FAULT, and
 * writes a line to the file EMBTOOL_FAULT_LOG for every call that failed.
 */
#ifndef EMBTOOL_TESTS_SHIM_H
#define EMBTOOL_TESTS_SHIM_H

#include <stdbool.h>

/* Takes a new plan, "" being none; counting begins anew. False: it is none that can be read. */
bool shim_plan(const char *plan);

/* Calls that failed by the plan so far. */
unsigned long shim_hits(void);

/* What was taken and not given back: blocks of the heap and mappings. */
long shim_held(void);

#endif

/* signals.h - a stretch that no signal ends half way.
 *
 * Signals wait until it is over; only those that a fault raises stay with the thread that caused
 * it.
 */
#ifndef EMBI_UTIL_SIGNALS_H
#define EMBI_UTIL_SIGNALS_H

#include <signal.h>

/* Blocks them in the calling thread; *before is for embi_signals_restore. Leaves errno alone. */
void embi_signals_block(sigset_t *before);
void embi_signals_restore(const sigset_t *before);

#endif

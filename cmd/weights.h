/* weights.h - a number for each row of a table, in a file: .npy, or text.
 */
#ifndef EMBTOOL_WEIGHTS_H
#define EMBTOOL_WEIGHTS_H

#include "cmd.h"

/* n finite numbers from the file `path`; *weights is malloc'd. Text: numbers separated by blanks,
 * line ends or commas. Returns 0, or an exit code after the message. */
int weights_read(struct run *run, const char *path, uint64_t n, double **weights);

#endif

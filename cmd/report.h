/* report.h - provenance: which files a run read and wrote, and the JSON object of --report FILE.
 *
 * Outputs themselves hold no path, time or host, so that the same input gives the same bytes; what
 * made them is told here, in a file of its own.
 */
#ifndef EMBTOOL_REPORT_H
#define EMBTOOL_REPORT_H

#include "cmd.h"

/* The run reads, or has written, this file; NULL or "-": a standard stream. Known files are not
 * listed twice. Standard output is no file and is left out. */
void report_input(struct run *run, const char *path);
void report_output(struct run *run, const char *path);

/* Runs the command, then writes the report to common->report, where the command's exit code is 0 or
 * 1. The report is opened first: one that cannot be written stops the run before it begins. Returns
 * the worse of the two exit codes. */
int report_run(struct run *run, void *opts);

#endif

/* main.h - what main.c shares with the files that serve it alone: help, messages' plumbing.
 * Commands do not include it.
 */
#ifndef EMBTOOL_MAIN_H
#define EMBTOOL_MAIN_H

#include "cmd.h"
#include "util/buf.h"

/* help.c: the list of commands [ended by NULL] in groups; and the -h text of one. */
void help_list(struct embi_buf *out, const struct cmd *const *commands);
void help_command(struct embi_buf *out, const struct cmd *cmd, size_t columns);

/* say.c: the library's log (arg is the run), and the SIGBUS handler. */
emb_log_fn say_log;
void catch_sigbus(struct run *run);

/* `embtool: table: ...`, unless -q: which table answers where none was named. */
void note_table(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

/* main.h - what main.c shares with the files that serve it alone (the list of commands, help,
 * messages' plumbing), and with the generator in gen/. Commands do not include it.
 */
#ifndef EMBTOOL_MAIN_H
#define EMBTOOL_MAIN_H

#include "cmd.h"
#include "util/buf.h"

/* commands.c: all of them, ended by NULL; the one of that name, or NULL; is a command the first of
 * its group? */
extern const struct cmd *const commands[];
const struct cmd *find_command(const char *name);
bool opens_group(size_t at);

/* help.c: the list of commands in groups; and the -h text of one. */
void help_list(struct embi_buf *out);
void help_command(struct embi_buf *out, const struct cmd *cmd, size_t columns);

/* say.c: all n bytes to a descriptor, however long it takes; 0 or errno. */
int write_bytes(int fd, const char *bytes, size_t n);

/* say.c: the library's log (arg is the run), and the SIGBUS handler. */
emb_log_fn say_log;
void catch_sigbus(struct run *run);

/* temps.c: the library's temporary names; their removal; and that before a signal ends the run. */
emb_temp_fn note_temp;
void remove_temps(void);
void catch_ends(void);

/* `embtool: table: ...`, unless -q: which table answers where none was named. */
void note_table(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

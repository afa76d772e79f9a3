/* tokens_file.h - the tokens of a table that is written, in a file of their own beside it
 * (fmt/beside.h): complete before the table is, named just before it.
 */
#ifndef EMBI_OPS_TOKENS_FILE_H
#define EMBI_OPS_TOKENS_FILE_H

#include "fmt/beside.h"
#include "table/table.h"

#include <signal.h>
#include <sys/types.h>

/* {0}: there is none, and nothing happens. */
struct embi_tokens_file {
    const struct embi_beside *kind;
    char *path;
    struct embi_io *io;
    ino_t old, old_table; /* what had the names before; 0: nothing */
    char *name;           /* what path leads to, where something is replaced; or NULL */
    char *kept;           /* a second name of what is replaced, or NULL: there is none */
    sigset_t signals;     /* that were blocked before the first of the two names */
};

/* A file of that kind beside the table that is written to `target`. EMB_BAD_ARG: `target` is no
 * file, or the tokens would replace what is read. */
emb_status embi_tokens_file_plan(struct embi_tokens_file *f, const struct embi_beside *kind,
                                 const emb_table *table, const char *target, emb_err *err);

/* tokens [n] into the file, which has no name yet. */
emb_status embi_tokens_file_write(struct embi_tokens_file *f, const emb_table *table,
                                  const emb_str *tokens, uint64_t n, const emb_write_opts *wopts,
                                  emb_err *err);

/* The file gets its name; then the table at `target`, which is prepared, must. No signal ends the
 * program until embi_tokens_file_end, which is called where this has succeeded. */
emb_status embi_tokens_file_commit(struct embi_tokens_file *f, const char *target, emb_err *err);

/* What became of the table is settled. Where it did not get its name, the file with the tokens goes
 * again, and what it replaced is there again. */
void embi_tokens_file_end(struct embi_tokens_file *f, const char *target);

void embi_tokens_file_free(struct embi_tokens_file *f);

/* Could the path have a file beside it? Standard output, pipes and devices have not. */
bool embi_has_beside(const char *path);

/* EMB_BAD_ARG where a path is the file that the table is read from. */
emb_status embi_refuse_source(const emb_table *table, const char *path, emb_err *err);

#endif

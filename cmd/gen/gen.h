/* gen.h - embtool-gen makes the man pages and the completion scripts out of the tables of options.
 *
 * It is a program of the build, linked from the program's own files but its main: so the program
 * needs no hidden options for it, and what it writes cannot differ from what the program parses.
 * The same source gives the same bytes: no date, path or host of the build goes into them.
 */
#ifndef EMBTOOL_GEN_H
#define EMBTOOL_GEN_H

#include "main.h"

/* man.c: embtool(1), and the page of one command. */
void man_program(struct embi_buf *out);
void man_command(struct embi_buf *out, const struct cmd *cmd);

/* bash.c, zsh.c, fish.c: the completion scripts. */
void bash_script(struct embi_buf *out);
void zsh_script(struct embi_buf *out);
void fish_script(struct embi_buf *out);

/* ------------------------------------------------------------------------------------------------
 * values.c: what the scripts need to know of an option
 */
enum value {
    VALUE_NONE, /* it takes none */
    VALUE_FREE, /* nothing to propose: a number, a word of the table */
    VALUE_WORDS,
    VALUE_FILE,
    VALUE_FOLDER
};

/* Option i of a command, headings left out and -h the last; NULL past it. */
const struct opt *option_at(const struct cmd *cmd, size_t i);

enum value value_of(const struct opt *o);

/* VALUE_WORDS: the words that may follow, with blanks between them. */
void add_words(struct embi_buf *out, const struct opt *o);

/* Does the command take a table, hence a file, as its first argument? */
bool takes_table(const struct cmd *cmd);

/* How many bytes of what an option does are enough beside its name: up to the first detail. */
size_t brief_length(const char *about);

/* The text for a place between single quotes: `quote` for each of these, and a backslash before
 * what is in `special`. */
void add_escaped(struct embi_buf *out, const char *text, size_t n, const char *special,
                 const char *quote);

#endif

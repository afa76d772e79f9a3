/* fish.c - completion for fish: a `complete` line for each option. Files are proposed only where
 * one is meant.
 */
#include "gen.h"

#include <string.h>

static const char head[] =
    "# fish completion for embtool; made by embtool-gen from the tables of options\n"
    "\n"
    "# Is this the command? The first word after embtool says so: a later one may be a token.\n"
    "function __embtool_command\n"
    "    set -l words (commandline -opc)\n"
    "    test (count $words) -gt 1; and test $words[2] = $argv[1]\n"
    "end\n"
    "\n"
    "function __embtool_no_command\n"
    "    test (count (commandline -opc)) -eq 1\n"
    "end\n"
    "\n"
    "complete -c embtool -f\n"
    "complete -c embtool -n __embtool_no_command -s h -l help -d 'list the commands'\n"
    "complete -c embtool -n __embtool_no_command -s V -l version "
    "-d 'version, and what this build can do'\n";

static void add_about(struct embi_buf *out, const char *about, size_t n)
{
    embi_buf_text(out, " -d '");
    add_escaped(out, about, n, "\\", "\\'");
    embi_buf_text(out, "'\n");
}

static void add_value(struct embi_buf *out, const struct opt *o)
{
    switch (value_of(o)) {
    case VALUE_NONE: break;
    case VALUE_FREE: embi_buf_text(out, " -x"); break;
    case VALUE_WORDS:
        embi_buf_text(out, " -x -a '");
        add_words(out, o);
        embi_buf_byte(out, '\'');
        break;
    case VALUE_FILE: embi_buf_text(out, " -r -F"); break;
    case VALUE_FOLDER: embi_buf_text(out, " -x -a '(__fish_complete_directories)'"); break;
    }
}

static void add_line(struct embi_buf *out, const struct cmd *cmd)
{
    embi_buf_print(out, "complete -c embtool -n '__embtool_command %s'", cmd->name);
}

static void add_option(struct embi_buf *out, const struct cmd *cmd, const struct opt *o)
{
    size_t n = brief_length(o->about);
    add_line(out, cmd);
    if (o->key)
        embi_buf_print(out, " -s %c", o->key);
    embi_buf_print(out, " -l %s", o->name);
    add_value(out, o);
    add_about(out, o->about, n);
    if (o->kind == OPT_SWITCH) {
        add_line(out, cmd);
        embi_buf_print(out, " -l no-%s", o->name);
        add_about(out, o->about, n);
    }
}

static void add_command(struct embi_buf *out, const struct cmd *cmd)
{
    const struct opt *o;
    embi_buf_print(out,
                   "\ncomplete -c embtool -n '__embtool_no_command; or __embtool_command help'"
                   " -a %s",
                   cmd->name);
    add_about(out, cmd->summary, strlen(cmd->summary));
    if (takes_table(cmd)) {
        add_line(out, cmd);
        embi_buf_text(out, " -F\n");
    }
    for (size_t i = 0; (o = option_at(cmd, i)); i++)
        add_option(out, cmd, o);
}

void fish_script(struct embi_buf *out)
{
    embi_buf_text(out, head);
    embi_buf_text(out, "complete -c embtool -n __embtool_no_command -a help "
                       "-d 'what a command does, and its options'\n");
    for (size_t i = 0; commands[i]; i++)
        add_command(out, commands[i]);
}

/* zsh.c - completion for zsh: a specification for each option, in the language of _arguments
 * (zshcompsys(1)), which does the rest.
 */
#include "gen.h"

#include <string.h>

static const char head[] = "#compdef embtool\n"
                           "# made by embtool-gen from the tables of options\n"
                           "\n"
                           "_embtool() {\n"
                           "    local curcontext=$curcontext state line\n"
                           "    local -a commands=(\n";

static const char middle[] =
    "    )\n"
    "    _arguments -C \\\n"
    "        '(- *)'{-h,--help}'[list the commands]' \\\n"
    "        '(- *)'{-V,--version}'[version, and what this build can do]' \\\n"
    "        '1:command:->command' '*:: :->rest' && return\n"
    "    if [[ $state == command ]]; then\n"
    "        _describe -t commands command commands\n"
    "        return\n"
    "    fi\n"
    "    case $words[1] in\n"
    "    help) _describe -t commands command commands ;;\n";

/* Sourced rather than loaded by compinit, it registers itself. */
static const char tail[] = "    esac\n"
                           "}\n"
                           "\n"
                           "if [[ $funcstack[1] == _embtool ]]; then\n"
                           "    _embtool \"$@\"\n"
                           "else\n"
                           "    compdef _embtool embtool\n"
                           "fi\n";

/* `[what it does]:N: ` and the quote that ends the specification. */
static void add_action(struct embi_buf *out, const struct opt *o)
{
    embi_buf_byte(out, '[');
    add_escaped(out, o->about, brief_length(o->about), "[]\\", "'\\''");
    embi_buf_byte(out, ']');
    switch (value_of(o)) {
    case VALUE_NONE: break;
    case VALUE_WORDS:
        embi_buf_text(out, ":value:(");
        add_words(out, o);
        embi_buf_byte(out, ')');
        break;
    case VALUE_FILE: embi_buf_text(out, ":file:_files"); break;
    case VALUE_FOLDER: embi_buf_text(out, ":directory:_path_files -/"); break;
    case VALUE_FREE:
        for (int i = 0; i < (o->values ? o->values : 1); i++)
            embi_buf_print(out, ":%s: ", o->arg);
        break;
    }
    embi_buf_byte(out, '\'');
}

/* An option that is there once is proposed no more, in either spelling, unless it makes a list. */
static void add_option(struct embi_buf *out, const struct opt *o)
{
    bool repeats = o->kind == OPT_LIST || o->kind == OPT_ITEM, value = value_of(o) != VALUE_NONE;
    embi_buf_text(out, " \\\n            '");
    if (repeats)
        embi_buf_byte(out, '*');
    else if (o->key)
        embi_buf_print(out, "(-%c --%s)", o->key, o->name);
    if (o->key)
        embi_buf_print(out, "'{-%c%s,", o->key, value ? "+" : "");
    embi_buf_print(out, "--%s%s", o->name, value ? "=" : "");
    embi_buf_text(out, o->key ? "}'" : "");
    add_action(out, o);
    if (o->kind == OPT_SWITCH) {
        embi_buf_print(out, " \\\n            '--no-%s", o->name);
        add_action(out, o);
    }
}

/* Arguments of which nothing is known take an empty list: a blank, as for values, would keep
 * _arguments from proposing options in their place. */
static void add_command(struct embi_buf *out, const struct cmd *cmd)
{
    const struct opt *o;
    embi_buf_print(out, "    %s)\n        _arguments -s -S", cmd->name);
    for (size_t i = 0; (o = option_at(cmd, i)); i++)
        add_option(out, o);
    embi_buf_print(out, " \\\n            '*:%s'\n        ;;\n",
                   takes_table(cmd) ? "table:_files" : "argument:()");
}

void zsh_script(struct embi_buf *out)
{
    embi_buf_text(out, head);
    for (size_t i = 0; commands[i]; i++) {
        embi_buf_print(out, "        '%s:", commands[i]->name);
        add_escaped(out, commands[i]->summary, strlen(commands[i]->summary), "\\", "'\\''");
        embi_buf_text(out, "'\n");
    }
    embi_buf_text(out, middle);
    for (size_t i = 0; commands[i]; i++)
        add_command(out, commands[i]);
    embi_buf_text(out, tail);
}

/* bash.c - completion for bash: a function that finds out which command and which option stand
 * before the cursor, with what the tables of options say in its middle.
 *
 * Needs nothing of the bash-completion package. File names are left to readline, which knows how to
 * quote them. `--name=value` is three words to bash.
 */
#include "gen.h"

#include <string.h>

static const char head[] =
    "# bash completion for embtool; made by embtool-gen from the tables of options\n"
    "_embtool()\n"
    "{\n"
    "    local at=$COMP_CWORD cur prev word options= words= kind= table= command=${COMP_WORDS[1]}\n"
    "    cur=${COMP_WORDS[at]} prev=${COMP_WORDS[at-1]}\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[at-2]}\n"
    "    fi\n"
    "    if ((at == 1)); then\n"
    "        command=help kind=first\n"
    "    fi\n"
    "    case $command in\n";

static const char tail[] = "    esac\n"
                           "    for word in \"${COMP_WORDS[@]:2:at-2}\"; do\n"
                           "        [[ $word == -- ]] && options= words= kind=\n"
                           "    done\n"
                           "    if [[ $words ]]; then\n"
                           "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                           "    elif [[ $kind == folder ]]; then\n"
                           "        compopt -o dirnames\n"
                           "    elif [[ $kind == file || $table && ! $kind && $cur != -* ]]; then\n"
                           "        compopt -o default\n"
                           "    elif [[ ! $kind ]]; then\n"
                           "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
                           "    fi\n"
                           "}\n"
                           "complete -F _embtool embtool\n";

/* The options whose values are of a kind, as one pattern: `-i | --input`. */
static void add_pattern(struct embi_buf *out, const struct cmd *cmd, enum value kind,
                        const char *action)
{
    const struct opt *o;
    const char *lead = "        ";
    for (size_t i = 0; (o = option_at(cmd, i)); i++) {
        if (value_of(o) != kind)
            continue;
        if (o->key)
            embi_buf_print(out, "%s-%c", lead, o->key);
        embi_buf_print(out, "%s--%s", o->key ? " | " : lead, o->name);
        lead = " | ";
    }
    if (lead[1] == '|')
        embi_buf_print(out, ") %s ;;\n", action);
}

static void add_word_lists(struct embi_buf *out, const struct cmd *cmd)
{
    const struct opt *o;
    for (size_t i = 0; (o = option_at(cmd, i)); i++) {
        if (value_of(o) != VALUE_WORDS)
            continue;
        embi_buf_text(out, "        ");
        if (o->key)
            embi_buf_print(out, "-%c | ", o->key);
        embi_buf_print(out, "--%s) words='", o->name);
        add_words(out, o);
        embi_buf_text(out, "' ;;\n");
    }
}

static void add_names(struct embi_buf *out, const struct cmd *cmd)
{
    const struct opt *o;
    for (size_t i = 0; (o = option_at(cmd, i)); i++) {
        if (o->key)
            embi_buf_print(out, "-%c ", o->key);
        embi_buf_print(out, "--%s ", o->name);
        if (o->kind == OPT_SWITCH)
            embi_buf_print(out, "--no-%s ", o->name);
    }
}

static void add_command(struct embi_buf *out, const struct cmd *cmd)
{
    embi_buf_print(out, "    %s)\n        options='", cmd->name);
    add_names(out, cmd);
    embi_buf_print(out, "'\n        table=%s\n        case $prev in\n",
                   takes_table(cmd) ? "yes" : "");
    add_word_lists(out, cmd);
    add_pattern(out, cmd, VALUE_FILE, "kind=file");
    add_pattern(out, cmd, VALUE_FOLDER, "kind=folder");
    add_pattern(out, cmd, VALUE_FREE, "kind=free");
    embi_buf_text(out, "        esac\n        ;;\n");
}

void bash_script(struct embi_buf *out)
{
    embi_buf_text(out, head);
    embi_buf_text(out, "    help)\n        words='");
    for (size_t i = 0; commands[i]; i++)
        embi_buf_print(out, "%s ", commands[i]->name);
    embi_buf_text(out,
                  "'\n        [[ $kind ]] && words+='help -h --help -V --version'\n        ;;\n");
    for (size_t i = 0; commands[i]; i++)
        add_command(out, commands[i]);
    embi_buf_text(out, tail);
}

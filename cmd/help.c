/* help.c - the texts of `embtool --help` and `embtool COMMAND -h`, made from the commands' own
 * descriptions.
 */
#include "main.h"

#include <string.h>

static void list_group(struct embi_buf *out, const char *group)
{
    embi_buf_print(out, "\n%s\n", group);
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->group, group) == 0)
            embi_buf_print(out, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    }
}

void help_list(struct embi_buf *out)
{
    embi_buf_text(out, "Look into, make and change embedding tables.\n\n"
                       "usage: embtool COMMAND [OPTIONS] [ARGUMENTS]\n"
                       "       embtool COMMAND -h        what a command does, and its options\n"
                       "       embtool -V, --version     version, and what this build can do\n");
    for (size_t i = 0; commands[i]; i++) {
        if (opens_group(i))
            list_group(out, commands[i]->group);
    }
}

/* Calls for each line of text: the line without its end. */
static const char *next_line(const char *text, char line[512])
{
    size_t n = strcspn(text, "\n");
    size_t kept = n < 511 ? n : 511;
    memcpy(line, text, kept);
    line[kept] = 0;
    return text + n + (text[n] == '\n');
}

void help_command(struct embi_buf *out, const struct cmd *cmd, size_t columns)
{
    char line[512];
    embi_buf_print(out, "embtool %s: %s\n\n", cmd->name, cmd->summary);
    const char *lead = "usage:";
    for (const char *at = cmd->usage; *at; lead = "") {
        at = next_line(at, line);
        embi_buf_print(out, "%-6s embtool %s %s\n", lead, cmd->name, line);
    }
    for (const char *at = cmd->about; at && *at;) {
        at = next_line(at, line);
        embi_buf_byte(out, '\n');
        opt_wrap(out, line, 0, 0, columns);
        embi_buf_byte(out, '\n');
    }
    opt_help(cmd->options, out, columns);
    if (cmd->examples)
        embi_buf_text(out, "\nExamples\n");
    for (const char *at = cmd->examples; at && *at;) {
        at = next_line(at, line);
        embi_buf_print(out, "  %s\n", line);
    }
}

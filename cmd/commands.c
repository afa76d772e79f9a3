/* commands.c - the list of commands. The program and the generator of man pages and completion
 * (gen/) both go by it, in this order; a new command is one line here.
 */
#include "main.h"

#include <string.h>

const struct cmd *const commands[] = {
    &cmd_lookup,  &cmd_similar, &cmd_stats,    &cmd_ls,     &cmd_check, &cmd_init,  &cmd_resize,
    &cmd_convert, &cmd_plan,    &cmd_position, &cmd_logits, &cmd_shard, &cmd_cache, NULL};

const struct cmd *find_command(const char *name)
{
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

/* A command opens its group if none before it in the list is of that group. */
bool opens_group(size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (strcmp(commands[i]->group, commands[at]->group) == 0)
            return false;
    }
    return true;
}

/* main.c - embtool-gen WHAT: one man page or completion script to standard output. Used by the
 * Makefile alone; gen.h says why it is a program of its own.
 *
 *     embtool-gen man [COMMAND]
 *     embtool-gen bash | zsh | fish
 */
#include "gen.h"

#include <string.h>

static bool make_page(struct embi_buf *out, const char *name)
{
    const struct cmd *cmd = name ? find_command(name) : NULL;
    if (name && !cmd)
        return false;
    if (cmd)
        man_command(out, cmd);
    else
        man_program(out);
    return true;
}

static bool make(struct embi_buf *out, const char *what, const char *name)
{
    static const struct {
        const char *shell;
        void (*script)(struct embi_buf *out);
    } scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
    if (strcmp(what, "man") == 0)
        return make_page(out, name);
    for (size_t i = 0; !name && i < EMBI_LEN(scripts); i++) {
        if (strcmp(what, scripts[i].shell) == 0) {
            scripts[i].script(out);
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    struct embi_buf out = {0};
    if (argc < 2 || argc > 3 || !make(&out, argv[1], argv[2])) {
        fprintf(stderr, "usage: embtool-gen man [COMMAND] | bash | zsh | fish\n");
        return EXIT_USAGE;
    }
    bool done = !out.failed && fwrite(out.s, 1, out.n, stdout) == out.n && fflush(stdout) == 0;
    embi_buf_free(&out);
    if (!done)
        perror("embtool-gen");
    return done ? EXIT_DONE : EXIT_FILE;
}

/* resize_names.c - new names and new roles of tokens: --rename-token OLD=NEW and --role ROLE=T.
 */
#include "resize.h"

#include "names.h"

#include <stdlib.h>
#include <string.h>

/* Is it a token of the model? Those past the last row are, too. */
static bool is_token(const struct resize *rz, const char *s, size_t n)
{
    uint64_t row;
    emb_err err;
    emb_status status = emb_table_find(rz->table, (emb_str){s, n}, &row, &err);
    return status == EMB_OK || (status == EMB_NOT_FOUND && err.at >= 0);
}

/* A token may hold an equals sign: what is before the one that counts is a token, if any is. */
static int split_rename(struct resize *rz, const char *text, emb_token_rename *r)
{
    const char *first = strchr(text, '='), *at = first;
    while (at && !is_token(rz, text, (size_t)(at - text)))
        at = strchr(at + 1, '=');
    if (!at)
        at = first;
    if (!at || at == text || !at[1])
        return usage_error(rz->run, "--rename-token %s: expected OLD=NEW", text);
    r->from = (emb_str){text, (size_t)(at - text)};
    r->to = (emb_str){at + 1, strlen(at + 1)};
    return EXIT_DONE;
}

static int split_role(struct resize *rz, size_t i, const char *text)
{
    const char *at = strchr(text, '=');
    if (!at || at == text || !at[1])
        return usage_error(rz->run, "--role %s: expected ROLE=TOKEN", text);
    rz->role_names[i] = strndup(text, (size_t)(at - text));
    if (!rz->role_names[i])
        return fail_with(rz->run, EXIT_MEMORY, NULL, "out of memory");
    for (size_t k = 0; k < i; k++)
        if (rz->role_names[k] && strcmp(rz->role_names[k], rz->role_names[i]) == 0)
            return usage_error(rz->run, "--role %s is there twice: which token?",
                               rz->role_names[i]);
    rz->roles[i] = (emb_token_role){rz->role_names[i], {at + 1, strlen(at + 1)}};
    return EXIT_DONE;
}

/* A name that goes to another token in the same run would mean two of them. */
static int check_added(struct resize *rz, const emb_token_rename *r)
{
    char shown[WORD_MAX];
    for (size_t i = 0; i < rz->add.n; i++) {
        emb_str t = rz->add.v[i];
        if (r->from.s && embi_str_equal(t, r->from))
            return usage_error(rz->run, "'%s' is renamed and added: do one, then the other",
                               word_show(shown, t.s, t.n));
    }
    return EXIT_DONE;
}

int resize_names(struct resize *rz)
{
    const struct resize_opts *o = rz->opts;
    int code = EXIT_DONE;
    rz->renames = calloc(o->renames.n + 1, sizeof *rz->renames);
    rz->roles = calloc(o->roles.n + 1, sizeof *rz->roles);
    rz->role_names = calloc(o->roles.n + 1, sizeof *rz->role_names);
    if (!rz->renames || !rz->roles || !rz->role_names)
        return fail_with(rz->run, EXIT_MEMORY, NULL, "out of memory");
    for (size_t i = 0; !code && i < o->renames.n; i++)
        code = split_rename(rz, o->renames.v[i], &rz->renames[i]);
    for (size_t i = 0; !code && i < o->renames.n; i++)
        code = check_added(rz, &rz->renames[i]);
    for (size_t i = 0; !code && i < o->roles.n; i++)
        code = split_role(rz, i, o->roles.v[i]);
    return code;
}

void resize_names_free(struct resize *rz)
{
    for (size_t i = 0; rz->role_names && i < rz->opts->roles.n; i++)
        free(rz->role_names[i]);
    free(rz->role_names);
    free(rz->roles);
    free(rz->renames);
}

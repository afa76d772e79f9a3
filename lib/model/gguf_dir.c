/* gguf_dir.c - which of the .gguf files in a directory is meant: the only one, or the only model
 * that is split into parts.
 */
#include "model/gguf_model.h"

#include "io/place.h"
#include "util/err.h"
#include "util/listed.h"

#include <stdlib.h>

static bool is_gguf(int dir, const char *name)
{
    (void)dir;
    return embi_ends_in(name, ".gguf");
}

/* Does `file` begin with NAME-, as the parts of a model of that name do? */
static bool begins_with(const char *file, emb_str name)
{
    return strncmp(file, name.s, name.n) == 0 && file[name.n] == '-';
}

/* Is the file a part of a model that is in the list? The list is sorted: what begins like the file
 * stands at its end. */
static bool is_part_of_one(char *const *list, size_t n, const char *file)
{
    struct embi_gguf_part part, other;
    if (!embi_gguf_part_of(file, &part))
        return false;
    while (n-- > 0 && begins_with(list[n], part.name))
        if (embi_gguf_part_of(list[n], &other) && other.count == part.count &&
            embi_str_equal(other.name, part.name))
            return true;
    return false;
}

/* Leaves the first file of each model in the list. */
static void keep_models(struct embi_names *names)
{
    size_t kept = 0;
    for (size_t i = 0; i < names->n; i++)
        if (is_part_of_one(names->list, kept, names->list[i]))
            free(names->list[i]);
        else
            names->list[kept++] = names->list[i];
    names->n = kept;
}

static emb_status fail_several(const struct embi_names *names, emb_err *err)
{
    struct embi_listed list = {0};
    for (size_t i = 0; i < names->n; i++)
        embi_listed_add(&list, (emb_str){names->list[i], strlen(names->list[i])});
    embi_fail(err, EMB_UNSUPPORTED, -1, "%zu GGUF models are here: name one of %s", names->n,
              embi_listed_text(&list));
    embi_listed_free(&list);
    return EMB_UNSUPPORTED;
}

emb_status embi_gguf_in_dir(const struct embi_env *env, const char *dir, char **name, emb_err *err)
{
    struct embi_names names;
    *name = NULL;
    emb_status status = embi_path_names(env, dir, is_gguf, &names, err);
    if (!status)
        keep_models(&names);
    if (!status && names.n > 1)
        status = fail_several(&names, err);
    if (!status && names.n == 1) {
        *name = names.list[0];
        names.n = 0;
    }
    embi_names_free(&names);
    return status;
}

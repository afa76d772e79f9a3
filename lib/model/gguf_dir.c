/* gguf_dir.c - which of the .gguf files in a directory is meant: the only one, or the only model
 * that is split into parts.
 */
#include "model/gguf_model.h"

#include "io/dir_names.h"
#include "util/err.h"
#include "util/listed.h"

#include <stdlib.h>

static bool is_gguf(int dir, const char *name)
{
    (void)dir;
    return embi_ends_in(name, ".gguf");
}

static bool are_parts_of_one(const char *a, const char *b)
{
    struct embi_gguf_part p, q;
    return embi_gguf_part_of(a, &p) && embi_gguf_part_of(b, &q) && p.count == q.count &&
           embi_str_equal(p.name, q.name);
}

/* Leaves the first file of each model in the list. */
static void keep_models(struct embi_names *names)
{
    size_t kept = 0;
    for (size_t i = 0; i < names->n; i++) {
        size_t k = 0;
        while (k < kept && !are_parts_of_one(names->list[k], names->list[i]))
            k++;
        if (k < kept)
            free(names->list[i]);
        else
            names->list[kept++] = names->list[i];
    }
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

emb_status embi_gguf_in_dir(const char *dir, char **name, emb_err *err)
{
    struct embi_names names;
    *name = NULL;
    emb_status status = embi_dir_names(dir, is_gguf, &names, err);
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

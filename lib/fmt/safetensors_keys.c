/* safetensors_keys.c - the keys of one object of the header, to find one that is there twice.
 *
 * JSON leaves open what a repeated key means; safetensors forbids it. Keys are compared as decoded
 * (\u0061 is a), in one pass over a hash index, as headers may list a hundred thousand tensors.
 */
#include "fmt/safetensors.h"

#include "util/err.h"

#include <stdlib.h>

void embi_st_keys_free(struct embi_st_keys *k)
{
    embi_buf_free(&k->text);
    free(k->list);
}

static emb_status keys_grow(struct embi_st_keys *k, emb_err *err)
{
    if (k->n < k->cap)
        return EMB_OK;
    size_t cap = k->cap ? 2 * k->cap : 16; /* below the header's 10^8 bytes */
    struct embi_st_key *list = realloc(k->list, cap * sizeof *list);
    if (!list)
        return embi_fail_memory(err, cap * sizeof *list, "the keys of the header");
    k->list = list;
    k->cap = cap;
    return EMB_OK;
}

emb_str embi_st_keys_get(const struct embi_st_keys *k, size_t i)
{
    uint64_t from = i ? k->list[i - 1].end : 0;
    return (emb_str){k->text.s + from, (size_t)(k->list[i].end - from)};
}

emb_status embi_st_keys_add(struct embi_st_keys *k, const struct embi_json_value *key, uint64_t at,
                            emb_err *err)
{
    emb_status status = keys_grow(k, err);
    if (status != EMB_OK)
        return status;
    if (!embi_json_string(key, &k->text) || !embi_buf_room(&k->text, 1)) /* even "" has a place */
        return embi_fail_memory(err, key->n, "the keys of the header");
    k->list[k->n++] = (struct embi_st_key){k->text.n, at};
    return EMB_OK;
}

emb_status embi_st_keys_differ(const struct embi_st_keys *k, const char *what, emb_err *err)
{
    size_t twin;
    char show[EMBI_SHOW_MAX];
    emb_str *list = calloc(k->n + 1, sizeof *list); /* [n] */
    if (!list)
        return embi_fail_memory(err, (k->n + 1) * sizeof *list, "the keys of the header");
    for (size_t i = 0; i < k->n; i++)
        list[i] = embi_st_keys_get(k, i);
    emb_status status = embi_find_twin(list, k->n, &twin, err);
    if (status == EMB_OK && twin < k->n)
        status = embi_fail(err, EMB_BAD_DATA, (int64_t)k->list[twin].at, "%s '%s' is there twice",
                           what, embi_show(show, list[twin]));
    free(list);
    return status;
}

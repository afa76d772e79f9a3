/* token_sources.c - see token_sources.h: reading the files, and where they contradict each other.
 * What loaders make of the ids is token_gaps.c's.
 */
#include "model/token_sources.h"
#include "model/token_gaps.h"

#include "model/tokenizer_read.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const names[EMBI_TOKEN_FILES] = {"tokenizer.json", "tokenizer_config.json",
                                                    "added_tokens.json"};

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

/* A list may be null, which is none. */
static emb_status read_list(struct embi_token_list *list, struct embi_json *j,
                            enum embi_token_form form, emb_err *err)
{
    struct embi_json ahead = *j;
    struct embi_json_value v;
    if (embi_json_next(&ahead, &v) == EMBI_JSON_NULL)
        return EMB_OK;
    return embi_token_list_read(list, j, form, err);
}

static emb_status walk_json(struct embi_token_sources *s, struct embi_token_source *src,
                            emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key;
    emb_status status = EMB_OK;
    embi_json_init(&j, src->s, src->n, 0);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&j, &key)) {
        if (embi_json_is(&key, "model"))
            status = embi_read_json_model(src, &j, &s->entries, err);
        else if (embi_json_is(&key, "added_tokens"))
            status = read_list(&s->lists[EMBI_TOKENS_OF_JSON], &j, EMBI_TOKENS_ARRAY, err);
    }
    return status ? status : embi_json_finish(&j, 0, err);
}

static emb_status read_json(struct embi_token_sources *s, const struct embi_env *env,
                            const char *dir, emb_err *err)
{
    struct embi_token_source src;
    struct embi_sidecar file;
    emb_status status = embi_sidecar_open(env, dir, names[EMBI_TOKENS_OF_JSON], &file, err);
    if (status || !file.io)
        return status;
    s->json = true;
    status = embi_token_source_open(&src, env, file.io, names[EMBI_TOKENS_OF_JSON], &s->vocab, err);
    if (!status)
        status = walk_json(s, &src, err);
    return status ? embi_fail_in(err, "%s", names[EMBI_TOKENS_OF_JSON]) : EMB_OK;
}

static emb_status walk_config(struct embi_token_list *list, const struct embi_sidecar *file,
                              emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key;
    emb_status status = EMB_OK;
    embi_json_init(&j, file->s, file->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&j, &key))
        if (embi_json_is(&key, "added_tokens_decoder"))
            status = read_list(list, &j, EMBI_TOKENS_DECODER, err);
    return status ? status : embi_json_finish(&j, 0, err);
}

static emb_status walk_added(struct embi_token_list *list, const struct embi_sidecar *file,
                             emb_err *err)
{
    struct embi_json j;
    embi_json_init(&j, file->s, file->n, 0);
    emb_status status = embi_token_list_read(list, &j, EMBI_TOKENS_PLAIN, err);
    return status ? status : embi_json_finish(&j, 0, err);
}

typedef emb_status walk_fn(struct embi_token_list *list, const struct embi_sidecar *file,
                           emb_err *err);

static emb_status read_beside(struct embi_token_sources *s, const struct embi_env *env,
                              const char *dir, enum embi_token_file which, walk_fn *walk,
                              emb_err *err)
{
    struct embi_sidecar *file = &s->files[which];
    emb_status status = embi_sidecar_open(env, dir, names[which], file, err);
    if (status || !file->io)
        return status;
    status = walk(&s->lists[which], file, err);
    return status ? embi_fail_in(err, "%s", names[which]) : EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Contradictions
 */

static const char *base_name(const struct embi_token_sources *s)
{
    return s->json ? "the vocabulary of tokenizer.json" : "the vocabulary";
}

static emb_status two_ids(emb_err *err, emb_str text, uint64_t id, const char *file, uint64_t other,
                          const char *other_file)
{
    char shown[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_BAD_DATA, -1,
                     "'%s' has the id %" PRIu64 " in %s and %" PRIu64 " in %s",
                     embi_show(shown, text), id, file, other, other_file);
}

static emb_status two_texts(emb_err *err, uint64_t id, emb_str text, const char *file,
                            emb_str other, const char *other_file)
{
    char shown[EMBI_SHOW_MAX], other_shown[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_BAD_DATA, -1, "id %" PRIu64 " is '%s' in %s and '%s' in %s", id,
                     embi_show(shown, text), file, embi_show(other_shown, other), other_file);
}

/* An added token against the vocabulary. */
static emb_status against_base(const struct embi_token_sources *s, const struct embi_token_ref *r,
                               emb_err *err)
{
    const struct embi_token_entry *e = r->entry;
    emb_str there = e->id < s->n_base ? s->base[e->id] : (emb_str){0};
    if (there.s && embi_str_equal(there, e->text))
        return EMB_OK;
    uint64_t id = embi_map_find(&s->base_map, e->text);
    if (id != EMBI_MAP_NONE)
        return two_ids(err, e->text, id, base_name(s), e->id, r->list->file);
    if (there.s)
        return two_texts(err, e->id, there, base_name(s), e->text, r->list->file);
    return EMB_OK;
}

/* Its text in the other lists. */
static emb_status against_lists(const struct embi_token_sources *s, const struct embi_token_ref *r,
                                emb_err *err)
{
    for (size_t f = 0; f < EMBI_TOKEN_FILES; f++) {
        const struct embi_token_entry *e = embi_token_list_find(&s->lists[f], r->entry->text);
        if (e && e->id != r->entry->id)
            return two_ids(err, e->text, r->entry->id, r->list->file, e->id, s->lists[f].file);
    }
    return EMB_OK;
}

static int by_id(const void *a, const void *b)
{
    const struct embi_token_ref *x = a, *y = b;
    return x->entry->id < y->entry->id ? -1 : x->entry->id > y->entry->id;
}

static emb_status sort_by_id(struct embi_token_sources *s, emb_err *err)
{
    size_t most = 0;
    for (size_t f = 0; f < EMBI_TOKEN_FILES; f++)
        most += s->lists[f].n;
    s->by_id = calloc(most + 1, sizeof *s->by_id);
    if (!s->by_id)
        return embi_fail_memory(err, most * sizeof *s->by_id, "added tokens");
    for (size_t f = 0; f < EMBI_TOKEN_FILES; f++)
        for (size_t i = 0; i < s->lists[f].n; i++)
            s->by_id[s->n_by_id++] = (struct embi_token_ref){&s->lists[f].items[i], &s->lists[f]};
    qsort(s->by_id, s->n_by_id, sizeof *s->by_id, by_id);
    return EMB_OK;
}

static emb_status refuse_contradictions(const struct embi_token_sources *s, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < s->n_by_id; i++) {
        const struct embi_token_ref *r = &s->by_id[i], *before = i ? r - 1 : r;
        status = against_base(s, r, err);
        if (!status)
            status = against_lists(s, r, err);
        if (!status && before->entry->id == r->entry->id &&
            !embi_str_equal(before->entry->text, r->entry->text))
            status = two_texts(err, r->entry->id, before->entry->text, before->list->file,
                               r->entry->text, r->list->file);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Opening, finding
 */

static emb_status take_base(struct embi_token_sources *s, const struct embi_tokenizer *t,
                            emb_err *err)
{
    const struct embi_tokenizer *base = s->json ? &s->vocab : t;
    s->base = base->tokens;
    s->n_base = base->n;
    s->next_id = base->n;
    for (size_t f = 0; f < EMBI_TOKEN_FILES; f++)
        for (size_t i = 0; i < s->lists[f].n; i++)
            s->next_id = embi_max(s->next_id, s->lists[f].items[i].id + 1);
    return embi_map_build(&s->base_map, s->base, s->n_base, err);
}

emb_status embi_token_sources_open(const struct embi_env *env, const char *dir,
                                   const struct embi_tokenizer *t, struct embi_token_sources *s,
                                   emb_err *err)
{
    *s = (struct embi_token_sources){0};
    for (size_t f = 0; f < EMBI_TOKEN_FILES; f++)
        s->lists[f].file = names[f];
    emb_status status = read_json(s, env, dir, err);
    if (!status)
        status = read_beside(s, env, dir, EMBI_TOKENS_OF_CONFIG, walk_config, err);
    if (!status)
        status = read_beside(s, env, dir, EMBI_TOKENS_OF_ADDED, walk_added, err);
    if (!status)
        status = take_base(s, t, err);
    if (!status)
        status = sort_by_id(s, err);
    if (!status)
        status = refuse_contradictions(s, err);
    if (!status)
        status = embi_token_gaps_find(s, err);
    if (status)
        embi_token_sources_free(s);
    return status;
}

void embi_token_sources_free(struct embi_token_sources *s)
{
    for (size_t f = 0; f < EMBI_TOKEN_FILES; f++) {
        embi_token_list_free(&s->lists[f]);
        embi_sidecar_close(&s->files[f]);
    }
    embi_map_free(&s->base_map);
    embi_tokenizer_free(&s->vocab);
    free(s->by_id);
    free(s->fills);
    *s = (struct embi_token_sources){0};
}

const struct embi_token_ref *embi_token_sources_at(const struct embi_token_sources *s, uint64_t id)
{
    size_t low = 0, high = s->n_by_id;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->by_id[middle].entry->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n_by_id && s->by_id[low].entry->id == id ? &s->by_id[low] : NULL;
}

uint64_t embi_token_sources_find(const struct embi_token_sources *s, emb_str text)
{
    for (size_t f = 0; f < EMBI_TOKEN_FILES; f++) {
        const struct embi_token_entry *entry = embi_token_list_find(&s->lists[f], text);
        if (entry)
            return entry->id;
    }
    return embi_map_find(&s->base_map, text);
}

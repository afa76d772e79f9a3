/* tokenizer_read.c - what the readers of vocabulary files share; see tokenizer_read.h.
 *
 * Invariant: tokens[n .. capacity) are empty, and so are the holes below n.
 */
#include "model/tokenizer_read.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEWEST_TOKENS = 256, LARGEST_HOLE = 1 << 22 };

#define LARGEST_ID UINT64_C(0x80000000)

emb_status embi_token_source_open(struct embi_token_source *src, const struct embi_env *env,
                                  struct embi_io *file, const char *path, struct embi_tokenizer *t,
                                  emb_err *err)
{
    const void *data;
    *src = (struct embi_token_source){.env = env, .path = path, .file = file, .t = t};
    if (t->n_parts == EMBI_TOKENIZER_PARTS) {
        embi_io_close(file);
        return embi_fail(err, EMB_BUG, -1, "a tokenizer of more than %d files",
                         EMBI_TOKENIZER_PARTS);
    }
    t->parts[t->n_parts].file = file;
    src->strings = &t->parts[t->n_parts].strings;
    t->n_parts++;
    emb_status status = embi_io_map(file, &data, err);
    if (!status) {
        src->s = data;
        src->n = file->size;
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Strings
 */

emb_status embi_token_source_room(struct embi_token_source *src, uint64_t bytes, emb_err *err)
{
    if (!embi_buf_room(src->strings, bytes))
        return embi_fail_memory(err, bytes, "tokens");
    return EMB_OK;
}

char *embi_token_source_take(struct embi_token_source *src, size_t n)
{
    if (n > src->strings->cap - src->strings->n)
        return NULL;
    char *room = src->strings->s + src->strings->n;
    src->strings->n += n;
    return room;
}

emb_status embi_token_source_string(struct embi_token_source *src, const struct embi_json_value *v,
                                    emb_str *out, emb_err *err)
{
    struct embi_buf *b = src->strings;
    if (!v->escaped) {
        *out = (emb_str){v->s + 1, v->n - 2};
        return EMB_OK;
    }
    emb_status status = b->s ? EMB_OK : embi_token_source_room(src, src->n, err);
    if (status)
        return status;
    if (v->n > b->cap - b->n) /* what is decoded is shorter than its span */
        return embi_fail(err, EMB_BUG, -1, "a string was decoded twice");
    size_t before = b->n;
    embi_json_string(v, b);
    *out = (emb_str){b->s + before, b->n - before};
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Ids
 */

static emb_status grow(struct embi_token_source *src, uint64_t id, const char *at, emb_err *err)
{
    struct embi_tokenizer *t = src->t;
    if (id >= LARGEST_HOLE + (uint64_t)src->n)
        return embi_fail(err, EMB_UNSUPPORTED, at - src->s,
                         "byte %" PRId64 ": token id %" PRIu64 " is too far from the others",
                         (int64_t)(at - src->s), id);
    uint64_t capacity = embi_max(id + 1, embi_max(2 * t->capacity, FEWEST_TOKENS + src->n / 128));
    emb_str *tokens = realloc(t->tokens, capacity * sizeof *tokens);
    if (!tokens)
        return embi_fail_memory(err, capacity * sizeof *tokens, "tokens");
    memset(tokens + t->capacity, 0, (capacity - t->capacity) * sizeof *tokens);
    t->tokens = tokens;
    t->capacity = capacity;
    return EMB_OK;
}

emb_status embi_token_put(struct embi_token_source *src, uint64_t id, emb_str token, const char *at,
                          emb_err *err)
{
    struct embi_tokenizer *t = src->t;
    emb_status status = id < t->capacity ? EMB_OK : grow(src, id, at, err);
    if (status)
        return status;
    emb_str *slot = &t->tokens[id];
    if (slot->s) {
        if (!embi_str_equal(*slot, token))
            embi_token_conflict_add(src, id, *slot, token);
        return EMB_OK;
    }
    *slot = token;
    t->count++;
    t->n = embi_max(t->n, id + 1);
    return EMB_OK;
}

/* Memory of zeros that nobody touches costs nothing: most files speak of a few tokens alone. */
struct embi_token_note *embi_token_note(struct embi_token_source *src, uint64_t id, emb_err *err)
{
    struct embi_tokenizer *t = src->t;
    if (id < t->n_notes)
        return &t->notes[id];
    uint64_t n = embi_max(id + 1, embi_max(t->capacity, 2 * t->n_notes));
    struct embi_token_note *notes = calloc(n, sizeof *notes);
    if (!notes) {
        embi_fail_memory(err, n * sizeof *notes, "notes on tokens");
        return NULL;
    }
    if (t->n_notes)
        memcpy(notes, t->notes, t->n_notes * sizeof *notes);
    free(t->notes);
    t->notes = notes;
    t->n_notes = n;
    return &notes[id];
}

void embi_token_conflict_add(struct embi_token_source *src, uint64_t id, emb_str kept,
                             emb_str other)
{
    struct embi_token_conflict *c = &src->conflict;
    if (c->n++ == 0)
        *c = (struct embi_token_conflict){1, id, kept, other};
}

void embi_token_conflict_report(const struct embi_token_source *src)
{
    const struct embi_token_conflict *c = &src->conflict;
    char kept[EMBI_SHOW_MAX], other[EMBI_SHOW_MAX], more[48] = "";
    if (c->n == 0)
        return;
    if (c->n > 1)
        (void)snprintf(more, sizeof more, ", and %" PRIu64 " more", c->n - 1);
    embi_log(src->env, EMB_LOG_WARNING, src->path,
             "id %" PRIu64 " has two tokens, '%s' (kept) and '%s'%s", c->id,
             embi_show(kept, c->kept), embi_show(other, c->other), more);
}

bool embi_token_id(struct embi_json *j, const struct embi_json_value *v, uint64_t *id)
{
    if (embi_json_u64(v, id) && *id <= LARGEST_ID)
        return true;
    embi_json_reject(j, v, "a token id, a whole number up to 2147483648");
    return false;
}

emb_status embi_read_token_ids(struct embi_token_source *src, struct embi_json *j,
                               uint64_t *entries, emb_err *err)
{
    struct embi_json_pair pair = {0};
    emb_status status = EMB_OK;
    for (; !status && embi_json_pair(j, &pair); ++*entries) {
        uint64_t id = pair.number;
        emb_str token = {"", 0};
        if ((!pair.whole || id > LARGEST_ID) && !embi_token_id(j, &pair.value, &id))
            return EMB_OK;
        status = embi_token_source_string(src, &pair.key, &token, err);
        if (!status)
            status = embi_token_put(src, id, token, pair.key.s, err);
    }
    return status;
}

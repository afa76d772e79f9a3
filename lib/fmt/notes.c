/* notes.c - see notes.h: notes made, freed, and those of some of the tokens picked out.
 */
#include "fmt/notes.h"

#include "util/err.h"

#include <stdlib.h>

void embi_notes_free(struct embi_token_notes *notes)
{
    free(notes->scores);
    free(notes->types);
    free(notes->ids);
    embi_buf_free(&notes->any.bytes);
    embi_buf_free(&notes->whole.bytes);
    *notes = (struct embi_token_notes){0};
}

emb_status embi_notes_add_id(struct embi_token_notes *notes, emb_str key, uint64_t id, emb_err *err)
{
    size_t bytes = (notes->n_ids + 1) * sizeof *notes->ids; /* they are few */
    struct embi_noted_id *ids = realloc(notes->ids, bytes);
    if (!ids)
        return embi_fail_memory(err, bytes, "the roles of tokens");
    notes->ids = ids;
    ids[notes->n_ids++] = (struct embi_noted_id){key, id};
    return EMB_OK;
}

emb_status embi_notes_make_scores(struct embi_token_notes *notes, emb_err *err)
{
    notes->scores = calloc(notes->n + 1, sizeof *notes->scores);
    return notes->scores
               ? EMB_OK
               : embi_fail_memory(err, notes->n * sizeof *notes->scores, "scores of tokens");
}

emb_status embi_notes_make_types(struct embi_token_notes *notes, emb_err *err)
{
    notes->types = calloc(notes->n + 1, sizeof *notes->types);
    return notes->types ? EMB_OK
                        : embi_fail_memory(err, notes->n * sizeof *notes->types, "types of tokens");
}

/* The first of the rows [n] that is row `id`; n: none is. */
static uint64_t first_row(const uint64_t *rows, uint64_t n, uint64_t id)
{
    uint64_t i = 0;
    if (!rows)
        return embi_min(id, n);
    while (i < n && rows[i] != id)
        i++;
    return i;
}

static emb_status pick_ids(const struct embi_token_notes *from, const uint64_t *rows, uint64_t n,
                           struct embi_token_notes *to, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < from->n_ids; i++) {
        uint64_t row = first_row(rows, n, from->ids[i].id);
        if (row < n)
            status = embi_notes_add_id(to, from->ids[i].key, row, err);
    }
    return status;
}

static void move_keys(struct embi_noted_keys *from, struct embi_noted_keys *to)
{
    *to = *from;
    *from = (struct embi_noted_keys){0};
}

emb_status embi_notes_pick(struct embi_token_notes *from, const uint64_t *rows, uint64_t n,
                           struct embi_token_notes *to, emb_err *err)
{
    *to = (struct embi_token_notes){.model = from->model, .n = n};
    emb_status status = from->scores ? embi_notes_make_scores(to, err) : EMB_OK;
    if (!status && from->types)
        status = embi_notes_make_types(to, err);
    if (!status)
        status = pick_ids(from, rows, n, to, err);
    for (uint64_t i = 0; !status && i < n; i++) {
        uint64_t id = rows ? rows[i] : i;
        if (id < from->n && from->scores)
            to->scores[i] = from->scores[id];
        if (id < from->n && from->types)
            to->types[i] = from->types[id];
    }
    move_keys(&from->any, &to->any);
    if (!rows && n >= from->n)
        move_keys(&from->whole, &to->whole);
    return status;
}

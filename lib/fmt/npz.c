/* npz.c - writes .npz archives: a zip with one .npy file for each array, stored.
 *
 * numpy.load reads them. Each member's header may be filled in when its array is complete, so row
 * counts need not be known beforehand where the target can be patched. Reading comes with another
 * version. Specification: numpy.savez, and io/zip.c for the archive.
 */
#include "fmt/npy.h"

#include "io/zip.h"
#include "util/err.h"
#include "util/utf8.h"

#include <stdlib.h>

struct state {
    struct embi_zip zip;
    struct embi_buf head, name; /* of the member that is open */
    bool open, late;            /* late: its count was not known when it was opened */
};

/* A member's name may not lead out of the folder it is unpacked into. */
static bool good_name(emb_str name)
{
    if (name.n == 0 || name.n > UINT16_MAX - 4 || name.s[0] == '/' || memchr(name.s, '\\', name.n))
        return false;
    for (size_t i = 0, part = 0; i <= name.n; i++) {
        if (i < name.n && name.s[i] != '/')
            continue;
        if (i - part == 2 && memcmp(name.s + part, "..", 2) == 0)
            return false;
        part = i + 1;
    }
    return embi_utf8_valid(name.s, name.n);
}

static emb_status check(const struct embi_sink *s, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    emb_status status = embi_sink_check_tokens(s, err);
    if (status == EMB_OK)
        status = embi_npy_check_type(s, err);
    for (size_t i = 0; status == EMB_OK && i < s->n; i++) {
        emb_str name = embi_array_name(&s->arrays[i]);
        if (!good_name(name))
            status = embi_fail(err, EMB_BAD_ARG, (int64_t)i, "'%s' cannot be a name in an .npz",
                               embi_show(show, name));
    }
    return status == EMB_OK ? embi_sink_check_names(s, err) : status;
}

static emb_status begin(struct embi_sink *s, emb_err *err)
{
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return embi_fail_memory(err, sizeof *state, "the state of a writer");
    state->zip.io = s->io;
    s->state = state;
    return EMB_OK;
}

/* Opens the member of the current array. */
static emb_status open_member(struct embi_sink *s, emb_err *err)
{
    struct state *state = s->state;
    const emb_array *array = &s->arrays[s->current];
    emb_str name = embi_array_name(array);
    uint64_t most = UINT64_MAX;
    state->open = true;
    state->late = embi_array_open_ended(array);
    state->name.n = 0;
    embi_buf_add(&state->name, name.s, name.n);
    embi_buf_text(&state->name, ".npy");
    if (state->name.failed)
        return embi_fail_memory(err, name.n, "a name");
    emb_status status = embi_npy_header(array, &state->head, err);
    if (status != EMB_OK)
        return status;
    if (!state->late)
        most = state->head.n + array->shape[0] * embi_array_row_bytes(array);
    return embi_zip_open(&state->zip, (emb_str){state->name.s, state->name.n}, state->head.s,
                         state->head.n, most, err);
}

static emb_status put(struct embi_sink *s, const void *data, uint64_t n_bytes,
                      const emb_str *tokens, emb_err *err)
{
    (void)tokens; /* refused by the check */
    struct state *state = s->state;
    emb_status status = state->open ? EMB_OK : open_member(s, err);
    return status == EMB_OK ? embi_zip_add(&state->zip, data, (size_t)n_bytes, err) : status;
}

/* An array without rows gets its member here. */
static emb_status finish(struct embi_sink *s, emb_err *err)
{
    struct state *state = s->state;
    emb_status status = state->open ? EMB_OK : open_member(s, err);
    if (status == EMB_OK && state->late)
        status = embi_npy_header(&s->arrays[s->current], &state->head, err);
    state->open = false;
    if (status != EMB_OK)
        return status;
    return embi_zip_close(&state->zip, state->head.s, state->head.n, err);
}

static emb_status end(struct embi_sink *s, emb_err *err)
{
    struct state *state = s->state;
    return embi_zip_end(&state->zip, err);
}

static void free_state(void *p)
{
    struct state *state = p;
    embi_zip_free(&state->zip);
    embi_buf_free(&state->head);
    embi_buf_free(&state->name);
    free(state);
}

const struct embi_format embi_format_npz = {
    .name = "npz",
    .about = "NumPy archive",
    .exts = " .npz ",
    .caps = EMBI_FMT_WRITE | EMBI_FMT_NAMES,
    .check = check,
    .begin = begin,
    .put = put,
    .finish = finish,
    .end = end,
    .free = free_state,
};

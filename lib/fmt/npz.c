/* npz.c - the format "npz": a zip with one .npy file for each array. Here it is written, stored.
 *
 * numpy.load reads them. Each member's header may be filled in when its array is complete, so row
 * counts need not be known beforehand where the target can be patched. Tokens are an array of text
 * behind them (npz_tokens.c). npz_read.c is the other half.
 * Specification: numpy.savez, and io/zip.c for the archive.
 */
#include "fmt/npy.h"

#include "io/zip.h"
#include "io/zip_read.h"
#include "util/err.h"
#include "util/utf8.h"

#include <stdlib.h>

struct state {
    struct embi_zip zip;
    struct embi_buf head, name; /* of the member that is open */
    bool open, late;            /* late: its count was not known when it was opened */
    struct embi_npz *read;      /* of a reader, which has nothing else here */
};

/* Bids more than PyTorch's extensions do, and less than its first member. */
enum { NPZ_BID = 92 };

static int probe(const unsigned char *head, size_t n, uint64_t size, const char *ext)
{
    enum { NAME_BYTES_AT = 26, NAME_AT = 30, END_BYTES = 4 };
    (void)size;
    bool local = n >= NAME_AT && memcmp(head, "PK\3\4", 4) == 0;
    bool none = n >= 4 && memcmp(head, "PK\5\6", 4) == 0;
    size_t name = local ? embi_le16(head + NAME_BYTES_AT) : 0;
    bool array = name > END_BYTES && name <= n - NAME_AT &&
                 memcmp(head + NAME_AT + name - END_BYTES, ".npy", END_BYTES) == 0;
    return array || ((local || none) && strcmp(ext, ".npz") == 0) ? NPZ_BID : 0;
}

static emb_status open_npz(struct embi_reader *r, emb_err *err)
{
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return embi_fail_memory(err, sizeof *state, "the state of a reader");
    r->state = state;
    return embi_npz_read(r, &state->read, err);
}

static emb_status tokens(struct embi_reader *r, emb_err *err)
{
    return embi_npz_tokens(r, ((struct state *)r->state)->read, err);
}

static emb_status explain(const struct embi_reader *r, const struct embi_tensor *t, emb_err *err)
{
    struct embi_tensor again;
    uint64_t bytes;
    emb_str descr = {t->type_name, strlen(t->type_name)};
    return embi_npy_type(descr, r->opts.input_dtype, -1, &again, &bytes, err);
}

static emb_status check(const struct embi_sink *s, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    emb_status status = embi_npz_check_tokens(s, err);
    if (status == EMB_OK)
        status = embi_npy_check_type(s, err);
    for (size_t i = 0; status == EMB_OK && i < s->n; i++) {
        emb_str name = embi_array_name(&s->arrays[i]);
        if (name.n > UINT16_MAX - 4 || !embi_zip_name_is_safe(name) ||
            !embi_utf8_valid(name.s, name.n))
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
    (void)tokens; /* they come at the end */
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
    emb_status status = EMB_OK;
    if (s->tokens)
        status = embi_npz_put_tokens(&state->zip, s->all_tokens, s->arrays[0].shape[0], err);
    return status ? status : embi_zip_end(&state->zip, err);
}

static void free_state(void *p)
{
    struct state *state = p;
    embi_npz_free(state->read);
    embi_zip_free(&state->zip);
    embi_buf_free(&state->head);
    embi_buf_free(&state->name);
    free(state);
}

const struct embi_format embi_format_npz = {
    .name = "npz",
    .about = "NumPy archive",
    .exts = " .npz ",
    .caps =
        EMBI_FMT_READ | EMBI_FMT_WRITE | EMBI_FMT_NAMES | EMBI_FMT_TOKENS | EMBI_FMT_TOKENS_FIRST,
    .probe = probe,
    .open = open_npz,
    .tokens = tokens,
    .explain = explain,
    .check = check,
    .begin = begin,
    .put = put,
    .finish = finish,
    .end = end,
    .refuses = embi_npz_refuses,
    .breaks = {"\0", 1},
    .free = free_state,
};

/* npz_read.c - reads .npz archives: their arrays by name, and the tokens that one of them may hold.
 *
 * Opening reads the directory and the headers of the arrays. Arrays of text are listed; the first
 * of `vocab`, `words` and `tokens` that has one axis holds the tokens of tables with as many rows.
 * Pickled objects are never read. Specification: numpy.savez and numpy.lib.format, io/zip_read.c.
 */
#include "fmt/npy.h"

#include "io/inflate.h"
#include "io/member.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

enum { REST_MAX_BYTES = 1 << 20 };

/* Tokens that are packed, with what pads them. */
#define TOKENS_MAX_BYTES (UINT64_C(1) << 32)

static const char *const token_names[] = {"vocab", "words", "tokens"};

struct embi_npz {
    struct embi_io **members; /* [n], owned: one for each tensor of the reader */
    size_t n;
    size_t tokens; /* which of them holds tokens; only where reader.n_tokens is not 0 */
    char *text;    /* tokens that had to be put into UTF-8, or NULL */
};

void embi_npz_free(struct embi_npz *npz)
{
    if (!npz)
        return;
    for (size_t i = 0; i < npz->n; i++)
        embi_io_close(npz->members[i]);
    free(npz->members);
    free(npz->text);
    free(npz);
}

/* ------------------------------------------------------------------------------------------------
 * Arrays
 */

static bool is_array(const struct embi_zip_member *m)
{
    return m->name.n > 4 && memcmp(m->name.s + m->name.n - 4, ".npy", 4) == 0;
}

/* numpy passes over bytes behind an array. To unpack many of them would be work for nothing. */
static emb_status check_rest(const struct embi_io *io, const struct embi_tensor *t, emb_err *err)
{
    uint64_t rest =
        io->size - t->offset - t->bytes; /* the array is inside, embi_npy_read saw to it */
    if (rest <= REST_MAX_BYTES)
        return EMB_OK;
    return embi_fail(err, EMB_BAD_DATA, (int64_t)(t->offset + t->bytes),
                     "%" PRIu64 " bytes follow the array; more than %d are not passed over", rest,
                     REST_MAX_BYTES);
}

static emb_status add_array(struct embi_reader *r, struct embi_npz *npz,
                            const struct embi_zip_member *m, emb_err *err)
{
    struct embi_tensor t;
    struct embi_io **io = &npz->members[npz->n];
    const struct embi_npy_read how = {.input_dtype = r->opts.input_dtype, .list = true};
    emb_status status = embi_member_open(r->io, m, io, err);
    if (status)
        return status;
    npz->n++;
    if (embi_npy_read(*io, &how, &t, err) || check_rest(*io, &t, err))
        return embi_io_fail_in(*io, err);
    embi_io_forget(*io, 0, t.offset); /* headers of many arrays would add up */
    return embi_reader_add(r, (emb_str){m->name.s, m->name.n - 4}, &t, err);
}

static emb_status add_arrays(struct embi_reader *r, struct embi_npz *npz,
                             const struct embi_zip_list *zip, emb_err *err)
{
    emb_status status = EMB_OK;
    npz->members = calloc(zip->n + 1, sizeof(struct embi_io *));
    if (!npz->members)
        return embi_fail_memory(err, zip->n * sizeof(struct embi_io *), "the arrays of an .npz");
    for (size_t i = 0; !status && i < zip->n; i++)
        if (is_array(&zip->members[i]))
            status = add_array(r, npz, &zip->members[i], err);
    if (!status && npz->n == 0)
        status = embi_fail(err, EMB_UNSUPPORTED, -1, "an .npz archive without arrays");
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Tokens
 */

/* A type of text as numpy spells it: an order or none, 'U' or 'S', a length. */
struct text_type {
    bool swap, wide; /* wide: code points of 4 bytes; else bytes */
    uint64_t bytes;  /* of an element, above 0 */
};

static bool text_type(const char *name, struct text_type *type)
{
    uint64_t length = 0;
    *type = (struct text_type){.swap = *name == '>'};
    name += strspn(name, "<>=|") > 0;
    type->wide = *name == 'U';
    if (*name != 'U' && *name != 'S')
        return false;
    for (name++; *name >= '0' && *name <= '9'; name++)
        if (!embi_mul(length, 10, &length) || !embi_add(length, (uint64_t)(*name - '0'), &length))
            return false;
    return *name == '\0' && length > 0 && embi_mul(length, type->wide ? 4 : 1, &type->bytes);
}

/* Makes tensor i the one with the tokens; all of its n elements must be there. */
static emb_status take_tokens(struct embi_reader *r, struct embi_npz *npz, size_t i,
                              const struct text_type *type, emb_err *err)
{
    struct embi_tensor *t = &r->tensors[i];
    uint64_t bytes;
    if (!embi_mul(t->shape[0], type->bytes, &bytes) || bytes > t->bytes) {
        embi_fail(err, EMB_BAD_DATA, (int64_t)t->offset,
                  "data: expected %" PRIu64 " elements of %" PRIu64 " bytes, found %" PRIu64
                  " bytes",
                  t->shape[0], type->bytes, t->bytes);
        return embi_io_fail_in(t->io, err);
    }
    t->bytes = bytes;
    npz->tokens = i;
    r->n_tokens = t->shape[0];
    return EMB_OK;
}

static emb_status refuse_tokens(const struct embi_reader *r, const struct embi_tensor *t,
                                emb_err *err)
{
    static const char what[] =
        "is of type %s, not text (U or S): the table has no tokens of its own";
    char name[EMBI_SHOW_MAX];
    embi_show(name, t->name);
    if (r->opts.strict) {
        embi_fail(err, EMB_BAD_DATA, -1, what, t->type_name);
        return embi_fail_in(err, "array '%s'", name);
    }
    embi_log(r->env, EMB_LOG_WARNING, r->path,
             "array '%s' is of type %s, not text (U or S): the table has no tokens of its own",
             name, t->type_name);
    return EMB_OK;
}

static const struct embi_tensor *find(const struct embi_reader *r, const char *name)
{
    for (size_t i = 0; i < r->n_tensors; i++)
        if (embi_str_is(r->tensors[i].name, name) && r->tensors[i].ndim == 1)
            return &r->tensors[i];
    return NULL;
}

static emb_status find_tokens(struct embi_reader *r, struct embi_npz *npz, emb_err *err)
{
    struct text_type type;
    for (size_t k = 0; k < EMBI_LEN(token_names); k++) {
        const struct embi_tensor *t = find(r, token_names[k]);
        if (t && text_type(t->type_name, &type))
            return take_tokens(r, npz, (size_t)(t - r->tensors), &type, err);
        if (t && t->dtype == EMB_DTYPE_NONE)
            return refuse_tokens(r, t, err);
    }
    return EMB_OK;
}

emb_status embi_npz_read(struct embi_reader *r, struct embi_npz **state, emb_err *err)
{
    const void *file;
    struct embi_zip_list zip;
    struct embi_npz *npz = *state = calloc(1, sizeof *npz);
    if (!npz)
        return embi_fail_memory(err, sizeof *npz, "the state of a reader");
    if (r->outer)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "an .npz archive inside a zip: not read; unzip it first");
    emb_status status = embi_io_map(r->io, &file, err);
    if (!status)
        status = embi_zip_list(file, r->io->size, &zip, err);
    if (status)
        return status;
    status = add_arrays(r, npz, &zip, err);
    embi_zip_list_free(&zip);
    return status ? status : find_tokens(r, npz, err);
}

/* ------------------------------------------------------------------------------------------------
 * Text as tokens
 */

static uint32_t code_point(const unsigned char *p, bool swap)
{
    uint32_t x = embi_le32(p);
    return swap ? __builtin_bswap32(x) : x;
}

/* Bytes in UTF-8. A surrogate alone, which Python's strings may hold, is put as any other. */
static size_t encode(uint32_t x, char out[4])
{
    if (x < 0x80) {
        out[0] = (char)x;
        return 1;
    }
    size_t n = x < 0x800 ? 2 : x < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, x >>= 6)
        out[i] = (char)(0x80 | (x & 0x3F));
    out[0] = (char)((0xF00 >> n) | x);
    return n;
}

/* Elements end in NULs where they are shorter than the longest. */
static size_t trimmed(const unsigned char *p, size_t n, size_t unit)
{
    static const unsigned char none[4] = {0};
    while (n >= unit && memcmp(p + n - unit, none, unit) == 0)
        n -= unit;
    return n;
}

static emb_status check_points(const unsigned char *p, uint64_t n, bool swap, emb_err *err)
{
    for (uint64_t i = 0; i < n; i++)
        if (code_point(p + 4 * i, swap) > 0x10FFFF)
            return embi_fail(err, EMB_BAD_DATA, (int64_t)i,
                             "character %" PRIu64 " of its text is no code point: 0x%" PRIx32, i,
                             code_point(p + 4 * i, swap));
    return EMB_OK;
}

/* UCS-4 takes no fewer bytes than UTF-8 does, so all tokens have room in as many; what the padding
 * would take is never touched. */
static emb_status wide_tokens(const unsigned char *p, uint64_t n, const struct text_type *type,
                              char **text, emb_str *tokens, emb_err *err)
{
    uint64_t bytes = n * type->bytes, at = 0;
    emb_status status = check_points(p, bytes / 4, type->swap, err);
    if (status)
        return status;
    *text = malloc(bytes + 1);
    if (!*text)
        return embi_fail_memory(err, bytes, "tokens");
    for (uint64_t i = 0; i < n; i++, p += type->bytes) {
        size_t length = trimmed(p, type->bytes, 4);
        uint64_t first = at;
        for (size_t k = 0; k < length; k += 4)
            at += encode(code_point(p + k, type->swap), *text + at);
        tokens[i] = (emb_str){*text + first, at - first};
    }
    return EMB_OK;
}

/* Padding is packed almost to nothing, but unpacked it takes its room. */
static emb_status check_length(const struct embi_tensor *t, const struct text_type *type,
                               emb_err *err)
{
    struct embi_packed packed;
    uint64_t characters = type->wide ? type->bytes / 4 : type->bytes;
    if (!embi_member_packed(t->io, &packed))
        return EMB_OK;
    if (characters > EMBI_NPZ_TOKEN_MAX)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "compressed text of %" PRIu64
                         " characters an element; %d are unpacked at most",
                         characters, EMBI_NPZ_TOKEN_MAX);
    if (t->bytes > TOKENS_MAX_BYTES)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "compressed text of %" PRIu64 " bytes; %" PRIu64 " are unpacked at most",
                         t->bytes, TOKENS_MAX_BYTES);
    return EMB_OK;
}

emb_status embi_npz_tokens(struct embi_reader *r, struct embi_npz *npz, emb_err *err)
{
    const struct embi_tensor *t = &r->tensors[npz->tokens];
    const void *data;
    struct text_type type;
    uint64_t n = r->n_tokens;
    text_type(t->type_name, &type);
    if (check_length(t, &type, err) || embi_io_map(t->io, &data, err))
        return embi_io_fail_in(t->io, err);
    const unsigned char *p = (const unsigned char *)data + t->offset;
    emb_str *tokens = malloc(n * sizeof *tokens);
    if (!tokens)
        return embi_fail_memory(err, n * sizeof *tokens, "tokens");
    emb_status status = EMB_OK;
    if (type.wide)
        status = wide_tokens(p, n, &type, &npz->text, tokens, err);
    for (uint64_t i = 0; !type.wide && i < n; i++)
        tokens[i] =
            (emb_str){(const char *)p + i * type.bytes, trimmed(p + i * type.bytes, type.bytes, 1)};
    if (status) {
        free(tokens);
        return embi_io_fail_in(t->io, err);
    }
    r->tokens = tokens;
    return EMB_OK;
}

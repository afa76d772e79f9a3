/* ids.c - reads ids of any kind in chunks, and keeps account of sequences.
 *
 * Text is taken apart in ids_text.c; .npy is the library's business (emb_ids_*).
 */
#include "ids.h"
#include "names.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

enum { EMPTY_MAX = 1 << 24 };

int ids_fail(struct ids *ids, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return fail_with(ids->run, EXIT_DATA, ids->in.path, "ids: %s", text);
}

void ids_end_sequence(struct ids *ids)
{
    struct sequences *s = &ids->sequences;
    if (s->n == 0)
        s->first = s->open;
    else if (s->open != s->first && s->odd == 0) {
        s->odd = s->n;
        s->odd_length = s->open;
    }
    s->longest = embi_max(s->longest, s->open);
    if (s->keep)
        embi_buf_add(&s->lengths, &s->open, sizeof s->open);
    s->n++;
    s->open = 0;
}

/* ------------------------------------------------------------------------------------------------
 * .npy
 */

static bool names_npy(const char *path)
{
    size_t n = path ? strlen(path) : 0;
    return n > 4 && strcmp(path + n - 4, ".npy") == 0;
}

static bool is_regular(const struct ids *ids)
{
    struct stat info;
    return fstat(ids->in.fd, &info) == 0 && S_ISREG(info.st_mode);
}

/* The shape says how many sequences there are, and that they are of one length. An empty list may
 * claim any number of them, which is only believed where nothing is done for each. */
static int account_for_shape(struct ids *ids)
{
    struct sequences *s = &ids->sequences;
    s->n = 1;
    for (int i = 0; i < ids->ndim - 1; i++) {
        if (!embi_mul(s->n, ids->shape[i], &s->n))
            s->n = UINT64_MAX;
    }
    s->first = s->longest = ids->shape[ids->ndim - 1];
    ids->left = s->first ? s->n * s->first : 0;
    if (s->keep && s->first == 0 && s->n > EMPTY_MAX)
        return ids_fail(ids, "%" PRIu64 " empty sequences; more than %d are not believed", s->n,
                        EMPTY_MAX);
    return EXIT_DONE;
}

/* A file is read where it lies; what came through a pipe is taken whole. */
static int open_npy(struct ids *ids)
{
    emb_err err;
    bool in_place = ids->in.path && is_regular(ids);
    int code = in_place ? EXIT_DONE : input_rest(&ids->in);
    if (code)
        return code;
    ids->kind = IDS_NPY;
    if (emb_ids_open(ids->run->ctx, in_place ? ids->in.path : NULL, ids->in.s, ids->in.n, &ids->npy,
                     &err) != EMB_OK)
        return fail(ids->run, ids->in.path, &err);
    ids->ndim = emb_ids_shape(ids->npy, ids->shape);
    return account_for_shape(ids);
}

/* Ids of the list that were read. */
static uint64_t npy_read(const struct ids *ids)
{
    return ids->sequences.n * ids->sequences.first - ids->left;
}

static int read_npy(struct ids *ids, uint64_t *out, uint64_t *lines, size_t max, size_t *n)
{
    emb_err err;
    *n = (size_t)embi_min(max, ids->left);
    for (size_t i = 0; lines && i < *n; i++)
        lines[i] = (npy_read(ids) + i) / ids->sequences.first;
    if (emb_ids_read(ids->npy, ids->rows, out, *n, &err) != EMB_OK)
        return fail(ids->run, ids->in.path, &err);
    ids->left -= *n;
    ids->ended = ids->left == 0;
    return EXIT_DONE;
}

/* ------------------------------------------------------------------------------------------------
 * Bare integers, little-endian
 */

static int bare_outside(struct ids *ids, uint64_t item, uint64_t id, bool negative)
{
    char range[RANGE_MAX];
    id_range(range, ids->rows);
    if (negative)
        return ids_fail(ids, "item %" PRIu64 ": %" PRId64 " is outside %s", item, (int64_t)id,
                        range);
    return ids_fail(ids, "item %" PRIu64 ": %" PRIu64 " is outside %s", item, id, range);
}

/* Decodes the whole integers of the buffer, up to max. Signed ones are widened with their sign. */
static int decode_bare(struct ids *ids, uint64_t *out, size_t max, size_t *n)
{
    emb_err err;
    size_t element = emb_dtype_bytes(ids->bare);
    bool with_sign = ids->bare == EMB_I32 || ids->bare == EMB_I64;
    size_t count = (size_t)embi_min(max, (ids->in.n - ids->in.at) / element);
    if (emb_convert(out, with_sign ? EMB_I64 : EMB_U64, ids->in.s + ids->in.at, ids->bare, count,
                    NULL, &err) != EMB_OK)
        return fail(ids->run, ids->in.path, &err);
    for (size_t i = 0; i < count; i++) {
        bool negative = with_sign && out[i] >> 63;
        if (negative || out[i] >= ids->rows)
            return bare_outside(ids, ids->items + i + 1, out[i], negative);
    }
    ids->in.at += count * element;
    ids->sequences.open += count;
    *n = count;
    return EXIT_DONE;
}

static int end_bare(struct ids *ids)
{
    size_t left = ids->in.n - ids->in.at;
    if (left)
        return ids_fail(ids, "%zu bytes are left after item %" PRIu64 ": not a whole %s", left,
                        ids->items, emb_dtype_name(ids->bare));
    ids_end_sequence(ids);
    return EXIT_DONE;
}

/* ------------------------------------------------------------------------------------------------
 */

/* The first bytes tell .npy from text. No text begins with the byte 0x93. */
static int look(struct ids *ids)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* of UTF-8, as some editors put it first */
    int code = input_more(&ids->in);
    if (code)
        return code;
    if (names_npy(ids->in.path) || (ids->in.n && ids->in.s[0] == '\x93'))
        return open_npy(ids);
    if (ids->in.n >= 3 && memcmp(ids->in.s, mark, 3) == 0)
        ids->in.at = 3;
    return EXIT_DONE;
}

int ids_open(struct ids *ids, struct run *run, const char *path, const char *format, uint64_t rows,
             bool keep)
{
    *ids = (struct ids){.run = run, .rows = rows, .sequences.keep = keep};
    int code = input_open(&ids->in, run, path);
    if (code)
        return code;
    if (!format)
        return look(ids);
    ids->kind = IDS_BARE;
    ids->bare = emb_dtype_parse(format);
    return EXIT_DONE;
}

uint64_t ids_length(const struct ids *ids, uint64_t i)
{
    uint64_t length;
    if (ids->kind == IDS_NPY)
        return ids->sequences.first;
    memcpy(&length, ids->sequences.lengths.s + i * sizeof length, sizeof length);
    return length;
}

void ids_close(struct ids *ids)
{
    emb_ids_close(ids->npy);
    embi_buf_free(&ids->sequences.lengths);
    input_close(&ids->in);
}

uint64_t ids_complete(const struct ids *ids)
{
    if (ids->kind != IDS_NPY || ids->ended)
        return ids->sequences.n;
    return ids->sequences.first ? npy_read(ids) / ids->sequences.first : 0;
}

bool ids_are_single(const struct ids *ids)
{
    const struct sequences *s = &ids->sequences;
    return ids->kind == IDS_TEXT && s->n > 0 && s->first == 1 && s->odd == 0;
}

/* What the buffer gives, up to max. */
static int take(struct ids *ids, uint64_t *out, uint64_t *lines, size_t max, size_t *n)
{
    int code;
    *n = 0;
    if (ids->kind == IDS_TEXT)
        code = ids_parse(ids, out, lines, max, n);
    else
        code = decode_bare(ids, out, max, n);
    if (ids->kind == IDS_BARE && lines)
        memset(lines, 0, *n * sizeof *lines);
    ids->items += *n;
    return code;
}

int ids_read(struct ids *ids, uint64_t *out, uint64_t *lines, size_t max, size_t *n)
{
    *n = 0;
    ids->paused = false;
    if (ids->kind == IDS_NPY)
        return read_npy(ids, out, lines, max, n);
    for (;;) {
        size_t got;
        int code = take(ids, out + *n, lines ? lines + *n : NULL, max - *n, &got);
        *n += got;
        if (code || *n == max)
            return code;
        if (ids->in.eof) {
            ids->ended = true;
            return ids->kind == IDS_TEXT ? ids_parse_end(ids) : end_bare(ids);
        }
        ids->paused = input_pauses(&ids->in);
        if (ids->paused)
            return EXIT_DONE;
        code = input_more(&ids->in);
        if (code)
            return code;
    }
}

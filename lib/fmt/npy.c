/* npy.c - reads .npy files, NumPy's array format.
 *
 * Only the header is read here; the one tensor it describes says where the elements lie. Every
 * number of axes is listed (id lists have one); the layout of a table needs two. Bytes after the
 * data are tolerated, as numpy.load does. Specification: numpy.lib.format, versions 1.0 to 3.0.
 */
#include "fmt/npy.h"
#include "fmt/shape.h"

#include "util/err.h"
#include "util/utf8.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MAGIC_BYTES = 6, LENGTH_AT = 8, HEADER_MAX_BYTES = 1 << 20, NPY_BID = 60 };

static const char magic[] = "\x93NUMPY";

static int probe(const unsigned char *head, size_t n, uint64_t size, const char *ext)
{
    (void)size;
    if (n >= MAGIC_BYTES && memcmp(head, magic, MAGIC_BYTES) == 0)
        return 100;
    return strcmp(ext, ".npy") == 0 ? NPY_BID : 0; /* so that what is wrong with it is said */
}

/* Magic, version and length: *major, and the header [n] at *at. */
static emb_status prefix(const struct embi_reader *r, int *major, uint64_t *at, uint64_t *n,
                         emb_err *err)
{
    unsigned char head[12] = {0};
    size_t have = (size_t)embi_min(r->io->size, sizeof head);
    emb_status status = embi_io_pread(r->io, head, have, 0, err);
    if (status != EMB_OK)
        return status;
    if (have < MAGIC_BYTES || memcmp(head, magic, MAGIC_BYTES) != 0)
        return embi_fail(err, EMB_BAD_DATA, 0,
                         "not an .npy file: it does not begin with \\x93NUMPY");
    *major = head[6];
    *at = *major == 1 ? LENGTH_AT + 2 : LENGTH_AT + 4;
    if (have < *at)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)have,
                         "header: expected %" PRIu64 " bytes before it, the file ends at %zu", *at,
                         have);
    if (*major < 1 || *major > 3 || head[7] != 0)
        return embi_fail(err, EMB_UNSUPPORTED, MAGIC_BYTES,
                         ".npy version %d.%d: only 1.0, 2.0 and 3.0 are known", head[6], head[7]);
    *n = *major == 1 ? embi_le16(head + LENGTH_AT) : embi_le32(head + LENGTH_AT);
    return EMB_OK;
}

static emb_status read_text(const struct embi_reader *r, uint64_t at, uint64_t n, char **text,
                            emb_err *err)
{
    if (n > HEADER_MAX_BYTES)
        return embi_fail(err, EMB_BAD_DATA, LENGTH_AT,
                         "header: %" PRIu64 " bytes long; more than %d is not believed", n,
                         HEADER_MAX_BYTES);
    if (!embi_inside(at, n, r->io->size))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)r->io->size,
                         "header: expected %" PRIu64 " bytes, found %" PRIu64, n, r->io->size - at);
    *text = malloc((size_t)n + 1);
    if (!*text)
        return embi_fail_memory(err, n + 1, "the header");
    return embi_io_pread(r->io, *text, (size_t)n, at, err);
}

/* Makes the tensor of a dict whose data begin at data_at. */
static emb_status describe(struct embi_reader *r, const struct embi_npy_dict *dict,
                           uint64_t text_at, uint64_t data_at, emb_err *err)
{
    char show[EMBI_SHAPE_MAX];
    uint64_t element, count;
    struct embi_tensor t = {.ndim = dict->ndim, .offset = data_at, .fortran = dict->fortran};
    memcpy(t.shape, dict->shape, (size_t)dict->ndim * sizeof t.shape[0]);
    emb_status status = embi_npy_type(dict->descr, r->opts.input_dtype,
                                      (int64_t)(text_at + dict->descr_at), &t, &element, err);
    if (status != EMB_OK)
        return status;
    if (!embi_shape_count(t.shape, t.ndim, &count) || !embi_mul(count, element, &t.bytes))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)text_at, "shape %s is too large",
                         embi_shape_show(show, t.shape, t.ndim));
    if (!embi_inside(data_at, t.bytes, r->io->size))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)data_at,
                         "data: expected %" PRIu64 " bytes, found %" PRIu64, t.bytes,
                         r->io->size - data_at);
    return embi_reader_add(r, (emb_str){NULL, 0}, &t, err);
}

static emb_status open_npy(struct embi_reader *r, emb_err *err)
{
    struct embi_npy_dict dict = {0};
    char *text = NULL; /* [n] */
    int major = 0;
    uint64_t at = 0, n = 0;
    emb_status status = prefix(r, &major, &at, &n, err);
    if (status != EMB_OK)
        return status;
    status = read_text(r, at, n, &text, err);
    if (status != EMB_OK)
        goto done;
    size_t valid = major == 3 ? embi_utf8_check(text, (size_t)n) : (size_t)n;
    if (valid < n) {
        status = embi_fail(err, EMB_BAD_DATA, (int64_t)(at + valid), "header: not UTF-8");
        goto done;
    }
    status = embi_npy_parse(text, (size_t)n, major < 3, at, &dict, err);
    if (status == EMB_OK)
        status = describe(r, &dict, at, at + n, err);
done:
    free(text);
    return status;
}

const struct embi_format embi_format_npy = {
    .name = "npy",
    .about = "NumPy array",
    .exts = " .npy ",
    .caps = EMBI_FMT_READ | EMBI_FMT_WRITE,
    .probe = probe,
    .open = open_npy,
    .check = embi_npy_check,
    .begin = embi_npy_begin,
    .put = embi_sink_put,
    .end = embi_npy_end,
};

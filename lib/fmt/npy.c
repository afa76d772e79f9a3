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
static emb_status prefix(struct embi_io *io, int *major, uint64_t *at, uint64_t *n, emb_err *err)
{
    unsigned char head[12] = {0};
    size_t have = (size_t)embi_min(io->size, sizeof head);
    emb_status status = embi_io_pread(io, head, have, 0, err);
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

static emb_status read_text(struct embi_io *io, uint64_t at, uint64_t n, char **text, emb_err *err)
{
    if (n > HEADER_MAX_BYTES)
        return embi_fail(err, EMB_BAD_DATA, LENGTH_AT,
                         "header: %" PRIu64 " bytes long; more than %d is not believed", n,
                         HEADER_MAX_BYTES);
    if (!embi_inside(at, n, io->size))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)io->size,
                         "header: expected %" PRIu64 " bytes, found %" PRIu64, n, io->size - at);
    *text = malloc((size_t)n + 1);
    if (!*text)
        return embi_fail_memory(err, n + 1, "the header");
    return embi_io_pread(io, *text, (size_t)n, at, err);
}

/* Text, objects and other types that are no numbers for us are refused, or only listed. */
static emb_status set_type(const struct embi_npy_dict *dict, const struct embi_npy_read *how,
                           int64_t at, struct embi_tensor *t, uint64_t *element, emb_err *err)
{
    emb_status status = embi_npy_type(dict->descr, how->input_dtype, at, t, element, err);
    if (status != EMB_UNSUPPORTED || !how->list)
        return status;
    t->dtype = EMB_DTYPE_NONE;
    *element = 0;
    return EMB_OK;
}

/* Makes the tensor of a dict whose data begin at data_at. */
static emb_status describe(struct embi_io *io, const struct embi_npy_dict *dict,
                           const struct embi_npy_read *how, uint64_t text_at, uint64_t data_at,
                           struct embi_tensor *t, emb_err *err)
{
    char show[EMBI_SHAPE_MAX];
    uint64_t element, count;
    *t = (struct embi_tensor){
        .ndim = dict->ndim, .offset = data_at, .fortran = dict->fortran, .io = io};
    memcpy(t->shape, dict->shape, (size_t)dict->ndim * sizeof t->shape[0]);
    emb_status status = set_type(dict, how, (int64_t)(text_at + dict->descr_at), t, &element, err);
    if (status != EMB_OK)
        return status;
    if (!embi_shape_count(t->shape, t->ndim, &count) || !embi_mul(count, element, &t->bytes))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)text_at, "shape %s is too large",
                         embi_shape_show(show, t->shape, t->ndim));
    if (t->dtype == EMB_DTYPE_NONE)
        t->bytes = io->size - data_at;
    if (!embi_inside(data_at, t->bytes, io->size))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)data_at,
                         "data: expected %" PRIu64 " bytes, found %" PRIu64, t->bytes,
                         io->size - data_at);
    return EMB_OK;
}

/* Reads the dict in text [n], which begins at `at`. */
static emb_status parse(const char *text, size_t n, int major, uint64_t at,
                        struct embi_npy_dict *dict, emb_err *err)
{
    size_t valid = major == 3 ? embi_utf8_check(text, n) : n;
    if (valid < n)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)(at + valid), "header: not UTF-8");
    return embi_npy_parse(text, n, major < 3, at, dict, err);
}

emb_status embi_npy_read(struct embi_io *io, const struct embi_npy_read *how, struct embi_tensor *t,
                         emb_err *err)
{
    struct embi_npy_dict dict = {0};
    char *text = NULL; /* [n] */
    int major = 0;
    uint64_t at = 0, n = 0;
    emb_status status = prefix(io, &major, &at, &n, err);
    if (status == EMB_OK)
        status = read_text(io, at, n, &text, err);
    if (status == EMB_OK)
        status = parse(text, (size_t)n, major, at, &dict, err);
    if (status == EMB_OK)
        status = describe(io, &dict, how, at, at + n, t, err);
    free(text);
    return status;
}

static emb_status open_npy(struct embi_reader *r, emb_err *err)
{
    struct embi_tensor t;
    const struct embi_npy_read how = {.input_dtype = r->opts.input_dtype, .list = r->opts.listing};
    emb_status status = embi_npy_read(r->io, &how, &t, err);
    return status ? status : embi_reader_add(r, (emb_str){NULL, 0}, &t, err);
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

/* weights.c - headers on demand, and what can be asked of tensors that may lie in several files.
 *
 * Which files these are is weights_dir.c's and index.c's. No tensor's data are read here but to
 * compare two of them.
 */
#include "model/weights.h"

#include "model/gguf_model.h"
#include "model/sidecar.h"
#include "util/err.h"
#include "util/map.h"

#include <stdlib.h>

#define COMPARED_BYTES (4u << 20) /* at a time */

emb_status embi_weights_add_file(struct embi_weights *w, const char *dir, emb_str name,
                                 emb_err *err)
{
    size_t n = w->n_files, dir_bytes = dir ? strlen(dir) + 1 : 0;
    if ((n & (n - 1)) == 0) { /* the capacity is the power of two at or above n */
        size_t bytes = (n ? 2 * n : 1) * sizeof *w->files;
        struct embi_weights_file *files = realloc(w->files, bytes);
        if (!files)
            return embi_fail_memory(err, bytes, "the list of weight files");
        w->files = files;
    }
    struct embi_weights_file *f = &w->files[n];
    *f = (struct embi_weights_file){.name = strndup(name.s, name.n),
                                    .path = malloc(dir_bytes + name.n + 1)};
    w->n_files++;
    if (!f->name || !f->path)
        return embi_fail_memory(err, dir_bytes + name.n, "a path");
    if (dir) {
        memcpy(f->path, dir, dir_bytes - 1);
        f->path[dir_bytes - 1] = '/';
    }
    memcpy(f->path + dir_bytes, name.s, name.n);
    f->path[dir_bytes + name.n] = 0;
    return EMB_OK;
}

/* Adds all tensors of a file that no index speaks of. */
static emb_status list_tensors(struct embi_weights *w, size_t file, const struct embi_reader *r,
                               emb_err *err)
{
    size_t n = w->n_tensors, bytes = (n + r->n_tensors + 1) * sizeof *w->tensors;
    struct embi_weights_tensor *tensors = realloc(w->tensors, bytes);
    if (!tensors)
        return embi_fail_memory(err, bytes, "the list of tensors");
    for (size_t i = 0; i < r->n_tensors; i++)
        tensors[n + i] = (struct embi_weights_tensor){r->tensors[i].name, file, i};
    w->tensors = tensors;
    w->n_tensors = n + r->n_tensors;
    return EMB_OK;
}

emb_status embi_weights_of_reader(struct embi_reader *reader, struct embi_weights *w, emb_err *err)
{
    const char *slash = strrchr(reader->path, '/');
    const char *name = slash ? slash + 1 : reader->path;
    *w = (struct embi_weights){.env = reader->env, .opts = reader->opts};
    emb_status status = embi_weights_add_file(w, NULL, (emb_str){name, strlen(name)}, err);
    if (!status) {
        free(w->files[0].path);
        w->files[0].path = strdup(reader->path);
        w->files[0].reader = reader;
        w->files[0].named = true;
        if (!w->files[0].path)
            status = embi_fail_memory(err, strlen(reader->path), "a path");
    } else {
        embi_reader_close(reader);
    }
    if (!status) {
        reader->path = w->files[0].path;
        status = list_tensors(w, 0, reader, err);
    }
    if (!status)
        status = embi_gguf_join(w, err);
    if (status)
        embi_weights_free(w);
    return status;
}

emb_status embi_weights_take_reader(struct embi_weights *w, const char *dir, const char *name,
                                    struct embi_reader *reader, emb_err *err)
{
    emb_status status = embi_weights_add_file(w, dir, (emb_str){name, strlen(name)}, err);
    if (status) {
        embi_reader_close(reader);
        return status;
    }
    struct embi_weights_file *f = &w->files[w->n_files - 1];
    f->reader = reader;
    reader->path = f->path;
    return list_tensors(w, w->n_files - 1, reader, err);
}

void embi_weights_free(struct embi_weights *w)
{
    for (size_t i = 0; i < w->n_files; i++) {
        if (!w->files[i].lent)
            embi_reader_close(w->files[i].reader);
        free(w->files[i].path);
        free(w->files[i].name);
    }
    free(w->files);
    free(w->tensors);
    embi_buf_free(&w->names);
    *w = (struct embi_weights){0};
}

/* ------------------------------------------------------------------------------------------------
 * Headers
 */

/* The names that a header has, so that those of an index can be found in it. */
static emb_status map_header(const struct embi_reader *r, emb_str **names, struct embi_map *map,
                             emb_err *err)
{
    *names = calloc(r->n_tensors + 1, sizeof **names);
    if (!*names)
        return embi_fail_memory(err, r->n_tensors * sizeof **names, "tensor names");
    for (size_t i = 0; i < r->n_tensors; i++)
        (*names)[i] = r->tensors[i].name;
    return embi_map_build(map, *names, r->n_tensors, err);
}

/* Gives the tensors that should lie in `file` their places in its header. */
static emb_status place_tensors(struct embi_weights *w, size_t file, const struct embi_reader *r,
                                emb_err *err)
{
    struct embi_map map = {0};
    emb_str *names;
    size_t found = 0;
    emb_status status = map_header(r, &names, &map, err);
    for (size_t i = 0; !status && i < w->n_tensors; i++) {
        struct embi_weights_tensor *t = &w->tensors[i];
        char shown[EMBI_SHOW_MAX];
        if (t->file != file)
            continue;
        t->at = (size_t)embi_map_find(&map, t->name);
        found++;
        if (t->at == (size_t)EMBI_MAP_NONE)
            status = embi_fail(err, EMB_BAD_DATA, -1,
                               "holds no tensor '%s', which the index says it does",
                               embi_show(shown, t->name));
    }
    if (!status && found < r->n_tensors)
        embi_log(w->env, EMB_LOG_WARNING, w->files[file].path,
                 "%zu tensors are not in the index: they are left out", r->n_tensors - found);
    embi_map_free(&map);
    free(names);
    return status;
}

/* A shard holds named tensors; a file that does not says what it is instead. */
static emb_status open_reader(struct embi_weights *w, const struct embi_weights_file *f,
                              struct embi_reader **reader, emb_err *err)
{
    struct embi_io *io;
    *reader = NULL;
    emb_status status = embi_refuse_fifo(f->path, err);
    if (!status)
        status = embi_io_open(w->env, f->path, EMBI_IO_READ, &io, err);
    if (!status)
        status = embi_reader_open(w->env, io, f->path, NULL, &w->opts, reader, err);
    if (!status && !((*reader)->format->caps & EMBI_FMT_NAMES))
        status = embi_fail(err, EMB_UNSUPPORTED, -1,
                           "is %s, not safetensors, a PyTorch checkpoint or GGUF",
                           (*reader)->format->about);
    return status;
}

static emb_status read_header(struct embi_weights *w, size_t file, emb_err *err)
{
    struct embi_weights_file *f = &w->files[file];
    struct embi_reader *reader;
    if (f->reader)
        return EMB_OK;
    emb_status status = open_reader(w, f, &reader, err);
    if (!status && reader)
        status =
            w->indexed ? place_tensors(w, file, reader, err) : list_tensors(w, file, reader, err);
    if (!status) {
        f->reader = reader;
        return EMB_OK;
    }
    embi_reader_close(reader);
    return embi_fail_in(err, "%s", f->name);
}

emb_status embi_weights_read(struct embi_weights *w, size_t i, const struct embi_tensor **tensor,
                             emb_err *err)
{
    const struct embi_weights_tensor *t = &w->tensors[i];
    emb_status status = read_header(w, t->file, err);
    if (!status)
        *tensor = &w->files[t->file].reader->tensors[t->at];
    return status;
}

emb_status embi_weights_read_there(struct embi_weights *w, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < w->n_files; i++)
        status = read_header(w, i, err);
    return status;
}

emb_status embi_weights_whole(const struct embi_weights *w, emb_err *err)
{
    return w->missing ? embi_fail(err, w->missing, -1, "%s", w->missing_why) : EMB_OK;
}

emb_status embi_weights_read_all(struct embi_weights *w, emb_err *err)
{
    emb_status status = embi_weights_read_there(w, err);
    return status ? status : embi_weights_whole(w, err);
}

emb_status embi_weights_names_differ(const struct embi_weights *w, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    size_t twin;
    emb_str *names = calloc(w->n_tensors + 1, sizeof *names);
    if (!names)
        return embi_fail_memory(err, w->n_tensors * sizeof *names, "tensor names");
    for (size_t i = 0; i < w->n_tensors; i++)
        names[i] = w->tensors[i].name;
    emb_status status = embi_find_twin(names, w->n_tensors, &twin, err);
    if (!status && twin < w->n_tensors)
        status = embi_fail(err, EMB_BAD_DATA, -1, "tensor '%s' is there twice",
                           embi_show(shown, names[twin]));
    free(names);
    return status;
}

uint64_t embi_weights_bytes(const struct embi_weights *w)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < w->n_files; i++) {
        const struct embi_reader *r = w->files[i].reader;
        for (size_t k = 0; r && k < r->n_tensors; k++)
            bytes += r->tensors[k].bytes;
    }
    return bytes;
}

static bool is_plain_float(emb_dtype dtype)
{
    return dtype == EMB_F64 || dtype == EMB_F32 || dtype == EMB_F16 || dtype == EMB_BF16;
}

uint64_t embi_weights_floats(const struct embi_weights *w)
{
    uint64_t n = 0;
    for (size_t i = 0; i < w->n_files; i++) {
        const struct embi_reader *r = w->files[i].reader;
        for (size_t k = 0; r && k < r->n_tensors; k++) {
            if (!is_plain_float(r->tensors[k].dtype))
                return 0;
            n += r->tensors[k].bytes / emb_dtype_bytes(r->tensors[k].dtype);
        }
    }
    return n;
}

struct embi_reader *embi_weights_lend(struct embi_weights *w, size_t i)
{
    struct embi_weights_file *f = &w->files[w->tensors[i].file];
    f->lent = true;
    return f->reader;
}

/* ------------------------------------------------------------------------------------------------
 * Questions
 */

size_t embi_weights_find(const struct embi_weights *w, emb_str name)
{
    for (size_t i = 0; i < w->n_tensors; i++)
        if (w->tensors[i].name.s && embi_str_equal(w->tensors[i].name, name))
            return i;
    return EMBI_NO_TENSOR;
}

static bool same_shape(const struct embi_tensor *a, const struct embi_tensor *b)
{
    return a->dtype == b->dtype && strcmp(a->type_name, b->type_name) == 0 && a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0 &&
           a->bytes == b->bytes && a->fortran == b->fortran && a->swap == b->swap &&
           a->strided == b->strided &&
           (!a->strided ||
            memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof a->strides[0]) == 0);
}

/* The bytes of one tensor, and where they lie. */
struct bytes {
    struct embi_io *io;
    const char *file;
    uint64_t at;
};

static emb_status bytes_of(struct embi_weights *w, size_t i, const struct embi_tensor *t,
                           struct bytes *bytes, emb_err *err)
{
    const struct embi_weights_file *f = &w->files[w->tensors[i].file];
    const void *data;
    emb_status status = embi_reader_whole(f->reader, w->tensors[i].at, err);
    if (!status && (status = embi_io_map(t->io, &data, err)) != EMB_OK)
        embi_io_fail_in(t->io, err);
    if (status)
        return f->named ? status : embi_fail_in(err, "%s", f->name);
    *bytes = (struct bytes){t->io, data, t->offset};
    return EMB_OK;
}

/* Step by step: what was compared need not stay in memory. */
static bool same_bytes(const struct bytes *a, const struct bytes *b, uint64_t n)
{
    bool same = a->file && b->file;
    for (uint64_t done = 0, step; same && done < n; done += step) {
        uint64_t p = a->at + done, q = b->at + done;
        step = embi_min(n - done, COMPARED_BYTES);
        same = memcmp(a->file + p, b->file + q, step) == 0;
        embi_io_forget(a->io, p, step);
        embi_io_forget(b->io, q, step);
    }
    return same;
}

emb_status embi_weights_same(struct embi_weights *w, size_t a, size_t b, bool *same, emb_err *err)
{
    const struct embi_tensor *x = NULL, *y = NULL;
    struct bytes p = {0}, q = {0};
    *same = a == b;
    if (a == b)
        return EMB_OK;
    emb_status status = embi_weights_read(w, a, &x, err);
    if (!status)
        status = embi_weights_read(w, b, &y, err);
    if (status || !x || !y || !same_shape(x, y))
        return status;
    bool kept = x->io == y->io || embi_io_unpacked(y->io);
    status = bytes_of(w, a, x, &p, err);
    if (!status)
        status = bytes_of(w, b, y, &q, err);
    if (!status)
        *same = same_bytes(&p, &q, x->bytes);
    if (!kept) /* of many copies that were packed two are there at one time */
        embi_io_drop(y->io);
    return status;
}

/* gguf_parts.c - models in several GGUF files.
 *
 * The parts of a split model are called NAME-00001-of-00003.gguf, and each says which it is in
 * split.no, counted from 0, and how many there are in split.count. The first one has the keys of
 * the model. Specification: llama-model-loader.cpp of llama.cpp.
 */
#include "model/gguf_model.h"

#include "fmt/gguf.h"
#include "model/sidecar.h"
#include "util/buf.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DIGITS = 5,
    SUFFIX_BYTES = 1 + DIGITS + 4 + DIGITS + 5 /* "-00001-of-00003.gguf" */
};

static bool take_number(const char *s, uint32_t *x)
{
    *x = 0;
    for (int i = 0; i < DIGITS; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        *x = 10 * *x + (uint32_t)(s[i] - '0');
    }
    return true;
}

bool embi_gguf_part_of(const char *file, struct embi_gguf_part *part)
{
    size_t n = strlen(file);
    if (n < SUFFIX_BYTES)
        return false;
    const char *s = file + n - SUFFIX_BYTES;
    part->name = (emb_str){file, n - SUFFIX_BYTES};
    return s[0] == '-' && take_number(s + 1, &part->no) && memcmp(s + 1 + DIGITS, "-of-", 4) == 0 &&
           take_number(s + SUFFIX_BYTES - 5 - DIGITS, &part->count) && embi_ends_in(s, ".gguf") &&
           part->no >= 1 && part->no <= part->count;
}

/* The file of another part, NUL-terminated, in `out`; NULL: no memory. */
static const char *part_file(struct embi_buf *out, const struct embi_gguf_part *part, uint32_t no)
{
    out->n = 0;
    embi_buf_add(out, part->name.s, part->name.n);
    embi_buf_print(out, "-%05" PRIu32 "-of-%05" PRIu32 ".gguf", no, part->count);
    const char *file = embi_buf_cstr(out);
    return out->failed ? NULL : file;
}

/* ------------------------------------------------------------------------------------------------
 * Joining
 */

static uint64_t number_of(const struct embi_reader *r, const char *key)
{
    uint64_t x;
    return embi_gguf_number(r, embi_gguf_find(r, key), &x) ? x : 0;
}

static void note_missing(struct embi_weights *w, emb_str file)
{
    char shown[EMBI_SHOW_MAX];
    w->missing = EMB_IO;
    (void)snprintf(w->missing_why, sizeof w->missing_why, "%s, a part of the model, is not there",
                   embi_show(shown, file));
}

/* Adds the files of the other parts; the first that is not there is noted. */
static emb_status add_parts(struct embi_weights *w, const char *dir,
                            const struct embi_gguf_part *part, emb_err *err)
{
    struct embi_buf name = {0};
    emb_status status = EMB_OK;
    for (uint32_t no = 1; !status && no <= part->count; no++) {
        if (no == part->no)
            continue;
        const char *file = part_file(&name, part, no);
        if (!file)
            status = embi_fail_memory(err, SUFFIX_BYTES, "a file name");
        else if (embi_sidecar_exists(w->env, dir, file))
            status = embi_weights_add_file(w, dir, (emb_str){name.s, name.n}, err);
        else if (!w->missing)
            note_missing(w, (emb_str){name.s, name.n});
    }
    embi_buf_free(&name);
    return status;
}

/* Is each file the part that its name says? */
static emb_status check_part(const struct embi_weights_file *f, uint32_t count, emb_err *err)
{
    struct embi_gguf_part part = {0};
    if (f->reader->format != &embi_format_gguf)
        return embi_fail(err, EMB_BAD_DATA, -1, "%s: is %s, not GGUF", f->name,
                         f->reader->format->about);
    uint64_t no = number_of(f->reader, "split.no"), n = number_of(f->reader, "split.count");
    (void)embi_gguf_part_of(f->name, &part);
    if (n != count)
        return embi_fail(err, EMB_BAD_DATA, -1,
                         "%s: split.count: expected %" PRIu32 ", by its name, found %" PRIu64,
                         f->name, count, n);
    if (no + 1 != part.no)
        return embi_fail(err, EMB_BAD_DATA, -1,
                         "%s: split.no: expected %" PRIu32 ", by its name, found %" PRIu64, f->name,
                         part.no - 1, no);
    return EMB_OK;
}

/* Do the parts, which are all there, have the tensors that each of them promises? */
static emb_status check_total(const struct embi_weights *w, emb_err *err)
{
    for (size_t i = 0; i < w->n_files; i++) {
        const struct embi_gguf_value *v = embi_gguf_find(w->files[i].reader, "split.tensors.count");
        uint64_t n = number_of(w->files[i].reader, "split.tensors.count");
        if (v && n != w->n_tensors)
            return embi_fail(err, EMB_BAD_DATA, -1,
                             "%s: split.tensors.count is %" PRIu64 ", the parts have %zu tensors",
                             w->files[i].name, n, w->n_tensors);
    }
    return EMB_OK;
}

static emb_status read_parts(struct embi_weights *w, const struct embi_gguf_part *part,
                             emb_err *err)
{
    emb_status status = embi_weights_read_there(w, err);
    for (size_t i = 0; !status && i < w->n_files; i++)
        status = check_part(&w->files[i], part->count, err);
    if (!status)
        status = embi_weights_names_differ(w, err);
    return status || w->missing ? status : check_total(w, err);
}

emb_status embi_gguf_join(struct embi_weights *w, emb_err *err)
{
    const struct embi_reader *r = embi_weights_are_gguf(w) ? w->files[0].reader : NULL;
    uint64_t count = r ? number_of(r, "split.count") : 0;
    struct embi_gguf_part part;
    char *dir;
    if (count <= 1)
        return EMB_OK;
    if (!embi_gguf_part_of(w->files[0].name, &part)) {
        w->missing = EMB_UNSUPPORTED;
        (void)snprintf(w->missing_why, sizeof w->missing_why,
                       "it is part %" PRIu64 " of %" PRIu64
                       " of a model, under a name that does not say where the others are",
                       number_of(r, "split.no") + 1, count);
        return EMB_OK;
    }
    emb_status status = embi_path_dir(w->files[0].path, &dir, err);
    if (status)
        return status;
    status = add_parts(w, dir, &part, err);
    if (!status)
        status = read_parts(w, &part, err);
    free(dir);
    return status;
}

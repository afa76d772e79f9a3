/* tensors.c - emb_tensors_list: every tensor of a file or a directory, from headers alone.
 *
 * A model's directory gives the tensors of its weights, another one those of all files in it that
 * say what they hold, and so does a zip of several. Formats that hold one table give that one.
 * Nothing is computed with, so types that are only known by name are listed as well. */
#include "fmt/zip_pick.h"
#include "io/place.h"
#include "model/sidecar.h"
#include "model/target.h"
#include "util/err.h"

#include <stdlib.h>
#include <sys/stat.h>

struct listing {
    const emb_ctx *ctx;
    const struct embi_target *target;
    const emb_open_opts *opts;
    emb_tensors *out;
    size_t capacity;
    const char *wanted; /* the tensor that was named, or NULL */
};

static void free_tensor(const emb_tensor_info *t)
{
    free((char *)t->name.s);
    free((char *)t->dtype);
    free((char *)t->file);
}

void emb_tensors_free(emb_tensors *tensors)
{
    for (size_t i = 0; i < tensors->n; i++)
        free_tensor(&tensors->list[i]);
    free(tensors->list);
    *tensors = (emb_tensors){0};
}

/* ------------------------------------------------------------------------------------------------
 * One tensor
 */

/* Where elements do not lie one after another, bytes of the file between them are not its own. */
static uint64_t bytes_of(const struct embi_tensor *t)
{
    uint64_t n, bytes;
    if (t->strided && embi_shape_count(t->shape, t->ndim, &n) &&
        embi_mul(n, emb_dtype_bytes(t->dtype), &bytes))
        return bytes;
    return t->bytes;
}

static emb_status make_room(struct listing *l, emb_err *err)
{
    if (l->out->n < l->capacity)
        return EMB_OK;
    size_t capacity = l->capacity ? 2 * l->capacity : 64;
    emb_tensor_info *list = realloc(l->out->list, capacity * sizeof *list);
    if (!list)
        return embi_fail_memory(err, capacity * sizeof *list, "the list of tensors");
    l->out->list = list;
    l->capacity = capacity;
    return EMB_OK;
}

static emb_status add(struct listing *l, const struct embi_tensor *t, const char *file,
                      const char *role, emb_err *err)
{
    const char *type = t->dtype ? emb_dtype_name(t->dtype) : t->type_name;
    emb_status status = make_room(l, err);
    if (status)
        return status;
    emb_tensor_info info = {.name = {t->name.s ? malloc(t->name.n + 1) : NULL, t->name.n},
                            .dtype = strdup(type),
                            .ndim = t->ndim,
                            .bytes = bytes_of(t),
                            .file = strdup(file),
                            .role = role};
    memcpy(info.shape, t->shape, sizeof info.shape);
    if (!info.dtype || !info.file || (t->name.s && !info.name.s)) {
        free_tensor(&info);
        return embi_fail_memory(err, t->name.n + strlen(file), "a tensor");
    }
    if (t->name.s)
        memcpy((char *)info.name.s, t->name.s, t->name.n);
    l->out->list[l->out->n++] = info;
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * A model, or a file of named tensors
 */

struct roles {
    size_t input, head; /* tensors of the weights, or EMBI_NO_TENSOR */
};

/* Which tensor is the table may be anybody's guess, or be in a part that is not there, which is no
 * failure here. A shard with the head alone has no other table to offer. */
static emb_status find_roles(struct embi_model *m, struct roles *roles, emb_err *err)
{
    int rank;
    *roles = (struct roles){EMBI_NO_TENSOR, EMBI_NO_TENSOR};
    m->headers_only = true;
    emb_status status = embi_choose_input(m, &roles->input, err);
    if (!status)
        status = embi_choose_head(m, roles->input, &roles->head, err);
    else
        roles->input = EMBI_NO_TENSOR;
    if (!status && embi_role_of(m->weights.tensors[roles->input].name, &rank) == EMBI_ROLE_HEAD)
        *roles = (struct roles){EMBI_NO_TENSOR, roles->input};
    return status == EMB_UNSUPPORTED || status == m->weights.missing ? EMB_OK : status;
}

/* The role of tensor k of a file, or NULL. */
static const char *role_of(const struct embi_weights *w, const struct roles *roles, size_t file,
                           size_t k)
{
    const size_t tensors[] = {roles->input, roles->head};
    static const char *const names[] = {"embedding", "head"};
    for (size_t i = 0; i < EMBI_LEN(tensors); i++) {
        size_t t = tensors[i];
        if (t != EMBI_NO_TENSOR && w->tensors[t].file == file && w->tensors[t].at == k &&
            w->files[file].reader->tensors[k].ndim == 2)
            return names[i];
    }
    return NULL;
}

/* The header of a file that was cut may be whole. */
static void warn_of_cut(const struct listing *l, const struct embi_reader *r)
{
    emb_err first = {0}, why;
    size_t n = 0;
    for (size_t k = 0; k < r->n_tensors; k++)
        if (embi_reader_whole(r, k, n ? &why : &first))
            n++;
    if (n)
        embi_log(&l->ctx->env, EMB_LOG_WARNING, r->path,
                 "the file ends before %zu of its %zu tensors do: %s", n, r->n_tensors, first.msg);
}

static emb_status list_shard(struct listing *l, const struct embi_weights *w,
                             const struct roles *roles, size_t file, const char *name, emb_err *err)
{
    const struct embi_reader *r = w->files[file].reader;
    emb_status status = EMB_OK;
    for (size_t k = 0; !status && k < r->n_tensors; k++)
        status = add(l, &r->tensors[k], name, role_of(w, roles, file, k), err);
    if (!status)
        warn_of_cut(l, r);
    return status;
}

/* The file after `last` by its name, NULL: the first. An index names files in any order. */
static size_t next_file(const struct embi_weights *w, const char *last)
{
    size_t next = w->n_files;
    for (size_t i = 0; i < w->n_files; i++)
        if ((!last || strcmp(w->files[i].name, last) > 0) &&
            (next == w->n_files || strcmp(w->files[i].name, w->files[next].name) < 0))
            next = i;
    return next;
}

static emb_status list_model(struct listing *l, struct embi_model *m, emb_err *err)
{
    struct embi_weights *w = &m->weights;
    struct roles roles;
    emb_status status = embi_weights_read_all(w, err);
    if (!status)
        status = find_roles(m, &roles, err);
    for (size_t i = next_file(w, NULL); !status && i < w->n_files;
         i = next_file(w, w->files[i].name))
        status = list_shard(l, w, &roles, i, w->files[i].name, err);
    return status;
}

/* The file that was opened alone, the first of the model's: other parts of a GGUF model say which
 * tensors are what, and are listed where they are named themselves. */
static emb_status list_opened(struct listing *l, struct embi_model *m, const char *name,
                              emb_err *err)
{
    struct roles roles;
    emb_status status = find_roles(m, &roles, err);
    return status ? status : list_shard(l, &m->weights, &roles, 0, name, err);
}

/* ------------------------------------------------------------------------------------------------
 * A file
 */

/* Rows that have no place by a header: words and vectors in turn. How many there are a header may
 * say; else they are counted. */
static emb_status list_rows(struct listing *l, struct embi_reader *r, const char *name,
                            emb_err *err)
{
    struct embi_tensor t = {.dtype = EMB_F32, .ndim = 2};
    emb_status status = r->rows ? EMB_OK : r->format->walk(r, err);
    t.shape[0] = r->rows;
    t.shape[1] = r->dims;
    t.bytes = r->format->rows ? r->io->size : r->rows * r->dims * sizeof(float);
    return status ? status : add(l, &t, name, "embedding", err);
}

static bool is_table(const struct embi_tensor *t)
{
    return t->ndim == 2 && t->dtype != EMB_DTYPE_NONE;
}

/* Formats without names. */
static emb_status list_table(struct listing *l, struct embi_reader *r, const char *name,
                             emb_err *err)
{
    emb_status status = EMB_OK;
    if (r->format->walk)
        return list_rows(l, r, name, err);
    for (size_t i = 0; !status && i < r->n_tensors; i++)
        status = add(l, &r->tensors[i], name, is_table(&r->tensors[i]) ? "embedding" : NULL, err);
    return status;
}

/* The reader is freed. */
static emb_status list_reader(struct listing *l, struct embi_reader *reader, const char *name,
                              emb_err *err)
{
    struct embi_model *m;
    emb_status status;
    if (!(reader->format->caps & EMBI_FMT_NAMES)) {
        status = list_table(l, reader, name, err);
        embi_reader_close(reader);
        return status;
    }
    status = embi_model_open_file(reader, &m, err);
    if (status)
        return status;
    status = list_opened(l, m, name, err);
    embi_model_free(m);
    return status;
}

/* name: what the list calls the file `path`; a member of a zip is NAME#MEMBER. */
static emb_status list_file(struct listing *l, const char *path, const char *name, emb_err *err)
{
    struct embi_reader *reader;
    struct embi_buf full = {0};
    emb_status status = embi_target_reader(l->ctx, l->target, path, l->opts, &reader, err);
    if (status)
        return status;
    l->wanted = embi_target_tensor(l->target, path == l->target->path ? reader : NULL);
    embi_buf_text(&full, name);
    if (reader->member) {
        embi_buf_byte(&full, '#');
        embi_buf_text(&full, reader->member);
    }
    status = list_reader(l, reader, embi_buf_cstr(&full), err);
    if (!status && full.failed)
        status = embi_fail_memory(err, full.n, "a file name");
    embi_buf_free(&full);
    return status;
}

/* Other programs have files of these names too: what is no table is passed over. */
static emb_status pass_over(const struct listing *l, emb_status status, const char *path,
                            const emb_err *err)
{
    if (status != EMB_UNSUPPORTED)
        return status;
    embi_log(&l->ctx->env, EMB_LOG_NOTE, path, "%s", err->msg);
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * A zip archive
 */

/* One member. */
static emb_status list_member(struct listing *l, const char *name, emb_err *err)
{
    const struct embi_target *archive = l->target;
    struct embi_target member = *archive;
    member.fragment = name;
    l->target = &member;
    emb_status status = list_file(l, member.path, member.path, err);
    l->target = archive;
    l->wanted = NULL;
    return pass_over(l, status, archive->path, err);
}

/* Of several tables, none of which was named, all are listed, as the files of a directory. Where
 * that gives none, the error stays. */
static emb_status list_archive(struct listing *l, emb_err *err)
{
    struct embi_names names;
    emb_status status = list_file(l, l->target->path, l->target->path, err);
    bool named = l->target->fragment || l->target->tensor;
    if (status != EMB_UNSUPPORTED || named || strcmp(l->target->path, "-") == 0)
        return status;
    const emb_err unclear = *err;
    status = embi_zip_tables(&l->ctx->env, l->target->path, &names, err);
    for (size_t i = 0; !status && i < names.n; i++)
        status = list_member(l, names.list[i], err);
    embi_names_free(&names);
    if (status || l->out->n)
        return status;
    *err = unclear;
    return err->status;
}

/* ------------------------------------------------------------------------------------------------
 * A directory
 */

/* Does the extension of a file say that it may say what it holds? */
static bool may_hold(int dir, const char *name)
{
    struct stat st;
    return embi_format_has_header(name) &&
           (dir < 0 || (fstatat(dir, name, &st, 0) == 0 && S_ISREG(st.st_mode)));
}

static emb_status list_one_of(struct listing *l, const char *name, emb_err *err)
{
    char *path;
    emb_status status = embi_path_join(l->target->path, name, &path, err);
    if (status)
        return status;
    status = pass_over(l, list_file(l, path, name, err), path, err);
    free(path);
    return status ? embi_fail_in(err, "%s", name) : EMB_OK;
}

/* Where no file has a tensor, *err stays as it was: the reason why it is no model. */
static emb_status list_files(struct listing *l, emb_err *err)
{
    struct embi_names names;
    emb_err no_model = *err;
    emb_status status = embi_path_names(&l->ctx->env, l->target->path, may_hold, &names, err);
    for (size_t i = 0; !status && i < names.n; i++)
        status = list_one_of(l, names.list[i], err);
    embi_names_free(&names);
    if (status || l->out->n)
        return status;
    *err = no_model;
    return err->status;
}

/* Loaders take a file of any name for a model's if it is the only one; others may lie beside it. */
static bool is_model(const struct embi_model *m)
{
    return m->config.found || embi_weights_in(m->env, m->dir);
}

static emb_status list_dir(struct listing *l, emb_err *err)
{
    struct embi_model *m;
    emb_status status = embi_target_model(l->ctx, l->target, l->opts, &m, err);
    l->wanted = embi_target_tensor(l->target, NULL);
    if (status == EMB_UNSUPPORTED)
        return list_files(l, err);
    if (status)
        return status;
    bool model = is_model(m);
    if (model)
        status = list_model(l, m, err);
    embi_model_free(m);
    if (model)
        return status;
    embi_fail(err, EMB_UNSUPPORTED, -1, "is a directory without a file that holds tensors");
    return list_files(l, err);
}

/* ------------------------------------------------------------------------------------------------
 * All
 */

/* Leaves the tensors of that name alone. */
static emb_status select_named(emb_tensors *tensors, const char *name, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    size_t n = 0, all = tensors->n;
    for (size_t i = 0; i < all; i++) {
        if (embi_str_is(tensors->list[i].name, name))
            tensors->list[n++] = tensors->list[i];
        else
            free_tensor(&tensors->list[i]);
    }
    tensors->n = n;
    return n ? EMB_OK
             : embi_fail(err, EMB_BAD_ARG, -1, "no tensor '%s' among the %zu",
                         embi_show(shown, (emb_str){name, strlen(name)}), all);
}

emb_status emb_tensors_list(emb_ctx *ctx, const char *url, const emb_open_opts *opts,
                            emb_tensors *tensors, emb_err *err)
{
    struct embi_target target;
    struct listing l = {.ctx = ctx, .target = &target, .opts = opts, .out = tensors};
    *tensors = (emb_tensors){0};
    emb_status status = embi_target_open(ctx, url, opts, &target, err);
    target.listing = true;
    if (!status)
        status = embi_target_is_dir(ctx, &target) ? list_dir(&l, err) : list_archive(&l, err);
    if (!status && l.wanted)
        status = select_named(tensors, l.wanted, err);
    if (status)
        emb_tensors_free(tensors);
    embi_target_free(&target);
    return status;
}

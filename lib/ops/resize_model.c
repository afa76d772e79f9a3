/* resize_model.c - emb_model_resize_open: what is to be done with a model directory, settled before
 * anything is written (emb.h, "Resizing a model").
 *
 * The directory is locked first and looked at then. What cannot be kept in step is refused here:
 * weights in a form that is not rewritten, tables of different length.
 */
#include "ops/resize_model.h"

#include "io/lock.h"
#include "model/sidecar.h"
#include "util/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

const struct embi_tensor *embi_model_resize_tensor(const emb_model_resize *r, size_t i)
{
    const struct embi_weights *w = &r->m->weights;
    const struct embi_weights_tensor *t = &w->tensors[r->v.list[i].tensor];
    return &w->files[t->file].reader->tensors[t->at];
}

const char *embi_model_resize_inside(const emb_model_resize *r, const char *name)
{
    size_t n = strlen(r->inside);
    return strncmp(name, r->inside, n) == 0 ? name + n : NULL;
}

size_t embi_model_resize_shard(const emb_model_resize *r, const char *name)
{
    const struct embi_weights *w = &r->m->weights;
    const char *inside = embi_model_resize_inside(r, name);
    for (size_t i = 0; inside && i < r->v.n; i++) {
        size_t file = w->tensors[r->v.list[i].tensor].file;
        if (r->entries[i].changes && strcmp(w->files[file].name, inside) == 0)
            return file;
    }
    return SIZE_MAX;
}

/* ------------------------------------------------------------------------------------------------
 * The directory
 */

/* Locks it, and sees that it is the one that the table was opened from. */
static emb_status lock_root(emb_model_resize *r, emb_err *err)
{
    struct stat st;
    emb_status status = embi_lock_dir(AT_FDCWD, r->root, r->mo.in_place, &r->lock, err);
    if (status)
        return status;
    if (stat(r->root, &st) != 0)
        return embi_fail_errno(err, errno, NULL);
    if (st.st_dev != r->m->root_id[0] || st.st_ino != r->m->root_id[1])
        return embi_fail(err, EMB_IO, -1, "was replaced by another run meanwhile: start again");
    return EMB_OK;
}

/* Where in the root the model lies. A folder that is a link has its files elsewhere, and they do
 * not take part when the root's name changes hands. */
static emb_status find_inside(emb_model_resize *r, emb_err *err)
{
    const char *rest = r->m->dir + r->m->root_bytes;
    char shown[EMBI_SHOW_MAX], *real = NULL;
    struct stat st;
    rest += strspn(rest, "/");
    if (asprintf(&r->inside, "%s%s", rest, *rest ? "/" : "") < 0) {
        r->inside = NULL;
        return embi_fail_memory(err, strlen(rest), "a path");
    }
    if (!*rest || !r->mo.in_place || lstat(r->m->dir, &st) != 0 || !S_ISLNK(st.st_mode))
        return EMB_OK;
    emb_status status = embi_path_real(r->m->dir, &real, err);
    if (!status)
        status = embi_fail(err, EMB_UNSUPPORTED, -1, "%s is a link to %s: resize that in place",
                           rest, embi_show(shown, (emb_str){real, strlen(real)}));
    free(real);
    return status;
}

static emb_status find_root(emb_model_resize *r, emb_err *err)
{
    struct embi_model *m = r->table->model.state;
    if (!m || !m->root_bytes || r->table->limit_rows) {
        embi_fail(err, EMB_BAD_ARG, -1, "is no model directory that was opened whole");
        return EMB_BAD_ARG;
    }
    if (!m->root_id[1])
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "lies on a server, where nobody can list its files: download it first");
    char *root = strndup(m->dir, m->root_bytes);
    if (!root)
        return embi_fail_memory(err, m->root_bytes, "a path");
    r->m = m;
    emb_status status = embi_path_real(root, &r->root, err);
    free(root);
    if (status)
        return status;
    status = find_inside(r, err);
    return status ? status : lock_root(r, err);
}

/* ------------------------------------------------------------------------------------------------
 * What can be kept in step
 */

static emb_status check_opts(const emb_resize_opts *o, emb_err *err)
{
    if (!o->n_remove && !o->keep && !o->n_first)
        return EMB_OK;
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "tokens of a model cannot be removed or change places: its tokenizer would "
                     "have to follow, which this version does not do");
}

/* Every tensor under its own name: a class of a library would leave out what it does not know.
 * Those that share their bytes, which safetensors cannot say, become copies. An error's message has
 * no room for it. */
static void say_how_to_convert(const emb_model_resize *r)
{
    embi_log(&r->ctx->env, EMB_LOG_WARNING, r->m->dir,
             "this, run there, makes model.safetensors, after which pytorch_model* are to be "
             "removed: python3 -c \"import glob, torch; from safetensors.torch import save_file; "
             "save_file({k: v.clone().contiguous() for f in glob.glob('pytorch_model*.bin') "
             "for k, v in torch.load(f, map_location='cpu', weights_only=True).items()}, "
             "'model.safetensors', {'format': 'pt'})\"");
}

/* Both files would hold the tables, and loaders read one of them. */
static emb_status check_form(const emb_model_resize *r, emb_err *err)
{
    static const char single[] = "model.safetensors", index[] = "model.safetensors.index.json";
    if (embi_sidecar_exists(r->m->env, r->m->dir, single) &&
        embi_sidecar_exists(r->m->env, r->m->dir, index))
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "%s and %s are both here, and loaders read the first: take away the one "
                         "that is not meant",
                         single, index);
    if (r->table->reader->format == &embi_format_safetensors)
        return EMB_OK;
    if (r->m->config.gguf)
        return embi_fail(
            err, EMB_UNSUPPORTED, -1,
            "the weights are GGUF, which is read, not rewritten: resize the model that "
            "it was converted from");
    say_how_to_convert(r);
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "PyTorch weights are not rewritten: expected safetensors");
}

/* Rows of tensor i follow those of the embedding, or are no business of this resize. */
static emb_status check_tensor(emb_model_resize *r, size_t i, bool *changes, emb_err *err)
{
    const struct embi_vocab_tensor *t = &r->v.list[i];
    const struct embi_weights *w = &r->m->weights;
    char shown[EMBI_SHOW_MAX], first[EMBI_SHOW_MAX];
    embi_show(shown, w->tensors[t->tensor].name);
    *changes = true;
    if (t->role == EMBI_VOCAB_PER_LAYER && t->rows < r->rows.old_rows) {
        *changes = false; /* the model looks nothing up there for ids past its end */
        return embi_model_resize_warn(
            r, err, "%s has %" PRIu64 " rows, the embedding %" PRIu64 ": it stays as it is", shown,
            t->rows, r->rows.old_rows);
    }
    emb_status status = embi_refuse_quantised(w, t->tensor, err);
    if (!status && t->axis == 0)
        status = embi_refuse_transposed(r->m, t->tensor, err);
    if (status ||
        (t->rows == r->rows.old_rows && embi_model_resize_tensor(r, i)->dtype != EMB_DTYPE_NONE))
        return status;
    if (t->rows == r->rows.old_rows)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s is of type %s, which is not computed with",
                         shown, embi_model_resize_tensor(r, i)->type_name);
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "%s has %" PRIu64 " rows and %s %" PRIu64
                     ": tables of different length cannot be kept in step",
                     embi_show(first, w->tensors[r->v.list[0].tensor].name), r->rows.old_rows,
                     shown, t->rows);
}

static emb_status check_tensors(emb_model_resize *r, emb_err *err)
{
    bool nothing = embi_resize_changes_nothing(&r->rows);
    emb_status status = embi_vocab_tensors_find(r->m, &r->v, err);
    if (status)
        return status;
    r->entries = calloc(r->v.n, sizeof *r->entries);
    if (!r->entries)
        return embi_fail_memory(err, r->v.n * sizeof *r->entries, "a plan");
    for (size_t i = 0; !status && !nothing && i < r->v.n; i++)
        status = check_tensor(r, i, &r->entries[i].changes, err);
    if (!status && r->m->config.tied == 0 && r->v.head == EMBI_NO_TENSOR)
        status = embi_model_resize_warn(r, err,
                                        "config.json says that the head is a table of its own, but "
                                        "none is stored: none is made");
    return status;
}

static emb_status plan_rows(emb_model_resize *r, emb_err *err)
{
    const struct embi_vocab *vocab;
    emb_status status = embi_table_vocab(r->table, &vocab, err);
    if (!status && vocab->total == 0 && r->o.n_add)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "no tokenizer was found in the directory, so no token can be added: add "
                         "rows (--rows N)");
    if (!status)
        status = embi_model_resize_next_id(r, err);
    return status ? status : emb_resize_plan(r->table, &r->o, &r->rows, err);
}

/* What could not be looked at afterwards (a broken generation_config.json, say) is found while
 * nothing is written. What it warns of was said when the model was opened. */
static emb_status check_parts(emb_model_resize *r, emb_err *err)
{
    emb_check check;
    emb_status status = emb_check_model(&r->quiet, r->root, &check, err);
    if (!status)
        emb_check_free(&check);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Life
 */

static emb_status make(emb_model_resize *r, emb_err *err)
{
    emb_status status = check_opts(&r->o, err);
    if (!status)
        status = find_root(r, err);
    if (!status && r->m)
        status = check_form(r, err);
    if (!status)
        status = plan_rows(r, err);
    if (!status)
        status = check_tensors(r, err);
    if (!status)
        status = embi_tree_read(r->root, !r->mo.in_place, &r->tree, err);
    if (!status)
        status = embi_model_resize_edit(r, err);
    if (!status)
        status = embi_model_resize_split(r, err);
    if (!status)
        status = embi_new_entries_begin(r, err);
    if (!status)
        status = check_parts(r, err);
    return status ? status : embi_model_resize_say(r, err);
}

emb_status emb_model_resize_open(emb_ctx *ctx, const emb_table *table, const emb_resize_opts *opts,
                                 const emb_model_resize_opts *model_opts, emb_model_resize **resize,
                                 emb_err *err)
{
    emb_model_resize *r = calloc(1, sizeof *r);
    if (!r)
        return embi_fail_memory(err, sizeof *r, "a plan");
    r->ctx = ctx;
    r->quiet = *ctx;
    r->quiet.env.log = NULL;
    r->table = table;
    r->o = embi_resize_opts(opts);
    r->lock = EMBI_NO_LOCK;
    if (model_opts)
        memcpy(&r->mo, model_opts, embi_min(model_opts->size, sizeof r->mo));
    emb_status status = make(r, err);
    if (status)
        emb_model_resize_close(r);
    else
        *resize = r;
    return status;
}

const emb_model_plan *emb_model_resize_plan(const emb_model_resize *r)
{
    return &r->plan;
}

void emb_model_resize_close(emb_model_resize *r)
{
    if (!r)
        return;
    embi_new_entries_end(r);
    for (size_t i = 0; i < r->plan.n_warnings; i++)
        free(r->warnings[i]);
    free(r->warnings);
    for (size_t i = 0; i < r->plan.n_tensors; i++)
        free((char *)r->tensors[i].name);
    free(r->tensors);
    for (size_t i = 0; i < r->plan.n_files; i++)
        if (r->files[i].is_new)
            free((char *)r->files[i].name);
    free(r->files);
    free(r->special);
    free(r->made_of.rows);
    free(r->made_of.ends);
    free(r->pieces);
    embi_token_fills_free(&r->fills);
    embi_file_edits_free(&r->edits);
    embi_tree_free(&r->tree);
    embi_vocab_tensors_free(&r->v);
    emb_resize_free(&r->rows);
    embi_unlock(r->lock);
    free(r->entries);
    free(r->inside);
    free(r->root);
    free(r);
}

/* check_index.c - an index of shards beside the shards: does each tensor lie where it says, are all
 * of them in it, and is total_size their size?
 */
#include "ops/check_model.h"

#include "model/sidecar.h"
#include "model/text_edit.h"
#include "util/err.h"

#include <inttypes.h>

static const struct {
    const char *single, *index;
} kinds[] = {{"model.safetensors", "model.safetensors.index.json"},
             {"pytorch_model.bin", "pytorch_model.bin.index.json"}};

/* The index that the weights were found by; NULL: none was used. */
static const char *index_in_use(struct embi_checking *c)
{
    const char *dir = c->model->dir;
    for (size_t i = 0; i < EMBI_LEN(kinds); i++) {
        bool single = embi_sidecar_exists(c->env, dir, kinds[i].single),
             index = embi_sidecar_exists(c->env, dir, kinds[i].index);
        if (single && index)
            embi_check_say(c, "weights", NULL,
                           "%s and %s are both here: loaders read the first alone, so the shards "
                           "may be older or newer",
                           kinds[i].single, kinds[i].index);
        if (single)
            return NULL;
        if (index)
            return kinds[i].index;
    }
    return NULL;
}

/* total_parameters cannot be compared: buffers are no parameters, and packed ones count twice. */
static void check_totals(struct embi_checking *c, const char *index,
                         const struct embi_json_value *total)
{
    const struct embi_weights *w = &c->model->weights;
    uint64_t bytes = embi_weights_bytes(w), said;
    size_t tensors = 0;
    for (size_t i = 0; i < w->n_files; i++)
        tensors += w->files[i].reader->n_tensors;
    if (tensors > w->n_tensors)
        embi_check_say(c, "index", NULL, "%s: %zu tensors of the shards are not in it", index,
                       tensors - w->n_tensors);
    if (embi_json_u64(total, &said) && said != bytes)
        embi_check_say(c, "index", strcmp(index, kinds[0].index) == 0 ? EMBI_MEND : NULL,
                       "%s: total_size is %" PRIu64 ", the tensors have %" PRIu64 " bytes", index,
                       said, bytes);
}

static emb_status check_metadata(struct embi_checking *c, const char *index, emb_err *err)
{
    struct embi_sidecar file;
    struct embi_json_value metadata, total = {0};
    emb_status status = embi_sidecar_open(c->env, c->model->dir, index, &file, err);
    if (status || !file.io)
        return status;
    status = embi_json_member_of(file.s, file.n, "metadata", &metadata, err);
    if (!status && metadata.kind == EMBI_JSON_OBJECT)
        status = embi_json_member_of(metadata.s, metadata.n, "total_size", &total, err);
    else if (!status)
        embi_check_say(c, "index", NULL, "%s: there is no \"metadata\", without which loaders fail",
                       index);
    if (!status)
        check_totals(c, index, &total);
    embi_sidecar_close(&file);
    return status ? embi_fail_in(err, "%s", index) : EMB_OK;
}

/* What an index promises and a shard does not have is a finding; so is a shard that is not
 * there. */
emb_status embi_check_index(struct embi_checking *c, bool *whole, emb_err *err)
{
    const char *index = index_in_use(c);
    emb_status status = embi_weights_read_all(&c->model->weights, err);
    *whole = status == EMB_OK;
    if (status && index && (status == EMB_BAD_DATA || status == EMB_IO)) {
        embi_check_say(c, "index", NULL, "%s", err->msg);
        return EMB_OK;
    }
    return status || !index ? status : check_metadata(c, index, err);
}

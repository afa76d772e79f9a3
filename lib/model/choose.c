/* choose.c - the tensor that is the table.
 *
 * By name if the user gave one. Else, the first of these that finds one: the names of the
 * architecture; names that many use; shapes that config.json tells of; the only 2-D tensor. Two
 * candidates of equal rank with the same bytes are copies, else the user must say which.
 */
#include "model/architectures.h"
#include "model/model.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/listed.h"

typedef bool filter_fn(struct embi_model *m, size_t i);

/* best: the best rank that a candidate has by its name; -1: none has one. */
typedef bool way_fn(struct embi_model *m, size_t i, int best);

static emb_status fail_with_list(emb_err *err, struct embi_model *m, emb_status status,
                                 const char *what, filter_fn *listed)
{
    struct embi_listed list = {0};
    for (size_t i = 0; i < m->weights.n_tensors; i++)
        if (listed(m, i))
            embi_listed_add(&list, m->weights.tensors[i].name);
    embi_fail(err, status, -1, "%s%s%s", what, list.n ? ": " : "", embi_listed_text(&list));
    embi_listed_free(&list);
    return status;
}

static bool any(struct embi_model *m, size_t i)
{
    return m->weights.tensors[i].name.s != NULL;
}

/* 2-D and of numbers. A tensor whose header cannot be read is none; who then needs it says why. */
static bool is_candidate(struct embi_model *m, size_t i)
{
    const struct embi_tensor *t;
    emb_err err;
    return embi_weights_read(&m->weights, i, &t, &err) == EMB_OK && t->ndim == 2 &&
           t->dtype != EMB_DTYPE_NONE && t->shape[1] > 0;
}

static enum embi_role role_of(struct embi_model *m, size_t i, int *rank)
{
    return embi_role_of(m->weights.tensors[i].name, rank);
}

emb_status embi_choose_named(struct embi_model *m, const char *name, size_t *tensor, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    emb_str wanted = {name, strlen(name)};
    *tensor = embi_weights_find(&m->weights, wanted);
    if (*tensor != EMBI_NO_TENSOR)
        return EMB_OK;
    emb_status status = embi_weights_whole(&m->weights, err);
    if (status)
        return embi_fail_in(err, "no tensor '%s' here", embi_show(shown, wanted));
    struct embi_buf what = {0};
    embi_buf_print(&what, "no tensor '%s' in the %s, which has", embi_show(shown, wanted),
                   m->dir && !m->part ? "model" : "file");
    status = fail_with_list(err, m, EMB_BAD_ARG, embi_buf_cstr(&what), any);
    embi_buf_free(&what);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * By the architecture
 */

/* The tensor that matches a name of the architecture: surely, or as the only one that has it inside
 * another model. EMBI_NO_TENSOR: none, or several of the second kind. */
static size_t match(const struct embi_weights *w, const char *name)
{
    size_t inside = EMBI_NO_TENSOR;
    bool several = false;
    for (size_t i = 0; i < w->n_tensors; i++) {
        enum embi_name_match how = embi_name_match(w->tensors[i].name, name);
        int rank;
        if (how == EMBI_NAME_SURE)
            return i;
        if (how == EMBI_NAME_OTHER || embi_role_of(w->tensors[i].name, &rank) == EMBI_ROLE_OTHER)
            continue;
        several = several || inside != EMBI_NO_TENSOR;
        inside = i;
    }
    return several ? EMBI_NO_TENSOR : inside;
}

static size_t match_any(const struct embi_weights *w, const char *const *names, size_t n)
{
    size_t found = EMBI_NO_TENSOR;
    for (size_t k = 0; k < n && names[k] && found == EMBI_NO_TENSOR; k++)
        found = match(w, names[k]);
    return found;
}

/* The tensor that has this name for sure; another tensor's copy may have it inside. */
static size_t match_surely(const struct embi_weights *w, const char *name)
{
    size_t i = match(w, name);
    bool sure = i != EMBI_NO_TENSOR && embi_name_match(w->tensors[i].name, name) == EMBI_NAME_SURE;
    return sure ? i : EMBI_NO_TENSOR;
}

/* The architecture's other names are those of copies. */
static emb_status warn_of_copies(struct embi_model *m, const struct embi_architecture *arch,
                                 size_t tensor, emb_err *err)
{
    struct embi_weights *w = &m->weights;
    char taken[EMBI_SHOW_MAX], other[EMBI_SHOW_MAX];
    for (size_t k = 0; k < EMBI_ARCH_INPUTS && arch->input[k] && !m->headers_only; k++) {
        size_t copy = match_surely(w, arch->input[k]);
        bool same = true;
        emb_status status = EMB_OK;
        if (copy != EMBI_NO_TENSOR)
            status = embi_weights_same(w, tensor, copy, &same, err);
        if (status)
            return status;
        if (same)
            continue;
        embi_show(taken, w->tensors[tensor].name);
        embi_show(other, w->tensors[copy].name);
        if (w->opts.strict)
            return embi_fail(err, EMB_BAD_DATA, -1, "%s and %s differ: name one after #", taken,
                             other);
        embi_log(m->env, EMB_LOG_WARNING, m->dir, "%s and %s differ: the first is taken", taken,
                 other);
    }
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * By names that many use, and by shape
 */

static int best_rank(struct embi_model *m, enum embi_role role)
{
    int best = -1, rank;
    for (size_t i = 0; i < m->weights.n_tensors; i++)
        if (role_of(m, i, &rank) == role && (best < 0 || rank < best) && is_candidate(m, i))
            best = rank;
    return best;
}

/* Of the candidates that `among` leaves: *tensor is the first, or EMBI_NO_TENSOR; *several says
 * that another one has other bytes. Those behind it are not looked at: they may have to be
 * unpacked. */
static emb_status pick(struct embi_model *m, way_fn *among, int best, size_t *tensor, bool *several,
                       emb_err *err)
{
    *tensor = EMBI_NO_TENSOR;
    *several = false;
    for (size_t i = 0; !*several && i < m->weights.n_tensors; i++) {
        bool same = true;
        if (!among(m, i, best) || !is_candidate(m, i))
            continue;
        if (*tensor == EMBI_NO_TENSOR)
            *tensor = i;
        emb_status status = EMB_OK;
        if (m->headers_only)
            same = *tensor == i;
        else
            status = embi_weights_same(&m->weights, *tensor, i, &same, err);
        if (status)
            return status;
        *several = !same;
    }
    return EMB_OK;
}

static bool has_best_rank(struct embi_model *m, size_t i, int best)
{
    int rank;
    return role_of(m, i, &rank) == EMBI_ROLE_INPUT && rank == best;
}

/* [V, d] as config.json has them. */
static bool has_config_shape(struct embi_model *m, size_t i, int best)
{
    const struct embi_tensor *t;
    emb_err err;
    int rank;
    enum embi_role role = role_of(m, i, &rank);
    (void)best;
    return m->config.vocab_size && role != EMBI_ROLE_OTHER && role != EMBI_ROLE_HEAD &&
           embi_weights_read(&m->weights, i, &t, &err) == EMB_OK && t->ndim == 2 &&
           t->shape[0] == m->config.vocab_size &&
           (!m->config.n_widths || embi_config_has_width(&m->config, t->shape[1]));
}

static bool named_and_shaped(struct embi_model *m, size_t i, int best)
{
    return has_config_shape(m, i, best) && has_best_rank(m, i, best);
}

static bool is_no_other(struct embi_model *m, size_t i, int best)
{
    int rank;
    (void)best;
    return role_of(m, i, &rank) != EMBI_ROLE_OTHER;
}

static bool listed(struct embi_model *m, size_t i)
{
    return is_candidate(m, i);
}

static bool has_candidate(struct embi_model *m)
{
    size_t i = 0;
    while (i < m->weights.n_tensors && !is_candidate(m, i))
        i++;
    return i < m->weights.n_tensors;
}

/* The only 2-D tensor, of whatever type; EMBI_NO_TENSOR: there are none or several. */
static size_t only_matrix(struct embi_model *m)
{
    size_t found = EMBI_NO_TENSOR;
    for (size_t i = 0; i < m->weights.n_tensors; i++) {
        const struct embi_tensor *t;
        emb_err err;
        if (embi_weights_read(&m->weights, i, &t, &err) != EMB_OK || t->ndim != 2)
            continue;
        if (found != EMBI_NO_TENSOR)
            return EMBI_NO_TENSOR;
        found = i;
    }
    return found;
}

static emb_status choose_without_architecture(struct embi_model *m, size_t *tensor, emb_err *err)
{
    way_fn *const ways[] = {has_best_rank, named_and_shaped, has_config_shape, is_no_other};
    int best = best_rank(m, EMBI_ROLE_INPUT);
    for (size_t k = 0; k < EMBI_LEN(ways); k++) {
        bool several;
        emb_status status = pick(m, ways[k], best, tensor, &several, err);
        if (status || (*tensor != EMBI_NO_TENSOR && !several))
            return status;
    }
    if (m->weights.n_tensors == 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "the file holds no tensor");
    if (!has_candidate(m) && (*tensor = only_matrix(m)) != EMBI_NO_TENSOR)
        return EMB_OK; /* who opens it says why it is no table */
    if (!has_candidate(m))
        return embi_fail(err, EMB_UNSUPPORTED, -1, "none of the %zu tensors is a table [V, d]",
                         m->weights.n_tensors);
    return fail_with_list(err, m, EMB_UNSUPPORTED,
                          "no tensor is clearly the embedding; name one after #", listed);
}

emb_status embi_choose_input(struct embi_model *m, size_t *tensor, emb_err *err)
{
    const struct embi_architecture *arch = embi_architecture_of(&m->config);
    struct embi_weights *w = &m->weights;
    *tensor = 0;
    if (w->n_tensors == 1 && !w->missing)
        return EMB_OK;
    *tensor = arch ? match_any(w, arch->input, EMBI_ARCH_INPUTS) : EMBI_NO_TENSOR;
    if (*tensor != EMBI_NO_TENSOR)
        return warn_of_copies(m, arch, *tensor, err);
    emb_status status = embi_weights_read_all(w, err); /* names did not do: shapes must */
    return status ? status : choose_without_architecture(m, tensor, err);
}

/* ------------------------------------------------------------------------------------------------
 * The head
 */

/* Is it a 2-D tensor with the rows or the width of the input embedding, either way round? */
static emb_status fits_input(struct embi_model *m, size_t i, size_t input, bool *fits, emb_err *err)
{
    const struct embi_tensor *head = NULL, *in = NULL;
    emb_status status = embi_weights_read(&m->weights, i, &head, err);
    if (!status)
        status = embi_weights_read(&m->weights, input, &in, err);
    *fits = !status && head && in && head->ndim == 2 && in->ndim == 2 &&
            (head->shape[1] == in->shape[1] ||
             (head->shape[0] == in->shape[1] && head->shape[1] == in->shape[0]));
    return status;
}

/* The surest of the names that many use, if it has the shape of the input embedding. */
static emb_status head_by_name(struct embi_model *m, size_t input, size_t *tensor, emb_err *err)
{
    int best = -1, rank;
    for (size_t i = 0; i < m->weights.n_tensors; i++) {
        bool fits;
        if (role_of(m, i, &rank) != EMBI_ROLE_HEAD || (best >= 0 && rank >= best))
            continue;
        emb_status status = fits_input(m, i, input, &fits, err);
        if (status)
            return status;
        if (fits) {
            best = rank;
            *tensor = i;
        }
    }
    return EMB_OK;
}

emb_status embi_choose_head(struct embi_model *m, size_t input, size_t *tensor, emb_err *err)
{
    const struct embi_architecture *arch = embi_architecture_of(&m->config);
    bool fits = false;
    *tensor = EMBI_NO_TENSOR;
    if (!arch)
        return head_by_name(m, input, tensor, err);
    size_t found = match_any(&m->weights, arch->head, EMBI_ARCH_HEADS);
    emb_status status = found == EMBI_NO_TENSOR ? embi_weights_whole(&m->weights, err)
                                                : fits_input(m, found, input, &fits, err);
    if (fits)
        *tensor = found;
    return status;
}

emb_status embi_model_tied(struct embi_model *m, size_t input, size_t head, int *tied, emb_err *err)
{
    const struct embi_architecture *arch = embi_architecture_of(&m->config);
    bool same = false;
    *tied = -1;
    if (head != EMBI_NO_TENSOR) {
        emb_status status = embi_weights_same(&m->weights, input, head, &same, err);
        *tied = same;
        return status;
    }
    if (arch && arch->head[0])
        *tied = 1;
    else if (!arch)
        *tied = embi_config_tied(&m->config);
    if (*tied == 1 && m->config.tied == 0)
        embi_log(m->env, EMB_LOG_WARNING, m->dir,
                 "config.json says that the head is a table of its own, but none is stored");
    return EMB_OK;
}

/* choose.c - the tensor that is the table.
 *
 * By name if the user gave one. Else: the 2-D tensors of a number type are the candidates; the
 * input embedding is the one whose name says so; a file with a single candidate needs no name.
 */
#include "model/model.h"
#include "util/buf.h"
#include "util/err.h"

#define LISTED_MAX 6

static emb_status fail_with_list(emb_err *err, const struct embi_reader *r, emb_status status,
                                 const char *what, bool (*listed)(const struct embi_tensor *))
{
    struct embi_buf list = {0};
    int n = 0;
    for (size_t i = 0; i < r->n_tensors; i++) {
        char shown[EMBI_SHOW_MAX];
        if (listed(&r->tensors[i]) && n++ < LISTED_MAX)
            embi_buf_print(&list, "%s%s", n > 1 ? ", " : "", embi_show(shown, r->tensors[i].name));
    }
    if (n > LISTED_MAX)
        embi_buf_print(&list, " and %d more", n - LISTED_MAX);
    embi_fail(err, status, -1, "%s%s%s", what, n ? ": " : "", embi_buf_cstr(&list));
    embi_buf_free(&list);
    return status;
}

static bool any(const struct embi_tensor *t)
{
    return t->name.s != NULL;
}

static bool is_candidate(const struct embi_tensor *t)
{
    return t->ndim == 2 && t->dtype != EMB_DTYPE_NONE && t->shape[1] > 0;
}

static bool has_candidate(const struct embi_reader *r)
{
    size_t i = 0;
    while (i < r->n_tensors && !is_candidate(&r->tensors[i]))
        i++;
    return i < r->n_tensors;
}

static emb_status by_name(const struct embi_reader *r, const char *name, size_t *tensor,
                          emb_err *err)
{
    for (size_t i = 0; i < r->n_tensors; i++)
        if (r->tensors[i].name.s && embi_str_is(r->tensors[i].name, name)) {
            *tensor = i;
            return EMB_OK;
        }
    char shown[EMBI_SHOW_MAX], what[EMBI_SHOW_MAX + 64];
    struct embi_buf text = {0};
    embi_buf_print(&text, "no tensor '%s' in the file, which has",
                   embi_show(shown, (emb_str){name, strlen(name)}));
    emb_str whole = {embi_buf_cstr(&text), text.n};
    memcpy(what, whole.s, embi_min(whole.n + 1, sizeof what));
    what[sizeof what - 1] = 0;
    embi_buf_free(&text);
    return fail_with_list(err, r, EMB_BAD_ARG, what, any);
}

/* A sure name is one of the lists'; among several the surest; equal ones only if the shorter name
 * is the same thing without a prefix. */
static bool surest_input(const struct embi_reader *r, size_t *tensor, bool *ambiguous)
{
    int best = -1;
    *ambiguous = false;
    for (size_t i = 0; i < r->n_tensors; i++) {
        int rank;
        if (!is_candidate(&r->tensors[i]) ||
            embi_role_of(r->tensors[i].name, &rank) != EMBI_ROLE_INPUT)
            continue;
        if (best >= 0 && rank == best)
            *ambiguous = true;
        if (best < 0 || rank < best) {
            best = rank;
            *tensor = i;
            *ambiguous = false;
        }
    }
    return best >= 0;
}

/* The only candidate that is not said to be something else. */
static bool only_candidate(const struct embi_reader *r, size_t *tensor)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_tensors; i++) {
        int rank;
        if (is_candidate(&r->tensors[i]) &&
            embi_role_of(r->tensors[i].name, &rank) != EMBI_ROLE_OTHER) {
            *tensor = i;
            n++;
        }
    }
    return n == 1;
}

emb_status embi_choose_tensor(const struct embi_reader *r, const char *name, size_t *tensor,
                              emb_err *err)
{
    bool ambiguous = false;
    if (name)
        return by_name(r, name, tensor, err);
    if (r->n_tensors == 1) {
        *tensor = 0;
        return EMB_OK;
    }
    if (surest_input(r, tensor, &ambiguous) && !ambiguous)
        return EMB_OK;
    if (!ambiguous && only_candidate(r, tensor))
        return EMB_OK;
    if (r->n_tensors == 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "the file holds no tensor");
    if (!has_candidate(r))
        return embi_fail(err, EMB_UNSUPPORTED, -1, "none of the %zu tensors is a table [V, d]",
                         r->n_tensors);
    return fail_with_list(err, r, EMB_UNSUPPORTED,
                          "no tensor is clearly the embedding; name one after #", is_candidate);
}

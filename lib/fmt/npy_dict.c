/* npy_dict.c - reads the header of an .npy file: a Python dict literal with exactly the keys descr,
 * fortran_order and shape.
 *
 * Takes what numpy's reader takes and writers produce: any order, either quote, blanks anywhere, a
 * comma after the last item. Nothing is evaluated: other literals, escapes in strings and
 * expressions are errors with their place. Specification: numpy.lib.format.
 */
#include "fmt/npy.h"

#include "util/err.h"

#include <inttypes.h>

struct parser {
    const char *text, *p, *end;
    uint64_t origin;
    bool long_ints;
    emb_err *err;
};

static emb_status fail(const struct parser *h, const char *expected)
{
    int64_t at = (int64_t)(h->origin + (uint64_t)(h->p - h->text));
    if (h->p == h->end)
        return embi_fail(h->err, EMB_BAD_DATA, at, "header: expected %s, found its end", expected);
    char show[EMBI_SHOW_MAX];
    size_t left = (size_t)(h->end - h->p);
    emb_str found = {h->p, left < 16 ? left : 16};
    return embi_fail(h->err, EMB_BAD_DATA, at,
                     "header: byte %" PRId64 ": expected %s, found \"%s\"", at, expected,
                     embi_show(show, found));
}

static void blanks(struct parser *h)
{
    while (h->p < h->end && (*h->p == ' ' || *h->p == '\t' || *h->p == '\n' || *h->p == '\r'))
        h->p++;
}

/* Skips blanks, then c if it is there. */
static bool take(struct parser *h, char c)
{
    blanks(h);
    if (h->p == h->end || *h->p != c)
        return false;
    h->p++;
    return true;
}

static bool take_word(struct parser *h, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(h->end - h->p) < n || memcmp(h->p, word, n) != 0)
        return false;
    h->p += n;
    return true;
}

/* A string without escapes, in single or double quotes. */
static emb_status string(struct parser *h, const char *expected, emb_str *s)
{
    blanks(h);
    if (h->p == h->end || (*h->p != '\'' && *h->p != '"'))
        return fail(h, expected);
    const char *from = h->p + 1, *q = from;
    while (q < h->end && *q != *h->p && *q != '\\' && *q != '\n')
        q++;
    if (q == h->end || *q != *h->p) {
        h->p = q;
        return fail(h, "the closing quote");
    }
    *s = (emb_str){from, (size_t)(q - from)};
    h->p = q + 1;
    return EMB_OK;
}

static emb_status integer(struct parser *h, uint64_t *x)
{
    blanks(h);
    const char *from = h->p;
    if (h->p < h->end && *h->p == '-')
        return fail(h, "a dimension that is not negative");
    for (*x = 0; h->p < h->end && *h->p >= '0' && *h->p <= '9'; h->p++) {
        if (embi_mul(*x, 10, x) && embi_add(*x, (uint64_t)(*h->p - '0'), x))
            continue;
        h->p = from;
        return fail(h, "a dimension below 2^64");
    }
    if (h->p == from || (*from == '0' && h->p - from > 1)) {
        h->p = from;
        return fail(h, "a whole number");
    }
    if (h->long_ints && h->p < h->end && *h->p == 'L')
        h->p++;
    return EMB_OK;
}

/* "()", "(5,)", "(2, 3)"; a comma after the last one is needed where there is only one. */
static emb_status shape(struct parser *h, struct embi_npy_dict *dict)
{
    if (!take(h, '('))
        return fail(h, "a shape in parentheses");
    bool comma = true;
    for (dict->ndim = 0; !take(h, ')'); dict->ndim++) {
        if (!comma)
            return fail(h, "a comma or the closing parenthesis");
        if (dict->ndim == EMBI_MAX_DIMS)
            return fail(h, "at most 8 dimensions");
        emb_status status = integer(h, &dict->shape[dict->ndim]);
        if (status != EMB_OK)
            return status;
        comma = take(h, ',');
    }
    if (dict->ndim != 1 || comma)
        return EMB_OK;
    h->p--; /* "(5)" is the number 5 to Python */
    return fail(h, "a comma after the only dimension");
}

static emb_status fortran_order(struct parser *h, struct embi_npy_dict *dict)
{
    blanks(h);
    dict->fortran = take_word(h, "True");
    if (!dict->fortran && !take_word(h, "False"))
        return fail(h, "True or False");
    return EMB_OK;
}

/* A structured type is a list or tuple of unknown content: reading ends there, and the caller says
 * what it is. */
static emb_status descr(struct parser *h, struct embi_npy_dict *dict)
{
    blanks(h);
    dict->descr = (emb_str){NULL, 0};
    dict->descr_at = (size_t)(h->p - h->text);
    if (h->p < h->end && (*h->p == '[' || *h->p == '('))
        return embi_fail(h->err, EMB_UNSUPPORTED, (int64_t)(h->origin + dict->descr_at),
                         "header: descr is a structured type (records): not a table of numbers");
    return string(h, "a type name in quotes", &dict->descr);
}

static emb_status pair(struct parser *h, struct embi_npy_dict *dict, unsigned *seen)
{
    static const struct {
        const char *name;
        emb_status (*read)(struct parser *, struct embi_npy_dict *);
    } keys[] = {{"descr", descr}, {"fortran_order", fortran_order}, {"shape", shape}};
    emb_str key = {NULL, 0};
    blanks(h);
    const char *from = h->p;
    emb_status status = string(h, "a key in quotes", &key);
    if (status != EMB_OK)
        return status;
    for (unsigned i = 0; i < EMBI_LEN(keys); i++) {
        if (!embi_str_is(key, keys[i].name))
            continue;
        if (*seen & 1u << i) {
            h->p = from;
            return fail(h, "each key once");
        }
        *seen |= 1u << i;
        return take(h, ':') ? keys[i].read(h, dict) : fail(h, "a colon");
    }
    h->p = from;
    return fail(h, "one of the keys descr, fortran_order, shape");
}

emb_status embi_npy_parse(const char *text, size_t n, bool long_ints, uint64_t origin,
                          struct embi_npy_dict *dict, emb_err *err)
{
    struct parser h = {text, text, text + n, origin, long_ints, err};
    unsigned seen = 0;
    bool comma = true;
    if (!take(&h, '{'))
        return fail(&h, "a dict");
    while (!take(&h, '}')) {
        if (!comma)
            return fail(&h, "a comma or the closing brace");
        emb_status status = pair(&h, dict, &seen);
        if (status != EMB_OK)
            return status;
        comma = take(&h, ',');
    }
    if (seen != 7) {
        const char *missing = seen & 1 ? seen & 2 ? "shape" : "fortran_order" : "descr";
        return embi_fail(err, EMB_BAD_DATA, (int64_t)(origin + (uint64_t)(h.p - text)),
                         "header: the key '%s' is missing", missing);
    }
    blanks(&h);
    return h.p == h.end ? EMB_OK : fail(&h, "nothing after the dict");
}

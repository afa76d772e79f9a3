/* ini.c - see ini.h. */
#include "io/ini.h"

#include "util/err.h"

struct walk {
    embi_ini_fn *fn;
    void *arg;
    emb_str section; /* n 0: none has begun */
    emb_str group;   /* the last key, if its value is empty */
    size_t depth;    /* how far in the last key stands; a section ends it */
    bool has_key;
    int64_t line;
};

static const emb_str none = {"", 0};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static emb_str strip(emb_str s)
{
    while (s.n > 0 && is_blank(*s.s)) {
        s.s++;
        s.n--;
    }
    while (s.n > 0 && is_blank(s.s[s.n - 1]))
        s.n--;
    return s;
}

static emb_status fail(const struct walk *w, const char *what, emb_err *err)
{
    return embi_fail(err, EMB_BAD_DATA, -1, "line %lld: %s", (long long)w->line, what);
}

/* "key = value", or "key: value" where colons part too; false: neither. */
static bool split(emb_str line, bool colons, emb_str *key, emb_str *value)
{
    size_t n = 0;
    while (n < line.n && line.s[n] != '=' && !(colons && line.s[n] == ':'))
        n++;
    if (n == line.n)
        return false;
    *key = strip((emb_str){line.s, n});
    *value = strip((emb_str){line.s + n + 1, line.n - n - 1});
    return key->n > 0;
}

static emb_status take_section(struct walk *w, emb_str line, emb_err *err)
{
    size_t n = line.n;
    while (n > 1 && line.s[n - 1] != ']')
        n--;
    if (n <= 2)
        return fail(w, "expected [section]", err);
    w->section = (emb_str){line.s + 1, n - 2};
    w->has_key = false;
    return EMB_OK;
}

/* A line that is further in than the key before it: of its group, or the rest of a value, which
 * only values have that nobody here reads. */
static emb_status take_inner(struct walk *w, emb_str line, emb_err *err)
{
    emb_str key, value;
    if (w->group.n == 0)
        return EMB_OK;
    if (!split(line, false, &key, &value))
        return fail(w, "expected KEY = VALUE", err);
    return w->fn(w->arg, w->section, w->group, key, value, err);
}

static emb_status take_key(struct walk *w, emb_str line, size_t depth, emb_err *err)
{
    emb_str key, value;
    if (w->section.n == 0)
        return fail(w, "a key before any [section]", err);
    if (!split(line, true, &key, &value))
        return fail(w, "expected KEY = VALUE", err);
    w->depth = depth;
    w->has_key = true;
    w->group = value.n > 0 ? none : key;
    return w->fn(w->arg, w->section, none, key, value, err);
}

static emb_status take_line(struct walk *w, emb_str line, emb_err *err)
{
    emb_str text = strip(line);
    if (text.n == 0 || *text.s == '#' || *text.s == ';')
        return EMB_OK;
    size_t depth = (size_t)(text.s - line.s);
    if (w->has_key && depth > w->depth)
        return take_inner(w, text, err);
    return *text.s == '[' ? take_section(w, text, err) : take_key(w, text, depth, err);
}

emb_status embi_ini_walk(emb_str text, embi_ini_fn *fn, void *arg, emb_err *err)
{
    struct walk w = {.fn = fn, .arg = arg};
    emb_status status = EMB_OK;
    for (size_t at = 0; !status && at < text.n;) {
        const char *line = text.s + at, *stop = memchr(line, '\n', text.n - at);
        size_t n = stop ? (size_t)(stop - line) : text.n - at;
        w.line++;
        status = take_line(&w, (emb_str){line, n}, err);
        at += n + 1;
    }
    return status;
}

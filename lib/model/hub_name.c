/* hub_name.c - see hub_name.h. */
#include "model/hub_name.h"

static const char scheme[] = "hf://";

bool emb_is_hub_name(const char *url)
{
    return strncmp(url, scheme, sizeof scheme - 1) == 0;
}

/* Takes what stands before the first `stop` off *rest, and the stop. */
static emb_str cut(emb_str *rest, char stop)
{
    const char *at = memchr(rest->s, stop, rest->n);
    emb_str part = {rest->s, at ? (size_t)(at - rest->s) : rest->n};
    size_t used = part.n + (at != NULL);
    rest->s += used;
    rest->n -= used;
    return part;
}

/* A revision may be refs/pr/N, whose slashes are its own. */
static emb_str cut_revision(emb_str *rest)
{
    emb_str all = *rest;
    bool refs = all.n > 5 && memcmp(all.s, "refs/", 5) == 0;
    for (int i = 0; i < (refs ? 3 : 1); i++)
        cut(rest, '/');
    size_t n = (size_t)(rest->s - all.s);
    return (emb_str){all.s, n && all.s[n - 1] == '/' ? n - 1 : n};
}

static void split(const char *url, struct embi_hub_name *name)
{
    emb_str rest = {url + sizeof scheme - 1, strlen(url) - (sizeof scheme - 1)};
    const char *slash = memchr(rest.s, '/', rest.n), *at = memchr(rest.s, '@', rest.n);
    *name = (struct embi_hub_name){.revision = {"main", 4}};
    if (slash && (!at || slash < at))
        name->org = cut(&rest, '/');
    slash = memchr(rest.s, '/', rest.n);
    at = memchr(rest.s, '@', rest.n);
    if (at && (!slash || at < slash)) {
        name->model = cut(&rest, '@');
        name->revision = cut_revision(&rest);
    } else {
        name->model = cut(&rest, '/');
    }
    name->file = rest;
}

/* One part of a repository's name. */
static bool is_word(emb_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.s[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '-' && c != '_' && c != '.')
            return false;
    }
    return s.n > 0 && s.s[0] != '.' && s.n < 128;
}

static bool is_part(emb_str s, bool hidden)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.s[i] < ' ' || s.s[i] == '\\' || s.s[i] == 0x7f)
            return false;
    return s.n && (s.s[0] != '.' || (hidden && !embi_str_is(s, ".") && !embi_str_is(s, "..")));
}

bool embi_is_inner_path(emb_str s, bool hidden)
{
    bool good = true;
    for (emb_str rest = s; good && rest.n;)
        good = is_part(cut(&rest, '/'), hidden);
    return good && s.n && s.s[s.n - 1] != '/';
}

bool embi_is_commit(emb_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.s[i] >= '0' && s.s[i] <= '9') || (s.s[i] >= 'a' && s.s[i] <= 'f')))
            return false;
    return s.n == EMBI_COMMIT_HEX;
}

bool embi_hub_parse(const char *url, struct embi_hub_name *name)
{
    split(url, name);
    return url[sizeof scheme - 1] != '/' && (!name->org.n || is_word(name->org)) &&
           is_word(name->model) && embi_is_inner_path(name->revision, false) &&
           (!name->file.n || embi_is_inner_path(name->file, false));
}

bool embi_hub_without_org(struct embi_hub_name *name)
{
    struct embi_hub_name without = {
        .model = name->org, .revision = name->revision, .file = name->model};
    if (!name->org.n || name->model.s[name->model.n] == '@')
        return false;
    if (name->file.n)
        without.file.n = (size_t)(name->file.s + name->file.n - without.file.s);
    *name = without;
    return true;
}

/* hub.c - finds a model in the hub's cache: models--ORG--NAME/refs/REVISION holds a commit,
 * snapshots/COMMIT the files. Reads only, and asks nobody.
 *
 * Parts of a name become parts of a path, so each is checked: none may lead out of the cache.
 */
#include "model/hub.h"

#include "util/buf.h"
#include "util/err.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMIT = 40 };

static const char scheme[] = "hf://";

struct name {
    emb_str org; /* n 0: none */
    emb_str model, revision, file;
};

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

static void split(const char *url, struct name *name)
{
    emb_str rest = {url + sizeof scheme - 1, strlen(url) - (sizeof scheme - 1)};
    const char *slash = memchr(rest.s, '/', rest.n), *at = memchr(rest.s, '@', rest.n);
    *name = (struct name){.revision = {"main", 4}};
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

/* Parts between slashes that are none of "", "." and "..". */
static bool is_inner_path(emb_str s)
{
    bool good = true;
    for (emb_str rest = s; good && rest.n;) {
        emb_str part = cut(&rest, '/');
        good = part.n && part.s[0] != '.';
    }
    return good && s.n && s.s[s.n - 1] != '/';
}

static bool is_commit(emb_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.s[i] >= '0' && s.s[i] <= '9') || (s.s[i] >= 'a' && s.s[i] <= 'f')))
            return false;
    return s.n == COMMIT;
}

static bool is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void add_folder(struct embi_buf *path, const char *cache, const struct name *name)
{
    path->n = 0;
    embi_buf_print(path, "%s/models--", cache);
    if (name->org.n)
        embi_buf_print(path, "%.*s--", (int)name->org.n, name->org.s);
    embi_buf_add(path, name->model.s, name->model.n);
}

/* hf://gpt2/config.json: the first part is the model if the cache knows it as one. */
static void settle_org(const char *cache, struct name *name)
{
    struct embi_buf path = {0};
    struct name without = {.model = name->org, .revision = name->revision, .file = name->model};
    if (!name->org.n)
        return;
    add_folder(&path, cache, name);
    if (!is_dir(embi_buf_cstr(&path))) {
        add_folder(&path, cache, &without);
        if (is_dir(embi_buf_cstr(&path))) {
            without.file.n = (size_t)(name->file.s + name->file.n - without.file.s);
            *name = without;
        }
    }
    embi_buf_free(&path);
}

/* The commit that a reference stands for; false if the cache does not know it. */
static bool read_ref(struct embi_buf *path, emb_str revision, char commit[COMMIT])
{
    size_t n = path->n;
    embi_buf_text(path, "/refs/");
    for (size_t i = 0; i < revision.n; i++) {
        bool slash = revision.n - i >= 3 && memcmp(revision.s + i, "%2F", 3) == 0;
        embi_buf_byte(path, slash ? '/' : revision.s[i]);
        i += slash ? 2 : 0;
    }
    emb_str name = {path->s + n + 1, path->n - n - 1};
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK; /* a FIFO is not waited for */
    int fd = is_inner_path(name) ? open(embi_buf_cstr(path), flags) : -1;
    ssize_t got = fd < 0 ? -1 : read(fd, commit, COMMIT);
    if (fd >= 0)
        close(fd);
    path->n = n;
    return got == COMMIT && is_commit((emb_str){commit, COMMIT});
}

static bool find(struct embi_buf *path, const char *cache, const struct name *name)
{
    char commit[COMMIT];
    add_folder(path, cache, name);
    if (is_commit(name->revision))
        memcpy(commit, name->revision.s, COMMIT);
    else if (!read_ref(path, name->revision, commit))
        return false;
    embi_buf_print(path, "/snapshots/%.*s", COMMIT, commit);
    if (name->file.n)
        embi_buf_print(path, "/%.*s", (int)name->file.n, name->file.s);
    return access(embi_buf_cstr(path), F_OK) == 0;
}

emb_status embi_hub_path(const char *cache, const char *url, char **path, emb_err *err)
{
    struct name name;
    struct embi_buf found = {0};
    split(url, &name);
    bool good = url[sizeof scheme - 1] != '/' && (!name.org.n || is_word(name.org)) &&
                is_word(name.model) && is_inner_path(name.revision) &&
                (!name.file.n || is_inner_path(name.file));
    if (!good)
        return embi_fail(err, EMB_BAD_ARG, -1, "expected hf://org/model[@revision][/file]");
    if (!cache)
        return embi_fail(err, EMB_IO, -1,
                         "there is no hub's cache: neither HF_HOME nor HOME is set");
    settle_org(cache, &name);
    bool there = find(&found, cache, &name);
    emb_status status = EMB_OK;
    if (found.failed)
        status = embi_fail_memory(err, strlen(url), "a path");
    else if (!there)
        status = embi_fail(err, EMB_IO, -1,
                           "not in the hub's cache at %s; this build has no network", cache);
    if (status)
        embi_buf_free(&found);
    else
        *path = found.s; /* embi_buf_cstr ended it */
    return status;
}

/* cache_dir.c - all entries of a cache: what there is, what has to go.
 *
 * Touches files by the names of entries alone, so a directory that also holds other things keeps
 * them. When an entry was used last is its time of access, which is set where it is used: file
 * systems that keep none of themselves keep that.
 */
#include "io/cache.h"
#include "io/dir.h"
#include "util/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { STALE_S = 3600 }; /* a file that is being made does not take so long */

/* An entry without its content. */
struct item {
    char name[64];
    uint64_t bytes; /* on the disk */
    struct timespec used;
};

struct items {
    struct item *list; /* [n] */
    size_t n, cap;
};

static bool is_entry(const char *name)
{
    size_t n = strspn(name, "0123456789abcdef");
    return n == 32 && strcmp(name + n, EMBI_ENTRY_END) == 0;
}

static bool look(int dir, const char *name, struct stat *st)
{
    return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st->st_mode);
}

static bool add(struct items *items, const char *name, const struct stat *st)
{
    if (items->n == items->cap) {
        size_t cap = items->cap ? 2 * items->cap : 64;
        struct item *list = realloc(items->list, cap * sizeof *list);
        if (!list)
            return false;
        items->list = list;
        items->cap = cap;
    }
    struct item *item = &items->list[items->n++];
    *item = (struct item){.bytes = (uint64_t)st->st_blocks * 512, .used = st->st_atim};
    memcpy(item->name, name, strlen(name) + 1);
    return true;
}

static int last_used_first(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec > y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec > y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* What a run that was killed has left under a name of its own. */
static void remove_left(int dir, const char *name)
{
    struct stat st;
    size_t n = strlen(EMBI_ENTRY_TEMP);
    if (strncmp(name, EMBI_ENTRY_TEMP, n) == 0 && look(dir, name, &st) &&
        time(NULL) - st.st_mtim.tv_sec > STALE_S)
        unlinkat(dir, name, 0);
}

/* In order: those that were used last come first. No directory is an empty one. tidy: what is left
 * of killed runs goes. */
static emb_status read_items(struct embi_dir *dir, const char *path, bool tidy, struct items *items,
                             emb_err *err)
{
    const char *name;
    struct stat st;
    bool room = true;
    embi_dir_open(dir, AT_FDCWD, path, true);
    if (dir->sys)
        return dir->sys == ENOENT ? EMB_OK : embi_fail_errno(err, dir->sys, NULL);
    while (room && (name = embi_dir_next(dir))) {
        if (is_entry(name) && look(dir->fd, name, &st))
            room = add(items, name, &st);
        else if (tidy)
            remove_left(dir->fd, name);
    }
    if (!room)
        return embi_fail_memory(err, items->n * sizeof *items->list, "a list of files");
    if (dir->sys)
        return embi_fail_errno(err, dir->sys, NULL);
    if (items->n)
        qsort(items->list, items->n, sizeof *items->list, last_used_first);
    return EMB_OK;
}

/* An entry that has no room by itself goes, and of the others those that were used longest ago. */
void embi_cache_trim(const struct embi_env *env)
{
    struct embi_dir dir;
    struct items items = {0};
    emb_err err;
    uint64_t most = env->cache_bytes, sum = 0;
    if (read_items(&dir, env->cache_dir, true, &items, &err) == EMB_OK)
        for (size_t i = 0; i < items.n; i++) {
            if (sum + items.list[i].bytes > most)
                unlinkat(dir.fd, items.list[i].name, 0);
            else
                sum += items.list[i].bytes;
        }
    free(items.list);
    embi_dir_close(&dir);
}

/* ------------------------------------------------------------------------------------------------
 * For those who look at a cache
 */

/* Looking at an entry is no use of it: its time of access stays. */
static bool read_head(int dir, const char *name, struct embi_entry *e)
{
    unsigned char head[EMBI_ENTRY_HEAD_BYTES];
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOATIME);
    bool good = fd >= 0 && fstat(fd, &st) == 0 &&
                pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
                embi_entry_parse(head, (uint64_t)st.st_size, e);
    if (fd >= 0)
        close(fd);
    return good;
}

/* false: no memory. A file that is no whole entry is listed with no URL. */
static bool describe(int dir, const struct item *item, emb_cached *c)
{
    struct embi_entry e = {0};
    bool known = read_head(dir, item->name, &e);
    *c = (emb_cached){
        .bytes = item->bytes, .used_s = (int64_t)item->used.tv_sec, .size = known ? e.size : 0};
    c->checked_s = known ? e.checked_s : 0;
    c->url = known ? e.url : strdup("");
    c->tag = strdup(known ? e.tag : "");
    return c->url && c->tag;
}

emb_status emb_cache_list(const char *path, emb_cache *cache, emb_err *err)
{
    struct embi_dir dir;
    struct items items = {0};
    *cache = (emb_cache){0};
    emb_status status = read_items(&dir, path, false, &items, err);
    if (!status && items.n) {
        cache->list = calloc(items.n, sizeof *cache->list);
        if (!cache->list)
            status = embi_fail_memory(err, items.n * sizeof *cache->list, "a list of files");
    }
    for (size_t i = 0; !status && cache->list && i < items.n; i++) {
        cache->n = i + 1;
        if (!describe(dir.fd, &items.list[i], &cache->list[i]))
            status = embi_fail_memory(err, 0, "a list of files");
    }
    free(items.list);
    embi_dir_close(&dir);
    if (status)
        emb_cache_free(cache);
    return status;
}

void emb_cache_free(emb_cache *cache)
{
    for (size_t i = 0; i < cache->n; i++) {
        free((char *)(uintptr_t)cache->list[i].url);
        free((char *)(uintptr_t)cache->list[i].tag);
    }
    free(cache->list);
    *cache = (emb_cache){0};
}

/* Is the entry of that address, whatever its query is? url NULL: of any. */
static bool is_of(int dir, const char *name, const char *url)
{
    struct embi_entry e = {0};
    if (!url)
        return true;
    bool same = read_head(dir, name, &e) && strlen(e.url) == strcspn(url, "?#") &&
                memcmp(e.url, url, strlen(e.url)) == 0;
    free(e.url);
    return same;
}

emb_status emb_cache_clear(const char *path, const char *url, size_t *files, uint64_t *bytes,
                           emb_err *err)
{
    struct embi_dir dir;
    struct items items = {0};
    *files = 0;
    *bytes = 0;
    emb_status status = read_items(&dir, path, true, &items, err);
    for (size_t i = 0; !status && i < items.n; i++) {
        if (!is_of(dir.fd, items.list[i].name, url))
            continue;
        if (unlinkat(dir.fd, items.list[i].name, 0) && errno != ENOENT)
            status = embi_fail_errno(err, errno, NULL);
        ++*files;
        *bytes += items.list[i].bytes;
    }
    free(items.list);
    embi_dir_close(&dir);
    return status;
}

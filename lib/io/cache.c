/* cache.c - see cache.h: one entry, from its name to its blocks.
 *
 *      0  magic, size, block_bytes, fresh_s, lengths of URL and tag, URL, tag
 *   4080  a hash of the 4080 bytes before
 *   4088  checked_s, which changes with every check
 *   4096  a word for each block, then, from the next page on, the content
 *
 * Numbers are little-endian, as the machine is (table/ctx.c). An entry is complete before it has a
 * name: it begins without one, or under one that no entry has.
 */
#include "io/cache.h"

#include "io/fd.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/map.h"
#include "util/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    SUM_AT = EMBI_ENTRY_HEAD_BYTES - 16,
    CHECKED_AT = EMBI_ENTRY_HEAD_BYTES - 8,
    URL_MAX = 2048,   /* longer ones are not kept */
    FRESH_S = 600,    /* for so long nobody is asked, unless the server wants it shorter */
    NAME_DIGITS = 32, /* of the hash that is an entry's name */
    TRIES = 4
};

static const char magic[16] = "embtool blocks 1";

struct head {
    char magic[16];
    uint64_t size, block_bytes, fresh_s;
    uint32_t url_n, tag_n; /* what follows: URL, tag */
};

/* ------------------------------------------------------------------------------------------------
 * Names
 */

/* Does the query have a parameter of that name? */
static bool has_parameter(const char *query, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = query; *s && *s != '#'; s += s[0] == '&') {
        if (strncmp(s, name, n) == 0 && s[n] == '=')
            return true;
        s += strcspn(s, "&#");
    }
    return false;
}

/* Is it one of the parameters of an address that was signed for some time? Which there are tells
 * who signed it: S3, Google and CloudFront by their own names, Azure by short ones that may mean
 * anything elsewhere. */
static bool is_signature(const char *query, const char *s, size_t n)
{
    static const char *const words[][14] = {
        {"Signature", "Expires", "Key-Pair-Id", "Policy", "AWSAccessKeyId", "GoogleAccessId"},
        {"sig", "sv", "se", "st", "sp", "sr", "spr", "ske", "skt", "sks", "skv", "skoid", "sktid"},
    };
    if ((n > 6 && strncasecmp(s, "X-Amz-", 6) == 0) || (n > 7 && strncasecmp(s, "X-Goog-", 7) == 0))
        return true;
    for (size_t k = 0; k < EMBI_LEN(words); k++)
        for (size_t i = 0; has_parameter(query, words[k][0]) && i < EMBI_LEN(words[k]); i++)
            if (words[k][i] && n == strlen(words[k][i]) && strncmp(s, words[k][i], n) == 0)
                return k == 0 || has_parameter(query, "sv");
    return false;
}

char *embi_cache_key(const char *url)
{
    struct embi_buf key = {0};
    size_t n = strcspn(url, "?#");
    const char *query = url + n + (url[n] == '?');
    char lead = '?';
    embi_buf_add(&key, url, n);
    for (const char *s = query; *s && *s != '#';) {
        size_t all = strcspn(s, "&#"), name = strcspn(s, "=&#");
        if (!is_signature(query, s, name)) {
            embi_buf_byte(&key, lead);
            embi_buf_add(&key, s, all);
            lead = '&';
        }
        s += all + (s[all] == '&');
    }
    embi_buf_cstr(&key);
    if (!key.failed)
        return key.s;
    embi_buf_free(&key);
    return NULL;
}

static void make_name(const char *key, char name[64])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[EMBI_SHA256_BYTES];
    struct embi_sha256 h;
    embi_sha256_init(&h);
    embi_sha256_update(&h, key, strlen(key));
    embi_sha256_final(&h, sum);
    for (size_t i = 0; i < NAME_DIGITS / 2; i++) {
        name[2 * i] = digits[sum[i] >> 4];
        name[2 * i + 1] = digits[sum[i] & 15];
    }
    memcpy(name + NAME_DIGITS, EMBI_ENTRY_END, sizeof EMBI_ENTRY_END);
}

static int open_dir(const struct embi_env *env)
{
    return open(env->cache_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The directory and those above it, for this user alone. 0 or errno. */
static int make_dirs(const char *path)
{
    char *part = strdup(path);
    int sys = part ? 0 : ENOMEM;
    for (char *at = part; !sys && *at;) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        char end = *at;
        *at = 0;
        if (mkdir(part, 0700) && errno != EEXIST)
            sys = errno;
        *at = end;
    }
    free(part);
    return sys;
}

/* ------------------------------------------------------------------------------------------------
 * Heads
 */

static int64_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec;
}

static uint64_t sums_bytes(uint64_t blocks)
{
    return (blocks * sizeof(uint64_t) + PAGE - 1) / PAGE * PAGE;
}

/* Where things lie, by size and block_bytes. */
static bool lay_out(struct embi_entry *e)
{
    if (e->size == 0 || e->block_bytes < PAGE || e->block_bytes % PAGE != 0 ||
        (e->size - 1) / e->block_bytes >= EMBI_FAR_BLOCKS_MOST)
        return false;
    e->blocks = (e->size - 1) / e->block_bytes + 1;
    e->data_off = EMBI_ENTRY_HEAD_BYTES + sums_bytes(e->blocks);
    return e->size <= (uint64_t)INT64_MAX - e->data_off;
}

bool embi_entry_parse(const unsigned char head[EMBI_ENTRY_HEAD_BYTES], uint64_t file_bytes,
                      struct embi_entry *e)
{
    struct head h;
    memcpy(&h, head, sizeof h);
    *e = (struct embi_entry){.fd = -1,
                             .size = h.size,
                             .block_bytes = h.block_bytes,
                             .fresh_s = (int64_t)embi_min(h.fresh_s, FRESH_S)};
    if (memcmp(h.magic, magic, sizeof magic) != 0 ||
        embi_le64(head + SUM_AT) != embi_hash(head, SUM_AT) || h.url_n > URL_MAX ||
        h.tag_n >= sizeof e->tag || !lay_out(e) || e->data_off + e->size != file_bytes)
        return false;
    const char *text = (const char *)head + sizeof h;
    memcpy(e->tag, text + h.url_n, h.tag_n);
    memcpy(&e->checked_s, head + CHECKED_AT, sizeof e->checked_s);
    e->url = strndup(text, h.url_n);
    return e->url != NULL;
}

static int write_head(const struct embi_entry *e)
{
    unsigned char head[EMBI_ENTRY_HEAD_BYTES] = {0};
    struct head h = {.size = e->size,
                     .block_bytes = e->block_bytes,
                     .fresh_s = (uint64_t)e->fresh_s,
                     .url_n = (uint32_t)strlen(e->url),
                     .tag_n = (uint32_t)strlen(e->tag)};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(head, &h, sizeof h);
    memcpy(head + sizeof h, e->url, h.url_n);
    memcpy(head + sizeof h + h.url_n, e->tag, h.tag_n);
    uint64_t sum = embi_hash(head, SUM_AT);
    memcpy(head + SUM_AT, &sum, sizeof sum);
    memcpy(head + CHECKED_AT, &e->checked_s, sizeof e->checked_s);
    return embi_fd_pwrite(e->fd, head, sizeof head, 0);
}

static bool map_sums(struct embi_entry *e)
{
    void *at = mmap(NULL, (size_t)(e->data_off - EMBI_ENTRY_HEAD_BYTES), PROT_READ, MAP_SHARED,
                    e->fd, EMBI_ENTRY_HEAD_BYTES);
    e->sums = at == MAP_FAILED ? NULL : at;
    return e->sums != NULL;
}

void embi_entry_close(struct embi_entry *e)
{
    if (!e)
        return;
    if (e->sums)
        munmap((void *)(uintptr_t)e->sums, (size_t)(e->data_off - EMBI_ENTRY_HEAD_BYTES));
    if (e->fd >= 0)
        close(e->fd);
    if (e->mine)
        embi_cache_trim(e->env);
    free(e->url);
    free(e);
}

/* ------------------------------------------------------------------------------------------------
 * Finding one
 */

/* Takes fd over. */
static struct embi_entry *read_entry(const struct embi_env *env, int fd, const char *name)
{
    unsigned char head[EMBI_ENTRY_HEAD_BYTES];
    struct stat st;
    emb_err err;
    struct embi_entry *e = calloc(1, sizeof *e);
    bool good = e && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                embi_fd_pread(fd, head, sizeof head, 0, &err) == EMB_OK &&
                embi_entry_parse(head, (uint64_t)st.st_size, e);
    if (!good) {
        close(fd);
        free(e);
        return NULL;
    }
    e->env = env;
    e->fd = fd;
    memcpy(e->name, name, sizeof e->name);
    if (map_sums(e))
        return e;
    embi_entry_close(e);
    return NULL;
}

struct embi_entry *embi_entry_find(const struct embi_env *env, const char *url)
{
    struct embi_entry *e = NULL;
    char name[64] = "";
    char *key = env->cache_dir ? embi_cache_key(url) : NULL;
    int dir = key ? open_dir(env) : -1;
    if (dir >= 0) {
        make_name(key, name);
        int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        e = fd < 0 ? NULL : read_entry(env, fd, name);
        close(dir);
    }
    free(key);
    if (e) { /* it was used now: trimming goes by that */
        const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
        (void)futimens(e->fd, times);
    }
    return e;
}

bool embi_entry_is_fresh(const struct embi_entry *e)
{
    int64_t now = now_s();
    return e->checked_s <= now && now - e->checked_s < e->fresh_s;
}

void embi_entry_checked(struct embi_entry *e, const struct embi_version *v)
{
    e->fresh_s = v->max_age_s < 0 ? FRESH_S : (int64_t)embi_min((uint64_t)v->max_age_s, FRESH_S);
    e->checked_s = now_s();
    (void)write_head(e); /* a head that is not whole is no head */
}

/* ------------------------------------------------------------------------------------------------
 * A new one
 */

/* What of an address may be shown: nothing behind it that may be a secret. */
static char *shown(const char *url)
{
    return strndup(url, strcspn(url, "?#"));
}

/* A file to read and write that has no name yet, or, where there are none such, *temp. */
static int open_nameless(const struct embi_entry *e, int dir, char temp[64])
{
    int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    temp[0] = 0;
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL))
        return fd;
    (void)snprintf(temp, 64, EMBI_ENTRY_TEMP "%ld.%p", (long)getpid(), (const void *)e);
    return openat(dir, temp, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
}

static int give_name(int dir, int fd, const char *temp, const char *name)
{
    char self[64];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    for (int i = 0; i < TRIES; i++) {
        int failed = *temp ? linkat(dir, temp, dir, name, 0)
                           : linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW);
        if (!failed)
            return 0;
        if (errno != EEXIST || unlinkat(dir, name, 0)) /* what is there is of another version */
            return errno;
    }
    return EEXIST;
}

/* The file, with its head, under its name. 0 or errno. */
static int create(struct embi_entry *e, int dir)
{
    char temp[64];
    e->fd = open_nameless(e, dir, temp);
    int sys = e->fd < 0 ? errno : 0;
    if (!sys && ftruncate(e->fd, (off_t)(e->data_off + e->size)))
        sys = errno;
    if (!sys)
        sys = write_head(e);
    if (!sys && !map_sums(e))
        sys = errno;
    if (!sys)
        sys = give_name(dir, e->fd, temp, e->name);
    if (*temp)
        unlinkat(dir, temp, 0);
    return sys;
}

static struct embi_entry *begin(const struct embi_env *env, const char *url,
                                const struct embi_version *v)
{
    struct embi_entry *e = calloc(1, sizeof *e);
    char *key = embi_cache_key(url);
    if (e) {
        *e = (struct embi_entry){.env = env,
                                 .fd = -1,
                                 .size = v->total,
                                 .block_bytes = embi_far_block_bytes(v->total),
                                 .url = shown(url),
                                 .checked_s = now_s()};
        memcpy(e->tag, v->tag, sizeof e->tag);
        e->fresh_s =
            v->max_age_s < 0 ? FRESH_S : (int64_t)embi_min((uint64_t)v->max_age_s, FRESH_S);
        if (key)
            make_name(key, e->name);
    }
    if (e && (!key || !e->url || strlen(e->url) > URL_MAX || !lay_out(e))) {
        embi_entry_close(e);
        e = NULL;
    }
    free(key);
    return e;
}

bool embi_cache_takes(const struct embi_env *env, const struct embi_version *v)
{
    return env->cache_dir && *v->tag && !v->no_store && v->total != EMBI_TRANSPORT_UNKNOWN;
}

struct embi_entry *embi_entry_new(const struct embi_env *env, const char *url,
                                  const struct embi_version *v)
{
    struct embi_entry *e = embi_cache_takes(env, v) ? embi_entry_find(env, url) : NULL;
    if (e && strcmp(e->tag, v->tag) == 0 && e->size == v->total) {
        embi_entry_checked(e, v); /* another run has just begun it */
        return e;
    }
    embi_entry_close(e);
    e = embi_cache_takes(env, v) ? begin(env, url, v) : NULL;
    if (!e)
        return NULL;
    int sys = make_dirs(env->cache_dir);
    int dir = sys ? -1 : open_dir(env);
    if (!sys)
        sys = dir < 0 ? errno : create(e, dir);
    if (dir >= 0)
        close(dir);
    if (!sys)
        return e;
    embi_log(env, EMB_LOG_NOTE, env->cache_dir, "nothing is kept: %s", strerror(sys));
    embi_entry_close(e);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Blocks
 */

/* 0 stands for a block that is not there. */
static uint64_t sum_of(const void *data, size_t n)
{
    uint64_t sum = embi_hash(data, n);
    return sum ? sum : 1;
}

bool embi_entry_has(const struct embi_entry *e, uint64_t i, const void *data, size_t n)
{
    uint64_t sum = __atomic_load_n(&e->sums[i], __ATOMIC_ACQUIRE);
    return sum != 0 && sum == sum_of(data, n);
}

bool embi_entry_keep(struct embi_entry *e, uint64_t i, const void *data, size_t n)
{
    uint64_t sum = sum_of(data, n);
    e->mine = true;
    return embi_fd_pwrite(e->fd, &sum, sizeof sum, EMBI_ENTRY_HEAD_BYTES + i * sizeof sum) == 0;
}

void embi_entry_forget(struct embi_entry *e)
{
    struct stat mine, there;
    int dir = open_dir(e->env);
    if (dir < 0)
        return;
    if (fstat(e->fd, &mine) == 0 && fstatat(dir, e->name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
        unlinkat(dir, e->name, 0);
    close(dir);
}

/* cache.h - ranges of files on servers, kept from one run to the next.
 *
 * A cache is a directory. Each address has a file there, an entry, of one version of its content:
 * the URL, the server's strong entity tag, a word for each block, and behind them the content at
 * its own offsets, sparse. The word of a block is 0 until all of its bytes were written, then their
 * hash: a block is used only where it has that hash. So whatever ends a run, and however many are
 * at work, what is read is what a server sent. An entry of another version is a new file under the
 * old name; who has the old one open reads on in it.
 *
 * A cache never makes a run fail: what cannot be kept is not kept. Only files of io/ include this.
 */
#ifndef EMBI_IO_CACHE_H
#define EMBI_IO_CACHE_H

#include "io/far.h"

#include <sys/stat.h>

struct embi_entry {
    const struct embi_env *env;
    char name[64]; /* in env->cache_dir */
    int fd;
    bool mine;            /* it has grown by this run: the cache may have to be trimmed */
    uint64_t size;        /* bytes of the content */
    uint64_t block_bytes; /* of each block but the last, which may be short */
    uint64_t blocks, data_off;
    const uint64_t *sums; /* [blocks], mapped; 0: the block is not there */
    char tag[128];
    char *url; /* as it is shown */
    int64_t checked_s, fresh_s;
};

/* An address without what only proves that one may read it: signatures and their dates in a query,
 * and a fragment. malloc'd; NULL: no memory. */
char *embi_cache_key(const char *url);

/* May it be kept at all? */
bool embi_cache_takes(const struct embi_env *env, const struct embi_version *version);

/* The entry of an address that is whole and this user's own; NULL where there is none. */
struct embi_entry *embi_entry_find(const struct embi_env *env, const char *url);

/* The entry of this version, which takes the place of any other of that address; NULL where it
 * cannot be kept. */
struct embi_entry *embi_entry_new(const struct embi_env *env, const char *url,
                                  const struct embi_version *version);

/* May it be used without asking the server? */
bool embi_entry_is_fresh(const struct embi_entry *entry);
/* The server said now that it is of its version. */
void embi_entry_checked(struct embi_entry *entry, const struct embi_version *version);

/* Block i, whose bytes are there (n of them at `data`): is it what was kept? And: it is, now. */
bool embi_entry_has(const struct embi_entry *entry, uint64_t i, const void *data, size_t n);
bool embi_entry_keep(struct embi_entry *entry, uint64_t i, const void *data, size_t n);

/* Nobody finds it any more. */
void embi_entry_forget(struct embi_entry *entry);
void embi_entry_close(struct embi_entry *entry); /* NULL allowed */

/* ------------------------------------------------------------------------------------------------
 * cache_dir.c: all entries of a directory
 */

enum { EMBI_ENTRY_HEAD_BYTES = 4096 };

#define EMBI_ENTRY_END  ".blocks" /* 32 hexadecimal digits before it */
#define EMBI_ENTRY_TEMP ".new."   /* what follows is one run's own */

/* What the first bytes of a file say; false: it is no entry. `entry` has no fd, url is malloc'd. */
bool embi_entry_parse(const unsigned char head[EMBI_ENTRY_HEAD_BYTES], uint64_t file_bytes,
                      struct embi_entry *entry);

/* Takes the entries that were not used for longest away until the rest has room. */
void embi_cache_trim(const struct embi_env *env);

#endif

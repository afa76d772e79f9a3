/* far_store.c - where the bytes of a file on a server are: addresses for all of it, and behind them
 * an entry of the cache, a temporary file without a name (emb_ctx_opts.temp_dir), or memory.
 *
 * So a table may be larger than memory, and a full disk is an error of a write. What the cache has
 * counts as there only once its hash was found right, which is looked at when somebody is about to
 * read it.
 */
#include "io/cache.h"
#include "io/fd.h"
#include "io/spool.h"
#include "util/err.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static emb_status make_view(const struct embi_env *env, struct embi_store *s, emb_err *err)
{
    const char *dir = env->temp_dir;
    if (s->entry) {
        s->fd = s->entry->fd;
        s->off = s->entry->data_off;
    } else if (dir) {
        s->fd = embi_spool_file(dir);
        if (s->fd < 0 || ftruncate(s->fd, (off_t)s->size))
            return embi_fail_errno(err, errno, "a temporary file");
    }
    int prot = s->fd < 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    int flags = s->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    void *at = mmap(NULL, (size_t)s->size, prot, flags, s->fd, (off_t)s->off);
    if (at == MAP_FAILED)
        return embi_fail_memory(err, s->size, "the addresses of the file");
    s->view = at;
    return EMB_OK;
}

emb_status embi_store_open(const struct embi_env *env, uint64_t size, struct embi_entry *entry,
                           struct embi_store *store, emb_err *err)
{
    *store = (struct embi_store){.size = size, .fd = -1, .entry = entry};
    emb_status status = make_view(env, store, err);
    if (!status)
        status = embi_far_blocks_new(size, &store->blocks, err);
    if (status)
        embi_store_close(store);
    return status;
}

void embi_store_close(struct embi_store *store)
{
    if (store->view)
        munmap(store->view, (size_t)store->size);
    if (store->entry)
        embi_entry_close(store->entry);
    else if (store->fd >= 0)
        close(store->fd);
    embi_far_blocks_free(&store->blocks);
    *store = (struct embi_store){.fd = -1};
}

int embi_store_put(struct embi_store *s, uint64_t at, const void *data, size_t n)
{
    if (s->fd >= 0)
        return embi_fd_pwrite(s->fd, data, n, s->off + at);
    memcpy(s->view + at, data, n);
    return 0;
}

void embi_store_added(struct embi_store *s, struct embi_span span)
{
    uint64_t i, end;
    embi_far_blocks_of(&s->blocks, span, &i, &end);
    embi_far_blocks_add(&s->blocks, span);
    for (; s->entry && i < end; i++) {
        struct embi_span block = embi_far_block_span(&s->blocks, i);
        bool whole = block.off >= span.off && embi_inside(block.off - span.off, block.n, span.n);
        if (whole && !embi_entry_keep(s->entry, i, s->view + block.off, (size_t)block.n))
            return; /* the disk is full: then this is all that is kept */
    }
}

void embi_store_look(struct embi_store *s, const struct embi_span *spans, size_t n)
{
    for (size_t k = 0; s->entry && s->blocks.missing && k < n; k++) {
        uint64_t i, end;
        for (embi_far_blocks_of(&s->blocks, spans[k], &i, &end); i < end; i++) {
            struct embi_span block = embi_far_block_span(&s->blocks, i);
            if (!embi_far_block_is_there(&s->blocks, i) &&
                embi_entry_has(s->entry, i, s->view + block.off, (size_t)block.n))
                embi_far_blocks_add(&s->blocks, block);
        }
    }
}

bool embi_store_replace(struct embi_store *store, struct embi_store *next,
                        const struct embi_span *same, size_t n)
{
    if (next->size != store->size)
        return false;
    for (size_t i = 0; i < n; i++)
        if (memcmp(store->view + same[i].off, next->view + same[i].off, (size_t)same[i].n) != 0)
            return false;
    void *at = mremap(next->view, (size_t)next->size, (size_t)next->size,
                      MREMAP_MAYMOVE | MREMAP_FIXED, store->view);
    if (at == MAP_FAILED)
        return false;
    next->view = at;
    store->view = NULL;
    embi_store_close(store);
    *store = *next;
    *next = (struct embi_store){.fd = -1};
    return true;
}

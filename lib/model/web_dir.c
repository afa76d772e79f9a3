/* web_dir.c - see web_dir.h.
 *
 * Nobody says which files a server has, so each name is asked for when somebody wants to know; HTTP
 * 404 and 410 mean that there is none. What came is remembered: small files stay in memory, and of
 * a large one that was only looked for the beginning that came goes to who opens it. So nothing is
 * asked for twice, but a large file that is opened twice.
 */
#include "model/web_dir.h"

#include "io/place.h"
#include "io/remote.h"
#include "util/err.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

struct web_file {
    char *name;
    bool there;
    struct embi_io *io; /* NULL: somebody has it */
    struct web_file *next;
};

struct web_dir {
    struct embi_place place;
    struct embi_remote link; /* keeps the connections */
    struct web_file *files;
};

static emb_status ask(struct web_dir *d, const char *name, struct embi_io **io, emb_err *err)
{
    struct embi_buf url = {0};
    embi_buf_print(&url, "%s/%s", d->place.dir, name);
    struct embi_address address = {.url = embi_buf_cstr(&url), .beside = &d->link};
    *io = NULL;
    emb_status status = url.failed ? embi_fail_memory(err, url.n, "an address")
                                   : embi_remote_open(d->place.env, &address, io, err);
    embi_buf_free(&url);
    return status;
}

static struct web_file *find(const struct web_dir *d, const char *name)
{
    struct web_file *f = d->files;
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    return f;
}

/* Asks for a name that nobody asked for before. Only an answer is remembered. */
static emb_status look(struct web_dir *d, const char *name, struct web_file **file, emb_err *err)
{
    struct embi_io *io;
    *file = find(d, name);
    if (*file)
        return EMB_OK;
    emb_status status = ask(d, name, &io, err);
    bool none = status == EMB_IO && err->sys == ENOENT;
    if (status && !none)
        return status;
    struct web_file *f = calloc(1, sizeof *f);
    char *copy = strdup(name);
    if (!f || !copy) {
        embi_io_close(io);
        free(f);
        free(copy);
        return embi_fail_memory(err, sizeof *f, "a file's name");
    }
    *f = (struct web_file){.name = copy, .there = !none, .io = io, .next = d->files};
    *file = d->files = f;
    return EMB_OK;
}

static emb_status web_open(struct embi_place *place, const char *name, struct embi_io **io,
                           emb_err *err)
{
    struct web_dir *d = (struct web_dir *)place;
    struct web_file *f;
    const void *data;
    emb_status status = look(d, name, &f, err);
    if (status)
        return status;
    if (!f->there)
        return embi_fail_errno(err, ENOENT, NULL);
    if (!f->io)
        return ask(d, name, io, err);
    if (embi_io_is_far(f->io)) {
        *io = f->io;
        f->io = NULL;
        return EMB_OK;
    }
    status = embi_io_map(f->io, &data, err);
    return status ? status : embi_io_memory(place->env, data, (size_t)f->io->size, NULL, io, err);
}

static bool web_has(struct embi_place *place, const char *name)
{
    struct web_file *f;
    emb_err err;
    return look((struct web_dir *)place, name, &f, &err) != EMB_OK || f->there;
}

static void web_free(struct embi_place *place)
{
    struct web_dir *d = (struct web_dir *)place;
    while (d->files) {
        struct web_file *f = d->files;
        d->files = f->next;
        embi_io_close(f->io);
        free(f->name);
        free(f);
    }
    embi_remote_end(&d->link);
    free(d);
}

static const struct embi_place_kind kind = {.open = web_open, .has = web_has, .free = web_free};

static bool is_web_dir(const char *url)
{
    bool web = strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
    return web && embi_ends_in(url, "/") && !strpbrk(url, "?#");
}

emb_status embi_web_dir_open(const struct embi_env *env, const char *url, emb_err *err)
{
    const char *name;
    if (!is_web_dir(url) || embi_place_of(env, url, &name))
        return EMB_OK;
    struct web_dir *d = calloc(1, sizeof *d);
    size_t n = strlen(url);
    while (n > 0 && url[n - 1] == '/')
        n--;
    if (!d || !(d->place.dir = strndup(url, n))) {
        free(d);
        return embi_fail_memory(err, n, "an address");
    }
    d->place.kind = &kind;
    emb_status status =
        embi_remote_begin(env, &(struct embi_address){.url = d->place.dir}, &d->link, err);
    if (status) {
        free(d->place.dir);
        web_free(&d->place);
        return status;
    }
    embi_place_add(env, &d->place);
    return EMB_OK;
}

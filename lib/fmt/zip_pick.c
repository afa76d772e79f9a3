/* zip_pick.c - see zip_pick.h.
 *
 * Members are judged by their first bytes, as files are, and only where nobody named one.
 */
#include "fmt/zip_pick.h"

#include "fmt/probe.h"
#include "io/inflate.h"
#include "io/member.h"
#include "util/err.h"
#include "util/listed.h"

#include <stdlib.h>

enum {
    SURE_BID = 30, /* the content says so, and not the name alone */
    GZIP_BID = 30, /* of a member that is packed itself */
    PROBED_MAX = 1000
};

/* Folders, and what file managers put beside the files of people. */
static bool is_file(emb_str name)
{
    static const char mac[] = "__MACOSX/";
    const char *slash = memrchr(name.s, '/', name.n);
    const char *last = slash ? slash + 1 : name.s;
    size_t n = name.n - (size_t)(last - name.s);
    return n > 0 && last[0] != '.' &&
           !(name.n >= sizeof mac && memcmp(name.s, mac, sizeof mac - 1) == 0);
}

/* How much the beginning of a member looks like a table; 0: not at all. */
static emb_status head_bid(struct embi_io *io, emb_str name, int *bid, emb_err *err)
{
    struct embi_head head = {.n = 0};
    char *copy = strndup(name.s, name.n);
    if (!copy)
        return embi_fail_memory(err, name.n, "a name");
    emb_status status = embi_head_read(io, &head, err);
    if (!status && !embi_head_format(&head, copy, bid))
        *bid = embi_is_gzip(head.s, head.n) ? GZIP_BID : 0;
    free(copy);
    return status;
}

/* Of a member that cannot be read too it is 0: what is wrong with it is said when it is used. */
static emb_status member_bid(const struct embi_reader *r, const struct embi_zip_member *m, int *bid,
                             emb_err *err)
{
    struct embi_io *io;
    *bid = 0;
    if (!is_file(m->name) || m->bytes == 0)
        return EMB_OK;
    emb_status status = embi_member_open(r->io, m, &io, err);
    if (!status) {
        status = head_bid(io, m->name, bid, err);
        embi_io_close(io);
    }
    return status == EMB_UNSUPPORTED || status == EMB_BAD_DATA ? EMB_OK : status;
}

/* Members of a zip, and how each is judged. */
struct choice {
    const struct embi_zip_list *zip;
    int *bids; /* [zip->n]; NULL: all files count */
    int least;
};

static bool listed(const struct choice *c, size_t i)
{
    return c->bids ? c->bids[i] >= c->least : is_file(c->zip->names[i]);
}

static emb_status fail_with_list(const struct choice *c, emb_status status, const char *what,
                                 emb_err *err)
{
    struct embi_listed list = {0};
    for (size_t i = 0; i < c->zip->n; i++)
        if (listed(c, i))
            embi_listed_add(&list, c->zip->names[i]);
    embi_fail(err, status, -1, "%s: %s", what, list.n ? embi_listed_text(&list) : "no file");
    embi_listed_free(&list);
    return status;
}

/* The only one that is listed; NULL where there are none or several, *n of them. */
static const struct embi_zip_member *only_one(const struct choice *c, size_t *n)
{
    const struct embi_zip_member *found = NULL;
    *n = 0;
    for (size_t i = 0; i < c->zip->n; i++) {
        if (!listed(c, i))
            continue;
        found = &c->zip->members[i];
        ++*n;
    }
    return *n == 1 ? found : NULL;
}

/* The only one of those that bid `least` or more; NULL where none does. */
static emb_status choose_from(struct choice *c, int least, const struct embi_zip_member **m,
                              emb_err *err)
{
    size_t n;
    c->least = least;
    *m = only_one(c, &n);
    if (n <= 1)
        return EMB_OK;
    return fail_with_list(
        c, EMB_UNSUPPORTED,
        "a zip archive, of which several members may be the table; name one after #", err);
}

static emb_status choose_by_bids(const struct embi_reader *r, struct choice *c,
                                 const struct embi_zip_member **m, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < c->zip->n; i++)
        status = member_bid(r, &c->zip->members[i], &c->bids[i], err);
    if (!status)
        status = choose_from(c, SURE_BID, m, err);
    if (!status && !*m)
        status = choose_from(c, 1, m, err);
    return status;
}

static emb_status choose_member(const struct embi_reader *r, const struct embi_zip_list *zip,
                                const struct embi_zip_member **m, emb_err *err)
{
    struct choice c = {.zip = zip};
    const struct choice all = c;
    size_t n;
    *m = only_one(&all, &n); /* a zip of one file: what is wrong with it is then said */
    if (n == 1)
        return EMB_OK;
    if (n == 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "an empty zip archive: it holds no file");
    if (n > PROBED_MAX)
        return fail_with_list(&all, EMB_UNSUPPORTED,
                              "a zip archive of many members; name one after #", err);
    c.bids = calloc(zip->n, sizeof *c.bids);
    if (!c.bids)
        return embi_fail_memory(err, zip->n * sizeof *c.bids, "the members of a zip");
    emb_status status = choose_by_bids(r, &c, m, err);
    free(c.bids);
    if (!status && !*m)
        status = fail_with_list(&all, EMB_UNSUPPORTED, "a zip archive without a table, of", err);
    return status;
}

/* The member of that name, or of what stands before the last #: *rest is then what is behind it. */
static const struct embi_zip_member *find_member(const struct embi_zip_list *zip, const char *name,
                                                 const char **rest)
{
    const struct embi_zip_member *m = embi_zip_find(zip, (emb_str){name, strlen(name)});
    const char *hash = strrchr(name, '#');
    *rest = NULL;
    if (m || !hash)
        return m;
    *rest = hash + 1;
    return embi_zip_find(zip, (emb_str){name, (size_t)(hash - name)});
}

/* It is called .npz, or holds nothing but arrays. */
static bool is_npz(const struct embi_reader *r, const struct embi_zip_list *zip)
{
    size_t files = 0;
    if (r->format)
        return false;
    if (embi_ends_in(embi_reader_name(r), ".npz"))
        return true;
    for (size_t i = 0; i < zip->n; i++) {
        bool file = is_file(zip->names[i]);
        files += file;
        if (file && !embi_str_ends_in(zip->names[i], ".npy"))
            return false;
    }
    return files > 0;
}

/* *m is NULL where an .npz has no member of that name: it is the name of an array. */
static emb_status find_named(struct embi_reader *r, const struct embi_zip_list *zip,
                             const struct embi_zip_member **m, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    struct embi_buf what = {0};
    const char *rest;
    *m = find_member(zip, r->fragment, &rest);
    if (*m)
        r->fragment = rest;
    if (*m || is_npz(r, zip))
        return EMB_OK;
    embi_buf_print(&what, "no member '%s' in the zip, which has",
                   embi_show(show, (emb_str){r->fragment, strlen(r->fragment)}));
    fail_with_list(&(struct choice){.zip = zip}, EMB_BAD_ARG, embi_buf_cstr(&what), err);
    embi_buf_free(&what);
    return EMB_BAD_ARG;
}

emb_status embi_zip_pick(struct embi_reader *r, const struct embi_zip_list *zip,
                         const struct embi_zip_member **m, emb_err *err)
{
    *m = NULL;
    if (r->fragment)
        return find_named(r, zip, m, err);
    return is_npz(r, zip) ? EMB_OK : choose_member(r, zip, m, err);
}

/* ------------------------------------------------------------------------------------------------
 * All that may be tables
 */

static emb_status add_tables(const struct embi_zip_list *zip, struct embi_names *names,
                             emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < zip->n; i++) {
        size_t n = names->n;
        if (!is_file(zip->names[i]))
            continue;
        status = embi_names_add(names, zip->names[i].s, zip->names[i].n, err);
        if (!status && !embi_format_has_header(names->list[n]))
            free(names->list[--names->n]);
    }
    if (names->n > PROBED_MAX)
        embi_names_free(names);
    embi_names_sort(names);
    return status;
}

emb_status embi_zip_tables(const struct embi_env *env, const char *path, struct embi_names *names,
                           emb_err *err)
{
    const void *file;
    struct embi_io *io;
    struct embi_zip_list zip;
    *names = (struct embi_names){0};
    emb_status status = embi_io_open(env, path, EMBI_IO_READ, &io, err);
    if (status)
        return status;
    status = embi_io_map(io, &file, err);
    if (!status && embi_is_zip(file, (size_t)io->size)) {
        status = embi_zip_list(file, io->size, &zip, err);
        if (!status)
            status = add_tables(&zip, names, err);
        embi_zip_list_free(&zip);
    }
    embi_io_close(io);
    return status;
}

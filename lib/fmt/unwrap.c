/* unwrap.c - see unwrap.h.
 *
 * One layer of gzip and one of zip are taken off, in any order. A file counts as packed by its
 * first bytes, unless a format that is read is surer of them. What is in gzip is looked at before
 * all of it is unpacked, so that what is no table costs nothing.
 */
#include "fmt/unwrap.h"

#include "fmt/probe.h"
#include "io/inflate.h"
#include "io/member.h"
#include "util/err.h"

#include <stdlib.h>

enum {
    PACKED_BID = 90, /* of a format: more than that, and the bytes are its own */
    SURE_BID = 30,   /* of a member: the content says so, and not the name alone */
    GZIP_BID = 30,   /* of a member that is packed itself */
    LISTED_MAX = 6,
    PROBED_MAX = 1000
};

enum kind { PLAIN, GZIP, ZIP };

static bool is_gzip(const struct embi_head *head)
{
    return head->n >= 3 && memcmp(head->s, "\x1F\x8B\x08", 3) == 0;
}

static bool is_zip(const struct embi_head *head)
{
    return head->n >= 4 && (memcmp(head->s, "PK\3\4", 4) == 0 || memcmp(head->s, "PK\5\6", 4) == 0);
}

static bool is_archive(const struct embi_format *format)
{
    return format == &embi_format_npz || format == &embi_format_torch;
}

/* Is a zip one table file as a whole? What is named in an .npz may be a member of another kind. */
static bool stays_archive(const struct embi_reader *r, const struct embi_format *format)
{
    bool named = format == &embi_format_npz && r->fragment && !r->format;
    return is_archive(format) && !named;
}

/* What the content is, by its beginning. */
static emb_status look(struct embi_reader *r, enum kind *kind, emb_err *err)
{
    struct embi_head head;
    int bid;
    *kind = PLAIN;
    emb_status status = embi_head_read(r->io, &head, err);
    if (status)
        return embi_io_fail_in(r->io, err);
    const struct embi_format *guess = embi_head_format(&head, embi_reader_name(r), &bid);
    if (guess && bid > PACKED_BID && !is_archive(guess))
        return EMB_OK;
    if (is_gzip(&head))
        *kind = GZIP;
    else if (is_zip(&head) && !stays_archive(r, r->format ? r->format : guess))
        *kind = ZIP;
    return EMB_OK;
}

static emb_status set_inside(struct embi_reader *r, const char *name, size_t n, emb_err *err)
{
    char *inside = strndup(name, n);
    if (!inside)
        return embi_fail_memory(err, n, "a name");
    free(r->inside);
    r->inside = inside;
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * gzip
 */

/* Fails where the first bytes inside are those of nothing that is read. */
static emb_status check_inside(const struct embi_reader *r, const struct embi_packed *packed,
                               emb_err *err)
{
    const struct embi_format *format;
    struct embi_head head = {.size = UINT64_MAX};
    emb_status status = embi_inflate_head(packed, head.s, sizeof head.s, &head.n, err);
    if (status || r->format)
        return status;
    if (head.n < sizeof head.s)
        head.size = head.n;
    if (is_zip(&head) && !r->outer)
        return EMB_OK;
    status = embi_head_check(&head, r->inside, &format, err);
    return status ? embi_fail_in(err, "inside gzip") : EMB_OK;
}

static emb_status gunzip(struct embi_reader *r, emb_err *err)
{
    const struct embi_packed packed = {.io = r->io, .n = r->io->size, .gzip = true};
    const char *name = embi_reader_name(r);
    struct embi_io *io;
    size_t n = strlen(name);
    emb_status status = set_inside(r, name, embi_ends_in(name, ".gz") ? n - 3 : n, err);
    if (!status)
        status = check_inside(r, &packed, err);
    if (!status)
        status = embi_inflate(&packed, &io, err);
    if (status)
        return embi_io_fail_in(r->io, err);
    io->label = r->io->label;
    r->io->label = NULL;
    embi_io_close(r->io);
    r->io = io;
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * zip: which member
 */

/* Folders, and what file managers put beside the files of people. */
static bool is_file(emb_str name)
{
    static const char mac[] = "__MACOSX/";
    const char *slash = memrchr(name.s, '/', name.n);
    const char *last = slash ? slash + 1 : name.s;
    size_t n = name.n - (size_t)(last - name.s);
    return n > 0 && last[0] != '.' &&
           !(name.n > sizeof mac && memcmp(name.s, mac, sizeof mac - 1) == 0);
}

/* How much a member looks like a table; 0: not at all, or it cannot be read. */
static emb_status member_bid(const struct embi_reader *r, const struct embi_zip_member *m, int *bid,
                             emb_err *err)
{
    struct embi_head head;
    struct embi_io *io;
    *bid = 0;
    if (!is_file(m->name) || m->bytes == 0)
        return EMB_OK;
    emb_status status = embi_member_open(r->io, m, &io, err);
    if (status)
        return status == EMB_UNSUPPORTED ? EMB_OK : status;
    char *name = strndup(m->name.s, m->name.n);
    status = name ? embi_head_read(io, &head, err) : embi_fail_memory(err, m->name.n, "a name");
    if (status)
        status = embi_io_fail_in(io, err);
    else if (!embi_head_format(&head, name, bid))
        *bid = is_gzip(&head) ? GZIP_BID : 0;
    free(name);
    embi_io_close(io);
    return status;
}

/* Members of a zip, and how each is judged. */
struct choice {
    const struct embi_zip_list *zip;
    int *bids; /* [zip->n] */
    int least;
};

static bool listed(const struct choice *c, size_t i)
{
    return c->bids ? c->bids[i] >= c->least : is_file(c->zip->names[i]);
}

static emb_status fail_with_list(const struct choice *c, emb_status status, const char *what,
                                 emb_err *err)
{
    struct embi_buf list = {0};
    size_t n = 0;
    for (size_t i = 0; i < c->zip->n; i++) {
        char show[EMBI_SHOW_MAX];
        if (listed(c, i) && n++ < LISTED_MAX)
            embi_buf_print(&list, "%s%s", n > 1 ? ", " : "", embi_show(show, c->zip->names[i]));
    }
    if (n > LISTED_MAX)
        embi_buf_print(&list, " and %zu more", n - LISTED_MAX);
    embi_fail(err, status, -1, "%s: %s", what, n ? embi_buf_cstr(&list) : "no file");
    embi_buf_free(&list);
    return status;
}

/* The only one of those that bid `least` or more; NULL and *n where there are none or several. */
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

static emb_status choose_by_bids(struct choice *c, const struct embi_zip_member **m, emb_err *err)
{
    size_t n = 0;
    for (c->least = SURE_BID; !n && c->least > 0; c->least = c->least == SURE_BID ? 1 : 0) {
        *m = only_one(c, &n);
        if (*m)
            return EMB_OK;
        if (n)
            return fail_with_list(
                c, EMB_UNSUPPORTED,
                "a zip archive, of which several members may be the table; name one after #", err);
    }
    free(c->bids);
    c->bids = NULL;
    return fail_with_list(c, EMB_UNSUPPORTED, "a zip archive without a table, of", err);
}

static emb_status choose_member(const struct embi_reader *r, const struct embi_zip_list *zip,
                                const struct embi_zip_member **m, emb_err *err)
{
    struct choice c = {.zip = zip};
    emb_status status = EMB_OK;
    size_t n;
    *m = only_one(&c, &n); /* a zip of one file: what is wrong with it is then said */
    if (*m)
        return EMB_OK;
    if (n > PROBED_MAX)
        return fail_with_list(&c, EMB_UNSUPPORTED,
                              "a zip archive of many members; name one after #", err);
    c.bids = calloc(zip->n + 1, sizeof *c.bids);
    if (!c.bids)
        return embi_fail_memory(err, zip->n * sizeof *c.bids, "the members of a zip");
    for (size_t i = 0; !status && i < zip->n; i++)
        status = member_bid(r, &zip->members[i], &c.bids[i], err);
    if (!status)
        status = choose_by_bids(&c, m, err);
    free(c.bids);
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

/* ------------------------------------------------------------------------------------------------
 * zip: opening it
 */

/* *m is NULL where an .npz has no member of that name: it is the name of an array. */
static emb_status find_named(struct embi_reader *r, const struct embi_zip_list *zip,
                             const struct embi_zip_member **m, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    struct embi_buf what = {0};
    const char *rest;
    struct embi_head head;
    int bid;
    *m = find_member(zip, r->fragment, &rest);
    if (*m) {
        r->fragment = rest;
        return EMB_OK;
    }
    emb_status status = embi_head_read(r->io, &head, err);
    if (status || (!r->format && embi_head_format(&head, r->path, &bid) == &embi_format_npz))
        return status;
    embi_buf_print(&what, "no member '%s' in the zip, which has",
                   embi_show(show, (emb_str){r->fragment, strlen(r->fragment)}));
    fail_with_list(&(struct choice){.zip = zip}, EMB_BAD_ARG, embi_buf_cstr(&what), err);
    embi_buf_free(&what);
    return EMB_BAD_ARG;
}

static emb_status enter(struct embi_reader *r, const struct embi_zip_member *m, emb_err *err)
{
    struct embi_io *io;
    char show[EMBI_SHOW_MAX];
    emb_status status = set_inside(r, m->name.s, m->name.n, err);
    if (!status)
        status = embi_member_open(r->io, m, &io, err);
    if (status)
        return embi_fail_in(err, "member '%s'", embi_show(show, m->name));
    r->outer = r->io;
    r->io = io;
    return EMB_OK;
}

static emb_status unzip(struct embi_reader *r, emb_err *err)
{
    const void *file;
    struct embi_zip_list zip;
    const struct embi_zip_member *m = NULL;
    emb_status status = embi_io_map(r->io, &file, err);
    if (!status)
        status = embi_zip_list(file, r->io->size, &zip, err);
    if (status)
        return status;
    if (r->fragment)
        status = find_named(r, &zip, &m, err);
    else
        status = choose_member(r, &zip, &m, err);
    if (!status && m)
        status = enter(r, m, err);
    embi_zip_list_free(&zip);
    return status;
}

emb_status embi_unwrap(struct embi_reader *r, emb_err *err)
{
    enum kind kind;
    bool gunzipped = false;
    r->fragment = r->opts.fragment;
    r->opts.fragment = NULL; /* which nobody keeps for us */
    if (r->format == &embi_format_raw && !r->fragment)
        return EMB_OK;
    emb_status status = look(r, &kind, err);
    if (!status && kind == GZIP) {
        gunzipped = true;
        status = gunzip(r, err);
        if (!status)
            status = look(r, &kind, err);
    }
    if (!status && kind == ZIP) {
        status = unzip(r, err);
        if (!status)
            status = look(r, &kind, err);
    }
    if (!status && kind == GZIP && !gunzipped)
        status = gunzip(r, err);
    return status;
}

/* unwrap.c - see unwrap.h.
 *
 * One layer of gzip and one of zip are taken off, in any order. A file counts as packed by its
 * first bytes, unless a format that is read is surer of them. The header of what is packed is
 * looked at before all of it is unpacked (preflight.c), so that what is no table, or a wrong one,
 * costs nothing.
 */
#include "fmt/unwrap.h"

#include "fmt/preflight.h"
#include "fmt/probe.h"
#include "fmt/zip_pick.h"
#include "io/inflate.h"
#include "io/member.h"
#include "util/err.h"

#include <stdlib.h>

enum { PACKED_BID = 90 }; /* a format that bids more is sure that the bytes are its own */

enum kind { PLAIN, GZIP, ZIP };

/* Is a zip one table file as a whole? An .npz may be a zip of other files besides. */
static bool is_whole(const struct embi_reader *r, const struct embi_format *guess)
{
    const struct embi_format *format = r->format ? r->format : guess;
    return format == &embi_format_torch || (format == &embi_format_npz && r->format);
}

/* *guess: the format that bids most for these bytes, or NULL. */
static enum kind kind_of(const struct embi_reader *r, const struct embi_head *head,
                         const struct embi_format **guess)
{
    int bid;
    *guess = embi_head_format(head, embi_reader_name(r), &bid);
    bool archive = *guess == &embi_format_torch || *guess == &embi_format_npz;
    if (*guess && bid > PACKED_BID && !archive)
        return PLAIN;
    if (embi_is_gzip(head->s, head->n))
        return GZIP;
    return embi_is_zip(head->s, head->n) && !is_whole(r, *guess) ? ZIP : PLAIN;
}

/* What the content is, by its beginning. Of what is not packed the format is known then; that a
 * file is empty, or of no format, is said by who opens it. */
static emb_status look(struct embi_reader *r, enum kind *kind, emb_err *err)
{
    struct embi_head head;
    const struct embi_format *guess;
    emb_status status = embi_head_read(r->io, &head, err);
    if (status)
        return embi_io_fail_in(r->io, err);
    *kind = kind_of(r, &head, &guess);
    if (*kind == PLAIN && !r->format && head.n > 0)
        r->format = guess;
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

/* Fails where the first bytes inside are those of nothing that is read, or of a header that is
 * wrong.
 */
static emb_status check_inside(const struct embi_reader *r, struct embi_packed *packed,
                               emb_err *err)
{
    const struct embi_format *format = r->format;
    struct embi_head head = {.size = UINT64_MAX};
    emb_status status = embi_inflate_head(packed, head.s, sizeof head.s, &head.n, err);
    if (status)
        return status;
    if (head.n < sizeof head.s)
        head.size = head.n;
    if (embi_is_zip(head.s, head.n) && !r->outer)
        return EMB_OK;
    if (!format && embi_head_check(&head, r->inside, &format, err))
        return embi_fail_in(err, "inside gzip");
    return embi_preflight(r, format, packed, 0, err);
}

static emb_status gunzip(struct embi_reader *r, emb_err *err)
{
    struct embi_packed packed = {.io = r->io, .n = r->io->size, .gzip = true};
    const char *given = embi_reader_name(r), *name = given ? given : ""; /* of bytes in memory */
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
 * zip
 */

static emb_status enter(struct embi_reader *r, const struct embi_zip_member *m, emb_err *err)
{
    struct embi_io *io;
    r->member = strndup(m->name.s, m->name.n);
    if (!r->member)
        return embi_fail_memory(err, m->name.n, "a name");
    emb_status status = set_inside(r, m->name.s, m->name.n, err);
    if (!status)
        status = embi_member_open(r->io, m, &io, err);
    if (status)
        return status;
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
    status = embi_zip_pick(r, &zip, &m, err);
    if (!status && m)
        status = enter(r, m, err);
    else if (!status)
        r->format = &embi_format_npz;
    embi_zip_list_free(&zip);
    return status;
}

/* A member that is packed is unpacked when it is mapped. */
static emb_status check_member(const struct embi_reader *r, emb_err *err)
{
    struct embi_packed packed;
    if (!r->outer || !embi_member_packed(r->io, &packed))
        return EMB_OK;
    return embi_preflight(r, r->format, &packed, r->io->size, err) ? embi_io_fail_in(r->io, err)
                                                                   : EMB_OK;
}

emb_status embi_unwrap(struct embi_reader *r, emb_err *err)
{
    enum kind kind = PLAIN;
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
        return gunzip(r, err);
    return status ? status : check_member(r, err);
}

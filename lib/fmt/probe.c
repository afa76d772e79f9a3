/* probe.c - which format a file is of: by its bytes, by an extension, or by name.
 *
 * Formats bid for a file (their probe); the highest bid wins. Kinds that are known but not read
 * (foreign.c) bid too, so that they are told by name.
 */
#include "fmt/probe.h"

#include "fmt/foreign.h"
#include "util/err.h"

#include <stdio.h>

enum { EXT_MAX = 16 };

/* The extension of the last part of path, with its dot, in lower case; "" if there is none. The
 * copy does not depend on the locale. */
static const char *extension(char out[EXT_MAX], const char *path)
{
    const char *dot = NULL;
    for (const char *p = path; p && *p; p++)
        dot = *p == '.' ? p : *p == '/' ? NULL : dot;
    out[0] = '\0';
    if (!dot || strlen(dot) >= EXT_MAX)
        return out;
    size_t n = 0;
    for (; dot[n]; n++)
        out[n] = (char)(dot[n] >= 'A' && dot[n] <= 'Z' ? dot[n] + 32 : dot[n]);
    out[n] = '\0';
    return out;
}

static bool has_ext(const struct embi_format *format, const char *ext)
{
    size_t n = strlen(ext);
    for (const char *p = format->exts ? strstr(format->exts, ext) : NULL; p; p = strstr(p + 1, ext))
        if (p > format->exts && p[-1] == ' ' && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

const struct embi_format *embi_format_by_name(const char *name)
{
    for (const struct embi_format *const *f = embi_formats; name && *f; f++)
        if (strcmp((*f)->name, name) == 0)
            return *f;
    return NULL;
}

static bool is_written(const struct embi_format *f, bool exports)
{
    return (f->caps & EMBI_FMT_WRITE) && (exports || !(f->caps & EMBI_FMT_EXPORT));
}

const struct embi_format *embi_format_by_ext(const char *path, bool exports)
{
    char ext[EXT_MAX];
    if (!*extension(ext, path))
        return NULL;
    for (const struct embi_format *const *f = embi_formats; *f; f++)
        if (is_written(*f, exports) && has_ext(*f, ext))
            return *f;
    return NULL;
}

emb_status embi_format_fail_ext(emb_status status, bool exports, emb_err *err)
{
    char names[sizeof err->msg / 2] = "";
    size_t n = 0;
    for (const struct embi_format *const *f = embi_formats; *f && n < sizeof names; f++)
        if (is_written(*f, exports))
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", (*f)->name);
    return embi_fail(err, status, -1,
                     "no format for that extension: name the format of the output (%s)", names);
}

/* Text has none, and is told by its lines. */
bool embi_format_has_header(const char *path)
{
    char ext[EXT_MAX];
    if (!*extension(ext, path))
        return false;
    for (const struct embi_format *const *f = embi_formats; *f; f++)
        if (((*f)->caps & EMBI_FMT_READ) && (*f)->probe && !(*f)->rows && has_ext(*f, ext))
            return true;
    return false;
}

static const struct embi_format *highest_bid(const struct embi_head *head, const char *ext,
                                             int *bid)
{
    const struct embi_format *best = NULL;
    *bid = 0;
    for (const struct embi_format *const *f = embi_formats; *f; f++) {
        bool reads = ((*f)->caps & EMBI_FMT_READ) && (*f)->probe;
        int b = reads ? (*f)->probe(head->s, head->n, head->size, ext) : 0;
        if (b > *bid) {
            *bid = b;
            best = *f;
        }
    }
    return best;
}

static emb_status fail_unknown(const struct embi_head *head, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    emb_str first = {(const char *)head->s, head->n < 8 ? head->n : 8};
    return embi_fail(err, EMB_UNSUPPORTED, 0,
                     "not a format embtool knows; it begins with \"%s\" (for rows without a header "
                     "say --format raw)",
                     embi_show(show, first));
}

emb_status embi_head_read(struct embi_io *io, struct embi_head *head, emb_err *err)
{
    head->size = io->size;
    head->n = (size_t)embi_min(io->size, sizeof head->s);
    return embi_io_pread(io, head->s, head->n, 0, err);
}

const struct embi_format *embi_head_format(const struct embi_head *head, const char *path, int *bid)
{
    char ext[EXT_MAX];
    int foreign_bid;
    const struct embi_format *best = highest_bid(head, extension(ext, path), bid);
    embi_foreign_find(head->s, head->n, ext, &foreign_bid);
    return foreign_bid > *bid ? NULL : best;
}

emb_status embi_head_check(const struct embi_head *head, const char *path,
                           const struct embi_format **format, emb_err *err)
{
    char ext[EXT_MAX];
    int bid;
    *format = NULL;
    if (head->n == 0)
        return embi_fail(err, EMB_BAD_DATA, 0, "the file is empty");
    *format = embi_head_format(head, path, &bid);
    if (*format)
        return EMB_OK;
    const struct embi_foreign *foreign =
        embi_foreign_find(head->s, head->n, extension(ext, path), &bid);
    return foreign ? embi_foreign_fail(foreign, head->s, head->n, err) : fail_unknown(head, err);
}

emb_status embi_format_probe(struct embi_io *io, const char *path,
                             const struct embi_format **format, emb_err *err)
{
    struct embi_head head;
    *format = NULL;
    emb_status status = embi_head_read(io, &head, err);
    return status ? status : embi_head_check(&head, path, format, err);
}

/* text_walk.c - word vectors as text: finds the lines that are rows, and where their tokens end.
 *
 * The file is cut into pieces, and each line belongs to the piece in which it begins: all threads
 * look for line ends, and count fields on the way, at the speed of memory. What is wrong with the
 * order of lines is found where pieces are joined, in the order of the file, so that rows and
 * messages are those of one thread that reads from the beginning. Where only some rows are wanted,
 * one thread does that, and stops behind them.
 */
#include "fmt/text.h"

#include "num/kern.h"
#include "util/err.h"
#include "util/large.h"
#include "util/loop.h"

#include <inttypes.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------
 * A row that was found
 */

emb_str embi_text_whole_line(const struct embi_reader *r, uint64_t row)
{
    const uint64_t *at = r->row_offsets + row;
    const char *s = ((const struct embi_text *)r->state)->data + *at;
    return (emb_str){s, row + 1 < r->rows ? (size_t)(at[1] - at[0] - 1)
                                          : embi_line_bytes(s, r->io->size - *at)};
}

emb_str embi_text_line(const struct embi_reader *r, uint64_t row)
{
    const emb_str line = embi_text_whole_line(r, row);
    return (emb_str){line.s, embi_line_trim(line.s, line.n)};
}

emb_status embi_text_fail_in(const struct embi_reader *r, uint64_t row, emb_err *err)
{
    return embi_fail_in(err, "line %" PRIu64 " (row %" PRIu64 ")",
                        embi_text_line_number(r->state, row), row);
}

emb_status embi_text_too_few(const struct embi_reader *r, uint64_t row, size_t found, emb_err *err)
{
    embi_fail(err, EMB_BAD_DATA, (int64_t)row, "expected %" PRIu32 " values, found %zu", r->dims,
              found);
    return embi_text_fail_in(r, row, err);
}

/* ------------------------------------------------------------------------------------------------
 * The lines of a piece
 */

struct row {
    uint64_t at; /* offset of its line */
    uint32_t cut;
};

/* Lines that begin in bytes begin .. end-1. */
struct piece {
    uint64_t begin, end;
    struct row *rows; /* [cap], n in use: those before the first blank line */
    uint64_t n, cap;  /* while it is not known how many there will be */
    bool blank;       /* there is a blank line, */
    bool broken;      /* and a row behind it */
};

struct walk {
    const struct embi_text *t;
    const struct embi_kern *kern;
    uint32_t dims;
    uint64_t size, limit; /* of the file; of rows */
    struct piece *pieces; /* [n] */
    size_t n;
};

static emb_status add_row(struct piece *p, struct row row, emb_err *err)
{
    if (p->n == p->cap) {
        uint64_t cap = p->cap ? 2 * p->cap : 1024;
        struct row *rows = realloc(p->rows, cap * sizeof *rows);
        if (!rows)
            return embi_fail_memory(err, cap * sizeof *rows, "rows");
        p->rows = rows;
        p->cap = cap;
    }
    p->rows[p->n++] = row;
    return EMB_OK;
}

static bool is_blank(const char *line, size_t n)
{
    if (n > 0 && !embi_words_blank(line[0]) && line[0] != '\r')
        return false;
    return embi_line_trim(line, n) == 0;
}

/* The token of the line s[0, n), which is no blank one and has so many fields behind blanks. */
static uint32_t cut_line(const struct walk *w, const char *s, size_t n, uint64_t fields)
{
    bool cr = n > 1 && s[n - 1] == '\r' && embi_words_blank(s[n - 2]); /* which is none */
    if (fields - cr != w->dims)
        return EMBI_TEXT_UNCUT;
    return (uint32_t)embi_min(embi_line_skip(s, n, 1) - 1, EMBI_TEXT_UNCUT);
}

/* Where the first line of a piece begins; at its end or behind it: there is none. */
static uint64_t first_line(const struct walk *w, const struct piece *p)
{
    if (p == w->pieces)
        return p->begin;
    uint64_t before = p->begin - 1; /* a line end there begins a line here */
    return before + embi_line_bytes(w->t->data + before, p->end - before) + 1;
}

static emb_status find_rows(void *arg, size_t item, int worker, emb_err *err)
{
    const struct walk *w = arg;
    struct piece *p = &w->pieces[item];
    emb_status status = EMB_OK;
    (void)worker;
    for (uint64_t at = first_line(w, p); at < p->end && p->n < w->limit && !p->broken && !status;) {
        const char *line = w->t->data + at;
        uint64_t fields;
        size_t n = w->kern->scan_line(line, w->size - at, &fields);
        if (is_blank(line, n))
            p->blank = true;
        else if (p->blank)
            p->broken = true;
        else
            status = add_row(p, (struct row){at, cut_line(w, line, n, fields)}, err);
        at += n + 1;
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All pieces
 */

/* A limit is not to make the whole file be read. */
static emb_status cut(struct walk *w, emb_err *err)
{
    uint64_t body = w->size - w->t->body;
    bool whole = w->limit < UINT64_MAX || body <= w->t->piece_bytes;
    w->n = whole ? 1 : (size_t)((body - 1) / w->t->piece_bytes + 1);
    w->pieces = calloc(w->n, sizeof *w->pieces);
    if (!w->pieces)
        return embi_fail_memory(err, w->n * sizeof *w->pieces, "pieces of the file");
    for (size_t i = 0; i < w->n; i++) {
        w->pieces[i].begin = w->t->body + i * w->t->piece_bytes;
        w->pieces[i].end = i + 1 < w->n ? w->pieces[i].begin + w->t->piece_bytes : w->size;
    }
    return EMB_OK;
}

/* Blank lines are fine where no row follows. */
static emb_status count_rows(const struct walk *w, uint64_t *rows, emb_err *err)
{
    bool blank = false;
    *rows = 0;
    for (const struct piece *p = w->pieces; p < w->pieces + w->n; p++) {
        bool broken = p->broken || (blank && p->n > 0);
        if (!blank)
            *rows += p->n;
        if (broken)
            return embi_fail(err, EMB_BAD_DATA, (int64_t)*rows,
                             "line %" PRIu64 " (row %" PRIu64 "): blank, and rows follow it",
                             embi_text_line_number(w->t, *rows), *rows);
        blank = blank || p->blank;
    }
    return EMB_OK;
}

/* The rows of all pieces in one block: offsets [rows], then cuts [rows]. */
static emb_status join(const struct walk *w, uint64_t rows, uint64_t **offsets, emb_err *err)
{
    const size_t bytes = (rows + 1) * (sizeof(uint64_t) + sizeof(uint32_t));
    uint64_t *to = *offsets = embi_large_alloc(bytes);
    if (!to)
        return embi_fail_memory(err, bytes, "rows");
    uint32_t *cuts = (uint32_t *)(to + rows);
    for (const struct piece *p = w->pieces; p < w->pieces + w->n; p++)
        for (uint64_t i = 0; i < p->n; i++) {
            *to++ = p->rows[i].at;
            *cuts++ = p->rows[i].cut;
        }
    return EMB_OK;
}

static void free_pieces(struct walk *w)
{
    for (size_t i = 0; w->pieces && i < w->n; i++)
        free(w->pieces[i].rows);
    free(w->pieces);
}

/* A value takes two bytes, with its blank: a header may not claim a d that no line has room for,
 * since memory is asked for by d. */
static emb_status check_dims(const struct embi_reader *r, emb_err *err)
{
    size_t found;
    if (r->rows == 0 || r->dims <= r->io->size / 2)
        return EMB_OK;
    const emb_str line = embi_text_line(r, 0);
    embi_line_values(line.s, line.n, r->dims, &found);
    return embi_text_too_few(r, 0, found, err);
}

static emb_status check_count(const struct walk *w, uint64_t rows, emb_err *err)
{
    const struct embi_text *t = w->t;
    if (!t->header || rows >= w->limit || rows == t->header_rows)
        return EMB_OK;
    return embi_fail(err, EMB_BAD_DATA, (int64_t)rows,
                     "the header says %" PRIu64 " rows, the file has %" PRIu64, t->header_rows,
                     rows);
}

emb_status embi_text_walk(struct embi_reader *r, emb_err *err)
{
    struct embi_text *t = r->state;
    const uint64_t limit = r->opts.limit_rows ? r->opts.limit_rows : UINT64_MAX;
    struct walk w = {
        .t = t, .kern = r->env->kern, .dims = r->dims, .size = r->io->size, .limit = limit};
    uint64_t rows = 0;
    const void *data;
    emb_status status = embi_io_map(r->io, &data, err);
    if (status)
        return status;
    t->data = data;
    status = cut(&w, err);
    if (!status)
        status = embi_loop(r->env->pool, w.n, find_rows, &w, err);
    if (!status)
        status = count_rows(&w, &rows, err);
    if (!status)
        status = check_count(&w, rows, err);
    if (!status)
        status = join(&w, rows, &r->row_offsets, err);
    free_pieces(&w);
    if (!status) {
        r->rows = rows;
        t->cuts = (const uint32_t *)(r->row_offsets + rows);
        status = check_dims(r, err);
    }
    if (status) {
        free(r->row_offsets);
        r->row_offsets = NULL;
        r->rows = 0;
    }
    return status;
}

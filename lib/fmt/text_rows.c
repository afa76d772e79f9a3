/* text_rows.c - word vectors as text: parses the numbers of rows. A number is rounded to f32 once,
 * from its text.
 */
#include "fmt/text.h"

#include "num/decimal.h"
#include "num/kern.h"
#include "util/err.h"

/* The field at p, in a line that ends at `end`. */
static emb_status not_a_number(const struct embi_reader *r, uint64_t row, const char *p,
                               const char *end, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    size_t most = embi_line_trim(p, (size_t)(end - p)), n = 0;
    while (n < most && !embi_words_blank(p[n]))
        n++;
    embi_fail(err, EMB_BAD_DATA, (int64_t)row, "'%s' is not a number",
              embi_show(shown, (emb_str){p, n}));
    return embi_text_fail_in(r, row, err);
}

/* A field that the kernel does not read has others of its kind beside it, unless it has read as
 * many before: so many are read one by one before it is asked again. */
enum { SLOW_FIELDS = 8 };

/* The first number of a row; NULL: there are too few. */
static const char *values_of(const struct embi_reader *r, uint64_t row, emb_str line, size_t *found)
{
    const uint32_t cut = ((const struct embi_text *)r->state)->cuts[row];
    if (cut != EMBI_TEXT_UNCUT)
        return line.s + cut + 1;
    return embi_line_values(line.s, embi_line_trim(line.s, line.n), r->dims, found);
}

/* One row into dst [d]. Its end is looked at last, when it is near. */
static emb_status parse_row(const struct embi_reader *r, uint64_t row, float *dst, emb_err *err)
{
    const emb_str line = embi_text_whole_line(r, row);
    const char *end = line.s + line.n;
    /* the scanner stops at the line's end, but is faster the more it may look at */
    const char *file = ((const struct embi_text *)r->state)->data, *file_end = file + r->io->size;
    size_t found = 0;
    const char *p = values_of(r, row, line, &found);
    if (!p)
        return embi_text_too_few(r, row, found, err);
    for (uint32_t c = 0, slowly = 0; c < r->dims;) {
        size_t used = 0;
        if (slowly == 0 && p - file >= EMBI_FIELDS_BEFORE) {
            uint32_t read = (uint32_t)r->env->kern->scan_fields(p, (size_t)(file_end - p), dst + c,
                                                                r->dims - c, &used);
            slowly = read > SLOW_FIELDS ? 1 : SLOW_FIELDS;
            c += read;
        } else {
            used = embi_scan_f32(p, (size_t)(file_end - p), dst + c);
            if (used == 0)
                return not_a_number(r, row, p, end, err);
            slowly -= slowly > 0;
            c++;
        }
        p = used < (size_t)(end - p) ? p + used : end; /* a blank may be behind the last one */
        while (p < end && embi_words_blank(*p))
            p++;
    }
    return embi_line_trim(p, (size_t)(end - p)) == 0 ? EMB_OK : not_a_number(r, row, p, end, err);
}

emb_status embi_text_rows(const struct embi_reader *r, uint64_t first, uint64_t n, float *dst,
                          emb_err *err)
{
    emb_status status = EMB_OK;
    for (uint64_t i = 0; i < n && !status; i++)
        status = parse_row(r, first + i, dst + i * r->dims, err);
    return status;
}

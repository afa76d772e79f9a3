/* fuzz_expr.c - the text of --expr: every term inside it, and the same terms when they are written
 * out in full and read again.
 */
#include "fuzz.h"

#include "expr.h"

#include <math.h>

/* Reads all terms; with `out` each is written there as `+ WEIGHT*WORD`, with `want` it is compared
 * with what stands at its place there. */
static bool read_terms(const char *text, struct embi_buf *out)
{
    struct expr e = {.at = text};
    struct expr_term term;
    enum expr_event event;
    char number[EMB_NUMBER_MAX];
    while ((event = expr_next(&e, &term)) == EXPR_TERM) {
        CHECK(term.word.n > 0 && term.word.s >= text && term.word.s + term.word.n <= e.at);
        CHECK(isfinite(term.weight));
        double size = fabs(term.weight);
        embi_buf_text(out, signbit(term.weight) ? " - " : " + ");
        embi_buf_add(out, number, emb_number_print(number, EMB_F64, &size));
        embi_buf_byte(out, '*');
        embi_buf_add(out, term.word.s, term.word.n);
    }
    CHECK(event == EXPR_END || memchr(e.why, 0, sizeof e.why));
    return event == EXPR_END;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct embi_buf text = {0}, full = {0}, again = {0};
    embi_buf_add(&text, data, size);
    if (read_terms(embi_buf_cstr(&text), &full)) {
        CHECK(read_terms(embi_buf_cstr(&full), &again));
        CHECK(full.n == again.n && (full.n == 0 || memcmp(full.s, again.s, full.n) == 0));
    }
    embi_buf_free(&text);
    embi_buf_free(&full);
    embi_buf_free(&again);
    return 0;
}

/* expr.c - the reader of expressions. It knows nothing of tables: words leave as they are written.
 */
#include "expr.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

static emb_str next_word(struct expr *e)
{
    e->at += strspn(e->at, blanks);
    emb_str word = {e->at, strcspn(e->at, blanks)};
    e->at += word.n;
    return word;
}

static bool is_sign(emb_str word)
{
    return word.n == 1 && (word.s[0] == '+' || word.s[0] == '-');
}

static enum expr_event bad(struct expr *e, const char *what, emb_str word)
{
    snprintf(e->why, sizeof e->why, "%s '%.*s'", what, (int)(word.n < 80 ? word.n : 80), word.s);
    return EXPR_BAD;
}

/* Takes `2*` off the front of a word. What stands before the star but is no number belongs to the
 * token. */
static double take_weight(emb_str *word)
{
    double weight;
    const char *star = memchr(word->s, '*', word->n);
    size_t n = star ? (size_t)(star - word->s) : 0;
    if (!star || n + 1 == word->n || !emb_number_parse((emb_str){word->s, n}, EMB_F64, &weight) ||
        !isfinite(weight))
        return 1;
    word->s += n + 1;
    word->n -= n + 1;
    return weight;
}

enum expr_event expr_next(struct expr *e, struct expr_term *term)
{
    bool negative = false;
    emb_str word = next_word(e);
    if (word.n == 0 && e->begun)
        return EXPR_END;
    if (is_sign(word)) {
        emb_str sign = word;
        negative = word.s[0] == '-';
        word = next_word(e);
        if (word.n == 0)
            return bad(e, "a term is missing after", sign);
    } else if (e->begun) {
        return bad(e, "expected + or - before", word);
    } else if (word.n > 1 && (word.s[0] == '+' || word.s[0] == '-')) {
        negative = word.s[0] == '-';
        word.s++;
        word.n--;
    }
    if (word.n == 0 || is_sign(word))
        return bad(e, "expected a term, found", word);
    e->begun = true;
    term->weight = take_weight(&word) * (negative ? -1 : 1);
    term->word = word;
    return EXPR_TERM;
}

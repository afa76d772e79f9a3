/* encode_text.h - text on its way through an encoder: the parts that it is in, and where a part is
 * cut. Only for lib/model/encode*.c.
 */
#ifndef EMBI_MODEL_ENCODE_TEXT_H
#define EMBI_MODEL_ENCODE_TEXT_H

#include "util/buf.h"
#include "util/regex.h"

#define EMBI_NO_PIECE UINT32_MAX

/* What a text may become on its way: a step of a file can make it any number of times as long. */
#define EMBI_TEXT_MOST (4u << 20)

/* What parts of words are (UTS #18, annex C), as items of a bracket in a pattern. */
#define EMBI_TEXT_WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}"

/* A part of the text: an added token, which stays as it is, or text that is still to be split. */
struct embi_part {
    size_t at, n; /* in embi_parts.text; n >= 1 */
    uint32_t id;  /* of an added token; EMBI_NO_PIECE: text */
    bool first;   /* what the whole text begins with is in it, at its beginning */
};

struct embi_parts {
    struct embi_buf text;
    struct embi_part *v; /* [n] */
    size_t n, cap;
    bool failed; /* out of memory */
};

/* Appends a part; nothing where n is 0. */
void embi_parts_add(struct embi_parts *parts, const char *s, size_t n, bool first, uint32_t id);
void embi_parts_free(struct embi_parts *parts);

/* What a step makes of the text s [n] of one part; first as in embi_part. */
typedef emb_status embi_part_fn(const void *step, const char *s, size_t n, bool first,
                                struct embi_parts *out, emb_err *err);

/* Takes a step: added tokens go over to `out` as they are, texts become what fn appends. */
emb_status embi_parts_each(const struct embi_parts *in, embi_part_fn *fn, const void *step,
                           struct embi_parts *out, emb_err *err);

/* A stretch of a part: what was looked for, or what is between. */
struct embi_cut {
    size_t start, end;
    bool match;
};

struct embi_cuts {
    struct embi_cut *v; /* [n], without gaps from 0 to the end of the part */
    size_t n, cap;
    bool failed;
};

void embi_cuts_add(struct embi_cuts *cuts, size_t start, size_t end, bool match);
void embi_cuts_free(struct embi_cuts *cuts);

/* Cuts s [n] at each match of a pattern: an empty match right behind another does not count. */
emb_status embi_cut_regex(const struct embi_regex *regex, const char *s, size_t n,
                          struct embi_cuts *cuts, emb_err *err);

/* Cuts s [n] at each character that is one of a kind, or is `c` where the kind is NULL. */
void embi_cut_chars(bool (*kind)(uint32_t), uint32_t c, const char *s, size_t n,
                    struct embi_cuts *cuts);

/* What becomes of matches. */
enum embi_cut_behavior {
    EMBI_CUT_REMOVED,
    EMBI_CUT_ISOLATED,
    EMBI_CUT_CONTIGUOUS,
    EMBI_CUT_WITH_PREVIOUS,
    EMBI_CUT_WITH_NEXT
};

/* Makes of the cuts those that are to be: joined as `behavior` says; match then means "removed". */
void embi_cuts_join(struct embi_cuts *cuts, enum embi_cut_behavior behavior);

/* Appends each byte of s [n] as the character that GPT-2's table has for it. */
void embi_bytes_put(struct embi_buf *out, const char *s, size_t n);

#endif

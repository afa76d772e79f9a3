/* pieces.h - the text that a stored token stands for.
 *
 * A tokenizer stores its tokens, "pieces", in an alphabet of its own: GPT-2 writes each byte as one
 * printable character (a space is U+0120), SentencePiece a space as U+2581 and a byte as <0x0A>,
 * WordPiece marks what continues a word with ##, the first BPE the end of a word with </w>.
 *
 * Here a piece stands for what it adds to running text: nothing is trimmed because it comes first,
 * so that U+2581 "cat" is " cat" and differs from "cat". WordPiece does not say where spaces are:
 * ##ing is "ing", and cat is "cat". The result may be invalid UTF-8: a byte-level piece may be a
 * part of a character. Implements docs/formats/tokenizers.md, "decoders".
 */
#ifndef EMBI_MODEL_PIECES_H
#define EMBI_MODEL_PIECES_H

#include "util/buf.h"

/* How pieces become text; all zero: they are the text. Strings with n == 0 stand for "none"; they
 * are borrowed from the tokenizer. */
struct embi_pieces {
    bool byte_level;    /* characters are bytes (GPT-2's table)               */
    bool byte_fallback; /* <0xHH> is one byte                                 */
    emb_str space;      /* becomes a space wherever it stands: U+2581         */
    emb_str prefix;     /* marks what continues a word, and is left out: ##   */
    emb_str suffix;     /* at the end becomes a space: </w>                   */
};

/* Appends the text of a piece to out. Running out of memory shows in out->failed. */
void embi_piece_text(const struct embi_pieces *pieces, emb_str piece, struct embi_buf *out);

/* What files without a word about it are likely to mean: looks for the marks above in tokens [n]
 * (s NULL: no token). A mark counts if one token in 64 has it. */
struct embi_pieces embi_pieces_guess(const emb_str *tokens, uint64_t n);

#endif

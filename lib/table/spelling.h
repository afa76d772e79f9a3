/* spelling.h - which stored token a typed word means, and which tokens are spelled like it.
 *
 * Tokenizers store a word in several ways: byte-level BPE writes every byte as one printable
 * character (a leading space becomes U+0120), SentencePiece marks a leading space with U+2581, the
 * first BPE marked the end of a word with </w>. People type the word.
 */
#ifndef EMBI_TABLE_SPELLING_H
#define EMBI_TABLE_SPELLING_H

#include "util/map.h"

/* The position of the first of these forms that the map holds: the word itself, its byte-level form
 * (with and without a leading space), the word with U+2581 in front and for blanks, word + </w>,
 * and all of these in lower case, Capitalised and UPPER case (ASCII letters). EMB_NOT_FOUND: err is
 * not filled. EMB_NO_MEMORY. */
emb_status embi_spelling_resolve(const struct embi_map *map, emb_str word, uint64_t *position,
                                 emb_err *err);

/* Positions of up to n tokens within a small edit distance of word, closest first, equal distances
 * by position (frequent tokens come first in most vocabularies). Returns how many. */
size_t embi_spelling_close(const emb_str *tokens, uint64_t n_tokens, emb_str word,
                           uint64_t *positions, size_t n);

#endif

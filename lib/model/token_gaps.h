/* token_gaps.h - where the ids that loaders give to added tokens part from those that are written.
 * Only for token_sources.c.
 */
#ifndef EMBI_MODEL_TOKEN_GAPS_H
#define EMBI_MODEL_TOKEN_GAPS_H

#include "model/token_sources.h"

/* Fills s->fills, s->gap and s->unfillable. */
emb_status embi_token_gaps_find(struct embi_token_sources *s, emb_err *err);

#endif

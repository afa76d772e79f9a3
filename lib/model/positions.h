/* positions.h - tables of learned positions: how many rows a config promises, and models whose
 * positions begin behind the id of the pad token. Implements docs/formats/model.md,
 * "what has to agree".
 */
#ifndef EMBI_MODEL_POSITIONS_H
#define EMBI_MODEL_POSITIONS_H

#include "model/config.h"

/* Rows of a table of learned positions beyond the positions that the config counts; -1: the model
 * type has no table whose rows are known. */
int embi_positions_extra(const struct embi_config *config);

/* Is the position of a token counted from the id of the pad token, which is then also the padding
 * row of the table? A model with another pad id computes something else. */
bool embi_positions_follow_pad(const struct embi_config *config);

/* The pad id of such a model: that of config.json, else that of the model's class. */
uint64_t embi_positions_pad(const struct embi_config *config);

#endif

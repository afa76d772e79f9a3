/* encode_json.h - members of the small objects in tokenizer.json: steps, with a "type" that says
 * which keys they have. Only for lib/model/encode*.c.
 *
 * The text has been read as JSON before: what is malformed here does not fit the key.
 */
#ifndef EMBI_MODEL_ENCODE_JSON_H
#define EMBI_MODEL_ENCODE_JSON_H

#include "util/json.h"

/* The member of an object; kind EMBI_JSON_ERROR: there is none. The last counts. */
struct embi_json_value embi_member(const struct embi_json_value *object, const char *key);

/* Is it a value at all: there, and not null? */
bool embi_is_given(const struct embi_json_value *v);

/* The member as true or false; `missing` where it is not there or null. */
emb_status embi_member_bool(const struct embi_json_value *object, const char *key, bool missing,
                            bool *out, emb_err *err);

/* Appends the string that the member must be; with optional, nothing where it is not given. */
emb_status embi_member_string(const struct embi_json_value *object, const char *key, bool optional,
                              struct embi_buf *out, emb_err *err);

/* The pattern of a step: {"String": "x"} or {"Regex": "x"}. */
struct embi_regex;
emb_status embi_member_pattern(const struct embi_json_value *object, struct embi_regex **pattern,
                               emb_err *err);

/* Calls `read` for a step, or for each of those that a Sequence lists under `key`; null: none. */
typedef emb_status embi_step_fn(void *arg, const struct embi_json_value *step, emb_err *err);
emb_status embi_steps_read(const struct embi_json_value *value, const char *key, embi_step_fn *read,
                           void *arg, emb_err *err);

/* EMB_UNSUPPORTED, by name: the type of a step is not known. */
emb_status embi_fail_type(const char *what, const struct embi_json_value *step, emb_err *err);

#endif

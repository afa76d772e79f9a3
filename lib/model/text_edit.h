/* text_edit.h - a JSON file of a model directory while it is edited.
 *
 * The text is what earlier edits made of the file, or the file itself, which is read and never
 * written. What comes out goes into a list of file_edit.h.
 *
 *     status = embi_text_edit_open(&edit, env, dir, "config.json", edits, err);
 *     ... edit.json.s is NULL: there is no such file ...
 *     status = embi_text_edit_keep(&edit, edits, err);
 *     embi_text_edit_close(&edit);
 */
#ifndef EMBI_MODEL_TEXT_EDIT_H
#define EMBI_MODEL_TEXT_EDIT_H

#include "model/file_edit.h"
#include "model/sidecar.h"
#include "util/json_edit.h"

struct embi_text_edit {
    const char *name;            /* borrowed */
    struct embi_sidecar file;    /* empty where `edits` has the text, or there is none */
    struct embi_json_edits json; /* of the text; its s is NULL where there is no file */
};

emb_status embi_text_edit_open(struct embi_text_edit *t, const struct embi_env *env,
                               const char *dir, const char *name,
                               const struct embi_file_edits *edits, emb_err *err);

/* A file that is not there yet begins as an empty object. */
void embi_text_edit_make(struct embi_text_edit *t);

/* Applies the edits that were made. The list is as it was where there were none. */
emb_status embi_text_edit_keep(struct embi_text_edit *t, struct embi_file_edits *edits,
                               emb_err *err);
void embi_text_edit_close(struct embi_text_edit *t);

/* The member `key` of the object whose text is the n bytes at s; kind 0 where it has none. Of a key
 * that is there twice the last counts, as for the loaders. EMB_BAD_DATA: not an object, or no JSON.
 * Messages do not name the file. */
emb_status embi_json_member_of(const char *s, size_t n, const char *key, struct embi_json_value *v,
                               emb_err *err);

/* Do the characters of a key or string, as they are written, end in `end`? */
bool embi_json_key_ends_in(const struct embi_json_value *key, const char *end);

/* The outermost value of the text, which must be JSON: an object. */
emb_status embi_text_edit_root(const struct embi_text_edit *t, struct embi_json_value *root,
                               emb_err *err);

#endif

/* tokenizer_dir.c - the vocabulary of a model directory: one tokenizer file, and the tokens that
 * tokenizer_config.json and added_tokens.json add to it (docs/formats/tokenizers.md, "which file
 * wins").
 */
#include "io/place.h"
#include "model/sidecar.h"
#include "model/tokenizer_added.h"
#include "model/tokenizer_fairseq.h"

#include "util/err.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

/* The tokenizer files, the surest first. */
static const char *const names[] = {
    "tokenizer.json",      "vocab.json",   "vocab.txt",
    "tokenizer.model",     "spiece.model", "sentencepiece.bpe.model",
    "sentencepiece.model", "spm.model",
};

struct directory {
    const struct embi_env *env;
    const char *path;
    struct embi_tokenizer *t;
    struct embi_buf file; /* the path of the file in use */
};

/* Opens dir/name; *file is NULL where there is none. */
static emb_status open_name(struct directory *d, const char *name, struct embi_io **file,
                            emb_err *err)
{
    *file = NULL;
    d->file.n = 0;
    embi_buf_print(&d->file, "%s/%s", d->path, name);
    const char *path = embi_buf_cstr(&d->file);
    if (d->file.failed)
        return embi_fail_memory(err, strlen(d->path), "a path");
    emb_status status = embi_refuse_fifo(path, err);
    if (!status)
        status = embi_io_open(d->env, path, EMBI_IO_READ, file, err);
    if (status == EMB_IO && (err->sys == ENOENT || err->sys == ENOTDIR))
        return EMB_OK;
    return status ? embi_fail_in(err, "%s", name) : EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The file that has the vocabulary
 */

static emb_status open_base(struct directory *d, const char *name, bool *found, emb_err *err)
{
    struct embi_io *file;
    emb_status status = open_name(d, name, &file, err);
    if (status || !file)
        return status;
    *found = true;
    status = embi_tokenizer_open_io(d->env, file, embi_buf_cstr(&d->file), d->t, err);
    return status ? embi_fail_in(err, "%s", name) : EMB_OK;
}

static bool is_ranks(int dir, const char *name)
{
    (void)dir;
    return embi_ends_in(name, ".tiktoken");
}

/* first = the name that ends with .tiktoken and comes first in the order of bytes; "": there is
 * none. In a directory that may not be listed nothing is looked for. */
static emb_status find_ranks(const struct embi_env *env, const char *path, char first[NAME_MAX + 1],
                             emb_err *err)
{
    struct embi_names found;
    emb_status status = embi_path_names(env, path, is_ranks, &found, err);
    (void)snprintf(first, NAME_MAX + 1, "%s", found.n ? found.list[0] : "");
    embi_names_free(&found);
    bool none =
        status == EMB_IO && (err->sys == ENOENT || err->sys == ENOTDIR || err->sys == EACCES);
    return none ? EMB_OK : status;
}

emb_status embi_tokenizer_in_dir(const struct embi_env *env, const char *dir, bool *found,
                                 emb_err *err)
{
    char ranks[NAME_MAX + 1];
    *found = false;
    for (size_t i = 0; !*found && i < EMBI_LEN(names); i++)
        *found = embi_sidecar_exists(env, dir, names[i]);
    *found = *found || embi_sidecar_exists(env, dir, "tekken.json");
    if (*found)
        return EMB_OK;
    emb_status status = find_ranks(env, dir, ranks, err);
    *found = ranks[0] != '\0';
    return status;
}

static emb_status find_base(struct directory *d, bool *found, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && !*found && i < EMBI_LEN(names); i++)
        status = open_base(d, names[i], found, err);
    char ranks[NAME_MAX + 1] = "";
    if (!status && !*found)
        status = find_ranks(d->env, d->path, ranks, err);
    if (ranks[0] && !status)
        status = open_base(d, ranks, found, err);
    return status || *found ? status : open_base(d, "tekken.json", found, err);
}

/* ------------------------------------------------------------------------------------------------
 * tokenizer_config.json
 */

/* {"0": {"content": ...}, ...} */
static emb_status read_decoder(struct embi_token_source *src, struct embi_json *j,
                               struct embi_added_list *list, emb_err *err)
{
    struct embi_json_value key;
    emb_status status = EMB_OK;
    embi_json_enter(j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(j, &key)) {
        struct embi_json_value number = {EMBI_JSON_NUMBER, false, key.s + 1, key.n - 2};
        struct embi_added item = {0};
        uint64_t id;
        if (!embi_token_id(j, &number, &id)) /* escapes are no digits */
            break;
        status = embi_added_read(src, j, &item, err);
        item.id = id;
        item.has_id = true;
        if (!status)
            status = embi_added_push(list, &item, err);
    }
    return status;
}

/* "bos_token": "<s>", or an added token with its content. */
static emb_status read_role(struct embi_token_source *src, struct embi_json *j, emb_str *role,
                            emb_err *err)
{
    struct embi_json_value v, key, content = {0};
    struct embi_json inside = *j;
    if (embi_json_next(&inside, &v) == EMBI_JSON_OBJECT)
        while (embi_json_member(&inside, &key))
            if (embi_json_is(&key, "content"))
                embi_json_next(&inside, &content);
    if (v.kind == EMBI_JSON_STRING)
        content = v;
    embi_json_skip(j, NULL);
    return content.kind == EMBI_JSON_STRING ? embi_token_source_string(src, &content, role, err)
                                            : EMB_OK;
}

/* The role that a key names a token for; EMBI_NOTED_ROLES: none. */
static int role_of(const struct embi_json_value *key)
{
    static const char *const keys[EMBI_NOTED_ROLES] = {
        [EMBI_NOTED_BOS] = "bos_token",  [EMBI_NOTED_EOS] = "eos_token",
        [EMBI_NOTED_UNK] = "unk_token",  [EMBI_NOTED_PAD] = "pad_token",
        [EMBI_NOTED_SEP] = "sep_token",  [EMBI_NOTED_CLS] = "cls_token",
        [EMBI_NOTED_MASK] = "mask_token"};
    int i = 0;
    while (i < EMBI_NOTED_ROLES && !embi_json_is(key, keys[i]))
        i++;
    return i;
}

static emb_status read_config(struct embi_token_source *src, struct embi_added_list *list,
                              emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key, class = {0};
    emb_status status = EMB_OK;
    embi_json_init(&j, src->s, src->n, 0);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&j, &key)) {
        if (embi_json_is(&key, "added_tokens_decoder"))
            status = read_decoder(src, &j, list, err);
        else if (embi_json_is(&key, "tokenizer_class"))
            embi_json_skip(&j, &class);
        else if (role_of(&key) < EMBI_NOTED_ROLES)
            status = read_role(src, &j, &src->t->roles[role_of(&key)], err);
    }
    if (!status)
        status = embi_json_finish(&j, 0, err);
    if (!status && src->t->kind == EMBI_TOKENIZER_SENTENCEPIECE)
        status = embi_fairseq_rows(src->t, &class, err);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * added_tokens.json
 */

static emb_status read_added(struct embi_token_source *src, struct embi_added_list *list,
                             emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key, v;
    emb_status status = EMB_OK;
    embi_json_init(&j, src->s, src->n, 0);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&j, &key)) {
        struct embi_added item = {.has_id = true, .at = key.s};
        embi_json_next(&j, &v);
        if (!embi_token_id(&j, &v, &item.id))
            break;
        status = embi_token_source_string(src, &key, &item.content, err);
        if (!status)
            status = embi_added_push(list, &item, err);
    }
    return status ? status : embi_json_finish(&j, 0, err);
}

typedef emb_status list_fn(struct embi_token_source *src, struct embi_added_list *list,
                           emb_err *err);

/* Adds what dir/name knows, if there is such a file. */
static emb_status add_from(struct directory *d, const char *name, list_fn *read, emb_err *err)
{
    struct embi_io *file;
    struct embi_token_source src;
    struct embi_added_list list = {0};
    emb_status status = open_name(d, name, &file, err);
    if (status || !file)
        return status;
    status = embi_token_source_open(&src, d->env, file, embi_buf_cstr(&d->file), d->t, err);
    if (!status)
        status = read(&src, &list, err);
    if (!status)
        status = embi_added_by_id(&src, &list, err);
    if (!status)
        embi_token_conflict_report(&src);
    embi_added_free(&list);
    return status ? embi_fail_in(err, "%s", name) : EMB_OK;
}

emb_status embi_tokenizer_open_dir(const struct embi_env *env, const char *dir,
                                   struct embi_tokenizer *t, bool *found, emb_err *err)
{
    struct directory d = {.env = env, .path = dir, .t = t};
    *t = (struct embi_tokenizer){0};
    *found = false;
    emb_status status = find_base(&d, found, err);
    if (!status && *found)
        status = add_from(&d, "tokenizer_config.json", read_config, err);
    if (!status && *found)
        status = add_from(&d, "added_tokens.json", read_added, err);
    if (status)
        embi_tokenizer_free(t);
    embi_buf_free(&d.file);
    return status;
}

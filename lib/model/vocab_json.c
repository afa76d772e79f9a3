/* vocab_json.c - an object token -> id: the vocab.json of GPT-2 and its like.
 */
#include "model/tokenizer_read.h"

emb_status embi_read_vocab_json(struct embi_token_source *src, emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key, v;
    uint64_t id;
    emb_status status = EMB_OK;
    embi_json_init(&j, src->s, src->n, 0);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&j, &key)) {
        emb_str token;
        embi_json_next(&j, &v);
        if (!embi_token_id(&j, &v, &id))
            break;
        status = embi_token_source_string(src, &key, &token, err);
        if (!status)
            status = embi_token_put(src, id, token, key.s, err);
    }
    if (!status)
        status = embi_json_finish(&j, 0, err);
    if (!status) {
        src->t->next_id = src->t->n;
        src->t->pieces = embi_pieces_guess(src->t->tokens, src->t->n);
    }
    return status;
}

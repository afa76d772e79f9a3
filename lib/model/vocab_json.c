/* vocab_json.c - an object token -> id: the vocab.json of GPT-2 and its like.
 */
#include "model/tokenizer_read.h"

emb_status embi_read_vocab_json(struct embi_token_source *src, emb_err *err)
{
    struct embi_json j;
    uint64_t entries = 0;
    embi_json_init(&j, src->s, src->n, 0);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    emb_status status = embi_read_token_ids(src, &j, &entries, err);
    if (!status)
        status = embi_json_finish(&j, 0, err);
    if (!status) {
        src->t->next_id = src->t->n;
        src->t->pieces = embi_pieces_guess(src->t->tokens, src->t->n);
    }
    return status;
}

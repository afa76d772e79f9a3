/* tokenizer_fairseq.h - models of which the rows are not the ids of their SentencePiece file. Only
 * for tokenizer_dir.c.
 */
#ifndef EMBI_MODEL_TOKENIZER_FAIRSEQ_H
#define EMBI_MODEL_TOKENIZER_FAIRSEQ_H

#include "model/tokenizer.h"
#include "util/json.h"

/* Puts the pieces of t where the tokenizer of that class has them; class is the value of
 * tokenizer_class, of any kind. EMB_UNSUPPORTED for the classes whose order is known to differ in
 * another way: no names are better than wrong ones. */
emb_status embi_fairseq_rows(struct embi_tokenizer *t, const struct embi_json_value *class,
                             emb_err *err);

#endif

/* hub_ask.h - what is asked of the hub, and what its refusals mean. Only hub*.c include this. */
#ifndef EMBI_MODEL_HUB_ASK_H
#define EMBI_MODEL_HUB_ASK_H

#include "io/remote.h"
#include "model/hub_list.h"
#include "model/hub_name.h"

/* The hub as one model needs it. */
struct embi_hub_asker {
    const struct embi_env *env;
    struct embi_remote link;         /* keeps the connections; its address is the hub's */
    struct embi_buf endpoint, token; /* token.n 0: nobody in particular asks */
    struct embi_buf repo;            /* "org/model" */
};

/* A question, which who asks keeps until its answer is there. */
struct embi_hub_question {
    const struct embi_hub_asker *asker;
    const char *file; /* what is asked for; NULL: a revision */
    emb_str revision;
    struct embi_buf url;
    struct embi_address address;
};

/* Free it with embi_hub_asker_free, after failure too. */
emb_status embi_hub_asker_begin(struct embi_hub_asker *a, const struct embi_env *env,
                                const struct embi_hub_name *name, emb_err *err);
void embi_hub_asker_free(struct embi_hub_asker *a);

/* Which commit a revision is, and its files. *no_model, where it fails: there is none of the
 * name. */
emb_status embi_hub_ask_revision(const struct embi_hub_asker *a, emb_str revision,
                                 struct embi_hub_list *list, bool *no_model, emb_err *err);

/* Fills in q->address for a file; q->url is freed by the caller. */
emb_status embi_hub_ask_file(const struct embi_hub_asker *a, const char *commit,
                             const struct embi_hub_file *file, struct embi_hub_question *q,
                             emb_err *err);

#endif

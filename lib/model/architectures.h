/* architectures.h - what the published architectures call their tables. */
#ifndef EMBI_MODEL_ARCHITECTURES_H
#define EMBI_MODEL_ARCHITECTURES_H

#include "model/config.h"

enum { EMBI_ARCH_INPUTS = 3, EMBI_ARCH_HEADS = 1 };

struct embi_architecture {
    const char *types;                   /* " gpt2 gpt_neo ": model types between blanks       */
    const char *input[EMBI_ARCH_INPUTS]; /* the input embedding, the surest name first; where  */
                                         /* several are stored they are meant to be copies     */
    const char *head[EMBI_ARCH_HEADS];   /* the output table; none: the model has no such thing */
};

/* That of a config: by its model type, else by that of the text model inside; NULL: unknown. */
const struct embi_architecture *embi_architecture_of(const struct embi_config *config);

/* Is a model type in a list of types between blanks? "" is in none. */
bool embi_type_listed(const char *types, const char *type);

/* Do models of this config share one table between input and output where nothing is said? 1, 0,
 * or -1: unknown. The key of the config, if it is there, decides. */
int embi_config_tied(const struct embi_config *config);

/* Does a tensor have the name that an architecture's model source gives it? Wrappers of trainers
 * ("module.", "_orig_mod." ...) do not matter. Sure: the name itself, or the name that the class
 * without a head saves (without its first part). Inside: that name behind other parts, as in the
 * text model of a larger one. */
enum embi_name_match { EMBI_NAME_OTHER, EMBI_NAME_INSIDE, EMBI_NAME_SURE };
enum embi_name_match embi_name_match(emb_str tensor, const char *name);

#endif

/* hub_name.h - what an hf:// name says, taken apart. */
#ifndef EMBI_MODEL_HUB_NAME_H
#define EMBI_MODEL_HUB_NAME_H

#include "util/base.h"

enum { EMBI_COMMIT_HEX = 40 };

struct embi_hub_name {
    emb_str org; /* n 0: none, as old models have none */
    emb_str model, revision, file;
};

/* hf://org/model[@revision][/file], as spans of url; false: it is no such name. Each part may stand
 * in a path or an address: none leads out of it. */
bool embi_hub_parse(const char *url, struct embi_hub_name *name);

/* The other way to read the same words: the first is the model, the second begins the file. False:
 * there is none. */
bool embi_hub_without_org(struct embi_hub_name *name);

/* 40 hexadecimal digits. */
bool embi_is_commit(emb_str s);

/* Parts between slashes that are none of "", "." and "..", without control characters and
 * backslashes. hidden: they may begin with a dot. */
bool embi_is_inner_path(emb_str s, bool hidden);

#endif

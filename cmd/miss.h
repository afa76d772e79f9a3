/* miss.h - what is said of a word that the vocabulary does not have: on stderr, and in JSON.
 */
#ifndef EMBTOOL_MISS_H
#define EMBTOOL_MISS_H

#include "names.h"
#include "out.h"

/* `catt: not in the vocabulary; close: cat, cats`. Returns EXIT_NO. */
int miss_say(struct run *run, const emb_table *table, emb_str word);

/* `"error":"not in the vocabulary","suggestions":["cat","cats"]` */
void miss_json(struct out *out, struct run *run, const emb_table *table, emb_str word);

/* After the message: a note where an argument that is no token looks like something else, a file or
 * a range of ids. */
void miss_hint(struct run *run, const char *argument);

#endif

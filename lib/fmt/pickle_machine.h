/* pickle_machine.h - the stack, marks and memory of the machine that reads pickles.
 *
 * Every call checks what it needs and fails with the place of the opcode at hand. Only for
 * pickle*.c.
 */
#ifndef EMBI_FMT_PICKLE_MACHINE_H
#define EMBI_FMT_PICKLE_MACHINE_H

#include "fmt/pickle.h"

#define EMBI_PICKLE_DEPTH_MAX 200

struct embi_pickle_machine {
    struct embi_pickle *p;
    const char *s; /* [n] */
    size_t n, at;
    size_t op_at; /* of the opcode that is being done */
    uint64_t origin;
    embi_pickle_id *stack; /* [height] */
    size_t height, stack_cap;
    size_t marks[EMBI_PICKLE_DEPTH_MAX]; /* heights, [n_marks] */
    size_t n_marks;
    embi_pickle_id *memo; /* [memo_n], EMBI_PICKLE_END where nothing was put */
    size_t memo_n, memo_cap;
    uint64_t memoized;
    bool stopped;
    emb_err *err;
};

/* EMB_BAD_DATA: the opcode at hand, its place, and what is wrong with it. */
emb_status embi_pickle_fail(struct embi_pickle_machine *m, const char *what);

/* Room for element n of *array, whose elements have `size` bytes. */
emb_status embi_pickle_grow(struct embi_pickle_machine *m, void *array, size_t n, size_t *cap,
                            size_t size);

/* Puts a node that is there, or a new one, on the stack. */
emb_status embi_pickle_push_id(struct embi_pickle_machine *m, embi_pickle_id node);
emb_status embi_pickle_push(struct embi_pickle_machine *m, struct embi_pickle_node node);
emb_status embi_pickle_push_kind(struct embi_pickle_machine *m, enum embi_pickle_kind kind);
emb_status embi_pickle_push_number(struct embi_pickle_machine *m, enum embi_pickle_kind kind,
                                   int64_t x);

/* The next n bytes of the pickle; a little-endian number of 1, 2, 4 or 8 bytes. */
emb_status embi_pickle_take(struct embi_pickle_machine *m, uint64_t n, const char **bytes);
emb_status embi_pickle_take_number(struct embi_pickle_machine *m, unsigned bytes, uint64_t *x);

/* Are there n values above the last mark? */
size_t embi_pickle_above_mark(const struct embi_pickle_machine *m);
emb_status embi_pickle_need(struct embi_pickle_machine *m, size_t n);

/* The last mark ends; the n values above it stay on the stack. */
emb_status embi_pickle_end_mark(struct embi_pickle_machine *m, size_t *n);

/* The node that is `from_top` values down, from 1; valid until the next push. */
struct embi_pickle_node *embi_pickle_node_at(struct embi_pickle_machine *m, size_t from_top);

emb_status embi_pickle_add_item(struct embi_pickle_machine *m, embi_pickle_id to,
                                embi_pickle_id node);

/* Moves the top n values into `to`, if that is a container of this kind; calls and objects take
 * them and forget. */
emb_status embi_pickle_move_items(struct embi_pickle_machine *m, embi_pickle_id to,
                                  enum embi_pickle_kind kind, size_t n);

/* The top n values become a tuple. */
emb_status embi_pickle_make_tuple(struct embi_pickle_machine *m, size_t n);

#endif

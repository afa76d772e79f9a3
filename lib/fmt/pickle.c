/* pickle.c - the opcodes of pickles, see pickle.h.
 *
 * An opcode that torch.save has no use for is refused, with its place. Strings stay where they are.
 * No function here calls itself, and none does what a pickle asks for.
 */
#include "fmt/pickle_machine.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------
 * Opcodes, by group
 */

static emb_status do_integer(struct embi_pickle_machine *m, unsigned char op)
{
    uint64_t x;
    emb_status status = embi_pickle_take_number(m, op == 'J' ? 4 : op == 'M' ? 2 : 1, &x);
    if (status)
        return status;
    return embi_pickle_push_number(m, EMBI_PICKLE_INT,
                                   op == 'J' ? (int32_t)(uint32_t)x : (int64_t)x);
}

/* Two's complement of any length; what does not fit into 64 bits is opaque. */
static emb_status do_long(struct embi_pickle_machine *m, unsigned char op)
{
    uint64_t n, x;
    const char *p = NULL;
    emb_status status = embi_pickle_take_number(m, op == 0x8A ? 1 : 4, &n);
    if (!status)
        status = embi_pickle_take(m, n, &p);
    if (status)
        return status;
    if (n > sizeof x)
        return embi_pickle_push_kind(m, EMBI_PICKLE_OPAQUE);
    x = n && (p[n - 1] & 0x80) ? UINT64_MAX : 0;
    memcpy(&x, p, n);
    int64_t value;
    memcpy(&value, &x, sizeof value);
    return embi_pickle_push_number(m, EMBI_PICKLE_INT, value);
}

/* Strings, and bytes (B, C), after a length of 1, 4 or 8 bytes. */
static emb_status do_text(struct embi_pickle_machine *m, unsigned char op)
{
    unsigned width = op == 'X' || op == 'T' || op == 'B' ? 4 : op == 0x8D ? 8 : 1;
    uint64_t n;
    const char *s = NULL;
    emb_status status = embi_pickle_take_number(m, width, &n);
    if (!status)
        status = embi_pickle_take(m, n, &s);
    if (status)
        return status;
    if (op == 'B' || op == 'C')
        return embi_pickle_push_kind(m, EMBI_PICKLE_OPAQUE);
    return embi_pickle_push(
        m, (struct embi_pickle_node){.kind = EMBI_PICKLE_STRING, .as.text = {s, n}});
}

/* Two lines: MODULE, NAME. */
static emb_status do_global(struct embi_pickle_machine *m, unsigned char op)
{
    (void)op;
    const char *s = m->s + m->at, *end = m->s + m->n;
    const char *first = memchr(s, '\n', (size_t)(end - s));
    const char *second = first ? memchr(first + 1, '\n', (size_t)(end - first - 1)) : NULL;
    if (!second)
        return embi_pickle_fail(m, "the pickle ends inside this opcode");
    m->at = (size_t)(second + 1 - m->s);
    return embi_pickle_push(m, (struct embi_pickle_node){.kind = EMBI_PICKLE_GLOBAL,
                                                         .as.text = {s, (uint64_t)(second - s)}});
}

static emb_status do_stack_global(struct embi_pickle_machine *m, unsigned char op)
{
    (void)op;
    emb_status status = embi_pickle_need(m, 2);
    if (status)
        return status;
    if (embi_pickle_node_at(m, 2)->kind != EMBI_PICKLE_STRING ||
        embi_pickle_node_at(m, 1)->kind != EMBI_PICKLE_STRING)
        return embi_pickle_fail(m, "expected the names of a module and of what is in it");
    m->height -= 2;
    return embi_pickle_push(
        m, (struct embi_pickle_node){.kind = EMBI_PICKLE_GLOBAL,
                                     .pair = {m->stack[m->height], m->stack[m->height + 1]}});
}

static emb_status get_memo(struct embi_pickle_machine *m, uint64_t i)
{
    if (i >= m->memo_n || m->memo[i] == EMBI_PICKLE_END)
        return embi_pickle_fail(m, "nothing was put under this memo number");
    return embi_pickle_push_id(m, m->memo[i]);
}

/* Writers count memo numbers up from 0, at least a byte of pickle for each. */
static emb_status put_memo(struct embi_pickle_machine *m, uint64_t i)
{
    emb_status status = embi_pickle_need(m, 1);
    if (status)
        return status;
    if (i >= m->at)
        return embi_pickle_fail(m, "a memo number beyond any count");
    while (!status && m->memo_n <= i) {
        status = embi_pickle_grow(m, &m->memo, m->memo_n, &m->memo_cap, sizeof *m->memo);
        if (!status)
            m->memo[m->memo_n++] = EMBI_PICKLE_END;
    }
    if (!status)
        m->memo[i] = m->stack[m->height - 1];
    m->memoized++;
    return status;
}

static emb_status do_memo(struct embi_pickle_machine *m, unsigned char op)
{
    uint64_t i = m->memoized;
    emb_status status = EMB_OK;
    if (op != 0x94)
        status = embi_pickle_take_number(m, op == 'h' || op == 'q' ? 1 : 4, &i);
    if (status)
        return status;
    return op == 'h' || op == 'j' ? get_memo(m, i) : put_memo(m, i);
}

/* OrderedDict(), or OrderedDict of a list of pairs. */
static emb_status make_dict(struct embi_pickle_machine *m, embi_pickle_id args)
{
    emb_status status = embi_pickle_push_kind(m, EMBI_PICKLE_DICT);
    embi_pickle_id pairs = embi_pickle_at(m->p, args, 0);
    if (status || embi_pickle_kind(m->p, pairs) != EMBI_PICKLE_LIST)
        return status;
    embi_pickle_id dict = m->stack[m->height - 1];
    uint32_t item = m->p->nodes[pairs].as.list.first;
    for (; !status && item != EMBI_PICKLE_END; item = m->p->items[item].next) {
        embi_pickle_id pair = m->p->items[item].node;
        embi_pickle_id key = embi_pickle_at(m->p, pair, 0), value = embi_pickle_at(m->p, pair, 1);
        if (key == EMBI_PICKLE_END || value == EMBI_PICKLE_END)
            return embi_pickle_fail(m, "expected pairs of a key and a value");
        status = embi_pickle_add_item(m, dict, key);
        if (!status)
            status = embi_pickle_add_item(m, dict, value);
    }
    return status;
}

static emb_status do_reduce(struct embi_pickle_machine *m, unsigned char op)
{
    (void)op;
    emb_status status = embi_pickle_need(m, 2);
    if (status)
        return status;
    embi_pickle_id args = m->stack[m->height - 1], callable = m->stack[m->height - 2];
    uint32_t depth =
        (uint32_t)embi_max(embi_pickle_node_at(m, 1)->depth, embi_pickle_node_at(m, 2)->depth) + 1;
    m->height -= 2;
    if (embi_pickle_kind(m->p, args) != EMBI_PICKLE_TUPLE)
        return embi_pickle_fail(m, "expected the arguments of a call in a tuple");
    if (embi_pickle_names(m->p, callable, "collections", "OrderedDict"))
        return make_dict(m, args);
    if (embi_pickle_names(m->p, callable, "torch", "Size") &&
        embi_pickle_kind(m->p, embi_pickle_at(m->p, args, 0)) == EMBI_PICKLE_TUPLE)
        return embi_pickle_push_id(m, embi_pickle_at(m->p, args, 0));
    return embi_pickle_push(
        m, (struct embi_pickle_node){.kind = EMBI_PICKLE_CALL,
                                     .depth = depth,
                                     .as.list = {.first = callable, .last = args}});
}

static emb_status do_persistent_id(struct embi_pickle_machine *m, unsigned char op)
{
    (void)op;
    struct embi_pickle *p = m->p;
    emb_status status = embi_pickle_need(m, 1);
    if (status)
        return status;
    embi_pickle_id id = m->stack[--m->height];
    status =
        embi_pickle_grow(m, &p->storages, p->n_storages, &p->storages_cap, sizeof *p->storages);
    if (!status)
        status = embi_pickle_push(m, (struct embi_pickle_node){.kind = EMBI_PICKLE_STORAGE,
                                                               .depth = p->nodes[id].depth + 1,
                                                               .as.list = {.first = id}});
    if (!status)
        p->storages[p->n_storages++] = m->stack[m->height - 1];
    return status;
}

/* NEWOBJ makes an object of a class, BUILD gives one its state: neither matters here. */
static emb_status do_object(struct embi_pickle_machine *m, unsigned char op)
{
    emb_status status = embi_pickle_need(m, 2);
    if (status)
        return status;
    m->height -= op == 'b' ? 1 : 2;
    return op == 'b' ? EMB_OK : embi_pickle_push_kind(m, EMBI_PICKLE_OPAQUE);
}

/* Adds to the container under the values: one (a, s) or all above the mark (e, u, ADDITEMS). */
static emb_status do_items(struct embi_pickle_machine *m, unsigned char op)
{
    bool one = op == 'a' || op == 's';
    size_t n = op == 'a' ? 1 : 2;
    emb_status status = one ? EMB_OK : embi_pickle_end_mark(m, &n);
    if (!status)
        status = embi_pickle_need(m, n + 1);
    if (status)
        return status;
    return embi_pickle_move_items(m, m->stack[m->height - n - 1],
                                  op == 's' || op == 'u' ? EMBI_PICKLE_DICT : EMBI_PICKLE_LIST, n);
}

static emb_status do_tuple(struct embi_pickle_machine *m, unsigned char op)
{
    size_t n = 0;
    emb_status status = op == 't' ? embi_pickle_end_mark(m, &n)
                                  : embi_pickle_need(m, n = op == ')' ? 0 : (size_t)(op - 0x84));
    return status ? status : embi_pickle_make_tuple(m, n);
}

/* Drops the top value, or the mark that is on top; POP_MARK: all down to the mark. */
static emb_status do_pop(struct embi_pickle_machine *m, unsigned char op)
{
    size_t n = 0;
    if (op == '1' || (m->n_marks && embi_pickle_above_mark(m) == 0)) {
        emb_status status = embi_pickle_end_mark(m, &n);
        if (!status)
            m->height -= n;
        return status;
    }
    emb_status status = embi_pickle_need(m, 1);
    if (!status)
        m->height--;
    return status;
}

static emb_status do_mark(struct embi_pickle_machine *m, unsigned char op)
{
    (void)op;
    if (m->n_marks == EMBI_PICKLE_DEPTH_MAX)
        return embi_pickle_fail(m, "objects are nested too deep");
    m->marks[m->n_marks++] = m->height;
    return EMB_OK;
}

static emb_status do_stop(struct embi_pickle_machine *m, unsigned char op)
{
    (void)op;
    if (m->height != 1 || m->n_marks)
        return embi_pickle_fail(m, "expected one value at the end of the pickle");
    m->stopped = true;
    return EMB_OK;
}

static emb_status do_protocol(struct embi_pickle_machine *m, unsigned char op)
{
    (void)op;
    uint64_t version;
    emb_status status = embi_pickle_take_number(m, 1, &version);
    if (!status && (version < 2 || version > 5))
        return embi_pickle_fail(m, "a protocol other than 2 to 5");
    return status;
}

static emb_status do_dup(struct embi_pickle_machine *m, unsigned char op)
{
    (void)op;
    emb_status status = embi_pickle_need(m, 1);
    return status ? status : embi_pickle_push_id(m, m->stack[m->height - 1]);
}

/* BINFLOAT is a value, FRAME is none: 8 bytes that say nothing here. */
static emb_status do_skip(struct embi_pickle_machine *m, unsigned char op)
{
    const char *bytes;
    emb_status status = embi_pickle_take(m, 8, &bytes);
    return status || op != 'G' ? status : embi_pickle_push_kind(m, EMBI_PICKLE_OPAQUE);
}

static emb_status do_constant(struct embi_pickle_machine *m, unsigned char op)
{
    if (op == 0x88 || op == 0x89)
        return embi_pickle_push_number(m, EMBI_PICKLE_BOOL, op == 0x88);
    return embi_pickle_push_kind(m, op == 'N'   ? EMBI_PICKLE_NONE
                                    : op == '}' ? EMBI_PICKLE_DICT
                                                : EMBI_PICKLE_LIST);
}

static emb_status fail_opcode(struct embi_pickle_machine *m, unsigned char op)
{
    uint64_t at = m->origin + m->op_at;
    return embi_fail(m->err, EMB_BAD_DATA, (int64_t)at,
                     "pickle: byte %" PRIu64 ": opcode 0x%02X is not one that torch.save writes",
                     at, op);
}

typedef emb_status operation(struct embi_pickle_machine *m, unsigned char op);

/* Characters are those of pickletools, numbers those that it has from protocol 2 on. */
static operation *const operations[256] = {
    [0x80] = do_protocol, [0x95] = do_skip,     ['.'] = do_stop,          ['('] = do_mark,
    ['0'] = do_pop,       ['1'] = do_pop,       ['2'] = do_dup,           ['N'] = do_constant,
    [0x88] = do_constant, [0x89] = do_constant, [']'] = do_constant,      ['}'] = do_constant,
    [0x8F] = do_constant, ['G'] = do_skip,      ['J'] = do_integer,       ['K'] = do_integer,
    ['M'] = do_integer,   [0x8A] = do_long,     [0x8B] = do_long,         ['X'] = do_text,
    [0x8C] = do_text,     [0x8D] = do_text,     ['U'] = do_text,          ['T'] = do_text,
    ['C'] = do_text,      ['B'] = do_text,      [')'] = do_tuple,         ['t'] = do_tuple,
    [0x85] = do_tuple,    [0x86] = do_tuple,    [0x87] = do_tuple,        ['a'] = do_items,
    ['e'] = do_items,     ['s'] = do_items,     ['u'] = do_items,         [0x90] = do_items,
    ['h'] = do_memo,      ['j'] = do_memo,      ['q'] = do_memo,          ['r'] = do_memo,
    [0x94] = do_memo,     ['c'] = do_global,    [0x93] = do_stack_global, ['R'] = do_reduce,
    ['b'] = do_object,    [0x81] = do_object,   ['Q'] = do_persistent_id,
};

static emb_status step(struct embi_pickle_machine *m)
{
    unsigned char op = (unsigned char)m->s[m->at++];
    return operations[op] ? operations[op](m, op) : fail_opcode(m, op);
}

emb_status embi_pickle_read(const char *s, size_t n, uint64_t origin, struct embi_pickle *p,
                            emb_err *err)
{
    struct embi_pickle_machine m = {.p = p, .s = s, .n = n, .origin = origin, .err = err};
    emb_status status = EMB_OK;
    *p = (struct embi_pickle){0};
    while (!status && !m.stopped) {
        m.op_at = m.at;
        status = m.at < n ? step(&m) : embi_pickle_fail(&m, "the pickle has no end");
    }
    if (!status) {
        p->root = m.stack[0];
        p->end = m.at;
    }
    free(m.stack);
    free(m.memo);
    return status;
}

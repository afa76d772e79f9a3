/* test_fmt_torch.c - PyTorch files in memory: strides, byte order, views of the old form, and the
 * tree of a pickle.
 *
 * Pickles are spelled opcode by opcode (pickletools); layouts are worked out from PyTorch's rule
 * that element (i, j) is number offset + i * stride[0] + j * stride[1] of its storage.
 */
#include "memory_file.h"

#include "fmt/pickle.h"
#include "io/inflate.h"

/* ------------------------------------------------------------------------------------------------
 * Trees
 */

static void read_tree(const char *s, size_t n, struct embi_pickle *p)
{
    emb_err err;
    cr_assert_eq(embi_pickle_read(s, n, 0, p, &err), EMB_OK, "%s", err.msg);
}

static int64_t int_of(const char *s, size_t n)
{
    struct embi_pickle p;
    int64_t x = 0;
    read_tree(s, n, &p);
    cr_assert(embi_pickle_int(&p, p.root, &x));
    embi_pickle_free(&p);
    return x;
}

#define INT_OF(literal) int_of(literal, sizeof(literal) - 1)

Test(pickle, integers)
{
    cr_assert_eq(INT_OF("\x80\x02K\xFF."), 255);
    cr_assert_eq(INT_OF("\x80\x02M\xFF\xFF."), 65535);
    cr_assert_eq(INT_OF("\x80\x02J\xFE\xFF\xFF\xFF."), -2);
    cr_assert_eq(INT_OF("\x80\x02\x8A\0."), 0);
    cr_assert_eq(INT_OF("\x80\x02\x8A\1\x80."), -128);
    cr_assert_eq(INT_OF("\x80\x02\x8A\2\x80\0."), 128);
    cr_assert_eq(INT_OF("\x80\x02\x8B\5\0\0\0\0\0\0\0\1."), INT64_C(1) << 32);
    cr_assert_eq(INT_OF("\x80\x02\x8A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F."), INT64_MAX);
}

Test(pickle, tree)
{
    /* {"a": (None, [7, 8]), "b": os.system("x")}, then a byte that is not read */
    static const char s[] = "\x80\x02}q\0(X\1\0\0\0aN](K\7K\x08"
                            "e\x86X\1\0\0\0bcos\nsystem\nX\1\0\0\0x\x85Ru.!";
    struct embi_pickle p;
    emb_str module, name;
    read_tree(s, sizeof s - 1, &p);
    cr_assert_eq(p.end, sizeof s - 2);
    cr_assert_eq(embi_pickle_kind(&p, p.root), EMBI_PICKLE_DICT);
    embi_pickle_id a = embi_pickle_get(&p, p.root, "a"), b = embi_pickle_get(&p, p.root, "b");
    int64_t x = 0;
    cr_assert_eq(embi_pickle_kind(&p, embi_pickle_at(&p, a, 0)), EMBI_PICKLE_NONE);
    cr_assert(embi_pickle_int(&p, embi_pickle_at(&p, embi_pickle_at(&p, a, 1), 1), &x));
    cr_assert_eq(x, 8);
    cr_assert_eq(embi_pickle_at(&p, a, 2), EMBI_PICKLE_END);
    cr_assert_eq(embi_pickle_get(&p, p.root, "c"), EMBI_PICKLE_END);
    cr_assert_eq(embi_pickle_get(&p, a, "a"), EMBI_PICKLE_END);
    cr_assert_eq(embi_pickle_kind(&p, b), EMBI_PICKLE_CALL);
    cr_assert(embi_pickle_global(&p, p.nodes[b].as.list.first, &module, &name));
    cr_assert(embi_str_is(module, "os") && embi_str_is(name, "system"));
    cr_assert_null(embi_pickle_string(&p, a).s);
    cr_assert_eq(embi_pickle_kind(&p, EMBI_PICKLE_END), EMBI_PICKLE_OPAQUE);
    embi_pickle_free(&p);
}

Test(pickle, ordered_dict_of_pairs_and_stack_global)
{
    /* OrderedDict([("k", 5)]), by STACK_GLOBAL; MEMOIZE and POP_MARK on the way */
    static const char s[] = "\x80\x04\x95\0\0\0\0\0\0\0\0\x8C\x0B"
                            "collections\x94\x8C\x0BOrderedDict\x93(NN1]\x8C\1kK\5\x86"
                            "a\x85R.";
    struct embi_pickle p;
    int64_t x = 0;
    read_tree(s, sizeof s - 1, &p);
    cr_assert(embi_pickle_int(&p, embi_pickle_get(&p, p.root, "k"), &x));
    cr_assert_eq(x, 5);
    embi_pickle_free(&p);
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

static void add16(struct embi_buf *b, unsigned x)
{
    embi_buf_byte(b, (char)x);
    embi_buf_byte(b, (char)(x >> 8));
}

static void add32(struct embi_buf *b, size_t x)
{
    add16(b, (unsigned)(x & 0xFFFF));
    add16(b, (unsigned)(x >> 16));
}

struct member {
    const char *name;
    const void *data;
    size_t n;
    bool deflated; /* in one block that is not compressed (RFC 1951, 3.2.4) */
};

/* The bytes of a member, packed. */
static void put_packed(struct embi_buf *b, const struct member *m)
{
    if (m->deflated) {
        embi_buf_byte(b, 1);
        add16(b, (unsigned)m->n);
        add16(b, ~(unsigned)m->n);
    }
    embi_buf_add(b, m->data, m->n);
}

/* A zip of stored members with sizes in the directory only, as torch.save writes it. `wide`: the
 * directory has zip64 fields, and there is a zip64 end record. Stored members have no checksum, as
 * PyTorch may leave it out. Returns where the data of the last member begin. */
static size_t make_zip(struct embi_buf *b, const struct member *m, size_t n, bool wide)
{
    struct embi_buf directory = {0};
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        size_t name = strlen(m[i].name), at = b->n;
        embi_buf_add(b, "PK\3\4\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 26);
        add16(b, (unsigned)name);
        add16(b, 7); /* padding, as PyTorch aligns storages */
        embi_buf_add(b, m[i].name, name);
        embi_buf_add(b, "FB\3\0ZZZ", 7);
        last = b->n;
        put_packed(b, &m[i]);
        size_t packed = b->n - last;
        embi_buf_add(&directory, "PK\1\2\0\0\0\0\x08\x08", 10);
        add16(&directory, m[i].deflated ? 8 : 0);
        add32(&directory, 0); /* no time */
        add32(&directory, m[i].deflated ? embi_crc32(NULL, m[i].data, m[i].n) : 0);
        add32(&directory, wide ? UINT32_MAX : packed);
        add32(&directory, wide ? UINT32_MAX : m[i].n);
        add16(&directory, (unsigned)name);
        add16(&directory, wide ? 28 : 0);
        embi_buf_fill(&directory, 0, 10);
        add32(&directory, wide ? UINT32_MAX : at);
        embi_buf_add(&directory, m[i].name, name);
        if (wide) {
            const uint64_t fields[3] = {m[i].n, packed, at};
            embi_buf_add(&directory, "\1\0\x18\0", 4);
            embi_buf_add(&directory, fields, sizeof fields);
        }
    }
    const uint64_t numbers[4] = {n, n, directory.n, b->n};
    embi_buf_add(b, directory.s, directory.n);
    const uint64_t end64 = b->n;
    if (wide) {
        embi_buf_add(b, "PK\6\6\x2C\0\0\0\0\0\0\0\x2D\0\x2D\0\0\0\0\0\0\0\0\0", 24);
        embi_buf_add(b, numbers, sizeof numbers);
        embi_buf_add(b, "PK\6\7\0\0\0\0", 8);
        embi_buf_add(b, &end64, sizeof end64);
        embi_buf_add(b, "\1\0\0\0", 4);
    }
    embi_buf_add(b, "PK\5\6\0\0\0\0", 8);
    add16(b, wide ? UINT16_MAX : (unsigned)n);
    add16(b, wide ? UINT16_MAX : (unsigned)n);
    add32(b, wide ? UINT32_MAX : (size_t)numbers[2]);
    add32(b, wide ? UINT32_MAX : (size_t)numbers[3]);
    add16(b, 2);
    embi_buf_add(b, "hi", 2);
    embi_buf_free(&directory);
    return last;
}

#define STORAGE(numel, view)                           \
    "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" \
    "0X\3\0\0\0cpuK" numel view "tQ"
/* {"a": a view of sizes (rows, dims), strides (s0, s1), from element `first`} */
#define STATE(numel, view, first, rows, dims, s0, s1)                  \
    "\x80\x02}X\1\0\0\0actorch._utils\n_rebuild_tensor_v2\n(" STORAGE( \
        numel, view) "K" first "K" rows "K" dims "\x86K" s0 "K" s1 "\x86\x89}tRs."

static const struct view {
    const char *pickle;
    size_t n;
    uint64_t rows, dims, offset, row_stride, col_stride; /* in elements */
} views[] = {
#define VIEW(first, rows, dims, s0, s1)           \
    STATE("\x0C", "", first, rows, dims, s0, s1), \
        sizeof STATE("\x0C", "", first, rows, dims, s0, s1) - 1
    {VIEW("\0", "\3", "\4", "\4", "\1"), 3, 4, 0, 4, 1},   /* whole */
    {VIEW("\0", "\4", "\3", "\1", "\4"), 4, 3, 0, 1, 4},   /* transposed */
    {VIEW("\5", "\2", "\2", "\4", "\2"), 2, 2, 5, 4, 2},   /* 5 7 / 9 11 */
    {VIEW("\4", "\x08", "\4", "\0", "\1"), 8, 4, 4, 0, 1}, /* one row, eight times */
    {VIEW("\1", "\1", "\3", "\x63", "\1"), 1, 3, 1, 3, 1}, /* a stride that is never used */
    {VIEW("\2", "\3", "\1", "\4", "\x63"), 3, 1, 2, 4, 1},
    {VIEW("\x0C", "\0", "\4", "\4", "\1"), 0, 4, 0, 4, 1}, /* no rows */
};

static const unsigned char *map(struct embi_io *io)
{
    const void *data;
    emb_err err;
    cr_assert_eq(embi_io_map(io, &data, &err), EMB_OK, "%s", err.msg);
    return data;
}

static void check_view(const struct view *v, bool wide, bool deflated, const char *order)
{
    const struct member members[] = {
        {"x/data.pkl", v->pickle, v->n, deflated},
        {"x/byteorder", order, strlen(order), deflated},
        {"x/data/0", "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", 48, deflated}};
    struct embi_env env = {0};
    struct embi_buf b = {0};
    struct embi_reader *r;
    struct embi_layout l;
    emb_err err;
    size_t at = make_zip(&b, members, 3, wide);
    cr_assert_eq(open_bytes(&env, b.s, b.n, "m", NULL, NULL, &r, &err), EMB_OK, "%s", err.msg);
    cr_assert_str_eq(r->format->name, "torch");
    cr_assert_eq(r->n_tensors, 1);
    cr_assert(embi_str_is(r->tensors[0].name, "a"));
    cr_assert_str_eq(r->tensors[0].type_name, "float32");
    cr_assert_eq(embi_reader_layout(r, 0, &l, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(l.dtype, EMB_F32);
    cr_assert(l.rows == v->rows && l.dims == v->dims);
    if (v->rows)
        cr_assert_eq(l.offset, 4 * v->offset);
    const unsigned char *storage = map(r->tensors[0].io);
    if (!deflated)
        cr_assert_eq(storage, map(r->io) + at);
    cr_assert_arr_eq(storage, members[2].data, 48);
    cr_assert_eq(l.row_stride, 4 * v->row_stride);
    cr_assert_eq(l.col_stride, 4 * v->col_stride);
    cr_assert_eq(l.swap, strcmp(order, "big") == 0);
    embi_reader_close(r);
    embi_buf_free(&b);
}

Test(torch, views)
{
    for (size_t i = 0; i < EMBI_LEN(views); i++) {
        check_view(&views[i], false, false, "little");
        check_view(&views[i], true, false, "big");
        check_view(&views[i], false, true, "big");
        check_view(&views[i], true, true, "little");
    }
}

/* The old form: the storage is a view of elements 2..9 of a storage of 12. */
Test(torch, view_of_a_storage)
{
    static const char s[] = "\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19." /* magic */
                            "\x80\x02M\xE9\x03."                                        /* 1001 */
                            "\x80\x02}X\x0D\0\0\0little_endian\x89s."                   /* False */
        STATE("\x0C", "(X\1\0\0\0vK\2K\x08t", "\1", "\2", "\3", "\4", "\1") /* elements 1..7 */
        "\x80\x02]X\1\0\0\0"
        "0a."
        "\x0C\0\0\0\0\0\0\0"
        "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF";
    struct embi_env env = {0};
    struct embi_reader *r;
    struct embi_layout l;
    emb_err err;
    cr_assert_eq(open_bytes(&env, s, sizeof s - 1, "m.bin", NULL, NULL, &r, &err), EMB_OK, "%s",
                 err.msg);
    cr_assert_eq(embi_reader_layout(r, 0, &l, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(l.offset, sizeof s - 1 - 48 + 4 * (2 + 1));
    cr_assert(l.row_stride == 16 && l.col_stride == 4 && l.swap);
    embi_reader_close(r);
}

/* Every cut of a good file, and every byte of it changed, is refused or read, within its bytes. */
Test(torch, damage)
{
    const struct member members[] = {
        {"x/data.pkl", views[1].pickle, views[1].n, false},
        {"x/data/0", "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", 48, false}};
    struct embi_env env = {0};
    struct embi_reader *r;
    struct embi_buf b = {0};
    emb_err err;
    make_zip(&b, members, 2, true);
    for (size_t n = 1; n < b.n; n++)
        cr_assert_neq(open_bytes(&env, b.s, n, "m.pt", &embi_format_torch, NULL, &r, &err), EMB_OK);
    for (size_t i = 0; i < 8 * b.n; i++) {
        b.s[i / 8] = (char)(b.s[i / 8] ^ 1 << i % 8);
        if (open_bytes(&env, b.s, b.n, "m.pt", &embi_format_torch, NULL, &r, &err) == EMB_OK) {
            for (size_t k = 0; k < r->n_tensors; k++)
                cr_assert(embi_inside(r->tensors[k].offset, r->tensors[k].bytes, b.n));
            embi_reader_close(r);
        }
        b.s[i / 8] = (char)(b.s[i / 8] ^ 1 << i % 8);
    }
    embi_buf_free(&b);
}

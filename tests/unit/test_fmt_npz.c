/* test_fmt_npz.c - the .npz writer, and the zip archives of lib/io/zip.c under it.
 *
 * The records of an archive (PKWARE APPNOTE 4.3) are walked from the end, as readers do. Expected
 * sizes and checksums are those of numpy.save's bytes, by Python's zlib.
 */
#include "memory_file.h"

static const float f4[4] = {0, 1, 2, 3};
static const int64_t i8[6] = {0, 1, 2, 3, 4, 5};

static const struct member {
    const char *name;
    uint32_t crc, bytes; /* of what numpy.save writes */
} members[] = {
    {"scores.npy", 0xDBE7F491, 144},
    {"a/ids \xC3\xA9.npy", 0x0F354527, 176},
    {"empty.npy", 0x15CEF16E, 128},
};

static struct embi_buf make_npz(bool late, unsigned caps)
{
    struct input in[] = {
        {{"scores", EMB_F32, 2, {2, 2}}, f4, 2},
        {{"a/ids \xC3\xA9", EMB_I64, 2, {3, 2}}, i8, 3},
        {{"empty", EMB_U8, 2, {0, 3}}, NULL, 0},
    };
    struct embi_buf out;
    emb_err err;
    for (size_t i = 0; late && i < 2; i++)
        in[i].array.shape[0] = EMB_ROWS_UNKNOWN;
    cr_assert_eq(write_file(&embi_format_npz, in, 3, caps, &out, &err), EMB_OK, "%s", err.msg);
    return out;
}

static uint32_t le32(const struct embi_buf *b, size_t at)
{
    cr_assert_leq(at + 4, b->n);
    return embi_le32(b->s + at);
}

static uint16_t le16(const struct embi_buf *b, size_t at)
{
    cr_assert_leq(at + 2, b->n);
    return embi_le16(b->s + at);
}

/* The local header of a member: where its data begin. */
static size_t check_local(const struct embi_buf *b, size_t at, const struct member *m, bool patched,
                          bool wide)
{
    size_t name = strlen(m->name), extra = wide ? 20 : 0;
    cr_assert_eq(le32(b, at), 0x04034B50);
    cr_assert_eq(le16(b, at + 4), wide ? 45 : 20);
    cr_assert_eq(le16(b, at + 6), patched ? 0x800 : 0x808);
    cr_assert_eq(le16(b, at + 8), 0);
    cr_assert(le16(b, at + 10) == 0 && le16(b, at + 12) == 0x21); /* 1980-01-01 00:00 */
    cr_assert_eq(le32(b, at + 14), patched ? m->crc : 0);
    cr_assert_eq(le32(b, at + 18), wide ? UINT32_MAX : patched ? m->bytes : 0);
    cr_assert_eq(le32(b, at + 22), wide ? UINT32_MAX : patched ? m->bytes : 0);
    cr_assert(le16(b, at + 26) == name && le16(b, at + 28) == extra);
    cr_assert_eq(memcmp(b->s + at + 30, m->name, name), 0);
    if (wide) {
        cr_assert(le16(b, at + 30 + name) == 1 && le16(b, at + 32 + name) == 16);
        cr_assert_eq(embi_le64(b->s + at + 34 + name), m->bytes);
        cr_assert_eq(embi_le64(b->s + at + 42 + name), m->bytes);
    }
    return at + 30 + name + extra;
}

static void check_npz(const struct embi_buf *b, bool patched, size_t wide_members)
{
    size_t end = b->n - 22;
    cr_assert_eq(le32(b, end), 0x06054B50);
    cr_assert(le16(b, end + 8) == 3 && le16(b, end + 10) == 3 && le16(b, end + 20) == 0);
    size_t at = le32(b, end + 16), local = 0;
    cr_assert_eq(at + le32(b, end + 12), end);
    for (size_t i = 0; i < 3; i++) {
        size_t name = strlen(members[i].name);
        cr_assert_eq(le32(b, at), 0x02014B50);
        cr_assert_eq(le32(b, at + 16), members[i].crc, "%s: %08x", members[i].name,
                     le32(b, at + 16));
        cr_assert(le32(b, at + 20) == members[i].bytes && le32(b, at + 24) == members[i].bytes);
        cr_assert(le16(b, at + 28) == name && le16(b, at + 30) == 0 && le32(b, at + 42) == local);
        cr_assert_eq(memcmp(b->s + at + 46, members[i].name, name), 0);
        size_t data = check_local(b, local, &members[i], patched, i < wide_members);
        cr_assert_eq(memcmp(b->s + data, "\x93NUMPY", 6), 0);
        local = data + members[i].bytes;
        if (!patched) {
            cr_assert(le32(b, local) == 0x08074B50 && le32(b, local + 4) == members[i].crc);
            cr_assert(le32(b, local + 8) == members[i].bytes);
            cr_assert(le32(b, local + 12) == members[i].bytes);
            local += 16;
        }
        at += 46 + name;
    }
    cr_assert_eq(at, end);
    cr_assert_eq(local, le32(b, end + 16));
}

Test(npz, counts_known)
{
    struct embi_buf b = make_npz(false, EMBI_IO_CAN_PATCH);
    check_npz(&b, true, 0);
    embi_buf_free(&b);
}

Test(npz, counts_that_come_late)
{
    struct embi_buf b = make_npz(true, EMBI_IO_CAN_PATCH);
    check_npz(&b, true, 2);
    embi_buf_free(&b);
}

Test(npz, to_a_pipe)
{
    struct embi_buf b = make_npz(false, 0);
    check_npz(&b, false, 0);
    embi_buf_free(&b);
}

Test(npz, names_that_lead_elsewhere)
{
    static const char *const names[] = {"", "/a", "..", "../a", "a/..", "a/../b", "a\\b", "\xFF"};
    for (size_t i = 0; i < EMBI_LEN(names); i++) {
        struct input in = {{names[i], EMB_F32, 2, {2, 2}}, f4, 2};
        struct embi_buf out;
        emb_err err;
        cr_assert_eq(write_file(&embi_format_npz, &in, 1, 0, &out, &err), EMB_BAD_ARG, "%s",
                     names[i]);
        cr_assert_eq(out.n, 0);
    }
    struct input good = {{"..a/b..", EMB_F32, 2, {2, 2}}, f4, 2};
    struct embi_buf out;
    emb_err err;
    cr_assert_eq(write_file(&embi_format_npz, &good, 1, 0, &out, &err), EMB_OK, "%s", err.msg);
    embi_buf_free(&out);
}

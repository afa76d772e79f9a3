/* test_unpack.c - what lib/io unpacks: streams of deflate and gzip, members of a zip, checksums, and
 * where the result is kept.
 *
 * Streams are written by hand, in stored blocks (RFC 1951, 3.2.4): a byte 1, the length and its
 * complement, then the bytes. Checksums come from the polynomial, bit by bit.
 */
#include "io_fixture.h"

#include "io/inflate.h"
#include "io/member.h"
#include "io/spool.h"
#include "util/pool.h"

#define HELLO      "\1\5\0\xFA\xFFhello"
#define HELLO_CRC  0x3610A686u
#define GZIP_HEAD  "\x1F\x8B\x08\0\0\0\0\0\0\3"
#define GZIP_HELLO GZIP_HEAD HELLO "\x86\xA6\x10\x36\5\0\0\0"

TestSuite(unpack, .init = enter_folder, .fini = leave_folder);

static struct embi_io *memory(const void *bytes, size_t n)
{
    struct embi_io *file = NULL;
    cr_assert_eq(embi_io_memory(&env, bytes, n, NULL, &file, &err), EMB_OK);
    return file;
}

static bool holds(struct embi_io *file, const void *bytes, size_t n)
{
    const void *data = NULL;
    cr_assert_eq(embi_io_map(file, &data, &err), EMB_OK, "%s", err.msg);
    return file->size == n && memcmp(data, bytes, n) == 0;
}

static emb_status inflate_all(const void *s, size_t n, bool gzip, uint64_t bytes, uint32_t crc)
{
    struct embi_packed p = {memory(s, n), 0, n, gzip, bytes, crc, 0};
    emb_status status = embi_inflate(&p, &io, &err);
    embi_io_close(p.io);
    return status;
}

Test(unpack, gzip_members)
{
    static const char two[] = GZIP_HELLO GZIP_HELLO "\0\0\0";
    cr_assert_eq(inflate_all(two, sizeof two - 1, true, 0, 0), EMB_OK, "%s", err.msg);
    cr_assert(holds(io, "hellohello", 10));
    embi_io_close(io);
}

Test(unpack, bare_stream)
{
    static const struct {
        uint64_t bytes;
        uint32_t crc;
        size_t cut, more;
        const char *says; /* NULL: it is good */
    } cases[] = {
        {5, HELLO_CRC, 0, 0, NULL},
        {5, 1, 0, 0, "its bytes have CRC-32 3610a686, the directory says 00000001"},
        {4, HELLO_CRC, 0, 0, "unpacks to more than 4 bytes, the directory says 4"},
        {6, HELLO_CRC, 0, 0, "unpacks to 5 bytes, the directory says 6"},
        {0, 0, 0, 0, "unpacks to more than 0 bytes, the directory says 0"},
        {5, HELLO_CRC, 1, 0, "byte 9: the compressed data end before they are complete"},
        {5, HELLO_CRC, 0, 1,
         "the compressed data end at byte 10, 1 bytes before the directory says"},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        static const char s[] = HELLO "\0";
        size_t n = sizeof HELLO - 1 - cases[i].cut + cases[i].more;
        emb_status status = inflate_all(s, n, false, cases[i].bytes, cases[i].crc);
        cr_expect_eq(status, cases[i].says ? EMB_BAD_DATA : EMB_OK, "%zu: %s", i, err.msg);
        if (cases[i].says)
            cr_expect_str_eq(err.msg, cases[i].says);
        else
            cr_expect(holds(io, "hello", 5));
        embi_io_close(io);
    }
}

/* The head of a stream is there although what follows is none. */
Test(unpack, head_alone)
{
    static const char s[] = GZIP_HEAD "\0\5\0\xFA\xFFhello\7";
    struct embi_packed p = {memory(s, sizeof s - 1), 0, sizeof s - 1, true, 0, 0, 0};
    char head[4];
    size_t n;
    cr_assert_eq(embi_inflate_head(&p, head, sizeof head, &n, &err), EMB_OK, "%s", err.msg);
    cr_assert(n == 4 && memcmp(head, "hell", 4) == 0);
    cr_assert_eq(embi_inflate(&p, &io, &err), EMB_BAD_DATA);
    cr_assert_str_eq(err.msg, "gzip: byte 21: invalid block type");
    cr_assert_null(io);
    embi_io_close(p.io);
}

Test(unpack, what_deflate_can_hold)
{
    cr_assert(embi_inflate_can(0, 0));
    cr_assert(embi_inflate_can(1, 1032));
    cr_assert(!embi_inflate_can(1, 2064));
    cr_assert(embi_inflate_can(UINT64_MAX, UINT64_MAX));
    cr_assert(!embi_inflate_can(100, UINT64_MAX));
}

/* ------------------------------------------------------------------------------------------------
 * Checksums
 */

static uint32_t slow_crc(const unsigned char *s, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= s[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

Test(unpack, crc32)
{
    enum { BYTES = (8 << 20) + 3 }; /* three pieces */
    struct embi_env threads = {0};
    unsigned char *s = malloc(BYTES);
    cr_assert(s && embi_pool_new(2, &threads.pool, &err) == EMB_OK);
    for (size_t i = 0; i < BYTES; i++)
        s[i] = (unsigned char)(i * i >> 5);
    cr_assert_eq(embi_crc32(NULL, "123456789", 9), 0xCBF43926u); /* the check value of ISO 3309 */
    cr_assert_eq(embi_crc32(NULL, "", 0), 0);
    uint32_t want = slow_crc(s, BYTES);
    cr_assert_eq(embi_crc32(&threads, s, BYTES), want);
    cr_assert_eq(embi_crc32(NULL, s, BYTES), want);
    embi_pool_free(threads.pool);
    free(s);
}

/* ------------------------------------------------------------------------------------------------
 * Members of a zip
 */

static struct embi_zip_member member(uint16_t method, const char *s, uint64_t packed,
                                     uint64_t bytes)
{
    return (struct embi_zip_member){.name = {s, 1},
                                    .data_at = 1,
                                    .packed_bytes = packed,
                                    .bytes = bytes,
                                    .crc = HELLO_CRC,
                                    .method = method};
}

Test(unpack, stored_member_is_in_place)
{
    static const char s[] = "xhelloy";
    struct embi_io *archive = memory(s, 7);
    struct embi_zip_member m = member(0, s, 5, 5);
    const void *data;
    char two[2];
    cr_assert_eq(embi_member_open(archive, &m, &io, &err), EMB_OK, "%s", err.msg);
    cr_assert_str_eq(io->label, "member 'x'");
    cr_assert_eq(embi_io_map(io, &data, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(data, s + 1);
    cr_assert_eq(embi_io_pread(io, two, 2, 3, &err), EMB_OK);
    cr_assert(memcmp(two, "lo", 2) == 0);
    cr_assert_eq(embi_io_pread(io, two, 2, 4, &err), EMB_BAD_DATA); /* bytes of the archive */
    embi_io_close(io);
    m.crc++;
    cr_assert_eq(embi_member_open(archive, &m, &io, &err), EMB_OK);
    cr_assert_eq(embi_io_map(io, &data, &err), EMB_BAD_DATA);
    embi_io_close(io);
    embi_io_close(archive);
}

Test(unpack, deflated_member)
{
    static const char s[] = "x" HELLO;
    struct embi_io *archive = memory(s, sizeof s - 1);
    struct embi_zip_member m = member(8, s, sizeof HELLO - 1, 5);
    char two[2];
    cr_assert_eq(embi_member_open(archive, &m, &io, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(embi_io_pread(io, two, 2, 1, &err), EMB_OK, "%s", err.msg);
    cr_assert(memcmp(two, "el", 2) == 0);
    cr_assert(holds(io, "hello", 5));
    cr_assert_eq(embi_io_pread(io, two, 2, 3, &err), EMB_OK, "%s", err.msg);
    cr_assert(memcmp(two, "lo", 2) == 0);
    embi_io_close(io);
    m.bytes = 6; /* the beginning is shorter than it should be */
    cr_assert_eq(embi_member_open(archive, &m, &io, &err), EMB_OK);
    cr_assert_eq(embi_io_pread(io, two, 2, 0, &err), EMB_BAD_DATA);
    embi_io_close(io);
    embi_io_close(archive);
}

/* What was forgotten is unpacked again: it shows that the archive has changed since. */
Test(unpack, forgotten_beginning)
{
    static const char before[] = "x" HELLO, after[] = "x\1\5\0\xFA\xFFworld";
    char s[sizeof before], two[2];
    memcpy(s, before, sizeof s);
    struct embi_io *archive = memory(s, sizeof s - 1);
    struct embi_zip_member m = member(8, s, sizeof HELLO - 1, 5);
    cr_assert_eq(embi_member_open(archive, &m, &io, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(embi_io_pread(io, two, 2, 0, &err), EMB_OK, "%s", err.msg);
    cr_assert(memcmp(two, "he", 2) == 0);
    memcpy(s, after, sizeof s);
    cr_assert_eq(embi_io_pread(io, two, 2, 0, &err), EMB_OK, "%s", err.msg);
    cr_assert(memcmp(two, "he", 2) == 0);
    embi_io_forget(io, 0, 2);
    cr_assert_eq(embi_io_pread(io, two, 2, 0, &err), EMB_OK, "%s", err.msg);
    cr_assert(memcmp(two, "wo", 2) == 0);
    embi_io_close(io);
    embi_io_close(archive);
}

/* ------------------------------------------------------------------------------------------------
 * Where it is kept
 */

static void put(struct embi_spool *spool, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        char *room;
        size_t n;
        cr_assert_eq(embi_spool_room(spool, &room, &n, &err), EMB_OK, "%s", err.msg);
        n = (size_t)embi_min(n, bytes - done);
        for (size_t i = 0; i < n; i++)
            room[i] = (char)((done + i) * 7 >> 3);
        embi_spool_added(spool, n);
        done += n;
    }
}

static void check_put(struct embi_io *file, uint64_t bytes)
{
    const void *data;
    cr_assert_eq(file->size, bytes);
    cr_assert_eq(embi_io_map(file, &data, &err), EMB_OK, "%s", err.msg);
    for (uint64_t i = 0; i < bytes; i++)
        if (((const char *)data)[i] != (char)(i * 7 >> 3))
            cr_assert_fail("byte %llu", (unsigned long long)i);
}

/* 64 MiB are kept in memory whatever is free; `most` says that nothing is. */
Test(unpack, memory_or_file)
{
    static const struct {
        uint64_t expected, bytes;
        bool file;
    } cases[] = {
        {0, 0, false},           {0, 200000, false},        {300000, 200000, false},
        {1 << 27, 200000, true}, {0, (70 << 20) + 1, true}, /* which begins in memory */
    };
    const struct embi_env here = {.temp_dir = "."};
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        struct embi_spool spool;
        embi_spool_begin(&here, cases[i].expected, &spool);
        spool.most = 1;
        put(&spool, cases[i].bytes);
        cr_assert_eq(spool.fd >= 0, cases[i].file, "%zu", i);
        cr_assert_eq(embi_spool_end(&spool, &io, &err), EMB_OK, "%s", err.msg);
        check_put(io, cases[i].bytes);
        embi_io_close(io);
    }
}

Test(unpack, without_a_folder)
{
    const struct embi_env nowhere = {.temp_dir = "no/where"};
    struct embi_spool spool;
    char *room;
    size_t n;
    embi_spool_begin(&nowhere, 1 << 27, &spool);
    spool.most = 1;
    cr_assert_eq(embi_spool_room(&spool, &room, &n, &err), EMB_IO);
    cr_assert_str_eq(err.msg, "a temporary file in no/where: No such file or directory");
    embi_spool_free(&spool);
    embi_spool_begin(&env, 1 << 27, &spool); /* none was named: memory has to do */
    put(&spool, 100);
    cr_assert_eq(spool.fd, -1);
    cr_assert_eq(embi_spool_end(&spool, &io, &err), EMB_OK);
    check_put(io, 100);
    embi_io_close(io);
}

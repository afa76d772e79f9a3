/* What is kept of servers (io/cache*.c): names, heads, blocks, trimming; without a server. */
#include "io/cache.h"
#include "util/env.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 4096, SIZE = 10 * BLOCK + 5 };

static char dir[64];
static struct embi_env env;
static const char url[] = "https://host/table?v=1";
static const struct embi_version one = {.tag = "\"one\"", .total = SIZE, .max_age_s = -1};

static void begin(void)
{
    strcpy(dir, "/tmp/embtool-cache-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    env = (struct embi_env){.cache_dir = dir, .cache_bytes = 1 << 20};
}

static void end(void)
{
    size_t files;
    uint64_t bytes;
    emb_err err;
    cr_assert_eq(emb_cache_clear(dir, NULL, &files, &bytes, &err), EMB_OK);
    cr_assert_eq(rmdir(dir), 0, "something is left");
}

TestSuite(cache, .init = begin, .fini = end);

/* Signatures by the documents of S3, Google, CloudFront and Azure; the rest of a query is the
 * address's own. */
Test(cache_key, signatures_are_no_part_of_it)
{
    static const char *const keys[][2] = {
        {"https://h/a", "https://h/a"},
        {"https://h/a?", "https://h/a"},
        {"https://h/a?#x", "https://h/a"},
        {"https://h/a?x=1&y=2#z", "https://h/a?x=1&y=2"},
        {"https://h/a?X-Amz-Date=1&x=1&X-Amz-Signature=2", "https://h/a?x=1"},
        {"https://h/a?x-amz-date=1", "https://h/a"},
        {"https://h/a?X-Goog-Signature=1&versionId=3", "https://h/a?versionId=3"},
        {"https://h/a?Expires=1&Signature=2&Key-Pair-Id=3&response=4", "https://h/a?response=4"},
        {"https://h/a?Expires=1&Policy=2", "https://h/a?Expires=1&Policy=2"},
        {"https://h/a?sv=1&sr=b&sig=2&se=3", "https://h/a"},
        {"https://h/a?sr=b&sig=2", "https://h/a?sr=b&sig=2"},
        {"https://h/a?se=3&sr=b", "https://h/a?se=3&sr=b"},
        {"https://h/a?Signatures=1", "https://h/a?Signatures=1"},
        {"https://h/a?x=Signature=1&Expires=2", "https://h/a?x=Signature=1&Expires=2"},
    };
    for (size_t i = 0; i < EMBI_LEN(keys); i++) {
        char *key = embi_cache_key(keys[i][0]);
        cr_assert_str_eq(key, keys[i][1]);
        free(key);
    }
}

static void keep(struct embi_entry *e, uint64_t i, const char *data, size_t n)
{
    cr_assert_eq(pwrite(e->fd, data, n, (off_t)(e->data_off + i * BLOCK)), (ssize_t)n);
    cr_assert(embi_entry_keep(e, i, data, n));
}

Test(cache, blocks_of_one_version)
{
    char data[BLOCK] = "data", got[BLOCK];
    cr_assert_null(embi_entry_find(&env, url));
    struct embi_entry *e = embi_entry_new(&env, url, &one);
    cr_assert_not_null(e);
    cr_assert(embi_entry_is_fresh(e));
    cr_assert_not(embi_entry_has(e, 3, data, BLOCK));
    keep(e, 3, data, BLOCK);
    keep(e, 10, "last", 5);
    embi_entry_close(e);

    e = embi_entry_find(&env, "https://host/table?v=1&X-Amz-Date=7");
    cr_assert_not_null(e);
    cr_assert_str_eq(e->tag, "\"one\"");
    cr_assert_str_eq(e->url, "https://host/table");
    cr_assert_eq(e->size, SIZE);
    cr_assert_eq(pread(e->fd, got, BLOCK, (off_t)(e->data_off + 3 * BLOCK)), BLOCK);
    cr_assert(embi_entry_has(e, 3, got, BLOCK));
    cr_assert(embi_entry_has(e, 10, "last", 5));
    cr_assert_not(embi_entry_has(e, 4, got, BLOCK));
    got[BLOCK - 1] ^= 1;
    cr_assert_not(embi_entry_has(e, 3, got, BLOCK));
    cr_assert_null(embi_entry_find(&env, "https://host/table?v=2"));

    struct embi_entry *same = embi_entry_new(&env, url, &one); /* it goes on with what is there */
    cr_assert(embi_entry_has(same, 10, "last", 5));
    embi_entry_close(same);
    struct embi_version two = one;
    two.tag[1] = 't';
    same = embi_entry_new(&env, url, &two);
    cr_assert_not(embi_entry_has(same, 10, "last", 5));
    cr_assert(embi_entry_has(e, 10, "last", 5)); /* who has the old one reads on */
    embi_entry_forget(e);                        /* which has no name any more */
    embi_entry_close(e);
    e = embi_entry_find(&env, url);
    cr_assert_str_eq(e->tag, two.tag);
    embi_entry_forget(e);
    embi_entry_close(e);
    embi_entry_close(same);
    cr_assert_null(embi_entry_find(&env, url));
}

Test(cache, what_is_not_taken)
{
    struct embi_version v = one;
    v.no_store = 1;
    cr_assert_null(embi_entry_new(&env, url, &v));
    v = one;
    v.tag[0] = 0;
    cr_assert_null(embi_entry_new(&env, url, &v));
    v = one;
    v.total = EMBI_TRANSPORT_UNKNOWN;
    cr_assert_null(embi_entry_new(&env, url, &v));
    v.total = UINT64_MAX / 2;
    cr_assert_null(embi_entry_new(&env, url, &v)); /* more than a file can have */
    char *name = malloc(5000);
    memset(name, 'x', 4999);
    name[4999] = 0;
    cr_assert_null(embi_entry_new(&env, name, &one));
    free(name);
    struct embi_env none = {0};
    cr_assert_null(embi_entry_new(&none, url, &one));
    cr_assert_null(embi_entry_find(&none, url));
}

Test(cache, how_long_it_is_fresh)
{
    static const struct {
        int64_t said, age;
        bool fresh;
    } cases[] = {{-1, 599, true}, {-1, 601, false},  {0, 0, false},      {60, 58, true},
                 {60, 61, false}, {9999, 599, true}, {9999, 601, false}, {-1, -5, false}};
    struct embi_entry *e = embi_entry_new(&env, url, &one);
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        struct embi_version v = one;
        v.max_age_s = cases[i].said;
        embi_entry_checked(e, &v);
        e->checked_s -= cases[i].age;
        cr_assert_eq(embi_entry_is_fresh(e), cases[i].fresh, "case %zu", i);
    }
    embi_entry_close(e);
}

/* No byte of a head may be another: then it is no entry. Only the time behind its hash changes. */
Test(cache, every_byte_of_a_head)
{
    unsigned char head[EMBI_ENTRY_HEAD_BYTES];
    struct embi_entry *e = embi_entry_new(&env, url, &one), other;
    uint64_t bytes = e->data_off + e->size;
    cr_assert_eq(pread(e->fd, head, sizeof head, 0), (ssize_t)sizeof head);
    cr_assert(embi_entry_parse(head, bytes, &other));
    free(other.url);
    cr_assert_not(embi_entry_parse(head, bytes - 1, &other));
    for (size_t i = 0; i < sizeof head - 8; i++) {
        head[i] ^= 0x40;
        cr_assert_not(embi_entry_parse(head, bytes, &other), "byte %zu", i);
        head[i] ^= 0x40;
    }
    embi_entry_close(e);
}

Test(cache, trimmed_by_last_use)
{
    char data[BLOCK] = "x", address[32];
    struct embi_entry *e;
    env.cache_bytes = 1 << 17; /* of three entries with ten blocks each two have room */
    for (int i = 0; i < 3; i++) {
        (void)snprintf(address, sizeof address, "https://host/%d", i);
        e = embi_entry_new(&env, address, &one);
        for (uint64_t k = 0; k < 10; k++)
            keep(e, k, data, BLOCK);
        if (i == 2) { /* it was used before the last one */
            struct embi_entry *first = embi_entry_find(&env, "https://host/0");
            embi_entry_close(first);
        }
        usleep(20000);
        e->mine = i == 2;
        if (i == 2)
            embi_entry_close(embi_entry_find(&env, address));
        embi_entry_close(e);
    }
    emb_cache list;
    emb_err err;
    cr_assert_eq(emb_cache_list(dir, &list, &err), EMB_OK);
    cr_assert_eq(list.n, 2);
    cr_assert_str_eq(list.list[0].url, "https://host/2");
    cr_assert_str_eq(list.list[1].url, "https://host/0");
    cr_assert_eq(list.list[0].size, SIZE);
    cr_assert_geq(list.list[0].bytes, 10 * BLOCK);
    emb_cache_free(&list);
}

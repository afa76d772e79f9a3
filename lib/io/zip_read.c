/* zip_read.c - see zip_read.h.
 *
 * Specification: PKWARE APPNOTE 6.3; the numbers of its sections stand at each record. Every place
 * and length is checked against the file before it is used.
 */
#include "io/zip_read.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    END_BYTES = 22,
    COMMENT_MAX = 65535,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    ZIP64_ID = 1
};

struct archive {
    const unsigned char *s; /* [size] */
    uint64_t size;
    uint64_t at, bytes, count; /* the central directory */
};

static bool is_record(const unsigned char *p, const char *mark)
{
    return memcmp(p, mark, 4) == 0;
}

/* ------------------------------------------------------------------------------------------------
 * The end
 */

/* 4.3.16, searched for backwards: its comment must reach exactly to the end of the file. */
static bool find_end(const struct archive *a, uint64_t *at)
{
    uint64_t last = a->size - END_BYTES;
    uint64_t first = last - embi_min(last, COMMENT_MAX);
    if (a->size < END_BYTES)
        return false;
    for (*at = last;; --*at) {
        const unsigned char *p = a->s + *at;
        if (is_record(p, "PK\5\6") && embi_le16(p + 20) == last - *at)
            return true;
        if (*at == first)
            return false;
    }
}

/* 4.3.14 and 4.3.15: larger numbers, in a record before the end that is at `end`. */
static emb_status read_end64(struct archive *a, uint64_t end, bool *found, uint64_t *limit,
                             emb_err *err)
{
    const unsigned char *p = a->s + end - embi_min(end, LOCATOR_BYTES);
    *found = end >= LOCATOR_BYTES && is_record(p, "PK\6\7");
    if (!*found)
        return EMB_OK;
    uint64_t at = embi_le64(p + 8);
    if (!embi_inside(at, END64_BYTES, end - LOCATOR_BYTES) || !is_record(a->s + at, "PK\6\6"))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)(end - LOCATOR_BYTES),
                         "zip: no zip64 end record at byte %" PRIu64, at);
    p = a->s + at;
    if (embi_le32(p + 16) || embi_le32(p + 20))
        return embi_fail(err, EMB_UNSUPPORTED, (int64_t)at, "zip: one part of several");
    a->count = embi_le64(p + 32);
    a->bytes = embi_le64(p + 40);
    a->at = embi_le64(p + 48);
    *limit = at;
    return EMB_OK;
}

/* Where the central directory is. */
static emb_status read_end(struct archive *a, emb_err *err)
{
    uint64_t end = 0, limit;
    bool wide;
    if (!find_end(a, &end))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)a->size,
                         "zip: no directory at the end of the file; is it complete?");
    limit = end;
    emb_status status = read_end64(a, end, &wide, &limit, err);
    const unsigned char *p = a->s + end;
    if (!status && !wide) {
        if (embi_le16(p + 4) || embi_le16(p + 6))
            return embi_fail(err, EMB_UNSUPPORTED, (int64_t)end, "zip: one part of several");
        a->count = embi_le16(p + 10);
        a->bytes = embi_le32(p + 12);
        a->at = embi_le32(p + 16);
    }
    if (!status && !embi_inside(a->at, a->bytes, limit))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)end,
                         "zip: a directory of %" PRIu64 " bytes at %" PRIu64
                         " is not inside the file",
                         a->bytes, a->at);
    if (!status && a->count > a->bytes / ENTRY_BYTES)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)end,
                         "zip: a directory of %" PRIu64 " bytes cannot list %" PRIu64 " members",
                         a->bytes, a->count);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Entries
 */

/* The next 64-bit number of a zip64 field, where the 32-bit one says that it is there. */
static bool take_wide(const unsigned char **p, size_t *n, uint64_t *x)
{
    if (*x != UINT32_MAX)
        return true;
    if (*n < 8)
        return false;
    *x = embi_le64(*p);
    *p += 8;
    *n -= 8;
    return true;
}

/* 4.5.3: numbers that do not fit into 32 bits, from the extra fields p [n]. Without the field they
 * are what they are. */
static bool read_extra(const unsigned char *p, size_t n, struct embi_zip_member *m)
{
    while (n >= 4) {
        size_t id = embi_le16(p), bytes = embi_le16(p + 2);
        p += 4;
        n -= 4;
        if (bytes > n)
            return false;
        if (id == ZIP64_ID)
            return take_wide(&p, &bytes, &m->bytes) && take_wide(&p, &bytes, &m->packed_bytes) &&
                   take_wide(&p, &bytes, &m->at);
        p += bytes;
        n -= bytes;
    }
    return true;
}

static emb_status fail_member(const struct embi_zip_member *m, uint64_t at, const char *what,
                              emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_BAD_DATA, (int64_t)at, "zip: member '%s': %s",
                     embi_show(show, m->name), what);
}

/* 4.3.7: where the data begin. Members lie before the directory. */
static emb_status read_local(const struct archive *a, struct embi_zip_member *m, emb_err *err)
{
    if (!embi_inside(m->at, LOCAL_BYTES, a->at) || !is_record(a->s + m->at, "PK\3\4"))
        return fail_member(m, m->at, "no local header where the directory says", err);
    const unsigned char *p = a->s + m->at;
    m->data_at = m->at + LOCAL_BYTES + embi_le16(p + 26) + embi_le16(p + 28);
    if (!embi_inside(m->data_at, m->packed_bytes, a->at))
        return fail_member(m, m->at, "its bytes are not inside the file", err);
    return EMB_OK;
}

bool embi_zip_name_is_safe(emb_str name)
{
    if (name.n == 0 || name.s[0] == '/' || memchr(name.s, '\\', name.n) ||
        memchr(name.s, 0, name.n))
        return false;
    for (size_t i = 0, part = 0; i <= name.n; i++) {
        if (i < name.n && name.s[i] != '/')
            continue;
        if (i - part == 2 && memcmp(name.s + part, "..", 2) == 0)
            return false;
        part = i + 1;
    }
    return true;
}

/* 4.3.12. *at is the place of the entry, and then of the next. */
static emb_status read_entry(const struct archive *a, uint64_t *at, struct embi_zip_member *m,
                             emb_err *err)
{
    uint64_t left = a->at + a->bytes - *at;
    const unsigned char *p = a->s + *at;
    if (left < ENTRY_BYTES || !is_record(p, "PK\1\2"))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)*at, "zip: no directory entry here");
    size_t name = embi_le16(p + 28), extra = embi_le16(p + 30);
    uint64_t bytes = ENTRY_BYTES + (uint64_t)name + extra + embi_le16(p + 32);
    if (bytes > left)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)*at, "zip: a directory entry is cut");
    *m = (struct embi_zip_member){
        .name = {(const char *)p + ENTRY_BYTES, name},
        .encrypted = embi_le16(p + 8) & 1,
        .method = embi_le16(p + 10),
        .crc = embi_le32(p + 16),
        .packed_bytes = embi_le32(p + 20),
        .bytes = embi_le32(p + 24),
        .at = embi_le32(p + 42),
    };
    if (!embi_zip_name_is_safe(m->name))
        return fail_member(m, *at, "not a name that a member may have", err);
    if (!read_extra(p + ENTRY_BYTES + name, extra, m))
        return fail_member(m, *at, "its extra field is cut", err);
    *at += bytes;
    return read_local(a, m, err);
}

static emb_status read_entries(const struct archive *a, struct embi_zip_list *list, emb_err *err)
{
    uint64_t at = a->at;
    list->n = (size_t)a->count;
    list->members = calloc(list->n + 1, sizeof *list->members);
    list->names = calloc(list->n + 1, sizeof *list->names);
    if (!list->members || !list->names)
        return embi_fail_memory(err, list->n * sizeof *list->members, "the members of a zip");
    for (size_t i = 0; i < list->n; i++) {
        emb_status status = read_entry(a, &at, &list->members[i], err);
        if (status)
            return status;
        list->names[i] = list->members[i].name;
    }
    if (at != a->at + a->bytes)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)at,
                         "zip: the directory goes on after its last member");
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * All members together
 */

static int by_place(const void *a, const void *b)
{
    const struct embi_zip_member *x = *(const struct embi_zip_member *const *)a,
                                 *y = *(const struct embi_zip_member *const *)b;
    return (x->at > y->at) - (x->at < y->at);
}

/* No byte belongs to two members. */
static emb_status check_apart(const struct embi_zip_list *list, emb_err *err)
{
    emb_status status = EMB_OK;
    const struct embi_zip_member **sorted = calloc(list->n + 1, sizeof *sorted);
    if (!sorted)
        return embi_fail_memory(err, list->n * sizeof *sorted, "the members of a zip");
    for (size_t i = 0; i < list->n; i++)
        sorted[i] = &list->members[i];
    qsort(sorted, list->n, sizeof *sorted, by_place);
    for (size_t i = 1; !status && i < list->n; i++)
        if (sorted[i]->at < sorted[i - 1]->data_at + sorted[i - 1]->packed_bytes)
            status = fail_member(sorted[i], sorted[i]->at, "overlaps another member", err);
    free(sorted);
    return status;
}

static emb_status check_names(struct embi_zip_list *list, emb_err *err)
{
    emb_status status = embi_map_build(&list->map, list->names, list->n, err);
    uint64_t twin = status ? list->n : embi_map_twin(&list->map, list->n);
    if (twin == list->n)
        return status;
    return fail_member(&list->members[twin], list->members[twin].at, "is there twice", err);
}

emb_status embi_zip_list(const void *file, uint64_t size, struct embi_zip_list *list, emb_err *err)
{
    struct archive a = {.s = file, .size = size};
    *list = (struct embi_zip_list){0};
    emb_status status = read_end(&a, err);
    if (!status)
        status = read_entries(&a, list, err);
    if (!status)
        status = check_apart(list, err);
    if (!status)
        status = check_names(list, err);
    if (status)
        embi_zip_list_free(list);
    return status;
}

void embi_zip_list_free(struct embi_zip_list *list)
{
    embi_map_free(&list->map);
    free(list->members);
    free(list->names);
    *list = (struct embi_zip_list){0};
}

const struct embi_zip_member *embi_zip_find(const struct embi_zip_list *list, emb_str name)
{
    uint64_t i = embi_map_find(&list->map, name);
    return i == EMBI_MAP_NONE ? NULL : &list->members[i];
}

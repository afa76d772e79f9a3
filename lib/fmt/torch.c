/* torch.c - the format "torch": files of torch.save, read only.
 *
 * Since PyTorch 1.6 a zip of stored members: data.pkl is a pickle of the object, data/KEY are its
 * storages. The pickle is read as a tree and never run, see pickle.h. Checksums of stored members
 * are not compared: PyTorch can be told to write none. What another tool has deflated is unpacked
 * when it is used. Specification: torch/serialization.py, _save and _load.
 */
#include "fmt/torch.h"

#include "io/member.h"
#include "io/zip_read.h"
#include "util/err.h"

#include <stdlib.h>

enum { OWN_BID = 95, EXT_BID = 91 };

static const char *const exts[] = {".pt", ".pth", ".bin", ".ckpt"};

/* Does the name of the archive's first member end in data.pkl? */
static bool begins_with_pickle(const unsigned char *head, size_t n)
{
    enum { NAME_BYTES_AT = 26, NAME_AT = 30 };
    static const char end[] = "data.pkl";
    size_t end_bytes = sizeof end - 1;
    if (n < NAME_AT || memcmp(head, "PK\3\4", 4) != 0)
        return false;
    size_t name = embi_le16(head + NAME_BYTES_AT);
    return name >= end_bytes && name <= n - NAME_AT &&
           memcmp(head + NAME_AT + name - end_bytes, end, end_bytes) == 0;
}

static int probe(const unsigned char *head, size_t n, uint64_t size, const char *ext)
{
    (void)size;
    if (embi_torch_legacy_is(head, n) || begins_with_pickle(head, n))
        return OWN_BID;
    bool zip = embi_is_zip(head, n);
    for (size_t i = 0; zip && i < EMBI_LEN(exts); i++)
        if (strcmp(ext, exts[i]) == 0)
            return EXT_BID;
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The zip
 */

struct archive {
    struct embi_reader *r;
    struct embi_zip_list zip;
    const struct embi_zip_member *pickle;
    emb_str folder; /* "archive/", or "" */
};

/* Storages that tensors lie in; of a reader. */
struct members {
    struct embi_io **list; /* [n], owned */
    size_t n;
};

static bool starts_with(emb_str s, emb_str with)
{
    return s.n >= with.n && memcmp(s.s, with.s, with.n) == 0;
}

/* The name without the folder of the archive; {NULL, 0} for members elsewhere. */
static emb_str inside(const struct archive *a, const struct embi_zip_member *m)
{
    if (!starts_with(m->name, a->folder))
        return (emb_str){NULL, 0};
    return (emb_str){m->name.s + a->folder.n, m->name.n - a->folder.n};
}

/* data.pkl, in one folder or in none. */
static emb_status find_pickle(struct archive *a, emb_err *err)
{
    static const char name[] = "data.pkl";
    for (size_t i = 0; i < a->zip.n; i++) {
        emb_str s = a->zip.names[i];
        const char *slash = memchr(s.s, '/', s.n);
        size_t folder = slash ? (size_t)(slash + 1 - s.s) : 0;
        if (!embi_str_is((emb_str){s.s + folder, s.n - folder}, name))
            continue;
        a->pickle = &a->zip.members[i];
        a->folder = (emb_str){s.s, folder};
        return EMB_OK;
    }
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "a zip archive without a data.pkl: not a PyTorch checkpoint");
}

static emb_status refuse_script(const struct archive *a, emb_err *err)
{
    for (size_t i = 0; i < a->zip.n; i++) {
        emb_str s = inside(a, &a->zip.members[i]);
        if (s.s && (embi_str_is(s, "constants.pkl") || starts_with(s, (emb_str){"code/", 5})))
            return embi_fail(err, EMB_UNSUPPORTED, -1,
                             "a TorchScript archive: a program, not read; save its state_dict "
                             "or convert it to safetensors");
    }
    return EMB_OK;
}

static emb_status open_member(const struct archive *a, const struct embi_zip_member *m,
                              struct embi_io **io, emb_err *err)
{
    emb_status status = embi_member_open(a->r->io, m, io, err);
    if (!status)
        embi_member_trust(*io);
    return status;
}

static emb_status add_storage(const struct archive *a, const struct embi_zip_member *m, emb_str key,
                              struct members *members, struct embi_torch_storages *s, emb_err *err)
{
    struct embi_io *io;
    emb_status status = open_member(a, m, &io, err);
    if (status)
        return status;
    members->list[members->n++] = io;
    embi_torch_storages_add(s, key, (struct embi_torch_span){io, 0, io->size});
    return EMB_OK;
}

/* How elements are stored. */
static emb_status read_order(const struct archive *a, const struct embi_zip_member *m, bool *swap,
                             emb_err *err)
{
    struct embi_io *io;
    char order[sizeof "little" - 1] = {0};
    emb_status status = open_member(a, m, &io, err);
    if (status)
        return status;
    size_t n = (size_t)embi_min(io->size, sizeof order);
    status = embi_io_pread(io, order, n, 0, err);
    *swap = io->size == 3 && memcmp(order, "big", 3) == 0;
    if (!status && !*swap && !(io->size == sizeof order && memcmp(order, "little", n) == 0))
        status = embi_fail(err, EMB_BAD_DATA, (int64_t)m->data_at, "expected little or big");
    if (status)
        embi_io_fail_in(io, err);
    embi_io_close(io);
    return status;
}

/* Storages are the members data/KEY; byteorder says how their elements are stored. */
static emb_status find_storages(const struct archive *a, struct members *members,
                                struct embi_torch_storages *s, emb_err *err)
{
    emb_status status = embi_torch_storages_init(s, a->zip.n, err);
    if (status)
        return status;
    members->list = calloc(a->zip.n + 1, sizeof(struct embi_io *));
    if (!members->list)
        return embi_fail_memory(err, a->zip.n * sizeof(struct embi_io *), "storages");
    for (size_t i = 0; !status && i < a->zip.n; i++) {
        const struct embi_zip_member *m = &a->zip.members[i];
        emb_str name = inside(a, m);
        if (name.s && starts_with(name, (emb_str){"data/", 5}))
            status = add_storage(a, m, (emb_str){name.s + 5, name.n - 5}, members, s, err);
        else if (name.s && embi_str_is(name, "byteorder"))
            status = read_order(a, m, &s->swap, err);
    }
    return status;
}

/* Lists the tensors of the object; messages about its pickle name the member. */
static emb_status list_tensors(const struct archive *a, struct embi_torch_storages *s, emb_err *err)
{
    struct embi_io *io;
    const void *data;
    struct embi_pickle pickle = {0};
    emb_status status = open_member(a, a->pickle, &io, err);
    if (status)
        return status;
    status = embi_io_map(io, &data, err);
    if (!status)
        status = embi_pickle_read(data, (size_t)io->size, 0, &pickle, err);
    status = status ? embi_io_fail_in(io, err) : embi_torch_list(a->r, &pickle, s, err);
    embi_pickle_free(&pickle);
    embi_io_close(io);
    return status;
}

static emb_status open_zip(struct embi_reader *r, const char *file, emb_err *err)
{
    struct archive a = {.r = r};
    struct embi_torch_storages storages = {0};
    struct members *members = r->state = calloc(1, sizeof *members);
    if (!members)
        return embi_fail_memory(err, sizeof *members, "the state of a reader");
    emb_status status = embi_zip_list(file, r->io->size, &a.zip, err);
    if (status)
        return status;
    status = find_pickle(&a, err);
    if (!status)
        status = refuse_script(&a, err);
    if (!status)
        status = find_storages(&a, members, &storages, err);
    if (!status)
        status = list_tensors(&a, &storages, err);
    embi_torch_storages_free(&storages);
    embi_zip_list_free(&a.zip);
    return status;
}

static void free_members(void *state)
{
    struct members *members = state;
    for (size_t i = 0; i < members->n; i++)
        embi_io_close(members->list[i]);
    free(members->list);
    free(members);
}

static emb_status open_torch(struct embi_reader *r, emb_err *err)
{
    const void *file;
    emb_status status = embi_io_map(r->io, &file, err);
    if (status)
        return status;
    if (embi_torch_legacy_is(file, (size_t)r->io->size))
        return embi_torch_legacy_open(r, file, (size_t)r->io->size, err);
    return open_zip(r, file, err);
}

const struct embi_format embi_format_torch = {
    .name = "torch",
    .about = "a PyTorch checkpoint",
    .exts = " .pt .pth .ckpt ",
    .caps = EMBI_FMT_READ | EMBI_FMT_NAMES,
    .probe = probe,
    .open = open_torch,
    .free = free_members,
};

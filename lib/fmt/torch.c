/* torch.c - the format "torch": files of torch.save, read only.
 *
 * Since PyTorch 1.6 a zip of stored members: data.pkl is a pickle of the object, data/KEY are its
 * storages. The pickle is read as a tree and never run, see pickle.h. Checksums are not compared:
 * PyTorch can be told to write none. Specification: torch/serialization.py, _save and _load.
 */
#include "fmt/torch.h"

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
    bool zip = n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
    for (size_t i = 0; zip && i < EMBI_LEN(exts); i++)
        if (strcmp(ext, exts[i]) == 0)
            return EXT_BID;
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The zip
 */

struct archive {
    const char *file;
    struct embi_zip_list zip;
    const struct embi_zip_member *pickle;
    emb_str folder; /* "archive/", or "" */
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
        return embi_zip_stored(a->pickle, err);
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

/* Storages are the members data/KEY; byteorder says how their elements are stored. */
static emb_status find_storages(const struct archive *a, struct embi_torch_storages *s,
                                emb_err *err)
{
    emb_status status = embi_torch_storages_init(s, a->zip.n, err);
    for (size_t i = 0; !status && i < a->zip.n; i++) {
        const struct embi_zip_member *m = &a->zip.members[i];
        emb_str name = inside(a, m), order = {a->file + m->data_at, (size_t)m->bytes};
        if (name.s && starts_with(name, (emb_str){"data/", 5})) {
            status = embi_zip_stored(m, err);
            embi_torch_storages_add(s, (emb_str){name.s + 5, name.n - 5}, m->data_at, m->bytes);
        } else if (name.s && embi_str_is(name, "byteorder")) {
            status = embi_zip_stored(m, err);
            s->swap = !status && embi_str_is(order, "big");
            if (!status && !s->swap && !embi_str_is(order, "little"))
                status = embi_fail(err, EMB_BAD_DATA, (int64_t)m->data_at,
                                   "byteorder: expected little or big");
        }
    }
    return status;
}

static emb_status open_zip(struct embi_reader *r, const char *file, emb_err *err)
{
    struct archive a = {.file = file};
    struct embi_torch_storages storages = {0};
    struct embi_pickle pickle = {0};
    emb_status status = embi_zip_list(file, r->io->size, &a.zip, err);
    if (status)
        return status;
    status = find_pickle(&a, err);
    if (!status)
        status = refuse_script(&a, err);
    if (!status)
        status = find_storages(&a, &storages, err);
    if (!status)
        status = embi_pickle_read(file + a.pickle->data_at, (size_t)a.pickle->bytes,
                                  a.pickle->data_at, &pickle, err);
    if (!status)
        status = embi_torch_list(r, &pickle, &storages, err);
    embi_pickle_free(&pickle);
    embi_torch_storages_free(&storages);
    embi_zip_list_free(&a.zip);
    return status;
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
};

/* zip_read.h - the members of a zip archive that lies in memory: names, and where their bytes are.
 *
 * Sizes, methods and places come from the central directory alone; of a local header only its
 * length counts. Nothing is inflated and no checksum is computed here. Archives whose records leave
 * the file, whose members share bytes or have names that lead out of their folder, are refused.
 */
#ifndef EMBI_IO_ZIP_READ_H
#define EMBI_IO_ZIP_READ_H

#include "util/map.h"

/* Does a file begin as a zip archive does: with a member, or, where there is none, its end? */
static inline bool embi_is_zip(const unsigned char *head, size_t n)
{
    return n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

struct embi_zip_member {
    emb_str name;          /* lies in the file */
    uint64_t at;           /* of the local header */
    uint64_t data_at;      /* of the first byte of data */
    uint64_t packed_bytes; /* in the file, from data_at */
    uint64_t bytes;        /* unpacked */
    uint32_t crc;
    uint16_t method;
    bool encrypted;
};

struct embi_zip_list {
    struct embi_zip_member *members; /* [n], in the order of the directory */
    size_t n;
    emb_str *names; /* [n] */
    struct embi_map map;
};

/* Is it the name of a file below the folder that an archive is unpacked into? Not so what is empty,
 * absolute, has ".." as a part, a NUL or a backslash. */
bool embi_zip_name_is_safe(emb_str name);

/* Lists the archive of `size` bytes at file, which must outlive the list. On failure *list is
 * empty. */
emb_status embi_zip_list(const void *file, uint64_t size, struct embi_zip_list *list, emb_err *err);
void embi_zip_list_free(struct embi_zip_list *list);

/* The member of exactly this name, or NULL. */
const struct embi_zip_member *embi_zip_find(const struct embi_zip_list *list, emb_str name);

#endif

/* foreign.c - names the files that are known but not read, and says what to do with each.
 *
 * A kind bids 90 on its magic bytes: below a complete header of a format that is read (its first
 * eight bytes, a length, may look like anything), above what an extension or text alone can say.
 * It parses nothing but the size line of a Git LFS pointer. Archives come here only where one is in
 * another: what is in them was unpacked before (unwrap.c).
 */
#include "fmt/foreign.h"

#include "io/inflate.h"
#include "io/zip_read.h"
#include "util/err.h"

#include <inttypes.h>

enum { MAGIC_BID = 90, NAME_BID = 70, CSV_BID = 15 };

static bool begins(const unsigned char *head, size_t n, const char *with)
{
    size_t bytes = strlen(with);
    return n >= bytes && memcmp(head, with, bytes) == 0;
}

/* As begins, for ASCII in any case; `with` is lower case. */
static bool begins_any_case(const unsigned char *head, size_t n, const char *with)
{
    for (size_t i = 0; with[i]; i++) {
        if (i >= n)
            return false;
        unsigned char c = head[i];
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != (unsigned char)with[i])
            return false;
    }
    return true;
}

/* Magic bytes that are letters may be a word of a text table; in a binary file control bytes are
 * never far. */
static bool binary_follows(const unsigned char *head, size_t n, size_t from)
{
    for (size_t i = from; i < n && i < from + 16; i++)
        if (head[i] < '\t' || (head[i] > '\r' && head[i] < ' '))
            return true;
    return false;
}

static int lfs_pointer(const unsigned char *head, size_t n, const char *ext)
{
    (void)ext;
    return begins(head, n, "version https://git-lfs.github.com/spec/") ? MAGIC_BID : 0;
}

static int letters(const unsigned char *head, size_t n, const char *const *magics)
{
    for (; *magics; magics++)
        if (begins(head, n, *magics) && binary_follows(head, n, strlen(*magics)))
            return MAGIC_BID;
    return 0;
}

static int ggml(const unsigned char *head, size_t n, const char *ext)
{
    static const char *const magics[] = {"lmgg", "fmgg", "tjgg", "algg", NULL};
    (void)ext;
    return letters(head, n, magics);
}

static int finalfusion(const unsigned char *head, size_t n, const char *ext)
{
    static const char *const magics[] = {"FiFu", NULL};
    (void)ext;
    return letters(head, n, magics);
}

static int parquet(const unsigned char *head, size_t n, const char *ext)
{
    static const char *const magics[] = {"PAR1", "PARE", NULL};
    (void)ext;
    return letters(head, n, magics);
}

/* Arrow file, Feather v1, and the stream form: a continuation mark, then a length below 2^31. */
static int arrow(const unsigned char *head, size_t n, const char *ext)
{
    static const char *const magics[] = {"ARROW1", "FEA1", NULL};
    (void)ext;
    if (n >= 8 && embi_le32(head) == UINT32_MAX && embi_le32(head + 4) - 1 < INT32_MAX)
        return NAME_BID;
    return letters(head, n, magics);
}

static int zip_archive(const unsigned char *head, size_t n, const char *ext)
{
    (void)ext;
    return embi_is_zip(head, n) ? MAGIC_BID : 0;
}

static int gzip(const unsigned char *head, size_t n, const char *ext)
{
    (void)ext;
    return embi_is_gzip(head, n) ? MAGIC_BID : 0;
}

/* PROTO 2..5, then an opcode. A file that begins with the length 640 of a safetensors header has 0
 * there. */
static int pickle(const unsigned char *head, size_t n, const char *ext)
{
    (void)ext;
    return n >= 3 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 && head[2] ? MAGIC_BID : 0;
}

/* The superblock may follow a block of another program's: at 512, 1024, 2048 ... */
static int hdf5(const unsigned char *head, size_t n, const char *ext)
{
    (void)ext;
    for (size_t at = 0; at < n; at = at ? 2 * at : 512)
        if (begins(head + at, n - at, "\x89HDF\r\n\x1A\n"))
            return MAGIC_BID;
    return 0;
}

static int bzip2(const unsigned char *head, size_t n, const char *ext)
{
    (void)ext;
    return n >= 10 && begins(head, n, "BZh") && begins(head + 4, n - 4, "1AY&SY") ? MAGIC_BID : 0;
}

static int html(const unsigned char *head, size_t n, const char *ext)
{
    (void)ext;
    bool page = begins_any_case(head, n, "<!doctype") || begins_any_case(head, n, "<html") ||
                begins(head, n, "<?xml");
    return page ? MAGIC_BID : 0;
}

static int json_error(const unsigned char *head, size_t n, const char *ext)
{
    (void)ext;
    return begins(head, n, "{\"error\"") || begins(head, n, "{\"message\"") ? MAGIC_BID : 0;
}

static int json(const unsigned char *head, size_t n, const char *ext)
{
    (void)head;
    (void)n;
    return strcmp(ext, ".json") == 0 ? NAME_BID : 0;
}

static int sentencepiece(const unsigned char *head, size_t n, const char *ext)
{
    bool named = strcmp(ext, ".model") == 0 || strcmp(ext, ".spm") == 0;
    return named && n >= 3 && head[0] == 0x0A && head[2] == 0x0A ? NAME_BID : 0;
}

static int tiktoken(const unsigned char *head, size_t n, const char *ext)
{
    (void)head;
    (void)n;
    return strcmp(ext, ".tiktoken") == 0 ? NAME_BID : 0;
}

static int onnx(const unsigned char *head, size_t n, const char *ext)
{
    return strcmp(ext, ".onnx") == 0 && n >= 2 && head[0] == 0x08 ? NAME_BID : 0;
}

/* Text that is parted by blanks is read, whatever it is called. */
static int csv(const unsigned char *head, size_t n, const char *ext)
{
    const unsigned char *end = memchr(head, '\n', n);
    bool comma = memchr(head, ',', end ? (size_t)(end - head) : n) != NULL;
    return comma && strcmp(ext, ".csv") == 0 ? CSV_BID : 0;
}

#define MAGIC(bytes) NULL, (bytes), sizeof(bytes) - 1

static const struct embi_foreign kinds[] = {
    {lfs_pointer, NULL, 0, "a Git LFS pointer"},
    {ggml, NULL, 0, "a llama.cpp model from before GGUF: not read; convert it to GGUF"},
    {zip_archive, NULL, 0, "a zip archive inside another: not read; unzip it first"},
    {pickle, NULL, 0, "a Python pickle: not read, since reading one means running it"},
    {finalfusion, NULL, 0, "finalfusion: not read by this version; convert it to word2vec"},
    {MAGIC("\xBA\x16\x4F\x2F"), "a fastText model: not read by this version; use its .vec file"},
    {hdf5, NULL, 0, "HDF5: not read; h5py and numpy.save make an .npy file of it"},
    {parquet, NULL, 0, "Parquet: not read; pyarrow and numpy.save make an .npy file of it"},
    {arrow, NULL, 0, "Arrow or Feather: not read; pyarrow and numpy.save make an .npy file of it"},
    {MAGIC("SQLite format 3"),
     "an SQLite database (Magnitude?): not read; convert it to text or .npy"},
    {gzip, NULL, 0, "gzip inside gzip: not read; gunzip it first"},
    {MAGIC("\x28\xB5\x2F\xFD"), "zstd: not read by this version; unzstd it first"},
    {MAGIC("\xFD\x37zXZ"), "xz: not read by this version; unxz it first"},
    {bzip2, NULL, 0, "bzip2: not read by this version; bunzip2 it first"},
    {html, NULL, 0, "a web page (HTML or XML), not a table: the download went wrong"},
    {json_error, NULL, 0, "a server's error message, not a table: the download went wrong"},
    {json, NULL, 0, "a JSON document, not a table"},
    {sentencepiece, NULL, 0, "a sentencepiece tokenizer, not a table"},
    {tiktoken, NULL, 0, "a tiktoken vocabulary, not a table"},
    {csv, NULL, 0,
     "comma-separated values: not read; pandas and numpy.save make an .npy file of them"},
    {onnx, NULL, 0, "ONNX: not read by this version; convert it to safetensors"},
};

static int kind_bid(const struct embi_foreign *kind, const unsigned char *head, size_t n,
                    const char *ext)
{
    if (kind->probe)
        return kind->probe(head, n, ext);
    return n >= kind->magic_bytes && memcmp(head, kind->magic, kind->magic_bytes) == 0 ? MAGIC_BID
                                                                                       : 0;
}

const struct embi_foreign *embi_foreign_find(const unsigned char *head, size_t n, const char *ext,
                                             int *bid)
{
    const struct embi_foreign *best = NULL;
    *bid = 0;
    for (size_t i = 0; i < EMBI_LEN(kinds); i++) {
        int b = kind_bid(&kinds[i], head, n, ext);
        if (b > *bid) {
            *bid = b;
            best = &kinds[i];
        }
    }
    return best;
}

/* The number of a pointer's line "size N"; false if there is none. */
static bool pointer_size(const unsigned char *head, size_t n, uint64_t *size)
{
    static const char line[] = "\nsize ";
    const unsigned char *p = memmem(head, n, line, sizeof line - 1);
    const unsigned char *end = head + n;
    if (!p || p + sizeof line - 1 == end)
        return false;
    *size = 0;
    for (p += sizeof line - 1; p < end && *p >= '0' && *p <= '9'; p++)
        if (!embi_mul(*size, 10, size) || !embi_add(*size, (uint64_t)(*p - '0'), size))
            return false;
    return true;
}

emb_status embi_foreign_fail(const struct embi_foreign *kind, const unsigned char *head, size_t n,
                             emb_err *err)
{
    uint64_t size;
    if (kind->probe != lfs_pointer)
        return embi_fail(err, EMB_UNSUPPORTED, 0, "%s", kind->words);
    if (!pointer_size(head, n, &size))
        return embi_fail(err, EMB_BAD_DATA, 0,
                         "%s: the file itself was not pulled; run git lfs pull", kind->words);
    return embi_fail(err, EMB_BAD_DATA, 0,
                     "%s: the file itself (%" PRIu64 " bytes) was not pulled; run git lfs pull",
                     kind->words, size);
}

/* fmt.h - what bytes mean. A format is a const struct in a file of its own and one line in fmt.c.
 *
 * Reading: `open` looks at the header and lists the tensors that the file holds. Most formats need
 * no more: shared code turns one of the tensors into a layout and does all reading (table/).
 * Formats whose rows can only be found by walking over the file (word2vec, text) have `walk`,
 * called when a row is first needed. Writing: `begin`, `put` for each block, `end`, on an open io.
 *
 * Formats do not know tables, threads or paths.
 */
#ifndef EMBI_FMT_FMT_H
#define EMBI_FMT_FMT_H

#include "fmt/notes.h"
#include "io/io.h"
#include "util/buf.h"

struct embi_format;

#define EMBI_MAX_DIMS EMB_TENSOR_DIMS

/* One tensor of a file. */
struct embi_tensor {
    emb_str name;       /* s NULL in formats without names */
    emb_dtype dtype;    /* EMB_DTYPE_NONE: a type we list but do not compute with */
    char type_name[24]; /* as the file spells it */
    int ndim;
    uint64_t shape[EMBI_MAX_DIMS];
    struct embi_io *io; /* where the elements are; embi_reader_add puts the reader's for NULL */
    uint64_t offset;    /* of element 0 there */
    uint64_t bytes;     /* from element 0 to the end of the last one there */
    bool fortran;       /* first axis fastest */
    bool swap;          /* big-endian elements */
    bool strided; /* neither axis order: strides say where elements are; 0: all in one place */
    uint64_t strides[EMBI_MAX_DIMS]; /* in elements */
};

/* Where the elements of a table [rows, dims] lie: element (r, c) at
 *     (row_offsets ? row_offsets[r] : offset + r * row_stride) + c * col_stride
 * from the start of the file. Of a block type, col_stride is 0 and a row is its blocks. */
struct embi_layout {
    emb_dtype dtype;
    uint64_t rows;
    uint32_t dims;
    uint64_t offset, row_stride, col_stride;
    bool swap;
    const uint64_t *row_offsets; /* [rows], owned by the reader, or NULL */
};

/* Bytes of the elements of a row, side by side. */
static inline size_t embi_layout_row_bytes(const struct embi_layout *layout)
{
    return (size_t)emb_dtype_row_bytes(layout->dtype, layout->dims);
}

/* Byte of the file where a row begins. */
static inline uint64_t embi_layout_row_at(const struct embi_layout *l, uint64_t row)
{
    return l->row_offsets ? l->row_offsets[row] : l->offset + row * l->row_stride;
}

/* What the user said about the file (emb_open_opts). */
struct embi_read_opts {
    emb_dtype input_dtype;
    uint64_t raw_rows;
    uint32_t raw_dims;
    uint64_t raw_offset;
    uint64_t limit_rows; /* walk may stop after that many rows; 0: no limit */
    bool strict;
    bool listing;         /* no row will be read: a type is named where it would be refused */
    bool flat;            /* any number of axes is a table, of the rows of the last one */
    const char *fragment; /* what stands after the path's #, or NULL: a tensor, a member of a zip,
                             or both with a # between; borrowed */
};

/* One open file. The shared part is zeroed and filled by embi_reader_open; formats fill the middle.
 */
struct embi_reader {
    const struct embi_env *env;
    struct embi_io *io;    /* owned: the content, unpacked */
    struct embi_io *outer; /* owned: the zip that io is a member of, or NULL */
    const struct embi_format *format;
    struct embi_read_opts opts;
    const char *path;     /* for warnings; borrowed */
    char *member;         /* the name of the member that io is, or NULL */
    char *inside;         /* what the content is called, where the file is packed; or NULL */
    const char *fragment; /* opts.fragment without the member of a zip: a tensor, or NULL. Only for
                             who opens it */

    struct embi_tensor *tensors; /* [n_tensors], malloc'd; names lie in `names` */
    size_t n_tensors;
    struct embi_buf names;
    struct embi_buf metadata; /* format's own metadata as stored (safetensors: the JSON object) */

    /* Only formats with walk: */
    uint32_t dims;         /* known from open */
    uint64_t rows;         /* valid after walk; before it what a header says, 0: nothing */
    uint64_t *row_offsets; /* [rows], malloc'd: of the row's first element, or of its line */
    emb_str *tokens;       /* [rows], malloc'd; strings lie in the mapped file, or in token_bytes.
                              After walk or tokens */
    char *token_bytes;     /* malloc'd, or NULL */
    bool walked;

    uint64_t n_tokens; /* of formats without walk: `tokens` finds so many, which are those of the
                          tables with as many rows; 0: the file holds none */

    uint32_t shards; /* its tensors are put together out of so many files; 0: they lie in io */

    void *state; /* of the format; freed by its free */
};

/* What goes into a file: filled by the writer, used by formats. */
struct embi_sink {
    const struct embi_env *env;
    struct embi_io *io;
    const struct embi_format *format;
    const emb_array *arrays; /* [n]; shape[0] may be EMB_ROWS_UNKNOWN until `finish`, where the
                                writer has put the true number into arrays[current] */
    size_t n, current;
    uint64_t elements; /* of the current array that were put */
    bool tokens;
    int header;     /* formats of lines: a header line; 1 yes, -1 no, 0 as the format has it */
    char separator; /* formats of lines: between fields; 0: the format's own */
    const char
        *tokens_in; /* the tokens are in a file beside this one, with this ending ("vocab.txt"),
                              which the file says of itself; or NULL */
    const char *const *metadata; /* safetensors: further keys, each with its value
                                    [2 * n_metadata] */
    size_t n_metadata;
    const emb_str *all_tokens; /* [arrays[0].shape[0]] where they were known beforehand, or NULL */
    const struct embi_token_notes *notes; /* of these rows; or NULL. Only with all_tokens */
    struct embi_buf buf;                  /* scratch for text formats */
    void *state;
};

/* caps */
enum {
    EMBI_FMT_READ = 1,
    EMBI_FMT_WRITE = 2,
    EMBI_FMT_TOKENS = 4,         /* holds tokens beside the rows */
    EMBI_FMT_NAMES = 8,          /* tensors have names; several may be written */
    EMBI_FMT_STREAM = 16,        /* can be written without knowing the row count, even to a pipe */
    EMBI_FMT_DECIMAL = 32,       /* numbers stand there as decimal text */
    EMBI_FMT_LINES = 64,         /* lines of fields whose separator and header line may be chosen */
    EMBI_FMT_EXPORT = 128,       /* for other programs: by name, or where a whole table is saved */
    EMBI_FMT_TOKENS_FIRST = 256, /* its tokens stand apart from the rows: it needs all_tokens */
    EMBI_FMT_NOTES = 512         /* and it holds scores, types and roles of tokens */
};

struct embi_beside;

struct embi_format {
    const char *name;
    const char *about; /* for people: "NumPy array" */
    const char *exts;  /* " .npy ": extensions with blanks around */
    unsigned caps;
    const char *array_name; /* what it calls an array without a name; NULL: "embedding.weight" */

    /* 0: no; 100: magic bytes that nothing else has; ext (".npy", lower case) may tip the scales.
     * Sees the first min(size, EMBI_PROBE_BYTES) bytes. */
    int (*probe)(const unsigned char *head, size_t n, uint64_t size, const char *ext);

    /* Reading. */
    emb_status (*open)(struct embi_reader *r, emb_err *err);
    /* After open: the file has so many bytes at most, by its header; 0: that does not say.
     * Optional: where the tensors do not tell. */
    uint64_t (*most)(const struct embi_reader *r);
    /* Finds rows, row_offsets (and tokens, if that costs nothing more). Optional. */
    emb_status (*walk)(struct embi_reader *r, emb_err *err);
    /* Fills r->tokens, after walk where there is one. Optional. */
    emb_status (*tokens)(struct embi_reader *r, emb_err *err);
    /* Fails with the reason why tensor t, whose type can be listed only, is not read; EMB_OK: there
     * is none but that. Optional. */
    emb_status (*explain)(const struct embi_reader *r, const struct embi_tensor *t, emb_err *err);
    /* Only formats whose rows are not stored as numbers: n rows from `first` (after walk) into
     * dst [n, dims] of f32. Thread-safe. err->at = the row. */
    emb_status (*rows)(const struct embi_reader *r, uint64_t first, uint64_t n, float *dst,
                       emb_err *err);

    /* Writing. `check` refuses what the format cannot hold, before anything exists. */
    emb_status (*check)(const struct embi_sink *s, emb_err *err);
    emb_status (*begin)(struct embi_sink *s, emb_err *err); /* the header; optional */
    /* The next n_bytes of the current array: whole rows of its last axis (1-D: elements), native
     * order. tokens: one a row, only where s->tokens. */
    emb_status (*put)(struct embi_sink *s, const void *data, uint64_t n_bytes,
                      const emb_str *tokens, emb_err *err);
    /* The current array is complete (s->arrays[s->current].shape[0] is final). Optional. */
    emb_status (*finish)(struct embi_sink *s, emb_err *err);
    emb_status (*end)(struct embi_sink *s, emb_err *err); /* optional */
    /* Why it cannot hold this token (s NULL: a row without one), as in "a space ends a word"; NULL:
     * it can. For formats with tokens; NULL there: it holds all. */
    const char *(*refuses)(emb_str token);
    emb_str breaks; /* the bytes that it means: a token with others in their place can be held, if
                       it is not too long */
    /* Where a format without tokens has them in a file of its own beside the table: the kinds of
     * that file, best first, ended by {0}. Optional. */
    const struct embi_beside *beside;

    void (*free)(void *state); /* of a reader or a sink; optional */
};

#define EMBI_PROBE_BYTES 4096

extern const struct embi_format embi_format_safetensors, embi_format_npy, embi_format_npz,
    embi_format_word2vec, embi_format_word2vec_text, embi_format_text, embi_format_raw,
    embi_format_torch, embi_format_gguf, embi_format_csv, embi_format_tsv;

/* All formats, ended by NULL, cheapest probe first. */
extern const struct embi_format *const embi_formats[];

const struct embi_format *embi_format_by_name(const char *name);
/* Does a format go by the path's extension that is read, and has a header? */
bool embi_format_has_header(const char *path);
/* For writing: by the extension of a path; formats for other programs only where `exports`. */
const struct embi_format *embi_format_by_ext(const char *path, bool exports);
/* Where that is NULL: the status, and a message with the names of those that it chooses from. */
emb_status embi_format_fail_ext(emb_status status, bool exports, emb_err *err);

/* The format of these bytes. Files that are known but not tables (Git LFS pointers, HTML error
 * pages, pickles, HDF5 ...) are EMB_UNSUPPORTED or EMB_BAD_DATA by name. */
emb_status embi_format_probe(struct embi_io *io, const char *path,
                             const struct embi_format **format, emb_err *err);

/* Opens io (taken over, closed on failure too) as `format`, or as what its bytes say if NULL. What
 * is packed is unpacked first. */
emb_status embi_reader_open(const struct embi_env *env, struct embi_io *io, const char *path,
                            const struct embi_format *format, const struct embi_read_opts *opts,
                            struct embi_reader **reader, emb_err *err);
void embi_reader_close(struct embi_reader *r);

/* What the content is called, for its extension. */
static inline const char *embi_reader_name(const struct embi_reader *r)
{
    return r->inside ? r->inside : r->path;
}

/* EMB_BAD_DATA where the file ends before tensor i does. The header of a cut file may be whole, so
 * some formats (GGUF) list such tensors; who reads one asks before. */
emb_status embi_reader_whole(const struct embi_reader *r, size_t i, emb_err *err);

/* The layout of tensor i, which must be 2-D (with opts.flat of any number of axes, in C order) and
 * of a type we compute with, and all there; of a cut
 * one the first rows are enough where the options ask for no more. */
emb_status embi_reader_layout(const struct embi_reader *r, size_t i, struct embi_layout *layout,
                              emb_err *err);

/* Appends a tensor entry; the name is copied. For formats' open. */
emb_status embi_reader_add(struct embi_reader *r, emb_str name, const struct embi_tensor *tensor,
                           emb_err *err);

/* dtype from a safetensors or numpy-like name is each format's own table; this is the element
 * count. */
bool embi_shape_count(const uint64_t *shape, int ndim, uint64_t *count);

#endif

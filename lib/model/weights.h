/* weights.h - the tensors of a model, in whichever files they lie.
 *
 * A model is one file of named tensors, or shards with an index that says which tensor lies in
 * which. Names are known from the start; types, shapes and places only of files whose header was
 * read, which happens when it is asked for: a table of a model of two hundred shards opens one of
 * them. Implements docs/formats/model.md, "weights".
 */
#ifndef EMBI_MODEL_WEIGHTS_H
#define EMBI_MODEL_WEIGHTS_H

#include "fmt/fmt.h"

#define EMBI_NO_TENSOR SIZE_MAX

struct embi_weights_file {
    char *name;                 /* inside the directory; malloc'd                             */
    char *path;                 /* malloc'd                                                   */
    struct embi_reader *reader; /* NULL: not opened                                           */
    bool lent;                  /* the reader belongs to a table now                          */
    bool named;                 /* by the user: messages begin with its path                  */
};

struct embi_weights_tensor {
    emb_str name; /* borrowed from weights.names, or from the reader of its file */
    size_t file;
    size_t at; /* in its reader; EMBI_NO_TENSOR: its header was not read */
};

struct embi_weights {
    const struct embi_env *env;
    struct embi_read_opts opts;
    struct embi_weights_file *files; /* [n_files]                                             */
    size_t n_files;
    struct embi_weights_tensor *tensors; /* [n_tensors]                                       */
    size_t n_tensors;
    struct embi_buf names; /* never moves */
    bool indexed;          /* an index names the tensors; else the files themselves do */
    emb_status missing;    /* of asking for what other files of the model may have that are not
                              here, or EMB_OK: all are                                  */
    char missing_why[160];
};

/* One file that is open already, and the other parts of a split model; takes the reader over, on
 * failure too. */
emb_status embi_weights_of_reader(struct embi_reader *reader, struct embi_weights *w, emb_err *err);

/* Adds the file dir/name, which is open as that reader, with all its tensors; takes the reader
 * over, on failure too. */
emb_status embi_weights_take_reader(struct embi_weights *w, const char *dir, const char *name,
                                    struct embi_reader *reader, emb_err *err);

/* The weights of a directory, by the loaders' order: model.safetensors, its index,
 * pytorch_model.bin, its index, shards of a table (model/shards.h), a *.safetensors that is the
 * only one, a GGUF model that is. A single file beside an index wins, with a warning (opts->strict:
 * an error) that names both.
 * EMB_UNSUPPORTED: there are only weights of kinds that are not read. */
emb_status embi_weights_open(const struct embi_env *env, const char *dir,
                             const struct embi_read_opts *opts, struct embi_weights *w,
                             emb_err *err);

/* Does the directory hold weights under the names that loaders know? */
bool embi_weights_in(const struct embi_env *env, const char *dir);

void embi_weights_free(struct embi_weights *w);

/* The tensor, its file's header read. Messages begin with the name of the file. EMB_BAD_DATA: the
 * index promises a tensor that its file does not have. */
emb_status embi_weights_read(struct embi_weights *w, size_t i, const struct embi_tensor **tensor,
                             emb_err *err);

/* Reads the headers of all files that there are; read_all: and fails where some are missing. */
emb_status embi_weights_read_there(struct embi_weights *w, emb_err *err);
emb_status embi_weights_read_all(struct embi_weights *w, emb_err *err);

/* w->missing: a file is not here that may hold what no other does. EMB_IO: it is not there;
 * EMB_UNSUPPORTED: nobody knows where it is. */
emb_status embi_weights_whole(const struct embi_weights *w, emb_err *err);

/* EMB_BAD_DATA where two tensors have one name: which one counts cannot be known. */
emb_status embi_weights_names_differ(const struct embi_weights *w, emb_err *err);

/* Bytes of all tensors in the files whose header was read, those that an index lacks too. */
uint64_t embi_weights_bytes(const struct embi_weights *w);

/* Numbers in the same tensors, where all of them are f64, f32, f16 or bf16; else 0: packed weights
 * and indices are counted differently from library to library. */
uint64_t embi_weights_floats(const struct embi_weights *w);

/* The reader of tensor i for a table that will close it; it stays usable here while that lives. */
struct embi_reader *embi_weights_lend(struct embi_weights *w, size_t i);

/* The tensor of exactly this name, or EMBI_NO_TENSOR. */
size_t embi_weights_find(const struct embi_weights *w, emb_str name);

/* Are two tensors of one type, one shape and the same bytes? */
emb_status embi_weights_same(struct embi_weights *w, size_t a, size_t b, bool *same, emb_err *err);

/* index.c: fills files and tensors from an index, the n bytes at s; dir is where the files lie.
 * Names that are not those of a file in dir are EMB_BAD_DATA. */
emb_status embi_index_parse(const char *s, size_t n, const char *dir, struct embi_weights *w,
                            emb_err *err);

/* Adds a file; both strings are copied or made. */
emb_status embi_weights_add_file(struct embi_weights *w, const char *dir, emb_str name,
                                 emb_err *err);

#endif

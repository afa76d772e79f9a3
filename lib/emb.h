/* emb.h - libemb, a library for embedding tables.
 *
 * An embedding table is a matrix [V, d]: V rows, one for each token, of d numbers. It is a lookup,
 * not a function: row i is the vector of token i. This header is the manual and the whole public
 * interface; nothing else of the library is meant to be called.
 *
 * Basic outline for reading a table:
 *
 *     emb_err err;
 *     emb_ctx *ctx;
 *     emb_table *table;
 *     if (emb_ctx_new(NULL, &ctx, &err) != EMB_OK) ...              (say err.msg)
 *     if (emb_table_open(ctx, "words.bin", NULL, &table, &err) != EMB_OK) ...
 *     uint64_t row;
 *     if (emb_table_find(table, (emb_str){"cat", 3}, &row, &err) == EMB_OK) {
 *         float v[300];
 *         emb_block dst = {.data = v, .rows = 1, .dims = 300, .dtype = EMB_F32};
 *         emb_table_gather(table, &row, 1, &dst, &err);
 *     }
 *     emb_table_close(table);
 *     emb_ctx_free(ctx);
 *
 * Rules that hold for every function here:
 *
 *  - Failure. A function that can fail returns an emb_status, fills *err (which may not be NULL)
 *    and undoes what it had begun; output arguments then hold nothing that must be freed. The
 *    library prints nothing and never exits; warnings go to the log callback of the context.
 *  - Threads. A context may be used by one thread at a time. A table may be read (map, gather,
 *    scan, search, stats, find) by one thread at a time as well; the library itself uses as many
 *    threads as the context allows, and the results do not depend on how many.
 *  - Memory. What a function hands out with the word "borrowed" belongs to the object it came from
 *    and lives until that object is closed. Everything else says who frees it.
 *  - Files are mapped where that is possible. A mapped file that another program makes shorter
 *    raises SIGBUS in the thread that reads past its new end: a program that must live through
 *    that installs a handler.
 *  - Option structs begin with `size`, which the caller sets to sizeof the struct; zero means the
 *    default in every other member; NULL for the whole struct means all defaults.
 *  - Shapes are written in brackets, slowest axis first: [V, d]. Rows are stored one after another.
 */
#ifndef EMB_H
#define EMB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EMB_API __attribute__((visibility("default")))
#else
#define EMB_API
#endif

/* ------------------------------------------------------------------------------------------------
 * Status and errors
 */

/* What became of a call. The numbers are stable. */
typedef enum emb_status {
    EMB_OK = 0,
    EMB_STOPPED = 1,      /* a callback asked to stop: not an error */
    EMB_NOT_FOUND = 2,    /* the token is not in the vocabulary */
    EMB_BAD_ARG = 10,     /* an argument or option makes no sense */
    EMB_RANGE = 11,       /* a row is outside 0..V-1; err.at is its place in the argument */
    EMB_BAD_DATA = 20,    /* a file or a value breaks its format's rules */
    EMB_UNSUPPORTED = 21, /* well formed, but not something this library reads or writes */
    EMB_IO = 30,          /* the system refused; err.sys is errno */
    EMB_EXISTS = 31,      /* the output exists and may not be overwritten */
    EMB_NO_MEMORY = 40,
    EMB_DEVICE = 41, /* a device or plugin is missing or failed */
    EMB_BUG = 99     /* an invariant of the library does not hold */
} emb_status;

/* One error. `msg` says what, where, expected and found, in one line without a full stop; it never
 * holds the path of the table, which the caller knows. */
typedef struct emb_err {
    emb_status status;
    int sys;    /* errno where the system refused, else 0 */
    int64_t at; /* byte offset, row or item that the message speaks of; -1 where there is none */
    char msg[240];
} emb_err;

/* A byte string: n bytes at s, not NUL-terminated, of any value. Tokens are byte strings: they may
 * hold spaces, newlines, NUL and bytes that are not UTF-8. Borrowed where a function
 * returns one. */
typedef struct emb_str {
    const char *s;
    size_t n;
} emb_str;

/* The version of this header and of the library that answers, "MAJOR.MINOR.PATCH". */
#define EMB_VERSION "0.1.0"
EMB_API const char *emb_version(void);

/* ------------------------------------------------------------------------------------------------
 * Element types
 *
 * How one number is stored. The 8-bit floats are those of safetensors: E4M3 is the variant without
 * infinities (OCP OFP8 "E4M3FN"), E5M2 has them, the FNUZ variants have one NaN and no negative
 * zero, E8M0 holds powers of two only. Integers are tables too (quantised ids, counts).
 *
 * The block types, EMB_Q4_0 and those after it, are the quantised types of GGUF: 32 to 256
 * numbers of a row share a scale and lie in one block of bytes. A single number has no bytes of its
 * own there, so rows and whole blocks are what is copied and converted; d is a multiple of the
 * block. Their numbers are f32: every function that computes reads them as that.
 */
typedef enum emb_dtype {
    EMB_DTYPE_NONE = 0, /* not said: keep what there is */
    EMB_F64,
    EMB_F32,
    EMB_F16,
    EMB_BF16,
    EMB_F8_E4M3,
    EMB_F8_E5M2,
    EMB_F8_E4M3FNUZ,
    EMB_F8_E5M2FNUZ,
    EMB_F8_E8M0,
    EMB_I8,
    EMB_U8,
    EMB_I16,
    EMB_U16,
    EMB_I32,
    EMB_U32,
    EMB_I64,
    EMB_U64,
    EMB_BOOL,
    EMB_Q4_0,
    EMB_Q4_1,
    EMB_Q5_0,
    EMB_Q5_1,
    EMB_Q8_0,
    EMB_Q2_K,
    EMB_Q3_K,
    EMB_Q4_K,
    EMB_Q5_K,
    EMB_Q6_K,
    EMB_IQ4_NL,
    EMB_IQ4_XS,
    EMB_MXFP4,
    EMB_NVFP4,
    EMB_TQ1_0,
    EMB_TQ2_0,
    EMB_Q1_0,
    EMB_Q2_0,
    EMB_DTYPE_COUNT
} emb_dtype;

/* "f32", "bf16", "f8_e4m3", "q4_k" ... ; "none" for EMB_DTYPE_NONE. Never NULL. */
EMB_API const char *emb_dtype_name(emb_dtype dtype);

/* The type of that name (lower case, as emb_dtype_name gives it), or EMB_DTYPE_NONE. */
EMB_API emb_dtype emb_dtype_parse(const char *name);

/* Bytes of one element; 0 for EMB_DTYPE_NONE and for block types: see emb_dtype_row_bytes. */
EMB_API size_t emb_dtype_bytes(emb_dtype dtype);

/* Numbers that lie in one block: 32, 64, 128 or 256 for block types, 1 for the others, 0 for
 * EMB_DTYPE_NONE. */
EMB_API uint32_t emb_dtype_block(emb_dtype dtype);

/* Bytes of a row of `dims` numbers without gaps; 0 where dims is no multiple of the block, and for
 * EMB_DTYPE_NONE. */
EMB_API uint64_t emb_dtype_row_bytes(emb_dtype dtype, uint32_t dims);

/* Can numbers be put into that type? Into all but most block types: q8_0 and q4_0 can be made. */
EMB_API bool emb_dtype_writable(emb_dtype dtype);

/* True for f64, f32, f16, bf16 and the 8-bit floats. */
EMB_API bool emb_dtype_is_float(emb_dtype dtype);

/* Converts n numbers, each rounded once (nearest, ties to even). A number that overflows f32, f16,
 * bf16 or e5m2 becomes an infinity, in e4m3 and the FNUZ types a NaN (as in PyTorch), and so does
 * one that e8m0 has no code for (zero, negative, too large); *overflows, when not NULL, grows by
 * the number of finite values that did. To an integer type only a whole number in range can go:
 * EMB_BAD_DATA with err->at = the first element that cannot, where dst is filled up to it.
 * A block type gives f32, which then goes on to other types. EMB_BAD_ARG: EMB_DTYPE_NONE, or n is
 * no multiple of a block type's block. EMB_UNSUPPORTED: to a block type that is another one.
 * EMB_BAD_DATA with err->at: a number that a block type cannot hold, NaN, an infinity or one beyond
 * f32. src and dst may not overlap; neither needs alignment. */
EMB_API emb_status emb_convert(void *dst, emb_dtype dst_dtype, const void *src, emb_dtype src_dtype,
                               size_t n, uint64_t *overflows, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Numbers as text
 *
 * Reading is correctly rounded, once, whatever the locale; printing gives the shortest decimal that
 * reads back to the same value of its type, the closest one if there are several.
 */
#define EMB_NUMBER_MAX 32 /* bytes that emb_number_print may need; no NUL is written */

/* Prints the element of type dtype at *value; returns the length, 0 for a block type. */
EMB_API size_t emb_number_print(char *out, emb_dtype dtype, const void *value);

/* Prints x with 1..17 significant digits, trailing zeros dropped; 0 means the shortest. */
EMB_API size_t emb_number_digits(char *out, double x, int digits);

/* Reads the whole of `text` as one decimal number into the element *value of a float type
 * (f64, f32, f16, bf16). False where it is not one. */
EMB_API bool emb_number_parse(emb_str text, emb_dtype dtype, void *value);

/* ------------------------------------------------------------------------------------------------
 * Context: threads, the log, the instruction sets in use
 */
typedef struct emb_ctx emb_ctx;

enum { EMB_LOG_WARNING = 1, EMB_LOG_NOTE = 2, EMB_LOG_DEBUG = 3 };

/* One line, without a newline. `path` is the table or file it speaks of, or NULL. */
typedef void emb_log_fn(void *arg, int level, const char *path, const char *line);

/* Something that is being written has the temporary name `path` now (there), or has it no longer.
 * A program that may be ended by a signal keeps `path`, which stays as it is until it is gone, and
 * calls emb_temp_remove with it in the handler. Called in the thread that writes, with its signals
 * blocked. Most files have no name at all until they are complete; a directory that is being
 * written always has one. */
typedef void emb_temp_fn(void *arg, const char *path, bool there);

/* Removes the file or directory that has that temporary name. May be called in a signal handler. */
EMB_API void emb_temp_remove(const char *path);

/* Of a file that comes whole from a server, `bytes` of `total` are there (0: nobody knows how many
 * there are): called as they come, in any thread, but not by two at once. */
typedef void emb_download_fn(void *arg, const char *name, uint64_t bytes, uint64_t total);
/* What s3://bucket/key is asked with; NULL members are not known. What is not known here may be in
 * the files of Amazon's own tools, which are read when an object is asked for. */
typedef struct emb_s3_opts {
    size_t size;
    const char *access_key; /* both, or requests are not signed */
    const char *secret_key;
    const char *session_token; /* of keys that are good for some time */
    const char *region;        /* NULL: us-east-1; of a bucket elsewhere S3 says where it is */
    const char *endpoint;      /* "https://host:port" of a server that is not Amazon's; buckets are
                                  then the first part of the path. A session token goes to no
                                  http:// host but this machine */
    const char *profile;       /* the section of these files; NULL: the one named "default" */
    const char *config_file;   /* NULL: HOME/.aws/config */
    const char *credentials_file; /* NULL: HOME/.aws/credentials */
    const char *home;             /* the user's folder, this HOME; NULL: neither is looked for */
} emb_s3_opts;

typedef struct emb_ctx_opts {
    size_t size;
    int threads;             /* 0: one for each CPU that this process may use */
    const char *disable_cpu; /* instruction sets not to use: "avx2" or "avx512,avx2"; for tests */
    emb_log_fn *log;         /* NULL: warnings are dropped */
    void *log_arg;
    const char *hub_cache;   /* where the Hugging Face hub's clients keep what they downloaded, for
                                hf:// names; NULL: there is no such place */
    const char *plugin_path; /* directories with plugins, absolute, separated by ':'; the first that
                                has a plugin gives it. NULL: no plugins */
    emb_temp_fn *temp;       /* NULL: nobody needs to know */
    void *temp_arg;
    const char *temp_dir;       /* where packed tables go whose content is large against the free
                                memory, and what comes from servers, as files without a name; NULL:
                                they stay in memory */
    const char *ca_file;        /* certificates of authorities, in PEM, to believe in place of the
                             system's, for https://; NULL: the system's */
    const char *hub_endpoint;   /* address of the hub; NULL: https://huggingface.co */
    const char *hub_token;      /* who asks there, told to that server alone, by https or to this
                                   machine; NULL: the file says it */
    const char *hub_token_file; /* its first word, read when it is first needed; NULL, or no such
                                   file: nobody in particular asks */
    bool hub_offline;           /* what the hub's cache has not is not asked for */
    emb_download_fn *download;  /* NULL: nobody needs to know */
    void *download_arg;
    const char *cache_dir; /* where ranges of files on servers are kept for the next run; it is made
                                when something is; NULL: nothing is kept */
    uint64_t cache_bytes;  /* that it may take on the disk; 0: EMB_CACHE_BYTES */
    const char *netrc; /* a file with names and passwords for hosts, as curl reads it, for https://
                              and for this machine itself; NULL: nobody is told one */
    const emb_s3_opts *s3; /* NULL: nothing is known */
} emb_ctx_opts;

#define EMB_CACHE_BYTES (UINT64_C(8) << 30)

/* EMB_BAD_ARG: threads outside 0..4096. Threads are started when there is work for them. Free with
 * emb_ctx_free, after everything that was made with it; NULL is allowed there. */
EMB_API emb_status emb_ctx_new(const emb_ctx_opts *opts, emb_ctx **ctx, emb_err *err);
EMB_API void emb_ctx_free(emb_ctx *ctx);

/* The threads the context may use, and the name of its kernel set ("scalar", "avx2", "avx512"; a
 * constant string). */
EMB_API int emb_ctx_threads(const emb_ctx *ctx);
EMB_API const char *emb_ctx_kernels(const emb_ctx *ctx);

/* Plugins bring what needs a large library: "blas" (libemb-blas.so) brings OpenBLAS. A plugin is
 * loaded when something first needs it and stays in the process to its end.
 *
 * OpenBLAS reads the environment while it is loaded, and chooses its code by the CPU's model
 * number: models newer than itself get code for CPUs of 2004. A program that lets this plugin be
 * used therefore sets, while it has one thread, OPENBLAS_CORETYPE to emb_ctx_blas_core, unless the
 * user set it, and OPENBLAS_NUM_THREADS to 1. The library, which neither reads nor writes the
 * environment, holds OpenBLAS at one thread in any case, and never chooses it by itself where it
 * runs code for a CPU without AVX2 on one that has it. */

/* Is there a file for the plugin of that name? It is not loaded. */
EMB_API bool emb_ctx_plugin(const emb_ctx *ctx, const char *name);

/* The OPENBLAS_CORETYPE for what this CPU can do, without what the context turned off; a constant
 * string, or NULL: OpenBLAS may choose. */
EMB_API const char *emb_ctx_blas_core(const emb_ctx *ctx);

/* Loads the BLAS plugin, if that was not done yet; *about says what it runs, "OpenBLAS 0.3.21 ...
 * SkylakeX ..." (a constant string). EMB_DEVICE: it is not there, cannot be loaded, or is of
 * another version. */
EMB_API emb_status emb_ctx_blas(emb_ctx *ctx, const char **about, emb_err *err);

/* A GPU, or several that share the rows of tables. The functions that take one give what they give
 * without it: rows and random numbers have the same bytes, a search has the same rows in the same
 * order with the same scores. */
typedef struct emb_device emb_device;

/* The device of that name: "cpu" is none (*device = NULL, which every function takes); "cuda" is
 * the first one of NVIDIA's driver, "cuda:N" the one of that number; "cuda:N,M,..." are several, at
 * most 64, and "cuda:all" those of the driver on which the kernels run; "auto" is the first one,
 * optional: a search uses it where it is there and likely to be faster, and the CPU goes on where
 * it fails; other functions do not, and it is NULL where there is no plugin. The plugin "cuda" and
 * the driver are loaded here, under "auto" when a search asks for them.
 * A context has one device, which one thread uses at a time; it lives as long as its context, and
 * after all tables. Several GPUs are one device: each has a range of a table's rows, even ones
 * where their memory allows it, and all work at the same time, driven by a thread each.
 * EMB_BAD_ARG: another name, a number twice, or another device than the first time. EMB_DEVICE:
 * there is no plugin, no driver, no such device, or one that is too old; of several the message
 * names the first that failed. */
EMB_API emb_status emb_ctx_device(emb_ctx *ctx, const char *name, emb_device **device,
                                  emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Tables: opening
 */
typedef struct emb_table emb_table;

typedef struct emb_open_opts {
    size_t size;
    const char *format;    /* format name ("npy", "raw" ...); NULL: found from the bytes */
    const char *tensor;    /* tensor name inside the file; NULL: the input embedding */
    const char *vocab;     /* tokens: a file with one a line, or a tokenizer's (tokenizer.json,
                              vocab.json, vocab.txt, SentencePiece, tiktoken, tekken.json), a
                              GGUF file, or a directory that holds a tokenizer. It counts even
                              where the table has tokens of its own */
    emb_dtype input_dtype; /* what opaque bytes are (.npy of dtype V2), and the type of raw rows */
    uint64_t raw_rows;     /* format raw: V; 0: as many as the file holds */
    uint32_t raw_dims;     /* format raw: d */
    uint64_t raw_offset;   /* format raw: bytes before row 0 */
    uint64_t limit_rows;   /* only the first N rows exist; 0: all */
    bool strict;           /* a warning that can change an answer is an error */
    bool head;             /* of a model: the output table, which may be the input embedding */
    bool flat;             /* a tensor with any number of axes is a table of the rows of its last
                              one: [B, L, d] is [B L, d], [d] is [1, d] */
    bool output;           /* what hidden states are multiplied with: the output table of a model,
                              where it is known to have one, else the table that is there */
} emb_open_opts;

/* Opens the table `url`: a path, `path#tensor` (a path that exists with the # in its name wins),
 * "-" for standard input, an http:// or https:// address, or `hf://org/model[@revision][/file]`,
 * which is looked for in the hub's cache and then on the hub. A path, or an address with a slash at
 * its end, may be a model directory (config.json, model.safetensors or shards with their index, a
 * tokenizer): its table is the input embedding, by the architecture; a weights file in such a
 * directory uses what lies beside it, but one of an address does not. A GGUF file is a model by
 * itself, and brings its tokens; where it is one of several parts of a model, any of them stands
 * for all. A gzip file stands for what is in it; of a zip, # names a member (and a second # a
 * tensor in it), without it the only member that looks like a table is meant;
 * docs/formats/archives.md has the rules. Only headers are read, and only those of the files that
 * are needed, except in text tables and word2vec files, where rows can only be found by walking
 * over them: that happens when a row is first needed. A packed member of a zip is unpacked then, a
 * gzip file here. A tokenizer is read when a token is.
 * EMB_IO: the file cannot be read. EMB_BAD_DATA: it breaks its format. EMB_UNSUPPORTED: it is of a
 * kind that is not read here, or has no single tensor that is a table. EMB_BAD_ARG: there is no
 * format or tensor of the name that was given. Close with emb_table_close (NULL is allowed), before
 * its context. */
EMB_API emb_status emb_table_open(emb_ctx *ctx, const char *url, const emb_open_opts *opts,
                                  emb_table **table, emb_err *err);
EMB_API void emb_table_close(emb_table *table);

/* Is the URL a name of the hub (hf://...)? */
EMB_API bool emb_is_hub_name(const char *url);

/* Brings all files of a model into the hub's cache, so that it can be opened whole; not weights in
 * other forms beside safetensors, nor a model without these. url: hf://..., or the path that one
 * was opened from, which emb_table_info has. Elsewhere nothing happens. EMB_IO: a file does not
 * come; what came of it stays, and the next call goes on there. */
EMB_API emb_status emb_hub_bring(emb_ctx *ctx, const char *url, emb_err *err);

#define EMB_TENSOR_DIMS 8 /* axes of a tensor, at most */

typedef struct emb_table_info {
    uint64_t rows;      /* V */
    uint32_t dims;      /* d */
    emb_dtype dtype;    /* as stored; text tables: f32 */
    uint64_t bytes;     /* V * bytes of a row; text tables: bytes of the file */
    bool has_tokens;    /* rows have names */
    const char *format; /* "npy", "safetensors", "gguf", "word2vec", "text" ...       (borrowed) */
    const char *tensor; /* name inside the file, or NULL                              (borrowed) */
    const char *path;   /* the file, without #tensor                                  (borrowed) */
    bool packed;        /* the file is gzip or a zip that the table is inside of */
    bool text;      /* the format is lines of text: what a row takes is known once it is written */
    bool word_rows; /* the format holds the tokens with the rows: there is no list beside it */
    int ndim;       /* as stored: 2, with `flat` any number up to EMB_TENSOR_DIMS */
    uint64_t shape[EMB_TENSOR_DIMS]; /* [ndim]; with limit_rows of what is there, not of that */
    uint32_t shards; /* it is put together out of so many files (emb_shards_write); 0: it is not */
} emb_table_info;

/* The shape, type and place of the table. Text tables and word2vec files are walked over here,
 * since only that gives V and shows that all rows are there: EMB_BAD_DATA names the row that is
 * not. Strings of *info live until the table is closed. */
EMB_API emb_status emb_table_describe(const emb_table *table, emb_table_info *info, emb_err *err);

/* What is known of the model that a table is a part of. */
typedef struct emb_model_info {
    int tied;        /* is the output table the input embedding? 1: only one is stored, or both
                        are, with the same bytes; 0: they differ; -1: no output table is known */
    uint64_t params; /* numbers in all tensors of the model, copies counted once; integers that
                        are indices left out. 0: not known, because a file is missing, say */
    uint64_t table_params; /* those of them in this table */
    uint64_t positions;    /* rows of its tables of learned positions that are d wide; 0: none */
    const char *type;      /* model_type of config.json, or the architecture that a GGUF file
                              gives, or NULL                                          (borrowed) */
} emb_model_info;

/* Reads the headers of all the model's files, and the output table where one is stored. A table
 * that is part of no model gives {-1, 0, 0, 0, NULL}. */
EMB_API emb_status emb_table_model(const emb_table *table, emb_model_info *info, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Tensors
 */

/* One tensor of a file. */
typedef struct emb_tensor_info {
    emb_str name;      /* s NULL: the format has no names */
    const char *dtype; /* "f32" ...; of a type that is not computed with, as the file spells it */
    int ndim;
    uint64_t shape[EMB_TENSOR_DIMS]; /* [ndim] */
    uint64_t bytes;                  /* that its elements take; text tables: bytes of the file */
    const char *file; /* inside the directory; of a single file its path; in a zip FILE#MEMBER */
    const char *role; /* "embedding": what emb_table_open takes where no tensor is named; "head";
                         NULL: neither, or only a look at the numbers would tell */
} emb_tensor_info;

typedef struct emb_tensors {
    emb_tensor_info *list; /* [n] file by file, in the order of each header */
    size_t n;
} emb_tensors;

/* Lists what is at `url`, which emb_table_open would take as well, from headers alone: all tensors
 * of a file; of the weights of a model's directory; of every file in another directory, or in a zip
 * of several tables, that has a header to tell by. #NAME and opts->tensor leave the tensors of that
 * name. Only rows of text are counted line by line. Free with emb_tensors_free. EMB_IO,
 * EMB_BAD_DATA: a file cannot be read, or breaks its format's rules. EMB_UNSUPPORTED: there is no
 * tensor that can be told. EMB_BAD_ARG: none of that name. */
EMB_API emb_status emb_tensors_list(emb_ctx *ctx, const char *url, const emb_open_opts *opts,
                                    emb_tensors *tensors, emb_err *err);
EMB_API void emb_tensors_free(emb_tensors *tensors);

/* ------------------------------------------------------------------------------------------------
 * What is kept of files on servers (emb_ctx_opts.cache_dir)
 */

/* What a cache has of one address. */
typedef struct emb_cached {
    const char *url; /* without what follows a ? in it; "": the file is damaged, and of no use */
    const char *tag; /* the entity tag that the server gave for this version, with its quotes */
    uint64_t size;   /* bytes of the whole content */
    uint64_t
        bytes; /* that it takes on the disk: of the parts that are there, and what tells them */
    int64_t used_s;    /* when it was used last, in seconds since 1970 */
    int64_t checked_s; /* when the server said last that it is of its version */
} emb_cached;

typedef struct emb_cache {
    emb_cached *list; /* [n] what was used last comes first */
    size_t n;
} emb_cache;

/* Lists a cache. A directory that is not there is an empty one. Free with emb_cache_free. EMB_IO:
 * it cannot be read. Any thread, while others use the cache. */
EMB_API emb_status emb_cache_list(const char *dir, emb_cache *cache, emb_err *err);
EMB_API void emb_cache_free(emb_cache *cache);

/* Removes what is kept of `url`, whatever follows a ? in it; NULL: of all. *files and *bytes [disk]
 * say what went. Files that are no entries of a cache stay. Who reads one that goes reads on.
 * EMB_IO: the directory cannot be read, or a file cannot be removed. */
EMB_API emb_status emb_cache_clear(const char *dir, const char *url, size_t *files, uint64_t *bytes,
                                   emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Tables: rows
 */

/* Rows in memory: `rows` rows of `dims` elements, row r at data + r * stride_bytes. stride_bytes 0
 * means rows without gaps, of emb_dtype_row_bytes each. No alignment is promised or needed. */
typedef struct emb_block {
    void *data;
    uint64_t rows;
    uint32_t dims;
    emb_dtype dtype;
    size_t stride_bytes;
} emb_block;

/* The whole table [V, d] without a copy, of the stored type, if its rows lie in a mapped file as
 * this machine stores numbers, equally far apart; else false. Borrowed. */
EMB_API bool emb_table_map(const emb_table *table, emb_block *view);

/* Copies n rows into dst [n, d], which must have room for n rows (dst->rows >= n) of table.dims
 * elements of dst->dtype, converted as by emb_convert. Rows may repeat and need no order.
 * EMB_RANGE: rows[err->at] >= V, and nothing was copied. EMB_BAD_ARG: dst is too small, of other
 * dims or no type. EMB_BAD_DATA: a row breaks its format (text), or does not fit an integer type;
 * dst is then of no use. */
EMB_API emb_status emb_table_gather(const emb_table *table, const uint64_t *rows, size_t n,
                                    emb_block *dst, emb_err *err);

/* The same by a device: emb_table_gather where that is NULL or an optional one. The table is copied
 * to the device at the first call, and stays there until it is closed; of one that is too large for
 * that the parts with wanted rows are copied at each call. EMB_DEVICE: the device failed. */
EMB_API emb_status emb_device_gather(emb_device *device, const emb_table *table,
                                     const uint64_t *rows, size_t n, emb_block *dst, emb_err *err);

/* Rows that gathers will ask for, perhaps a few at a time: of a table on a server those that are
 * not there yet come now, with as few requests as pay. Of any other table nothing is done. Rows
 * that are not in the table are left out. EMB_IO: they do not come. */
EMB_API emb_status emb_table_prefetch(const emb_table *table, const uint64_t *rows, size_t n,
                                      emb_err *err);

/* The same rows as the product of a one-hot matrix [n, V], whose row i has its 1 at rows[i], with
 * the table [V, d], by the BLAS plugin: 2 n V d operations over the whole table, to show that a
 * lookup is that product. Neither matrix is held as a whole; the product is, in f32 or f64 [n, d].
 * Products with 0 and sums of zeros are exact, so numbers are those that a gather gives, but -0
 * becomes 0. Statuses as for emb_table_gather, and EMB_BAD_DATA with err->at = the row of the table
 * that holds NaN or an infinity: 0 times that is NaN, and so would all of the product be.
 * EMB_UNSUPPORTED: 64-bit integers, which no float of BLAS holds. EMB_DEVICE: as emb_ctx_blas. */
EMB_API emb_status emb_table_multiply(const emb_table *table, const uint64_t *rows, size_t n,
                                      emb_block *dst, emb_err *err);

/* Gets one block of consecutive rows; first is the id of its row 0. Return EMB_OK to go on,
 * EMB_STOPPED to stop, or an error with *err filled. */
typedef emb_status emb_block_fn(void *arg, const emb_block *block, uint64_t first, emb_err *err);

/* Calls fn with rows first .. first+n-1, block after block in row order, in the calling thread, as
 * elements of type `as` (EMB_DTYPE_NONE: as stored, rows of block types as f32). A block is only
 * valid during its call, and may not be written to. Returns what fn did if that was not EMB_OK.
 * EMB_RANGE: some of these rows are not there. EMB_BAD_ARG: d is no multiple of the block of
 * `as`. */
EMB_API emb_status emb_table_scan(const emb_table *table, uint64_t first, uint64_t n, emb_dtype as,
                                  emb_block_fn *fn, void *arg, emb_err *err);

/* A list of row ids in a .npy file: any integer type, shape [n], [B, L] or [A, B, L]. */
typedef struct emb_ids emb_ids;

/* Opens the file `path`; or, where path is NULL, the n bytes at data, which stay the caller's and
 * must stay as they are until the list is closed. EMB_UNSUPPORTED: it holds no integers (floats,
 * for one, are not ids), or is of another shape. EMB_IO, EMB_BAD_DATA: as for a table. Close with
 * emb_ids_close (NULL is allowed), before its context. */
EMB_API emb_status emb_ids_open(emb_ctx *ctx, const char *path, const void *data, size_t n,
                                emb_ids **ids, emb_err *err);
EMB_API void emb_ids_close(emb_ids *ids);

/* Number of axes (1 to 3) and the shape; the number of ids is its product. */
EMB_API int emb_ids_shape(const emb_ids *ids, uint64_t shape[3]);

/* The next n ids, in row-major order whatever the order in the file; the caller asks for no more
 * than are left. Each must be below `rows`. EMB_RANGE: item err->at (counted from 0) is not; the
 * message counts it from 1 and gives it and the range. Nothing of `out` [n] is then of use. */
EMB_API emb_status emb_ids_read(emb_ids *ids, uint64_t rows, uint64_t *out, size_t n, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Tables: tokens
 */

/* The token of a row, borrowed. EMB_NOT_FOUND if the row has none (no vocabulary, padding row);
 * EMB_RANGE if there is no such row. */
EMB_API emb_status emb_table_token(const emb_table *table, uint64_t row, emb_str *token,
                                   emb_err *err);

/* The text that the token of a row stands for, where tokens are pieces in a tokenizer's alphabet:
 * " cat" for "\u0120cat" or "\u2581cat", the byte LF for "<0x0A>". It may be a part of a character.
 * Borrowed until the next call for this table. EMB_NOT_FOUND: the row has no token, or tokens are
 * their own text. */
EMB_API emb_status emb_table_text(const emb_table *table, uint64_t row, emb_str *text,
                                  emb_err *err);

/* The row of exactly this token; of several rows with the same token the first. EMB_NOT_FOUND where
 * no row has it; err->at is then the id of a token that is there but past the end of the table,
 * else -1. The first call builds an index over all tokens (about 12 bytes a token more than the
 * tokens take), and warns once if some are duplicates. */
EMB_API emb_status emb_table_find(const emb_table *table, emb_str token, uint64_t *row,
                                  emb_err *err);

/* The row for a word as a user types it: the exact token first; else, in this order, its byte-level
 * form, "\u2581word" (also for " word"), "word</w>", and another case. "##word" never stands for
 * word. EMB_NOT_FOUND if none is there. Compare the row's token with the word to see which one it
 * was. */
EMB_API emb_status emb_table_resolve(const emb_table *table, emb_str word, uint64_t *row,
                                     emb_err *err);

/* Rows of up to n (and at most 16) tokens that are spelled like `word`, closest first, equal ones
 * by row; *found says how many: none for words above 64 bytes. Takes time in proportion to V: at
 * most a few milliseconds for 100,000 tokens. */
EMB_API emb_status emb_table_suggest(const emb_table *table, emb_str word, uint64_t *rows, size_t n,
                                     size_t *found, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Search
 */
typedef struct emb_hit {
    uint64_t row;
    double score;
} emb_hit;

/* How two vectors are compared. x: a row, q: the query.
 *   cosine     x.q / (|x| |q|), within [-1, 1]; a zero row scores 0
 *   dot        x.q
 *   euclidean  -|x - q| */
typedef enum emb_metric { EMB_COSINE, EMB_DOT, EMB_EUCLIDEAN } emb_metric;

/* What multiplies queries and rows. The hits, their order and their scores are the same. AUTO: the
 * BLAS plugin for many queries, where it is there, and our own loops otherwise. */
typedef enum emb_backend { EMB_BACKEND_AUTO, EMB_BACKEND_NATIVE, EMB_BACKEND_BLAS } emb_backend;

typedef struct emb_search_opts {
    size_t size;
    uint64_t k; /* hits for each query; 0 or more than V: V */
    emb_metric metric;
    bool farthest; /* lowest scores first */
    bool has_min_score;
    double min_score;           /* only hits that score at least this */
    uint64_t restrict_rows;     /* only rows below this may answer; 0: all */
    const uint8_t *allowed;     /* bit r%8 of byte r/8 set: row r may answer; NULL: all  [V/8] */
    const uint64_t *exclude;    /* rows that may not answer, for each query: those of query i */
    const size_t *exclude_ends; /* are exclude[exclude_ends[i-1] .. exclude_ends[i]-1]    [Q] */
    const double *center;       /* subtracted from every row (and already from queries)   [d] */
    emb_backend backend;        /* for emb_search */
    const double
        *bias; /* with EMB_DOT, in emb_search: added to the score of every row; finite [V] */
    emb_device *device; /* for emb_search: finds the candidates; NULL: the CPU does */
} emb_search_opts;

/* What a search met. */
typedef struct emb_search_info {
    uint64_t nonfinite_rows; /* rows that hold NaN or an infinity: they never answer */
    uint64_t exact_queries;  /* queries that needed a second scan because too many rows tied */
} emb_search_info;

/* For each of the Q queries [Q, d] (f32 or f64) the k best rows: hits[i * k .. ] holds counts[i] of
 * them, best first, equal scores by lower row; k = min(opts->k, V). Exact: every score is computed
 * in double precision in one fixed order, and ranks are by that score whatever the threads, the
 * instruction set or the number of queries.
 * EMB_BAD_DATA with err->at = i: query i holds NaN or an infinity, or is zero under cosine.
 * EMB_BAD_ARG: queries of other dims or another type, or options that make no sense. EMB_DEVICE:
 * the BLAS plugin was asked for, and emb_ctx_blas fails; or the device failed. opts may be NULL
 * (all rows, by cosine), and so may info. */
EMB_API emb_status emb_search(const emb_table *table, const emb_block *queries,
                              const emb_search_opts *opts, emb_hit *hits /* [Q, k] */,
                              size_t *counts /* [Q] */, emb_search_info *info, emb_err *err);

/* 3CosMul (Levy and Goldberg, CoNLL 2014): one query made of n terms [n, d] with weights: rows are
 * ranked by prod_{w>0} s_i^w / prod_{w<0} (s_i^|w| + 0.001), s_i = (1 + cos(row, term i)) / 2.
 * opts->metric must be cosine; `exclude_ends` has one entry. EMB_BAD_DATA with err->at = i: term i
 * is zero, or it or its weight is not finite. */
EMB_API emb_status emb_search_mul(const emb_table *table, const emb_block *terms,
                                  const double *weights /* [n] */, const emb_search_opts *opts,
                                  emb_hit *hits /* [k] */, size_t *count, emb_search_info *info,
                                  emb_err *err);

/* The score of two vectors [d] of finite numbers by a metric, as emb_search computes it. */
EMB_API double emb_score(const double *a, const double *b, uint32_t dims, emb_metric metric);

/* query[d] = sum of weights[i] * terms[i] [n, d] in double precision; with unit_terms each term is
 * first scaled to length 1, as word2vec and gensim do. Terms are of any float type. EMB_BAD_DATA
 * with err->at = i: term i is zero (unit_terms) or not finite. */
EMB_API emb_status emb_combine(const emb_block *terms, const double *weights, bool unit_terms,
                               double *query, emb_err *err);

/* mean[d] = the mean of the rows that hold no NaN or infinity, summed in double precision.
 * EMB_BAD_DATA: there is no such row. */
EMB_API emb_status emb_mean_row(const emb_table *table, double *mean, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Statistics
 */
typedef struct emb_stats_opts {
    size_t size;
    bool columns;   /* fill col_mean, col_std, col_min, col_max */
    bool list_rows; /* fill the lists of odd rows */
} emb_stats_opts;

/* Figures are over the rows that hold no NaN or infinity; norms are L2. The standard deviation is
 * that of the population. All figures are NaN when there is no such row. */
typedef struct emb_stats {
    uint64_t rows, finite_rows;
    double mean, std, min, max; /* over all values */
    double norm_min, norm_p05, norm_median, norm_p95, norm_max, norm_mean;
    uint64_t norm_min_row, norm_max_row; /* lowest row where several tie */
    uint64_t zero_rows, nonfinite_rows;
    uint64_t duplicate_rows;                        /* rows equal, bit for bit, to an earlier one */
    uint64_t histogram[20];                         /* of norms, equal steps norm_min..norm_max */
    double *col_mean, *col_std, *col_min, *col_max; /* [d] each, or NULL */
    uint64_t *zero_list, *nonfinite_list, *duplicate_list; /* rows in order, or NULL */
} emb_stats;

/* One pass over the table. Free with emb_stats_free. The bytes of the result depend on the table
 * alone. Quantiles are those of numpy's default method (linear interpolation). */
EMB_API emb_status emb_stats_run(const emb_table *table, const emb_stats_opts *opts,
                                 emb_stats *stats, emb_err *err);
EMB_API void emb_stats_free(emb_stats *stats);

/* How the rows of a table are spread over its dimensions. Rows with NaN or an infinity are left
 * out. A member without an answer is NaN: mean_cosine of fewer than two rows that are not zero, the
 * others of a table without a number that is not zero. */
typedef struct emb_spectrum {
    uint64_t finite_rows;  /* those that took part */
    double mean_cosine;    /* of all pairs of different rows, zero rows left out */
    double effective_rank; /* exp(-sum p ln p), p = value / sum of values: 1 for rows along one
                              line, d for rows spread alike in every direction (Roy and Vetterli,
                              EUSIPCO 2007) */
    size_t n;              /* min(finite_rows, d) */
    double *values;        /* the singular values of the table, largest first           [n] */
    double *shares;        /* value^2 / sum of all values^2                             [n] */
} emb_spectrum;

/* Takes time in proportion to V * d * min(V, d), and for a large table 8 bytes of memory for each
 * number of a matrix of min(V, d) rows and columns. Singular values are off by about 2^-52 of the
 * largest where V * d * min(V, d) is at most 2^28; above that, where they come from a Gram matrix,
 * so are their squares, and what is lost in that is 0. Threads do not show in the result; CPUs and
 * versions of OpenBLAS do, in the last digits. Free with emb_spectrum_free.
 * EMB_DEVICE: the BLAS plugin is missing. EMB_NO_MEMORY: so much is not free; the message says how
 * much it takes. EMB_UNSUPPORTED: min(V, d) is above 46340. */
EMB_API emb_status emb_spectrum_run(const emb_table *table, emb_spectrum *spectrum, emb_err *err);
EMB_API void emb_spectrum_free(emb_spectrum *spectrum);

/* ------------------------------------------------------------------------------------------------
 * New rows
 */
typedef enum emb_dist {
    EMB_NORMAL,    /* mean 0, deviation std */
    EMB_UNIFORM,   /* within +-std * sqrt(3): mean 0, deviation std */
    EMB_TRUNCATED, /* a normal cut at two of its own deviations, scaled so that the result's
                      deviation is std */
    EMB_ZEROS,
    EMB_CONSTANT, /* every element is `value` */
    EMB_IDENTITY  /* 1 where row = column, else 0 */
} emb_dist;

typedef struct emb_init_opts {
    size_t size;
    emb_dist dist;
    double std;   /* deviation; 0: 1 / sqrt(d) */
    double value; /* EMB_CONSTANT */
    uint64_t seed;
    uint32_t stream;    /* which tensor of a model: tables of one seed differ by it */
    emb_device *device; /* draws random numbers, unless it is an optional one; NULL: the CPU does */
} emb_init_opts;

/* Fills block (f64, f32, f16 or bf16) with rows first .. first+rows-1 of the table that opts
 * describe. An element is a function of seed, stream, row and column alone (Philox4x32-10, Salmon
 * et al. 2011, and Box-Muller): the same whatever the blocks, threads or instruction set.
 * EMB_BAD_ARG: another type, a deviation that is negative or not finite, or numbers that the type
 * cannot hold. */
EMB_API emb_status emb_init_rows(emb_ctx *ctx, const emb_init_opts *opts, uint64_t first,
                                 emb_block *block, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Gradients
 */
typedef struct emb_scatter_opts {
    size_t size;
    const uint8_t
        *frozen;        /* bit r%8 of byte r/8 set: row r stays as it is; NULL: none does [V/8] */
    emb_device *device; /* adds, unless it is an optional one; NULL: the CPU does */
} emb_scatter_opts;

/* Adds gradient rows to rows of a table in memory, as the backward pass of an embedding layer does:
 * table[rows[i]] += grads[i] for all i of grads [n, d], which is of the type of table [V, d]: f64,
 * f32, f16 or bf16. Rows may repeat: their gradients are added in the order of i, each sum rounded
 * to f64 or, of the other types, to f32, and that of f16 and bf16 to the type at the end: the same
 * bytes whatever the threads, the instruction set or the device. EMB_RANGE: rows[err->at] >= V, and
 * nothing was added. EMB_BAD_ARG: another type, or grads of another one or of other dims.
 * EMB_DEVICE: the device failed, and the table is of no use. */
EMB_API emb_status emb_scatter_add(emb_ctx *ctx, emb_block *table, const uint64_t *rows,
                                   const emb_block *grads, const emb_scatter_opts *opts,
                                   emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Well-known models
 */

/* The sizes of a model. 0 and NULL: there is no such thing, or it is not known. Members may be
 * added at the end: the library makes these structs, a caller only reads them. */
typedef struct emb_preset {
    const char *name;   /* "gpt2" */
    const char *arch;   /* the architecture that names its tensors; NULL: a table alone, no model */
    uint64_t rows;      /* V */
    uint32_t dims;      /* d */
    uint64_t positions; /* rows of the table of learned positions */
    bool untied;        /* the output table is not the input embedding */
    double std;         /* deviation of new rows; 0: 1 / sqrt(d) */
    emb_dtype dtype;    /* as released */
    uint64_t params;    /* numbers in all tensors, copies counted once; rounded where the model was
                           only described */
    uint64_t layers, heads, kv_heads, inner, context; /* of the rest of the model */
    const char *config;                               /* more members of config.json, as JSON */
} emb_preset;

/* Preset 0, 1 ...; NULL past the last. */
EMB_API const emb_preset *emb_preset_at(size_t i);

/* The preset of that name, or NULL. */
EMB_API const emb_preset *emb_preset_by_name(const char *name);

/* ------------------------------------------------------------------------------------------------
 * Positions
 *
 * Position t is a whole number, 0 for the first token. Angles are computed in double precision, and
 * each result is rounded once.
 */

#define EMB_POSITION_MAX (UINT64_C(1) << 53) /* positions are below it */

/* The sinusoidal table of "Attention Is All You Need" (Vaswani et al. 2017, section 3.5): channels
 * 2i and 2i + 1 of row t are sine and cosine of t / base^(2i / d). Fills block [rows, d], of any
 * float type, with rows first .. first+rows-1. base 0: 10000. EMB_BAD_ARG: another type, a base
 * that is not finite or not above 0, or positions of EMB_POSITION_MAX or more. */
EMB_API emb_status emb_sinusoid_rows(emb_ctx *ctx, double base, uint64_t first, emb_block *block,
                                     emb_err *err);

/* Which channels of a head turn together: i and i + r/2 (GPT-NeoX, Llama as transformers has it),
 * or 2i and 2i + 1 (GPT-J). */
typedef enum emb_rope_style { EMB_ROPE_ANY, EMB_ROPE_NEOX, EMB_ROPE_GPTJ } emb_rope_style;

typedef struct emb_rope_opts {
    size_t size;
    const char *model;    /* what is not said below is as in the config.json of this directory (or
                             hf://org/model); NULL: no model */
    uint32_t dims;        /* D, channels of a head; 0: the model's */
    uint32_t rotary_dims; /* r, those of them that turn, the first ones; 0: the model's, else D */
    double base;          /* 0: the model's, else 10000 */
    const char *scaling;  /* "TYPE:key=value,...", with the words of config.json's rope_scaling:
                             "linear:4" (a lone number is the factor),
                             "yarn:factor=4,original_max_position_embeddings=8192",
                             "longrope:short_factor=[1,1.1],long_factor=[1,4],..."; in place of the
                             model's. NULL: the model's, else none */
    emb_rope_style style; /* ANY: the model's, else NEOX */
    uint64_t positions;   /* 1 + the last position that is needed: dynamic and longrope depend on
                             it */
} emb_rope_opts;

/* Rotary positions (Su et al. 2021): pair i of the r channels that turn has the frequency
 * base^(-2i / r), and turns at position t by the angle t times it. */
typedef struct emb_rope emb_rope;

typedef struct emb_rope_info {
    uint32_t dims, rotary_dims; /* D; r, even */
    emb_rope_style style;
    const char *type;          /* "default", "yarn" ... */
    double base;               /* as given: what dynamic and ntk make of it is in the frequencies */
    double scale;              /* that cosine and sine are multiplied with */
    const double *frequencies; /* [r/2], after scaling                             (borrowed) */
} emb_rope_info;

/* Settles the frequencies. Scaling, with the formulas in docs/commands/position.md: linear (Chen et
 * al. 2023), dynamic and ntk (NTK-aware), yarn (Peng et al. 2023), longrope (Ding et al. 2024),
 * llama3 (the Llama 3.1 release). EMB_BAD_ARG: no D, an odd r or one above D, a scaling that is
 * none or lacks a key. EMB_UNSUPPORTED: the model has no rotary positions, or a kind that is not
 * known. EMB_BAD_DATA: its config.json is malformed. Close with emb_rope_close (NULL is allowed),
 * before its context. */
EMB_API emb_status emb_rope_open(emb_ctx *ctx, const emb_rope_opts *opts, emb_rope **rope,
                                 emb_err *err);
EMB_API void emb_rope_close(emb_rope *rope);
EMB_API const emb_rope_info *emb_rope_describe(const emb_rope *rope);

/* Fills block [rows, r/2], of any float type, with the cosines (sine: the sines) of positions first
 * .. first+rows-1, times the scale. EMB_BAD_ARG: other dims, another type, positions that are too
 * large. */
EMB_API emb_status emb_rope_rows(const emb_rope *rope, bool sine, uint64_t first, emb_block *block,
                                 emb_err *err);

/* Turns rows of queries or keys in place: block [rows, D] of f64, aligned. They are rows first ..
 * first+rows-1 of an array [..., length, ..., D] in which `inner` rows stand between one position
 * and the next: row n is of position start + (n / inner) % length. A pair (a, b) becomes
 * (a cos - b sin, b cos + a sin), times the scale; channels from r on stay. EMB_BAD_ARG: other dims
 * or another type, a length or inner of 0, positions that are too large. */
EMB_API emb_status emb_rope_turn(const emb_rope *rope, uint64_t start, uint64_t length,
                                 uint64_t inner, uint64_t first, emb_block *block, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Logits
 *
 * The score of every token for the next place: h E^T + bias, where h [n, d] are hidden states as
 * the output table receives them (after the last norm; of models like BERT after the transform
 * before the decoder), E [V, d] is the output table, which may be the input embedding, and bias [V]
 * is the model's, where it has one.
 */
typedef struct emb_logits emb_logits;

typedef struct emb_logits_opts {
    size_t size;
    bool as_model;      /* do what the model does besides: see emb_logits_info */
    double temperature; /* logits are divided by it, last of all; 0: 1 */
    emb_device *device; /* of emb_logits_top; NULL: the CPU */
} emb_logits_opts;

/* What the model does besides the product, whether it is done (opts.as_model) or not:
 * cap * tanh(scale * (hidden_scale * h E^T + bias) / cap), without a cap what is inside. */
typedef struct emb_logits_info {
    uint64_t rows;       /* V */
    uint32_t dims;       /* d */
    const char *bias;    /* name of its tensor, or NULL: there is none      (borrowed) */
    bool known;          /* false: what this model does is not known        */
    const char *type;    /* model_type of config.json, or NULL              (borrowed) */
    double hidden_scale; /* T5: d^(-1/2); 1: none                           */
    double scale;        /* Cohere: logit_scale; Granite: 1 / logits_scaling; 1: none */
    double soft_cap;     /* Gemma 2: final_logit_softcapping; 0: none       */
} emb_logits_info;

/* `table` was opened with opts.output, and lives until the close; any other table is multiplied as
 * it is, without a bias. EMB_BAD_DATA: the bias has not V finite entries. EMB_UNSUPPORTED, with
 * as_model: the table is no model's, or what its type of model does is not known. EMB_BAD_ARG: a
 * temperature that is not finite or not above 0. Close with emb_logits_close (NULL is allowed). */
EMB_API emb_status emb_logits_open(const emb_table *table, const emb_logits_opts *opts,
                                   emb_logits **logits, emb_err *err);
EMB_API void emb_logits_close(emb_logits *logits);
EMB_API const emb_logits_info *emb_logits_describe(const emb_logits *logits);

/* For each of the n hidden states [n, d] (f32 or f64) its k highest logits: hits[i * k ..] holds
 * counts[i] of them, best first; k and the order are those of emb_search by EMB_DOT with a bias:
 * scale and cap do not change it, though they may round two scores to one. Statuses as there. */
EMB_API emb_status emb_logits_top(const emb_logits *logits, const emb_block *h, uint64_t k,
                                  emb_hit *hits /* [n, k] */, size_t *counts /* [n] */,
                                  emb_search_info *info, emb_err *err);

/* The logits of rows first .. first+rows-1 for each hidden state: out[i * stride + r - first] of
 * hidden state i and row r, in f32; sums of products in f32, so off by at most about d 2^-24 |h|
 * |row|. With log_sums [n] (emb_logits_log_sums) probabilities: exp(logit - log_sums[i]). A row
 * with NaN gives NaN. EMB_RANGE: some of these rows are not there. EMB_BAD_DATA with err->at = i:
 * hidden state i holds NaN or an infinity. EMB_BAD_ARG: as for emb_search. */
EMB_API emb_status emb_logits_rows(const emb_logits *logits, const emb_block *h, uint64_t first,
                                   uint64_t rows, const double *log_sums, float *out, size_t stride,
                                   emb_err *err);

/* log_sums[i] = the logarithm of the sum of exp(logit) over all rows, summed in double precision;
 * NaN left out. */
EMB_API emb_status emb_logits_log_sums(const emb_logits *logits, const emb_block *h,
                                       double *log_sums, emb_err *err);

/* Rows of logits [n, V] become probabilities, in place: of f32. */
EMB_API emb_status emb_logits_softmax(const emb_logits *logits, emb_block *rows, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * The input of a model
 *
 * What a model hands to its first block is more than rows of its token table: GPT-2 adds a row for
 * each position, BERT a row for the token's type as well, and normalises; Gemma multiplies rows
 * with sqrt(d). The steps are taken in the model's order, and each result is rounded to the type
 * of its tables, as the model's own source does it (docs/commands/lookup.md has the list,
 * docs/numerics.md the rounding):
 *
 *     emb_assembly_opts opts = {.size = sizeof opts, .input_layer = true};
 *     emb_assembly_open(ctx, table, &opts, &assembly, &err);
 *     uint64_t next = 0;                                                 (at a sequence's begin)
 *     emb_assembly_count(assembly, ids, n, false, &next, positions);
 *     emb_assembly_rows(assembly, ids, positions, NULL, n, &block, &err);
 *     emb_assembly_close(assembly);
 */
typedef struct emb_assembly emb_assembly;

/* Rows of positions that are added. */
typedef enum emb_positions {
    EMB_POSITIONS_NONE,
    EMB_POSITIONS_AUTO,      /* what the model has; nothing where its positions live in attention */
    EMB_POSITIONS_LEARNED,   /* its table of learned positions, by its rule for padding */
    EMB_POSITIONS_SINUSOIDAL /* emb_sinusoid_rows, whatever the model has */
} emb_positions;

typedef struct emb_assembly_opts {
    size_t size;
    bool input_layer; /* all that the model does; of the members below only `types` may be said */
    emb_positions positions;
    double scale;    /* rows are multiplied with it, rounded to their type first; 0: they are not */
    bool scale_root; /* with sqrt(d) in its place, rounded in the same way */
    bool types;      /* rows of token types are added, which emb_assembly_rows is told; under
                        input_layer: it is told, else all are of type 0 */
    bool layer_norm; /* the model's LayerNorm of its input */
    emb_device *device; /* makes rows with learned positions added, if nothing else is done to them
                           and all are f32, f16 or bf16; NULL, or an optional one: the CPU does */
} emb_assembly_opts;

typedef struct emb_assembly_info {
    uint32_t dims;         /* D: that of the table, unless the model projects rows */
    emb_dtype dtype;       /* of the results: f64, f32, f16 or bf16 */
    bool counts;           /* positions are needed */
    uint64_t positions;    /* they are below this */
    uint64_t types;        /* so many rows has the table of token types; 0: none are added */
    const char *attention; /* how positions enter the model, where they were asked for but are not
                              added: "rotary" or "relative" positions, "no" positions; NULL: they
                              are added, or nobody asked                  (a constant) */
    bool on_device;        /* the device of the options makes the rows */
} emb_assembly_info;

/* Finds the tables beside `table`, which must live until the close. EMB_UNSUPPORTED: the model has
 * no such thing, or its type is not known. EMB_BAD_DATA: its config.json is malformed, or shapes do
 * not fit. EMB_BAD_ARG: options that do not go together, or a scale that the type cannot hold.
 * Close with emb_assembly_close (NULL is allowed). An assembly is used by one thread at a time, as
 * its table is. */
EMB_API emb_status emb_assembly_open(emb_ctx *ctx, const emb_table *table,
                                     const emb_assembly_opts *opts, emb_assembly **assembly,
                                     emb_err *err);
EMB_API void emb_assembly_close(emb_assembly *assembly);
EMB_API const emb_assembly_info *emb_assembly_describe(const emb_assembly *assembly);

#define EMB_POSITION_PADDING UINT64_MAX /* the position of a token that is padding */

/* The positions of the next n tokens rows [n] of a sequence, *next being that of the first: the
 * caller sets it where a sequence begins. Models such as RoBERTa do not count tokens of their pad
 * id; others, such as OPT, do not count tokens that are hidden from attention: `padding` says
 * that these are. Both give EMB_POSITION_PADDING. */
EMB_API void emb_assembly_count(const emb_assembly *assembly, const uint64_t *rows, size_t n,
                                bool padding, uint64_t *next, uint64_t *positions);

/* Fills dst [n, D] with the input of the model for tokens rows [n] at positions [n] (NULL where
 * info.counts is false) of types [n] (NULL: all of type 0). Any order, any number: nothing but a
 * few rows is held besides dst. EMB_RANGE: rows, positions or types[err->at] is outside of its
 * table, and dst is as it was. EMB_BAD_ARG: dst is too small or of other dims. Other statuses as
 * for emb_table_gather. */
EMB_API emb_status emb_assembly_rows(const emb_assembly *assembly, const uint64_t *rows,
                                     const uint64_t *positions, const uint64_t *types, size_t n,
                                     emb_block *dst, emb_err *err);

/* How the vectors of a sequence become one. */
typedef enum emb_pooling {
    EMB_POOL_MEAN, /* their sum, divided by their number */
    EMB_POOL_SUM,
    EMB_POOL_MAX, /* of each column the largest number; NaN where one is there */
    EMB_POOL_FIRST,
    EMB_POOL_LAST
} emb_pooling;

/* Takes more rows of a sequence in, block [n, d] of a float type, in their order and in double
 * precision: sum[d] += weights[i] * row i, or what `how` says. *count, 0 at first, counts rows.
 * weights [n] are for the mean and the sum; NULL: all are 1. */
EMB_API emb_status emb_pool_add(emb_ctx *ctx, emb_pooling how, const emb_block *rows,
                                const double *weights, double *sum, uint64_t *count, emb_err *err);

/* The same with rows of a table and several sequences at once: sequence b takes those of rows
 * [ends[b-1]] .. [ends[b] - 1], with their weights, into sums[b] of [n, d], and counts[b] grows. A
 * device adds and compares in the same order, and of several GPUs each hands on its rows, and the
 * CPU does that; it has no part in tables of other types than f64,
 * f32, f16, bf16 and blocks, nor in the first and last rows. NULL, or an optional one: the CPU does
 * all. Statuses as for emb_device_gather; sums are of no use then. */
EMB_API emb_status emb_pool_rows(emb_ctx *ctx, emb_device *device, emb_pooling how,
                                 const emb_table *table, const uint64_t *rows, const uint64_t *ends,
                                 size_t n, const double *weights, double *sums, uint64_t *counts,
                                 emb_err *err);

/* Makes sum[d] the result. That of no rows is 0. */
EMB_API void emb_pool_end(emb_pooling how, double *sum, uint32_t dims, uint64_t count);

/* Scales rows src [n, d] of a float type to L2 norm 1, in double precision, into dst [n, d], which
 * may be src; each number is rounded once. Rows of zeros stay, and rows that hold NaN or an
 * infinity: *zero_rows and *nonfinite_rows grow by their numbers. EMB_BAD_ARG: another type, or no
 * room. EMB_BAD_DATA: a number does not fit an integer type. */
EMB_API emb_status emb_normalize_rows(emb_ctx *ctx, const emb_block *src, emb_block *dst,
                                      uint64_t *zero_rows, uint64_t *nonfinite_rows, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * What a table costs
 */

/* What an optimiser keeps of each number that is trained, in f32: SGD nothing; momentum, Adagrad,
 * RMSProp and Lion one number; Adam and AdamW two; Adafactor, without momentum, a number for each
 * row and each column of a table. */
typedef enum emb_optimizer {
    EMB_OPTIMIZER_NONE, /* not asked for */
    EMB_SGD,
    EMB_MOMENTUM,
    EMB_ADAGRAD,
    EMB_RMSPROP,
    EMB_LION,
    EMB_ADAM,
    EMB_ADAMW,
    EMB_ADAFACTOR
} emb_optimizer;

typedef struct emb_cost_opts {
    size_t size;
    uint64_t rows;         /* V, 1 or more */
    uint32_t dims;         /* d, 1 or more */
    emb_dtype dtype;       /* of the tables; NONE: f32 */
    uint64_t positions;    /* rows of a table of learned positions [T, d]; 0: none */
    bool untied;           /* an output table [V, d] of its own */
    uint64_t total_params; /* of the whole model; 0: not known */
    uint64_t batch;        /* B sequences of */
    uint64_t length;       /* L tokens in a step; 0: 1 where the other one is said */
    uint64_t gpus;         /* tensor parallelism over so many; 0: not asked for */
    emb_optimizer optimizer;
} emb_cost_opts;

#define EMB_COST_UNKNOWN UINT64_MAX /* what the options do not say */

/* Counts are exact. "Type" is the type of the tables; numbers of [B, L, d] and [B, L, V] are of
 * that type too, where it is a float, else of f32. */
typedef struct emb_cost {
    uint64_t table_params;               /* V d */
    uint64_t position_params;            /* T d */
    uint64_t head_params;                /* V d untied, else 0 */
    uint64_t params;                     /* their sum */
    uint64_t tied_params, untied_params; /* what that is, or would be, tied and untied */
    double share;                        /* params / total_params; NaN: not known */
    uint64_t bytes;                      /* of params in their type */
    uint64_t bytes_f32, bytes_f16, bytes_bf16, bytes_i8; /* of params in these */
    double one_hot_ratio;      /* V / d: a one-hot vector is so many times as wide as the row */
    uint64_t lookup_bytes;     /* of one row, which is what a lookup of one token reads */
    uint64_t activation_bytes; /* [B, L, d], what the layer hands on; UNKNOWN without B and L */
    uint64_t logits_bytes;     /* [B, L, V]; likewise */
    uint64_t optimizer_bytes;  /* UNKNOWN without an optimiser */
    /* With gpus = N the embedding and the head are cut by rows, as Megatron-LM does (Shoeybi et al.
     * 2019); each GPU has all positions. */
    uint64_t gpu_rows;     /* ceil(V / N); 0: not asked for, and so the members after it */
    uint64_t padding_rows; /* N gpu_rows - V */
    uint64_t gpu_params;   /* what one GPU holds, its padding too */
    uint64_t gpu_bytes;    /* of that in its type */
    uint64_t
        message_bytes;   /* of the all-reduce after a lookup, [B, L, d]: a GPU has zeros where the
                               token is another's; UNKNOWN without B and L */
    uint64_t ring_bytes; /* what each GPU sends for it in a ring, 2 (N - 1) / N of the message,
                               rounded up (Patarasuk and Yuan 2009) */
} emb_cost;

/* EMB_BAD_ARG: no rows or dims, a number that 64 bits do not hold, d that is no multiple of the
 * type's block, or total_params below those of the tables. */
EMB_API emb_status emb_cost_of(const emb_cost_opts *opts, emb_cost *cost, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Writing
 *
 * A file appears whole, or not at all: bytes go to an unnamed or temporary file that takes the
 * final name in emb_writer_commit. A target that is no regular file ("-" for standard output, a
 * pipe, a device) is written through.
 */
typedef struct emb_writer emb_writer;

#define EMB_ROWS_UNKNOWN UINT64_MAX

/* One array to be written. shape[0] may be EMB_ROWS_UNKNOWN where the target is a regular file or
 * the format needs no count (text, raw): it is then what was put. */
typedef struct emb_array {
    const char *name; /* in formats with names; NULL: "embedding.weight", in GGUF
                         "token_embd.weight" */
    emb_dtype dtype;
    int ndim; /* 1..4 */
    uint64_t shape[4];
} emb_array;

typedef struct emb_write_opts {
    size_t size;
    const char *format; /* "npy", "npz", "safetensors", "gguf", "raw", "text", "word2vec",
                           "word2vec-text", "csv" or "tsv"; NULL: by the extension of the path,
                           which says neither of the last two */
    bool force;         /* replace what exists */
    int sync;           /* fsync before the name appears: 1 yes, -1 no, 0 only where something
                           is replaced */
    bool tokens;        /* a token comes with every row */
    const emb_str *all_tokens; /* all of them beforehand, s NULL: the row has none; NULL: they come
                                  with the rows. GGUF and npz, whose tokens stand apart, need
                                  them. They stay the caller's, and as they are until the writer is
                                  closed. The row count must be known       [arrays[0].shape[0]] */
    int header;     /* text, word2vec-text, csv: a line before the rows; 1 yes, -1 no, 0 as the
                           format has it: all but text have one */
    char separator; /* of these formats: the byte between two fields; 0: a blank, in csv a comma.
                           What embtool reads again is parted by blanks or tabs */
    const char *tokens_in; /* safetensors: what its metadata say of tokens that lie in a file beside
                              it: that file's ending, "vocab.txt" or "vocab.json"; NULL: nothing */
    const char *const *metadata; /* safetensors: what else they say: a key and its value, both
                                    UTF-8, one after the other                  [2 * n_metadata] */
    size_t n_metadata;
} emb_write_opts;

/* Begins a file that holds `arrays` [n], in this order; they are copied. EMB_EXISTS: it is there,
 * and not force. EMB_UNSUPPORTED: the format cannot hold that (several arrays, tokens, this type),
 * or no format goes by the extension. EMB_BAD_ARG: a shape without a size, or an unknown format.
 * EMB_IO: it cannot be made. Close with emb_writer_close, before its context. */
EMB_API emb_status emb_writer_open(emb_ctx *ctx, const char *path, const emb_array *arrays,
                                   size_t n, const emb_write_opts *opts, emb_writer **writer,
                                   emb_err *err);

/* Appends rows to the current array: block.dims must be the product of the shape after its first
 * axis, or the last axis alone; block.dtype that of the array. A single row without tokens may also
 * be a part of one: the next elements, in formats that are not lines of text. tokens [block.rows],
 * or NULL where opts.tokens was not set, or opts.all_tokens was. EMB_BAD_DATA with err->at = the
 * row of the file: its token is one that the format cannot hold. */
EMB_API emb_status emb_writer_put(emb_writer *writer, const emb_block *block, const emb_str *tokens,
                                  emb_err *err);

/* Fills block->data, without gaps, with the rows from `first` on of those that are appended, or
 * lets it point to where they are already, until all are written. Called from several threads at
 * once, in any order, for some hundred KiB at a time. */
typedef emb_status emb_make_fn(void *arg, uint64_t first, emb_block *block, emb_err *err);

/* Appends rows->rows rows like emb_writer_put, which `make` makes (rows->data is not used): all
 * threads of the context make some, and, where the format keeps rows as they are, write them at
 * their places in the file. Returns what make does if that fails, for the first of these rows. */
EMB_API emb_status emb_writer_put_made(emb_writer *writer, const emb_block *rows,
                                       const emb_str *tokens, emb_make_fn *make, void *arg,
                                       emb_err *err);

/* Appends n rows of a table, in any order, as this type. *reading: it was the table that failed, as
 * emb_table_gather does. */
EMB_API emb_status emb_writer_put_rows(emb_writer *writer, const emb_table *table,
                                       const uint64_t *rows, size_t n, emb_dtype dtype,
                                       bool *reading, emb_err *err);

/* The same for the input of a model, as emb_assembly_rows makes it, by the CPU alone. *reading: it
 * was not the writer that failed. */
EMB_API emb_status emb_writer_put_assembly(emb_writer *writer, const emb_assembly *assembly,
                                           const uint64_t *rows, const uint64_t *positions,
                                           const uint64_t *types, size_t n, emb_dtype dtype,
                                           bool *reading, emb_err *err);

/* The current array is complete; the next one begins. EMB_BAD_ARG: it has not got as many elements
 * as its shape says. */
EMB_API emb_status emb_writer_next(emb_writer *writer, emb_err *err);

/* Hands on what is buffered; for a reader that waits at the other end of a pipe. */
EMB_API emb_status emb_writer_flush(emb_writer *writer, emb_err *err);

/* Completes the file and gives it its name, where every array is complete. EMB_EXISTS: the name was
 * taken meanwhile. The writer still has to be closed. */
EMB_API emb_status emb_writer_commit(emb_writer *writer, emb_err *err);

/* Frees the writer. Without a commit before it, nothing of the file is left. NULL is allowed. */
EMB_API void emb_writer_close(emb_writer *writer);

/* The name of the format that a path's extension stands for ("npy" for x.npy), or NULL; a constant
 * string. */
EMB_API const char *emb_format_of(const char *path);

/* ------------------------------------------------------------------------------------------------
 * New models
 *
 * A directory that loaders of models open: model.safetensors with the tables alone, config.json,
 * and, where wanted, the files of a tokenizer. What else the model has, loaders make anew. The
 * numbers are the caller's, who writes them as to any file:
 *
 *     emb_new_model_open(ctx, &opts, &model, &err);
 *     emb_writer_open_model(ctx, "dir", model, NULL, &writer, &err);
 *     for (int t = 0; t < EMB_NEW_TENSORS; t++)
 *         if (emb_new_model_array(model, t)) ... emb_writer_put ... emb_writer_next
 *     emb_writer_commit(writer, &err);
 */
typedef struct emb_new_model emb_new_model;

/* The tables of a new model, in the order in which they are written. */
enum { EMB_NEW_EMBEDDING, EMB_NEW_POSITIONS, EMB_NEW_HEAD, EMB_NEW_TENSORS };

typedef struct emb_new_model_opts {
    size_t size;
    const emb_preset *preset; /* what is not said below is as there; `untied` adds */
    const char *like;         /* a model directory: shapes, names, types, configuration and
                                 tokenizer are its own; only dtype and tokenizer may be said
                                 besides */
    const char *arch;         /* "gpt2", "llama", "bert" ...; NULL: gpt2 where there are positions,
                                 else llama */
    const char *tokenizer;    /* a directory: its tokenizer's files become part of the model */
    uint64_t rows;            /* V; 0: as many as the tokenizer has ids */
    uint32_t dims;            /* d */
    uint64_t positions;       /* rows of a table of learned positions [T, d]; 0: none */
    bool untied;              /* an output table [V, d] of its own */
    uint64_t row_multiple;    /* more rows, until V is a multiple of it; 0: as they are */
    emb_dtype dtype;          /* f32 where nothing else says it */
} emb_new_model_opts;

/* Settles what the model is; nothing is written. EMB_BAD_ARG: options that do not go together, an
 * unknown architecture, or fewer rows than the tokenizer has ids. Close with
 * emb_new_model_close. */
EMB_API emb_status emb_new_model_open(emb_ctx *ctx, const emb_new_model_opts *opts,
                                      emb_new_model **model, emb_err *err);
EMB_API void emb_new_model_close(emb_new_model *model);

/* Name, type and shape of one of its tables (EMB_NEW_EMBEDDING ...), or NULL: it has none. The name
 * is NULL where there is no architecture. Borrowed. */
EMB_API const emb_array *emb_new_model_array(const emb_new_model *model, int tensor);

/* Numbers in all tensors of the whole model; 0: not known. */
EMB_API uint64_t emb_new_model_params(const emb_new_model *model);

/* The name of its architecture, or NULL. Borrowed. */
EMB_API const char *emb_new_model_arch(const emb_new_model *model);

/* Begins the directory `path` for the tables of a new model, in their order; opts->format and
 * tokens do not count. It appears whole, with emb_writer_commit, or not at all. EMB_EXISTS:
 * something of that name is there, and not force; an empty directory is as good as none. Under
 * force only a directory that has a config.json, weights by the names that loaders know, and no
 * folders is replaced. */
EMB_API emb_status emb_writer_open_model(emb_ctx *ctx, const char *path, const emb_new_model *model,
                                         const emb_write_opts *opts, emb_writer **writer,
                                         emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Saving a table in another format
 *
 * Rows of a table, all or some, go to a file of any format that is written, with their tokens: into
 * the file, or, for safetensors and tsv, into one beside it (x.vocab.txt or x.vocab.json beside
 * x.safetensors, found again when that is opened; x.metadata.tsv beside x.tsv). Both appear, or
 * neither, the table last: where it does not get its name an older file of tokens is put back (if
 * the file system knows second names of a file). What is known of tokens beside their names
 * (scores, types, roles) goes with them into formats that hold it, which is gguf. What the target
 * cannot hold is found out before anything is written, and refused, unless `lossy` says that it may
 * go:
 *
 *  - tokens, where there is no place for them: they are left out
 *  - a type: numbers are rounded to f32. A wider type that holds them all is no loss, and taken
 *  - bytes of tokens (a space in word2vec, a newline in text): an underscore stands for each
 *  - rows without a token where each needs one: row 12 is named "#12"
 *
 *     emb_save_open(ctx, table, "x.safetensors", NULL, &save, &err);
 *     emb_save_write(save, NULL, &err);
 *     emb_save_close(save);
 */
typedef struct emb_save emb_save;

/* So many more rows are written: called by emb_save_write in its thread, now and then. */
typedef void emb_rows_fn(void *arg, uint64_t rows);

typedef struct emb_save_opts {
    size_t size;
    const char *format;   /* as in emb_write_opts; NULL: by the extension, .csv and .tsv too */
    emb_dtype dtype;      /* numbers are rounded to it, once; NONE: as stored, where that is held */
    const uint64_t *rows; /* these rows in this order, which may repeat; NULL: all       [n_rows] */
    size_t n_rows;
    bool normalize; /* rows are scaled to L2 norm 1, computed in double precision. Rows of zeros
                       stay, and rows that hold NaN or an infinity */
    bool lossy;
    bool strict;       /* numbers that become infinities are an error */
    int header;        /* as in emb_write_opts */
    char separator;    /* likewise */
    const char *name;  /* of the tensor; NULL: as in the table, where that has one */
    emb_rows_fn *done; /* NULL: nobody counts */
    void *done_arg;
} emb_save_opts;

/* What will be written. Borrowed from the emb_save. */
typedef struct emb_save_plan {
    const char *format; /* its name, a constant */
    bool text;          /* it is lines of text */
    emb_dtype dtype;
    bool widened; /* the format cannot hold the table's own type, but this holds its numbers */
    uint64_t rows;
    uint32_t dims;
    bool tokens;               /* they are written */
    const char *beside;        /* to this file, or NULL: to the table's own */
    const char *const *losses; /* [n_losses] what is lost, one sentence each */
    size_t n_losses;
    /* After emb_save_write: */
    uint64_t overflows;      /* numbers that became infinities, or what emb_convert says */
    uint64_t zero_rows;      /* with `normalize`: rows that could not be scaled */
    uint64_t nonfinite_rows; /* likewise */
    const char *failed;      /* after a failure: the file that it is about, NULL: the table's */
} emb_save_plan;

/* Looks at the table and its tokens and plans; the table must live until emb_save_close, and so
 * must opts->rows. EMB_UNSUPPORTED: the format cannot hold that, and `lossy` does not say that it
 * may be lost, or would not help. EMB_BAD_ARG: an unknown format, none that goes by the extension,
 * or the path is the table's own file. EMB_RANGE: rows[err->at] >= V. Free with emb_save_close
 * (NULL is allowed). */
EMB_API emb_status emb_save_open(emb_ctx *ctx, const emb_table *table, const char *path,
                                 const emb_save_opts *opts, emb_save **save, emb_err *err);
EMB_API const emb_save_plan *emb_save_plan_of(const emb_save *save);

/* Writes it, once. The bytes depend on the table and the options alone. wopts: force and sync. A
 * table of any size takes a few megabytes, and 16 bytes a token. EMB_EXISTS: a file is there, and
 * not force. EMB_BAD_DATA: a row breaks its format, a number does not fit an integer type, the
 * format would read the rows back otherwise, or numbers overflow under `strict`. */
EMB_API emb_status emb_save_write(emb_save *save, const emb_write_opts *wopts, emb_err *err);
EMB_API void emb_save_close(emb_save *save);

/* ------------------------------------------------------------------------------------------------
 * Cutting a table for tensor parallelism
 *
 * N files of one shape, table-00001-of-0000N.safetensors, in a directory of their own. Along the
 * axis that is cut each has ceil(V / N) rows (or ceil(d / N) dims) of the table, one part after
 * another; the last ones are filled up with zeros. Their metadata say which part they have. Of a
 * model's directory the embedding, an output table of its own, copies of either and output biases
 * are cut, under their names (biases along V alone: cut by dims, each file has all of them), and
 * config.json and the tokenizer's files are copied; of any other table the tokens lie beside the
 * first file, as emb_save_write has them. emb_table_open takes the directory as the table it was.
 */
typedef struct emb_shards emb_shards;

typedef enum emb_shard_axis {
    EMB_SHARD_ROWS, /* [ceil(V / N), d] each */
    EMB_SHARD_DIMS  /* [V, ceil(d / N)] each */
} emb_shard_axis;

#define EMB_SHARDS_MAX 512

typedef struct emb_shards_opts {
    size_t size;
    uint32_t parts; /* N, 1 to EMB_SHARDS_MAX */
    emb_shard_axis axis;
    bool lossy;        /* tokens that no file beside the table can hold are changed */
    emb_rows_fn *done; /* NULL: nobody counts */
    void *done_arg;
} emb_shards_opts;

/* One tensor that the files have. Borrowed. */
typedef struct emb_shards_tensor {
    const char *name;
    const char *role; /* "table", or as in emb_model_tensor */
    emb_dtype dtype;
    int ndim;
    uint64_t shape[2], shard_shape[2]; /* of the whole, and of each file's part */
} emb_shards_tensor;

typedef struct emb_shards_plan {
    uint32_t parts;
    emb_shard_axis axis;
    uint64_t total;                   /* V or d                                        */
    uint64_t part;                    /* rows or dims of each file, with those of zeros */
    uint64_t rows;                    /* that will be counted by `done`                */
    const emb_shards_tensor *tensors; /* [n_tensors]; the table is the first */
    size_t n_tensors;
    const char *tokens; /* "tokenizer": its files are copied; the ending of the file beside the
                                  first one ("vocab.txt"); NULL: there are none */
    const char *const *losses; /* [n_losses] what is lost, one sentence each */
    size_t n_losses;
} emb_shards_plan;

/* Looks at the table, which must live until emb_shards_close, and plans its shards in the new
 * directory `path`. EMB_BAD_ARG: parts outside 1..EMB_SHARDS_MAX. EMB_UNSUPPORTED: a type that
 * safetensors does not hold, a model whose tables have different lengths, or tokens that no file
 * beside the table can hold. */
EMB_API emb_status emb_shards_open(emb_ctx *ctx, const emb_table *table, const char *path,
                                   const emb_shards_opts *opts, emb_shards **shards, emb_err *err);
EMB_API const emb_shards_plan *emb_shards_plan_of(const emb_shards *shards);

/* Which rows (dims) shard `rank` has, counted from 0. */
EMB_API void emb_shards_part(const emb_shards *shards, uint32_t rank, uint64_t *first,
                             uint64_t *count);

/* Writes them, once; the directory appears with all of them. Rows go over in blocks, whatever the
 * size of the table. wopts: force (a directory of shards, without folders, is replaced) and sync.
 * EMB_EXISTS: path is there. */
EMB_API emb_status emb_shards_write(emb_shards *shards, const emb_write_opts *wopts, emb_err *err);
EMB_API void emb_shards_close(emb_shards *shards);

/* ------------------------------------------------------------------------------------------------
 * Naming contents
 */
#define EMB_SHA256_HEX 65 /* 64 digits and a NUL */

/* The size of the regular file `path` and the SHA-256 (FIPS 180-4) of its bytes, in lower case.
 * EMB_IO: it cannot be read. EMB_UNSUPPORTED: it is no regular file (a pipe, a directory), and so
 * cannot be read a second time. */
EMB_API emb_status emb_sha256_file(const char *path, uint64_t *bytes, char hex[EMB_SHA256_HEX],
                                   emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Resizing
 *
 * A resize makes a new file out of a table: rows go, change places, are added. It is planned first
 * (emb_resize_plan touches no file), then written in one step (emb_resize_write), in the format of
 * the table. What is not the table stays as it is: other tensors of a safetensors file and its
 * metadata, byte for byte; the lines of a text table. Rows that stay keep their bits; nothing goes
 * through another type. The same table and options give the same bytes.
 *
 *  - Only rows behind the last one that a token owns are spare. New tokens take those first, then
 *    rows at the end: the id of a new token is 1 + the largest one in use.
 *  - Tokens whose ids are past the end of the table, where a tokenizer has more of them than there
 *    are rows, get new rows at these ids.
 *  - Nothing becomes smaller unless `remove`, `keep` or `shrink` says so.
 *  - Names in `remove`, `keep` and `first` are tokens exactly as stored, or, where there is no such
 *    token, "#12" for row 12. EMB_NOT_FOUND, EMB_RANGE: a name means no row; err.at is its place.
 */

/* What new rows hold. Means are summed in double precision over the rows that own a token (of a
 * table without tokens: over all), rows with NaN or an infinity left out, and rounded once. */
typedef enum emb_fill {
    EMB_FILL_MEAN,       /* the mean row */
    EMB_FILL_ZEROS,      /* zeros */
    EMB_FILL_NORMAL,     /* normal deviates with mean 0, as emb_init_rows draws them */
    EMB_FILL_COVARIANCE, /* the mean row + sqrt(scale / n) * sum of g_i * (row i - mean row) over
                            the n rows of the mean, g_i standard normal: a deviate of the normal
                            distribution with that mean and scale * covariance of the rows */
    EMB_FILL_ROWS,       /* the mean of `fill_rows`; of one row its very bits */
    EMB_FILL_TABLE,      /* rows of `fill_table`: by token if it has tokens, else one after another;
                            new rows without a token that it has no row for get the mean row */
    EMB_FILL_PIECES      /* of a model: the mean of the rows of the pieces that its tokenizer, as it
                            is, splits the token's text into, each as often as it occurs; new rows
                            without a token get the mean row. Single tables: EMB_BAD_ARG */
} emb_fill;

typedef struct emb_resize_opts {
    size_t size;
    const emb_str
        *add; /* tokens to add, in this order; repeats and known ones are dropped [n_add] */
    size_t n_add;
    const emb_str *remove; /* all rows of these tokens go                              [n_remove] */
    size_t n_remove;
    const emb_str *keep; /* NULL: all; else all rows go but those of these tokens        [n_keep] */
    size_t n_keep;
    const emb_str *first; /* the rows of these come first, in this order                [n_first] */
    size_t n_first;
    uint64_t rows;     /* final number of rows; 0: as many as there are then */
    uint64_t multiple; /* which is rounded up to a multiple of this; 0: it is not */
    bool shrink;       /* `rows` may cut rows off the end; without `rows`: spare rows go */
    uint64_t next_id;  /* ids below it are in use even if no token here has them: new tokens get it
                          and those after it */
    emb_fill fill;
    double scale; /* EMB_FILL_NORMAL: the deviation, 0: 1 / sqrt(d); _COVARIANCE: 0: 1e-9 */
    const uint64_t *fill_rows; /* EMB_FILL_ROWS [n_fill_rows] */
    size_t n_fill_rows;
    const emb_table *fill_table; /* EMB_FILL_TABLE: of the same d */
    uint64_t seed;               /* EMB_FILL_NORMAL, _COVARIANCE */
} emb_resize_opts;

#define EMB_ROW_NEW UINT64_MAX

/* One token of emb_resize_opts.add. */
typedef struct emb_resize_token {
    emb_str token;
    uint64_t row; /* its id after the resize */
    bool present; /* it was there already */
} emb_resize_token;

/* Rows that follow each other in the new table, and in the old one as well, or are all new. */
typedef struct emb_row_run {
    uint64_t rows;   /* 1 or more */
    uint64_t source; /* the old row that the first of them is; EMB_ROW_NEW: they are new */
} emb_row_run;

/* What a resize will do. Strings are borrowed from the table and the options. */
typedef struct emb_resize {
    uint64_t old_rows, rows; /* V before and after */
    uint64_t removed_rows;   /* old rows that go, spare ones that new tokens take not counted */
    uint64_t spare_rows;     /* spare rows that new tokens take */
    uint64_t new_rows;       /* rows in runs of EMB_ROW_NEW */
    uint64_t padding_rows;   /* how many of those have no token */
    emb_row_run *runs;       /* all rows, in as few runs as can be                  [n_runs] */
    size_t n_runs;
    emb_str *tokens;         /* s NULL: the row has none; NULL: the table has none [n_tokens] */
    uint64_t n_tokens;       /* rows from there on have no token */
    emb_resize_token *added; /* without repeats                                    [n_added] */
    size_t n_added;
} emb_resize;

/* Free with emb_resize_free. EMB_BAD_ARG: what is asked would make the table smaller without
 * `shrink`, or makes no sense. EMB_UNSUPPORTED: the table's format is not rewritten, or needs a
 * token for every row and some would have none. */
EMB_API emb_status emb_resize_plan(const emb_table *table, const emb_resize_opts *opts,
                                   emb_resize *plan, emb_err *err);
EMB_API void emb_resize_free(emb_resize *plan);

/* Writes the table as planned, with the options it was planned with, to `path`, which may be the
 * file that the table was opened from (with wopts->force: it is replaced, never written into).
 * wopts->format and ->tokens are not looked at. */
EMB_API emb_status emb_resize_write(emb_ctx *ctx, const emb_table *table, const emb_resize *plan,
                                    const emb_resize_opts *opts, const char *path,
                                    const emb_write_opts *wopts, emb_err *err);

/* The file beside `path` that has the tokens where a table is resized to `path`: one whose own lie
 * in such a file (emb_write_opts.tokens_in) keeps them so. *beside is malloc'd; NULL: there is
 * none. emb_resize_write writes both, the table last. EMB_UNSUPPORTED there: that file cannot hold
 * the new tokens, or is missing. */
EMB_API emb_status emb_resize_beside(const emb_table *table, const char *path, char **beside,
                                     emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Resizing a model
 *
 * In a model directory more than one tensor has an entry for each token, and all of them change
 * together: the input embedding, an output table of its own, stored copies of either (which stay
 * bit-equal to what they copy), output biases [V] and [1, V], tables of each layer. The plan is
 * that of the embedding (emb_resize_plan), and what new rows hold is made for each table from its
 * own rows; new entries of biases are 0, or with EMB_FILL_ROWS the mean of the entries of these
 * rows. With EMB_FILL_PIECES all tables use the same pieces; there must be a tokenizer.json, and
 * what it asks for must be known. With EMB_FILL_TABLE only the embedding's rows come from there;
 * other tables get their mean rows.
 *
 * What is written is a new directory: shards without such tensors and all other files are taken
 * over (links into a cache are followed and never written through), shards with them are copied
 * with the tables replaced, and what the small files say of tokens and sizes is changed in place:
 * every file that lists added tokens gets the new ones; config.json and an index of shards get the
 * new numbers, and not another byte. The directory appears in one step, after it was opened again
 * and looked at. Tokens can be added and rows at the end; they cannot be removed or change places.
 */
typedef struct emb_model_resize emb_model_resize;

typedef struct emb_token_rename {
    emb_str from, to;
} emb_token_rename;

typedef struct emb_token_role {
    const char *role; /* "bos", "eos", "pad", "unk", "sep", "cls" or "mask" */
    emb_str token;    /* may be a new one, or a new name */
} emb_token_role;

typedef struct emb_model_resize_opts {
    size_t size;
    bool in_place;     /* the directory itself is replaced, by an exchange of names. Nobody else may
                          work on it meanwhile: it is locked until emb_model_resize_close */
    bool link;         /* files that stay become second names of the old ones, where the file system
                          allows it: who writes into one then writes into both */
    bool no_tokenizer; /* tables and sizes alone: the tokenizer's files stay, and say nothing of new
                          tokens */
    bool fill_gaps;    /* ids that loaders and files number differently are given to tokens, so that
                          they agree; else they are refused. Without new tokens: only in_place,
                          and what cannot be filled stays */
    int special;       /* new tokens are special: 1 all, -1 none, 0 those written <|...|> */
    const emb_token_rename
        *renames; /* [n_renames] a token keeps its id and its row under a new name */
    size_t n_renames;
    const emb_token_role *roles; /* [n_roles] a token becomes the pad, eos ... of the model */
    size_t n_roles;
} emb_model_resize_opts;

/* Into which pieces a token's text was split, by their rows. */
typedef struct emb_token_pieces {
    const uint64_t *rows; /* [n] in the order of the text */
    size_t n;
} emb_token_pieces;

/* A tensor that changes. */
typedef struct emb_model_tensor {
    const char *name, *file;
    const char *role; /* "embedding", "copy of embedding", "head", "bias" ... */
    emb_dtype dtype;
    int ndim;
    uint64_t old_shape[2], shape[2];
} emb_model_tensor;

typedef enum emb_file_fate {
    EMB_FILE_KEPT,      /* copied, or linked, as it is */
    EMB_FILE_EDITED,    /* a small file with new contents */
    EMB_FILE_REWRITTEN, /* weights with other tables */
    EMB_FILE_LEFT_OUT   /* a pipe, a socket, a device */
} emb_file_fate;

typedef struct emb_model_file {
    const char *name; /* inside the directory, with slashes */
    emb_file_fate fate;
    bool is_new;    /* the old directory has none of this name */
    uint64_t bytes; /* of the new file; of rewritten weights without their header's growth */
} emb_model_file;

/* What will be done. Everything is borrowed from the emb_model_resize. */
typedef struct emb_model_plan {
    const char *dir;               /* the directory                                               */
    const emb_resize *rows;        /* of the embedding                                            */
    const bool *special;           /* [rows->n_added] a new one becomes special                   */
    const emb_resize_token *fills; /* [n_fills] with fill_gaps: tokens in the gaps, new ones
                                      (made up, and special) and those that some file had   */
    size_t n_fills;
    bool changes; /* false: the result is what is there                          */
    const emb_model_tensor *tensors; /* [n_tensors]; none where nothing changes            */
    size_t n_tensors;
    const emb_model_file *files; /* [n_files] by name; folders are not listed              */
    size_t n_files;
    const char *const *warnings; /* [n_warnings] one sentence each: files that will hold the old
                                    tables, new rows that are nearly equal, a missing head  */
    size_t n_warnings;
    const emb_token_pieces *pieces; /* [rows->n_added] with EMB_FILL_PIECES: of each new token,
                                       none of one that is there already; else NULL */
} emb_model_plan;

/* Plans the resize of the model that `table` is the embedding of: the table was opened by the path
 * of a directory, and lives until the close, as does what opts points to. Reads the rows that new
 * ones are made of, and one pass over the table for rows that are nearly equal to them.
 * EMB_UNSUPPORTED: weights that are not safetensors, or both a single file and an index; tables of
 * different length; quantised tables; `remove`, `keep` or `first`; tokenizer files of a kind that
 * tokens cannot be added to, or ids with a gap. EMB_BAD_DATA: two tokenizer files contradict each
 * other, or a file that emb_check_model looks at is malformed. EMB_IO with err->sys EWOULDBLOCK:
 * another run is at work on the directory. Free with emb_model_resize_close. */
EMB_API emb_status emb_model_resize_open(emb_ctx *ctx, const emb_table *table,
                                         const emb_resize_opts *opts,
                                         const emb_model_resize_opts *model_opts,
                                         emb_model_resize **resize, emb_err *err);
EMB_API const emb_model_plan *emb_model_resize_plan(const emb_model_resize *resize);

/* Writes it, once: to the new directory `path`, or, in place, over the old one (path NULL). wopts:
 * force and sync alone. EMB_EXISTS: path is there, and not force or not to be replaced. On any
 * failure the old directory is as it was, and nothing new is left. */
EMB_API emb_status emb_model_resize_write(emb_model_resize *resize, const char *path,
                                          const emb_write_opts *wopts, emb_err *err);
EMB_API void emb_model_resize_close(emb_model_resize *resize);

/* ------------------------------------------------------------------------------------------------
 * Checking a model directory
 */

/* One thing in which two parts of a model do not agree. */
typedef struct emb_fault {
    const char *what;    /* "tokenizer", "config", "head", "bias", "copy", "tied", "special id",
                            "index" or "weights"; a constant */
    const char *message; /* which parts, and both numbers; one line */
    const char *mend; /* the options with which `embtool resize DIR` puts it right; NULL: none do */
} emb_fault;

typedef struct emb_check {
    char *dir;         /* the directory                                        */
    uint64_t rows;     /* V of the embedding; 0: the weights are not all there */
    uint64_t tokens;   /* 1 + the largest id of the tokenizer; 0: there is none */
    emb_fault *faults; /* [n_faults] */
    size_t n_faults;
} emb_check;

/* Compares the parts of a model directory that loaders compare, or should: the tokenizer's
 * ids and the rows of the embedding; the files that say what ids tokens have, with each other and
 * with the ids that loaders give; vocab_size, widths and lengths in config.json; the rows of a
 * stored output table and of copies, the entries of output biases; tie_word_embeddings and what is
 * stored;
 * the ids of special tokens, in config.json and generation_config.json, with each other, with the
 * rows and with the tokenizer's tokens; the index of shards with the shards. Reads headers, and the
 * bytes of tensors that may be copies. url: the directory, a file in it, or hf://org/model.
 * Disagreements are no failure: EMB_OK with n_faults > 0. EMB_IO, EMB_BAD_DATA, EMB_UNSUPPORTED:
 * there is no model, or a file cannot be read. Free with emb_check_free. */
EMB_API emb_status emb_check_model(emb_ctx *ctx, const char *url, emb_check *check, emb_err *err);
EMB_API void emb_check_free(emb_check *check);

#ifdef __cplusplus
}
#endif
#endif

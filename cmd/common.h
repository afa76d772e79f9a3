/* common.h - the options that commands share, and how the table of a run is found and opened.
 *
 * A command's options struct begins with struct common; the macros below are entries for its option
 * table. A command lists only those that mean something to it.
 */
#ifndef EMBTOOL_COMMON_H
#define EMBTOOL_COMMON_H

#include "emb.h"
#include "opt.h"

struct run;

struct common {
    /* table */
    const char *table, *format, *tensor, *vocab, *shape;
    bool head, output_table; /* output_table: what hidden states are multiplied with */
    emb_dtype input_dtype;
    uint64_t offset, limit;
    bool has_limit;
    /* servers */
    const char *cache, *ca_file;
    /* output */
    const char *output, *output_format, *report, *pieces;
    emb_dtype dtype;
    bool json, force, raw_tokens;
    int sync; /* 1 --sync, -1 --no-sync */
    /* general */
    const char *device;
    uint64_t threads, seed;
    bool has_threads, strict, quiet, verbose;
};

#define COMMON_AT(member) offsetof(struct common, member)

/* Naming a table. */
#define COMMON_TABLE_NAME                                                                        \
    OPT("table", 't', OPT_TEXT, COMMON_AT(table), "TABLE",                                       \
        "a file, a model directory, an https:// or s3:// address, hf://org/model, - "            \
        "for standard input, or any with #TENSOR (default: $EMBTOOL_TABLE, else the "            \
        "current directory if it is a model's, else the English table that comes with embtool)", \
        .aliases = " model embedding ")
/* What its bytes are, and which tensor is meant. */
#define COMMON_TABLE_TENSOR                                                           \
    OPT("format", 0, OPT_WORD, COMMON_AT(format),                                     \
        "safetensors|npy|npz|torch|gguf|word2vec|text|raw",                           \
        "what the file is, where its bytes do not say", .aliases = " input-format "), \
        OPT("tensor", 0, OPT_TEXT, COMMON_AT(tensor), "NAME", "the tensor to use, by its name")
#define COMMON_TABLE_RAW                                                                         \
    OPT("shape", 0, OPT_TEXT, COMMON_AT(shape), "V,D",                                           \
        "rows and dimensions of a raw file; ,D: as many rows as it holds"),                      \
        OPT("offset", 0, OPT_COUNT, COMMON_AT(offset), "N", "bytes before row 0 of a raw file"), \
        OPT("input-dtype", 0, OPT_DTYPE, COMMON_AT(input_dtype), "T",                            \
            "type of the numbers in a raw file, or of opaque bytes in .npy")
#define COMMON_STRICT                                   \
    OPT("strict", 0, OPT_FLAG, COMMON_AT(strict), NULL, \
        "warnings that can change an answer are errors")
/* All that says what a table is, but its name. */
#define COMMON_TABLE_FORM                                                                \
    COMMON_TABLE_TENSOR,                                                                 \
        OPT("head", 0, OPT_FLAG, COMMON_AT(head), NULL,                                  \
            "the output table of a model; where it is tied, that is the embedding",      \
            .aliases = " lm-head output-table unembedding "),                            \
        OPT("vocab", 0, OPT_TEXT, COMMON_AT(vocab), "FILE",                              \
            "tokens, in place of the table's own: one a line, or a tokenizer's file or " \
            "directory",                                                                 \
            .aliases = " vocabulary tokenizer "),                                        \
        COMMON_TABLE_RAW,                                                                \
        OPT("limit", 0, OPT_COUNT, COMMON_AT(limit), "N",                                \
            "only the first N rows exist, for this run", .given = COMMON_AT(has_limit)), \
        COMMON_STRICT
#define COMMON_TABLE OPT_HEADING("Table"), COMMON_TABLE_NAME, COMMON_TABLE_FORM

/* Tables on servers: every command that reads a table has these. */
#define COMMON_CACHE                                                                          \
    OPT("cache", 0, OPT_TEXT, COMMON_AT(cache), "DIR",                                        \
        "where parts of files on servers are kept for the next run; none: nowhere (default: " \
        "$EMBTOOL_CACHE, else embtool in $XDG_CACHE_HOME, else in ~/.cache)")
#define COMMON_SERVERS                                                                            \
    OPT_HEADING("Servers"), COMMON_CACHE,                                                         \
        OPT("cacert", 0, OPT_TEXT, COMMON_AT(ca_file), "FILE",                                    \
            "certificates of the authorities to believe, in PEM (default: $CURL_CA_BUNDLE, else " \
            "$SSL_CERT_FILE, else the system's)",                                                 \
            .aliases = " ca-certificate ca-bundle ")

/* Where the output goes. */
#define COMMON_OUTPUT                                       \
    OPT("output", 'o', OPT_TEXT, COMMON_AT(output), "FILE", \
        "write to FILE, which appears whole or not at all", .aliases = " out ")
/* `words`: the formats this command writes, "text|json|npy". */
#define COMMON_FORMAT(words)                                             \
    OPT("output-format", 'O', OPT_WORD, COMMON_AT(output_format), words, \
        "how to write (default: by the extension of FILE, text without one)", .aliases = " to ")
#define COMMON_JSON OPT("json", 0, OPT_FLAG, COMMON_AT(json), NULL, "one JSON object a line")
#define COMMON_RAW_TOKENS                                       \
    OPT("raw-tokens", 0, OPT_FLAG, COMMON_AT(raw_tokens), NULL, \
        "print tokens as they are, without escapes")
#define COMMON_PIECES                                                    \
    OPT("pieces", 0, OPT_WORD, COMMON_AT(pieces), "raw|text",            \
        "tokens as a tokenizer stores them, or the text they stand for " \
        "(default: text on a terminal, else raw; JSON has both)")
#define COMMON_DTYPE                                                                          \
    OPT("dtype", 0, OPT_DTYPE, COMMON_AT(dtype), "T", "type of the numbers that are written", \
        .aliases = " type output-dtype ")
/* How a file that is written appears. */
#define COMMON_WRITE                                                                           \
    OPT("force", 0, OPT_FLAG, COMMON_AT(force), NULL, "replace FILE if it exists",             \
        .aliases = " overwrite "),                                                             \
        OPT("sync", 0, OPT_SWITCH, COMMON_AT(sync), NULL,                                      \
            "write FILE through to the disk before it appears (default: only where a file is " \
            "replaced)"),                                                                      \
        OPT("report", 0, OPT_TEXT, COMMON_AT(report), "FILE",                                  \
            "write to FILE, as JSON, what made the output: command, version, files read and "  \
            "written with their SHA-256",                                                      \
            .aliases = " provenance ")
/* Who computes. */
#define COMMON_DEVICE                                                                         \
    OPT("device", 0, OPT_TEXT, COMMON_AT(device), "D",                                        \
        "who computes: cpu (default), cuda, cuda:N (the GPU of that number), cuda:N,M,... "   \
        "or cuda:all (several, which share the rows), or auto: a GPU where there is one and " \
        "a search is likely to be faster on it",                                              \
        .aliases = " gpu cuda ")
#define COMMON_SEED OPT("seed", 0, OPT_COUNT, COMMON_AT(seed), "N", "of random numbers (default 0)")
/* Every command has these, last. */
#define COMMON_GENERAL                                                                      \
    OPT_HEADING("General"),                                                                 \
        OPT("threads", 'j', OPT_COUNT, COMMON_AT(threads), "N",                             \
            "threads to use (default: $EMBTOOL_THREADS, else 0: all cores)",                \
            .given = COMMON_AT(has_threads), .aliases = " jobs "),                          \
        OPT("quiet", 'q', OPT_FLAG, COMMON_AT(quiet), NULL,                                 \
            "no notes on standard error, only warnings and errors", .aliases = " silent "), \
        OPT("verbose", 'v', OPT_FLAG, COMMON_AT(verbose), NULL, "say more on standard error")

/* ------------------------------------------------------------------------------------------------
 * The table
 */

/* For commands that take TABLE as an argument too: moves the first plain argument to
 * common->table, unless -t named one. */
void take_table_argument(struct run *run);

/* Opens the table of this run: -t, else $EMBTOOL_TABLE, else the current directory if it is a
 * model's, else the built-in one (which is said on stderr unless -q). Only for commands that read:
 * one that writes asks for common->table itself.
 * Sets run->table_name, and *info unless it is NULL. Returns 0, or an exit code after the message
 * was printed. Close with emb_table_close. */
int open_table(struct run *run, emb_table **table, emb_table_info *info);

/* The same for what is listed and not opened as a table: run->table_name, and what the options say
 * of it. */
int choose_table(struct run *run, emb_open_opts *opts);

/* run->table_name = the model that the run is about, which is not opened as a table: what was
 * named, $EMBTOOL_TABLE, or the current directory. Returns 0, or an exit code after the message. */
int choose_model(struct run *run);

/* Another file as a table (query vectors, say): --input-dtype and --strict hold for it as well, the
 * other options that describe the table do not. */
int open_other_table(struct run *run, const char *url, emb_table **table, emb_table_info *info);

/* ------------------------------------------------------------------------------------------------
 * What is kept of servers
 */

/* The folder of --cache, of the environment, or of the user; NULL: nothing is kept. `path` holds it
 * then, and is freed by the caller. */
const char *cache_folder(const struct run *run, struct embi_buf *path);

/* ------------------------------------------------------------------------------------------------
 * Plugins
 */

/* Loads the BLAS plugin before anything is read, for an option that needs it. Returns 0, or the
 * exit code after the message. */
int load_blas(struct run *run, const char *option);

/* run->device = what --device says, opened unless it is `auto`, which is for commands that search
 * and no device for others. Returns 0, or the exit code after the message. */
int load_device(struct run *run, bool searches);

/* For what no device has a part in: a usage error where one was asked for, else 0. */
int refuse_device(struct run *run, const char *what);

/* ------------------------------------------------------------------------------------------------
 * Files
 */

/* NULL or "-": standard input or output. */
bool is_stream(const char *path);

/* Do both paths, links followed, lead to one file that is there? */
bool is_same_file(const char *a, const char *b);

/* Will a header be completed when all rows are there? True for a file that takes its name at the
 * end; false for what gets the bytes as they come: streams, devices, names of descriptors. */
bool is_completed_late(const char *path);

/* ------------------------------------------------------------------------------------------------
 * The output
 */

/* The format of this run's output: -O, --json, the extension of -o, else "text". Returns 0, or exit
 * 2 after saying that --json and -O disagree, that FILE's extension stands for none of `words`, or
 * that a binary format would go to a terminal. */
int output_format(struct run *run, const char *words, const char **format);

/* Fills what --force, --sync and the format mean for a writer. */
void write_opts(const struct run *run, const char *format, emb_write_opts *opts);

#endif

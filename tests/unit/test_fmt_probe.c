/* test_fmt_probe.c - which format bytes are, and what is the same for all formats: names,
 * extensions, the reader, layouts, and raw rows.
 *
 * Magic bytes are those that the formats' own documentation gives; the samples are the smallest
 * files that have them.
 */
#include "memory_file.h"

#define NUMBERS        "cat 0.1 0.2 0.3\ndog 0.4 0.5 0.6\nfox 0.7 0.8 0.9\n"
#define BYTES(literal) literal, sizeof(literal) - 1

/* A file of each kind that is read. */
static const struct {
    const char *path;
    const char *bytes;
    size_t n;
    const char *format;
} samples[] = {
    {"a", BYTES("\x02\0\0\0\0\0\0\0{}"), "safetensors"},
    {"a", BYTES("\x04\0\0\0\0\0\0\0 \n{}"), "safetensors"},
    {"a.npy", BYTES("\x02\0\0\0\0\0\0\0{}"), "safetensors"},
    /* lengths that look like the magic bytes of a pickle and of gzip */
    {"a", BYTES("\x80\x02\0\0\0\0\0\0{"), "safetensors"},
    {"a", BYTES("\x1F\x8B\x08\0\0\0\0\0{"), "safetensors"},
    /* damaged files are opened as what their name says, to be refused with a reason */
    {"a.safetensors", BYTES("\x08"), "safetensors"},
    {"a.safetensors", BYTES("\x80\x02\0\0"), "safetensors"},
    {"A.SafeTensors", BYTES("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}"), "safetensors"},
    {"a.safetensors", BYTES("\x02\0\0\0\0\0\0\0[]"), "safetensors"},
    {"a", BYTES("\x93NUMPY\1\0"), "npy"},
    {"a.safetensors", BYTES("\x93NUMPY\1\0"), "npy"},
    {"a.npy", BYTES("\x93NUMP"), "npy"},
    {"a.npy", BYTES("\0\0\0\0\0\0\0\0\0\0"), "npy"},
    {"a.bin", BYTES("1 2\na \0\0\x80\x3F\0\0\0\x40\n"), "word2vec"},
    {"a", BYTES("1 2\na \0\0\x80\x3F\0\0\0\x40\n"), "word2vec"},
    {"a.npy", BYTES("GGUF\3\0\0\0"), "gguf"},
    {"a", BYTES("GGUF\0\0\0\3"), "gguf"},
    {"a", BYTES("FUGG\0\0\0\3"), "gguf"},
    {"a.gguf", BYTES("GGU"), "gguf"},
    {"a.gguf", BYTES("GGUX\3\0\0\0"), "gguf"},
    {"a.txt", BYTES(NUMBERS), "text"},
    {"a", BYTES(NUMBERS), "text"},
    {"a.vec", BYTES("3 3\n" NUMBERS), "text"},
    {"a.txt", BYTES("GGUF 0.1 0.2\nPAR1 0.3 0.4\nFiFu 0.5 0.6\n"), "text"},
    {"a.txt", BYTES("version 0.1 0.2\ncat 0.3 0.4\n"), "text"},
    {"a", BYTES("PK\3\4\x2D\0\0\0\0\0\0\0\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0a.npy"), "npz"},
    {"a.pt", BYTES("PK\3\4\x2D\0\0\0\0\0\0\0\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0a.npy"), "npz"},
    {"a.npz", BYTES("PK\3\4\x2D\0\0\0\0\0\0\0\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0data.pkl"),
     "torch"},
    {"a.npz", BYTES("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "npz"},
};

/* What is known and not read: a word that must be said. */
static const struct {
    const char *path;
    const char *bytes;
    size_t n;
    emb_status status;
    const char *word, *word2;
} foreign[] = {
    {"a.safetensors", BYTES(""), EMB_BAD_DATA, "empty", ""},
    {"a.safetensors",
     BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 268435456\n"),
     EMB_BAD_DATA, "Git LFS", "268435456 bytes"},
    {"m.txt", BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), EMB_BAD_DATA,
     "Git LFS", "git lfs pull"},
    {"m.txt", BYTES("version https://git-lfs.github.com/spec/v1\nsize 99999999999999999999\n"),
     EMB_BAD_DATA, "Git LFS", "git lfs pull"},
    {"a.bin", BYTES("tjgg\1\0\0\0"), EMB_UNSUPPORTED, "before GGUF", ""},
    {"glove.zip", BYTES("PK\3\4\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0a.txt"),
     EMB_UNSUPPORTED, "zip archive", ""},
    {"a", BYTES("PK\3\4\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xFF\xFF\0\0a.npy"),
     EMB_UNSUPPORTED, "zip archive", ""},
    {"a.model", BYTES("\x80\x04\x95\1\0\0\0\0\0\0\0."), EMB_UNSUPPORTED, "pickle", ""},
    {"a.fifu", BYTES("FiFu\0\0\0\0\2\0\0\0"), EMB_UNSUPPORTED, "finalfusion", ""},
    {"cc.en.300.bin", BYTES("\xBA\x16\x4F\x2F\x0C\0\0\0"), EMB_UNSUPPORTED, "fastText", ".vec"},
    {"a.h5", BYTES("\x89HDF\r\n\x1A\n\0\0"), EMB_UNSUPPORTED, "HDF5", ""},
    {"a", BYTES("PAR1\x15\4\x15\x10"), EMB_UNSUPPORTED, "Parquet", ""},
    {"a", BYTES("ARROW1\0\0"), EMB_UNSUPPORTED, "Arrow", ""},
    {"a", BYTES("FEA1\0\0\0\0"), EMB_UNSUPPORTED, "Feather", ""},
    {"a", BYTES("\xFF\xFF\xFF\xFF\x70\0\0\0"), EMB_UNSUPPORTED, "Arrow", ""},
    {"a", BYTES("SQLite format 3\0"), EMB_UNSUPPORTED, "SQLite", ""},
    {"a.txt.gz", BYTES("\x1F\x8B\x08\0\0\0\0\0\0\3"), EMB_UNSUPPORTED, "gzip inside gzip",
     "gunzip"},
    {"a", BYTES("\x28\xB5\x2F\xFD\0"), EMB_UNSUPPORTED, "zstd", ""},
    {"a", BYTES("\xFD\x37zXZ\0"), EMB_UNSUPPORTED, "xz", ""},
    {"a", BYTES("BZh91AY&SY"), EMB_UNSUPPORTED, "bzip2", ""},
    {"a.npy", BYTES("<!DOCTYPE html>\n"), EMB_UNSUPPORTED, "web page", ""},
    {"a.bin", BYTES("<HTML><body>"), EMB_UNSUPPORTED, "web page", ""},
    {"a", BYTES("<?xml version=\"1.0\"?><Error>"), EMB_UNSUPPORTED, "web page", ""},
    {"a.safetensors", BYTES("{\"error\":\"Repository not found\"}"), EMB_UNSUPPORTED,
     "error message", ""},
    {"config.json", BYTES("{\n  \"vocab_size\": 4\n}"), EMB_UNSUPPORTED, "JSON", ""},
    {"tokenizer.model", BYTES("\x0A\x0E\x0A\5<unk>"), EMB_UNSUPPORTED, "sentencepiece", ""},
    {"cl100k_base.tiktoken", BYTES("IQ== 0\nIg== 1\n"), EMB_UNSUPPORTED, "tiktoken", ""},
    {"a.onnx", BYTES("\x08\x07\x12\4test"), EMB_UNSUPPORTED, "ONNX", ""},
    {"a", BYTES("\x01\x02\x03\x04\x05"), EMB_UNSUPPORTED, "not a format embtool knows",
     "\\x01\\x02"},
    {"a.raw", BYTES("\0\0\x80\x3F"), EMB_UNSUPPORTED, "--format raw", ""},
};

static emb_status probe(const char *path, const char *bytes, size_t n, const struct embi_format **f,
                        emb_err *err)
{
    struct embi_env env = {0};
    struct embi_io *io;
    cr_assert_eq(embi_io_memory(&env, bytes, n, NULL, &io, err), EMB_OK);
    emb_status status = embi_format_probe(io, path, f, err);
    embi_io_close(io);
    return status;
}

Test(probe, samples)
{
    for (size_t i = 0; i < EMBI_LEN(samples); i++) {
        const struct embi_format *f = NULL;
        emb_err err = {0};
        emb_status status = probe(samples[i].path, samples[i].bytes, samples[i].n, &f, &err);
        cr_expect_eq(status, EMB_OK, "%zu (%s): %s", i, samples[i].format, err.msg);
        cr_expect(f && strcmp(f->name, samples[i].format) == 0, "%zu: %s is not %s", i,
                  f ? f->name : "nothing", samples[i].format);
    }
}

/* Two formats that bid the same for one file would make the list's order decide. */
Test(probe, no_ties)
{
    for (size_t i = 0; i < EMBI_LEN(samples); i++) {
        int best = 0, times = 0;
        const char *dot = strrchr(samples[i].path, '.');
        for (const struct embi_format *const *f = embi_formats; *f; f++) {
            const unsigned char *head = (const unsigned char *)samples[i].bytes;
            const char *ext = !dot ? "" : strcmp(dot, ".SafeTensors") == 0 ? ".safetensors" : dot;
            int bid = (*f)->probe ? (*f)->probe(head, samples[i].n, samples[i].n, ext) : 0;
            cr_expect(bid >= 0 && bid <= 100, "%s bids %d", (*f)->name, bid);
            times = bid > best ? 1 : times + (bid == best);
            best = bid > best ? bid : best;
        }
        cr_expect(best > 0 && times == 1, "sample %zu: %d formats bid %d", i, times, best);
    }
}

Test(probe, known_but_not_read)
{
    for (size_t i = 0; i < EMBI_LEN(foreign); i++) {
        const struct embi_format *f = &embi_format_npy;
        emb_err err = {0};
        emb_status status = probe(foreign[i].path, foreign[i].bytes, foreign[i].n, &f, &err);
        cr_expect_eq(status, foreign[i].status, "%zu (%s): %d", i, foreign[i].word, status);
        cr_expect_null(f);
        cr_expect(strstr(err.msg, foreign[i].word) && strstr(err.msg, foreign[i].word2),
                  "%zu (%s): %s", i, foreign[i].word, err.msg);
    }
}

Test(probe, hdf5_behind_another_block)
{
    char bytes[2056] = {0};
    const struct embi_format *f;
    emb_err err;
    memcpy(bytes + 2048, "\x89HDF\r\n\x1A\n", 8);
    cr_assert_eq(probe("a", bytes, sizeof bytes, &f, &err), EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "HDF5"), "%s", err.msg);
}

Test(format, names)
{
    static const char *const names[] = {"npy",      "npz",  "safetensors",   "torch",
                                        "word2vec", "text", "word2vec-text", "raw",
                                        "csv",      "tsv",  "gguf"};
    size_t n = 0;
    for (const struct embi_format *const *f = embi_formats; *f; f++, n++)
        cr_assert_eq(embi_format_by_name((*f)->name), *f);
    cr_assert_eq(n, EMBI_LEN(names));
    for (size_t i = 0; i < n; i++)
        cr_assert_not_null(embi_format_by_name(names[i]), "%s", names[i]);
    cr_assert_null(embi_format_by_name("NPY"));
    cr_assert_null(embi_format_by_name(""));
    cr_assert_null(embi_format_by_name(NULL));
}

Test(format, extensions)
{
    static const struct {
        const char *path, *format; /* NULL: none */
    } paths[] = {
        {"a.npy", "npy"},
        {"dir.d/x.NPZ", "npz"},
        {"a.b.safetensors", "safetensors"},
        {"a.raw", "raw"},
        {"a.f32", "raw"},
        {"words.bin", "word2vec"},
        {"words.vec", "word2vec-text"},
        {"glove.txt", "text"},
        {"a", NULL},
        {"a.npy/b", NULL},
        {"a.", NULL},
        {"a.np", NULL},
        {"a.npyx", NULL},
        {"", NULL},
        {"a.an_extension_too_long", NULL},
        {"a. ", NULL},
        {"-", NULL},
        {NULL, NULL},
    };
    for (size_t i = 0; i < EMBI_LEN(paths); i++) {
        const struct embi_format *f = embi_format_by_ext(paths[i].path, false);
        cr_expect(paths[i].format ? f && strcmp(f->name, paths[i].format) == 0 : !f, "%s: %s",
                  paths[i].path, f ? f->name : "none");
    }
}

/* Only who saves a whole table gets these by the extension. */
Test(format, exports)
{
    cr_expect_null(embi_format_by_ext("a.csv", false));
    cr_expect_null(embi_format_by_ext("a.tsv", false));
    cr_expect_eq(embi_format_by_ext("a.csv", true), &embi_format_csv);
    cr_expect_eq(embi_format_by_ext("a.TSV", true), &embi_format_tsv);
    cr_expect_eq(embi_format_by_ext("a.npy", true), &embi_format_npy);
}

Test(format, not_readable)
{
    struct embi_env env = {0};
    struct embi_reader *r;
    emb_err err;
    cr_assert_eq(
        open_bytes(&env, "1 1\na 1\n", 8, "a.vec", &embi_format_word2vec_text, NULL, &r, &err),
        EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "word2vec-text: written, but not read"), "%s", err.msg);
    cr_assert_null(r);
}

/* The names of a reader stay right while their list grows and moves. */
Test(reader, add)
{
    struct embi_reader *r = calloc(1, sizeof *r);
    emb_err err;
    cr_assert_not_null(r);
    for (int i = 0; i < 1000; i++) {
        char name[20];
        struct embi_tensor t = {.ndim = 1, .shape = {(uint64_t)i}};
        int n = snprintf(name, sizeof name, "%d", i * 7919);
        emb_str s = i % 5 == 4 ? (emb_str){NULL, 0} : (emb_str){name, i % 5 == 3 ? 0 : (size_t)n};
        cr_assert_eq(embi_reader_add(r, s, &t, &err), EMB_OK);
    }
    cr_assert_eq(r->n_tensors, 1000);
    for (int i = 0; i < 1000; i++) {
        char name[20];
        emb_str s = r->tensors[i].name;
        snprintf(name, sizeof name, "%d", i * 7919);
        cr_assert_eq(r->tensors[i].shape[0], (uint64_t)i);
        if (i % 5 == 4)
            cr_assert_null(s.s);
        else
            cr_assert(s.s && embi_str_is(s, i % 5 == 3 ? "" : name), "%d", i);
    }
    embi_reader_close(r);
}

Test(reader, layout_of_no_tensor)
{
    struct embi_reader r = {0};
    struct embi_layout layout;
    emb_err err;
    cr_assert_eq(embi_reader_layout(&r, 0, &layout, &err), EMB_BUG);
}

Test(shape, count)
{
    static const struct {
        uint64_t shape[3];
        int ndim;
        bool fits;
        uint64_t count;
    } shapes[] = {
        {{0}, 0, true, 1},
        {{7}, 1, true, 7},
        {{2, 3, 4}, 3, true, 24},
        {{0, UINT64_MAX, UINT64_MAX}, 3, true, 0},
        {{UINT64_MAX, 1, 1}, 3, true, UINT64_MAX},
        {{UINT64_C(1) << 32, UINT64_C(1) << 31, 1}, 3, true, UINT64_C(1) << 63},
        {{UINT64_C(1) << 32, UINT64_C(1) << 32, 1}, 3, false, 0},
        {{UINT64_MAX, 2, 0}, 3, false, 0},
    };
    for (size_t i = 0; i < EMBI_LEN(shapes); i++) {
        uint64_t count = 99;
        bool fits = embi_shape_count(shapes[i].shape, shapes[i].ndim, &count);
        cr_expect_eq(fits, shapes[i].fits, "%zu", i);
        cr_expect_eq(count, shapes[i].fits ? shapes[i].count : 99, "%zu", i);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Raw rows
 */

Test(raw, read)
{
    static const struct {
        size_t size;
        struct embi_read_opts opts;
        emb_status status;
        uint64_t rows;
        const char *word;
    } files[] = {
        {24, {.input_dtype = EMB_F32, .raw_dims = 2}, EMB_OK, 3, NULL},
        {24, {.input_dtype = EMB_BF16, .raw_dims = 3, .raw_offset = 6}, EMB_OK, 3, NULL},
        {24, {.input_dtype = EMB_F32, .raw_dims = 2, .raw_rows = 2}, EMB_OK, 2, NULL},
        {24, {.input_dtype = EMB_F32, .raw_dims = 2, .raw_offset = 24}, EMB_OK, 0, NULL},
        {0, {.input_dtype = EMB_F32, .raw_dims = 2}, EMB_OK, 0, NULL},
        {25, {.input_dtype = EMB_F32, .raw_dims = 2}, EMB_BAD_DATA, 0, "25 bytes are not"},
        {24, {.input_dtype = EMB_F32, .raw_dims = 2, .raw_rows = 4}, EMB_BAD_DATA, 0, "found 24"},
        {24,
         {.input_dtype = EMB_F64, .raw_dims = UINT32_MAX, .raw_rows = UINT64_MAX},
         EMB_BAD_DATA,
         0,
         "found 24"},
        {24, {.input_dtype = EMB_F32, .raw_dims = 2, .raw_offset = 25}, EMB_BAD_DATA, 0, "byte 25"},
        {24, {.input_dtype = EMB_F32}, EMB_BAD_ARG, 0, "--shape"},
        {24, {.raw_dims = 2}, EMB_BAD_ARG, 0, "--input-dtype"},
    };
    static const char bytes[32];
    for (size_t i = 0; i < EMBI_LEN(files); i++) {
        struct embi_env env = {0};
        struct embi_reader *r;
        struct embi_layout layout;
        emb_err err;
        emb_status status =
            open_bytes(&env, bytes, files[i].size, "a", &embi_format_raw, &files[i].opts, &r, &err);
        cr_assert_eq(status, files[i].status, "%zu: %s", i, err.msg);
        if (status) {
            cr_assert(strstr(err.msg, files[i].word), "%s", err.msg);
            continue;
        }
        cr_assert_eq(embi_reader_layout(r, 0, &layout, &err), EMB_OK);
        cr_assert(layout.rows == files[i].rows && layout.offset == files[i].opts.raw_offset);
        cr_assert(layout.dims == files[i].opts.raw_dims &&
                  layout.dtype == files[i].opts.input_dtype);
        embi_reader_close(r);
    }
}

Test(raw, written_as_it_is)
{
    static const uint16_t rows[6] = {1, 2, 3, 4, 5, 6};
    static const struct input in = {{"a", EMB_F16, 2, {EMB_ROWS_UNKNOWN, 2}}, rows, 3};
    struct embi_buf out;
    emb_err err;
    cr_assert_eq(write_file(&embi_format_raw, &in, 1, 0, &out, &err), EMB_OK, "%s", err.msg);
    cr_assert(out.n == sizeof rows && memcmp(out.s, rows, sizeof rows) == 0);
    cr_assert(embi_format_raw.caps & EMBI_FMT_STREAM);
    embi_buf_free(&out);
}

/* test_fmt_text.c - word vectors as text, GloVe's and word2vec's form: read, refused, written.
 *
 * Expected values are those written in the text, where f32 holds them exactly; the rounding cases
 * have the bits that IEEE 754 asks for (halfway between two f32, and just beside it).
 */
#include "words_fixture.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

static const struct embi_format *const format = &embi_format_text;

struct good_file {
    const char *s;
    size_t n;
    uint64_t rows;
    uint32_t dims;
    const char *tokens[6];
    float values[12]; /* [rows, dims] */
};

static void check_good(const struct good_file *good)
{
    struct loaded l;
    emb_status status = load(&l, format, good->s, good->n, NULL);
    cr_assert(status == EMB_OK, "%s\n%s", l.err.msg, good->s);
    cr_assert(l.reader->rows == good->rows && l.reader->dims == good->dims,
              "found %llu rows of %u:\n%s", (unsigned long long)l.reader->rows, l.reader->dims,
              good->s);
    for (size_t i = 0; i < good->rows; i++)
        cr_assert(embi_str_is(l.reader->tokens[i], good->tokens[i]), "token %zu: '%.*s'\n%s", i,
                  (int)l.reader->tokens[i].n, l.reader->tokens[i].s, good->s);
    for (size_t i = 0; i < good->rows * good->dims; i++)
        cr_assert(l.values[i] == good->values[i], "value %zu: %g\n%s", i, (double)l.values[i],
                  good->s);
    unload(&l);
}

Test(text, reads)
{
    static const struct good_file files[] = {
        {BYTES("cat 1 2\ndog 3 4\n"), 2, 2, {"cat", "dog"}, {1, 2, 3, 4}},
        {BYTES("cat 1 2\ndog 3 4"), 2, 2, {"cat", "dog"}, {1, 2, 3, 4}},
        {BYTES("2 2\ncat 1 2\ndog 3 4\n"), 2, 2, {"cat", "dog"}, {1, 2, 3, 4}},
        {BYTES(" 2  2 \r\ncat 1 2 \r\ndog 3 4 \r\n"), 2, 2, {"cat", "dog"}, {1, 2, 3, 4}},
        {BYTES("cat 1  2\ndog -1 -2 \nant 1e2 .5\n"),
         3,
         2,
         {"cat", "dog", "ant"},
         {1, 2, -1, -2, 100, .5}},
        /* repeated blanks, where numbers are read one by one and where they are not */
        {BYTES("a row of some length 1  2\nb 3  4\t \nc   5 \t6\n"),
         3,
         2,
         {"a row of some length", "b", "c  "},
         {1, 2, 3, 4, 5, 6}},
        {BYTES("cat\t1\t2\nnew york\t3 4\t\n"), 2, 2, {"cat", "new york"}, {1, 2, 3, 4}},
        {BYTES("cat 1 2\ndog 3 4\n\n\r\n \t\n"), 2, 2, {"cat", "dog"}, {1, 2, 3, 4}},
        /* the last d fields are the numbers, the token is what stands before them */
        {BYTES(". . . 1 2\nat x@y 3 4\n2019 5 6\ntwo  spaces 7 8\n"),
         4,
         2,
         {". . .", "at x@y", "2019", "two  spaces"},
         {1, 2, 3, 4, 5, 6, 7, 8}},
        {BYTES("a  1 2\n b 3 4\n  5 6\n 7 8\n"),
         4,
         2,
         {"a ", " b", " ", ""},
         {1, 2, 3, 4, 5, 6, 7, 8}},
        /* only 0x20 and tabs are blanks, only LF ends a line */
        {BYTES("a\xC2\xA0"
               "b 1 2\nc\xE2\x80\xA8"
               "d 3 4\ne\xC2\x85 5 6\nf\vg\f 7 8\nh\ri 9 10\n"),
         5,
         2,
         {"a\xC2\xA0"
          "b",
          "c\xE2\x80\xA8"
          "d",
          "e\xC2\x85", "f\vg\f", "h\ri"},
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
        {BYTES("ca\xFFt 1 2\nca\xFEt 3 4\n"), 2, 2, {"ca\xFFt", "ca\xFEt"}, {1, 2, 3, 4}},
        {BYTES("inf 1\nnan 2\n1e5 3\n"), 3, 1, {"inf", "nan", "1e5"}, {1, 2, 3}},
    };
    for (size_t i = 0; i < EMBI_LEN(files); i++)
        check_good(&files[i]);
}

/* "V d" is a header where the rows agree with it, else a row of a table with d = 1. */
Test(text, header_or_row)
{
    static const struct good_file files[] = {
        {BYTES("2019 5\n2020 6\n"), 2, 1, {"2019", "2020"}, {5, 6}},
        {BYTES("2 1\ncat 5\ndog 6\n"), 2, 1, {"cat", "dog"}, {5, 6}},
        {BYTES("2 1\n2019 5\n2020 6\n"), 2, 1, {"2019", "2020"}, {5, 6}},
        {BYTES("2019 1\n2020 5\n2021 6\n"), 3, 1, {"2019", "2020", "2021"}, {1, 5, 6}},
        {BYTES("2 2\n7 1 2\n8 3 4\n"), 2, 2, {"7", "8"}, {1, 2, 3, 4}},
        {BYTES("7 1 2\n8 3 4\n"), 2, 2, {"7", "8"}, {1, 2, 3, 4}},
    };
    for (size_t i = 0; i < EMBI_LEN(files); i++)
        check_good(&files[i]);
}

Test(text, refuses)
{
    static const struct bad_file files[] = {
        {BYTES("\n\n"), OPEN, 0, "blank lines only"},
        {BYTES("the\ncat\n"), OPEN, 0, "line 1: expected a token and numbers"},
        {BYTES("2 0\na\nb\n"), OPEN, 0, "line 1: d is 0"},
        {BYTES("0 5\n"), OPEN, 0, "the header says 0 rows"},
        {BYTES("2 4294967296\na 1 2 3\n"), OPEN, 0, "d is 4294967296"},
        {BYTES("3 2\ncat 1 2\ndog 3 4\n"), WALK, 2, "the header says 3 rows, the file has 2"},
        {BYTES("1 2\ncat 1 2\ndog 3 4\n"), WALK, 2, "the header says 1 rows, the file has 2"},
        {BYTES("3 1\ncat 1\ndog 2\n"), WALK, 2, "the header says 3 rows, the file has 2"},
        {BYTES("18446744073709551614 2\ncat 1 2\n"), WALK, 1, "the file has 1"},
        {BYTES("99999999999999999999 2\ncat 1 2\n"), OPEN, 0, "says 2^64-1 rows, or more"},
        {BYTES("1 4294967295\ncat 1 2\n"), WALK, 0, "expected 4294967295 values, found 2"},
        {BYTES("1000 300\n"), WALK, 0, "the header says 1000 rows, the file has 0"},
        {BYTES("cat 1 2\n\ndog 3 4\n"), WALK, 1, "line 2 (row 1): blank"},
        {BYTES("2 2\n\ncat 1 2\ndog 3 4\n"), WALK, 0, "line 2 (row 0): blank"},
        {BYTES("4 3\na 1 2 3\nb 1 2 3\nc 1 2\nd 1 2 3\n"), TOKENS, 2,
         "line 4 (row 2): expected 3 values, found 2"},
        {BYTES("a 1 2 3\nb 1 2 3\nc 1 2\n"), TOKENS, 2,
         "line 3 (row 2): expected 3 values, found 2"},
        {BYTES("a 1 2\nb 1 2\nc\n"), TOKENS, 2, "line 3 (row 2): expected 2 values, found 0"},
        {BYTES("a 1 2\nb 1 2\n1 2\n"), TOKENS, 2, "line 3 (row 2): expected 2 values, found 1"},
        {BYTES("2 2\na 1 2\nb 1 x2\n"), ROWS, 1, "line 3 (row 1): 'x2' is not a number"},
        {BYTES("a 1 2\nb 1 2\r3\n"), ROWS, 1, "line 2 (row 1): '\\r3' is not a number"},
        {BYTES("a 1 2\nb 1 2\r\r\n"), ROWS, 1, "is not a number"},
    };
    for (size_t i = 0; i < EMBI_LEN(files); i++)
        check_bad(format, &files[i]);
}

Test(text, fields_that_are_no_numbers)
{
    static const char *const fields[] = {"0x1p3", "9:0.02", "1.5abc", "1,5",  "--1",    "1e",
                                         ".",     "1_0",    "+-1",    "nanx", "\u00A01"};
    char file[64];
    struct loaded l;
    for (size_t i = 0; i < EMBI_LEN(fields); i++) {
        int n = snprintf(file, sizeof file, "cat 1 2\ndog 3 4\ncow 5 %s\nant 7 8\n", fields[i]);
        cr_assert(load(&l, format, file, (size_t)n, NULL) == EMB_BAD_DATA, "%s", fields[i]);
        cr_assert(l.pass == ROWS && l.err.at == 2, "%s", fields[i]);
        cr_assert(strstr(l.err.msg, "line 3 (row 2): '") != NULL, "%s", l.err.msg);
    }
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 1 + 2^-24 is halfway between 1 and the next f32. By way of f64 both of the first two would be 1.
 */
Test(text, rounds_once)
{
    static const char file[] = "a 1.00000005960464477540 1.00000005960464477538\n"
                               "b 1.000000059604644775390625 16777217\n"
                               "c 1e-45 7.0064923216240854e-46\n"
                               "d 3.4028235677973366e38 3.4028235677973367e38\n"
                               "e nan -inf\n"
                               "f -0 1e-50\n";
    static const uint32_t expected[] = {0x3F800001, 0x3F800000, 0x3F800000, 0x4B800000,
                                        0x00000001, 0x00000001, 0x7F7FFFFF, 0x7F800000,
                                        0x7FC00000, 0xFF800000, 0x80000000, 0x00000000};
    struct loaded l;
    cr_assert(load(&l, format, BYTES(file), NULL) == EMB_OK);
    for (size_t i = 0; i < EMBI_LEN(expected); i++)
        cr_assert(bits_of(l.values[i]) == expected[i], "value %zu: %08x", i, bits_of(l.values[i]));
    unload(&l);
}

/* A wrong count is not one where the limit ends the walk; rows behind it are not looked at. */
Test(text, limit)
{
    static const char file[] = "9 2\ncat 1 2\ndog 3 4\n\nfox 5 x\n";
    struct embi_read_opts opts = {.limit_rows = 2};
    struct loaded l;
    cr_assert(load(&l, format, BYTES(file), &opts) == EMB_OK);
    cr_assert(l.reader->rows == 2 && l.values[3] == 4);
    unload(&l);
    opts.limit_rows = 3;
    cr_assert(load(&l, format, BYTES(file), &opts) == EMB_BAD_DATA);
    opts.limit_rows = 100;
    cr_assert(load(&l, format, BYTES("2 1\na 1\nb 2\n"), &opts) == EMB_OK);
    cr_assert(l.reader->rows == 2);
    unload(&l);
    cr_assert(load(&l, format, BYTES("3 1\na 1\nb 2\n"), &opts) == EMB_BAD_DATA);
}

/* d is what most rows have, of equally many the smaller: a token may end with numbers. */
Test(text, dims_by_majority)
{
    static const struct good_file files[] = {
        {BYTES("x 7 1 2\ny 3 4\nz 5 6\n"), 3, 2, {"x 7", "y", "z"}, {1, 2, 3, 4, 5, 6}},
        {BYTES("x 7 1 2\ny 3 4\n"), 2, 2, {"x 7", "y"}, {1, 2, 3, 4}},
        {BYTES("7 8 1\ny 3 4\nz 5 6\n"), 3, 2, {"7", "y", "z"}, {8, 1, 3, 4, 5, 6}},
    };
    for (size_t i = 0; i < EMBI_LEN(files); i++)
        check_good(&files[i]);
}

/* A row with a value too many looks like a token that ends with a number: say so. */
Test(text, warns_of_tokens_that_end_with_numbers)
{
    static const char file[] = "3 2\na 1 2\nb 1 2 3\nc d 1 2\n";
    struct embi_read_opts opts = {.strict = true};
    struct loaded l;
    cr_assert(load(&l, format, BYTES(file), NULL) == EMB_OK);
    cr_assert(l.log.lines == 1, "%d lines", l.log.lines);
    cr_assert(strstr(l.log.last, "1 of the tokens") && strstr(l.log.last, "'b 1' in line 3"), "%s",
              l.log.last);
    unload(&l);
    cr_assert(load(&l, format, BYTES(file), &opts) == EMB_BAD_DATA);
    cr_assert(l.err.at == 1 && strstr(l.err.msg, "line 3 (row 1)"), "%s", l.err.msg);
    cr_assert(load(&l, format, BYTES("a 1 2\nb c 1 2\n"), &opts) == EMB_OK);
    cr_assert(l.log.lines == 0);
    unload(&l);
}

/* Lines that are longer than what is read at once to see what the file is. */
Test(text, long_lines)
{
    enum { V = 3, D = 90000 };
    struct embi_buf file = {0};
    struct loaded l;
    for (int row = 0; row < V; row++) {
        embi_buf_print(&file, "w%d", row);
        for (int c = 0; c < D; c++)
            embi_buf_print(&file, " %d", (row * 7 + c) % 1000);
        embi_buf_byte(&file, '\n');
    }
    cr_assert(file.n > (1 << 20) && load(&l, format, file.s, file.n, NULL) == EMB_OK);
    cr_assert(l.reader->rows == V && l.reader->dims == D);
    for (int row = 0; row < V; row++)
        for (int c = 0; c < D; c++)
            cr_assert(l.values[row * D + c] == (float)((row * 7 + c) % 1000));
    unload(&l);
    embi_buf_free(&file);
}

/* Counting fields goes in steps: every length around them, blanks at every place. */
Test(text, fields_of_lines_of_any_length)
{
    char line[600];
    uint64_t seed = 7;
    for (size_t n = 0; n < sizeof line; n++) {
        size_t fields = 0;
        for (size_t i = 0; i < n; i++)
            line[i] = "a \tb"[next_random(&seed) % 4];
        size_t end = embi_line_trim(line, n);
        for (size_t i = 1; i < end; i++)
            fields +=
                (line[i - 1] == ' ' || line[i - 1] == '\t') && line[i] != ' ' && line[i] != '\t';
        cr_assert(embi_line_fields(line, end) == fields, "length %zu", n);
    }
    memset(line, ' ', sizeof line);
    for (size_t i = 1; i < sizeof line; i += 2)
        line[i] = 'x';
    cr_assert(embi_line_fields(line, sizeof line) == sizeof line / 2);
}

Test(text, mutants)
{
    static const char glove[] = "cat 1.5 -2e3\ndo g 3 4 \nfox 0.5 6\r\n";
    static const char word2vec[] = "3 2\ncat 1.5 -2e3\ndo g 3 4 \nfox 0.5 6\r\n";
    check_mutants(format, BYTES(glove));
    check_mutants(format, BYTES(word2vec));
}

Test(text, probe)
{
    static const struct {
        const char *s;
        size_t n;
        const char *ext;
        bool text;
    } files[] = {
        {BYTES("cat 1 2\ndog 3 4\n"), "", true},
        {BYTES("2 2\ncat 1 2\ndog 3 4\n"), "", true},
        {BYTES("2019 5\n2020 6\n"), "", true},
        {BYTES("2 2\ncat x y\n"), ".vec", true},
        {BYTES("cat x y\n"), ".txt", true}, /* to be refused with its line */
        {BYTES("cat x y\n"), "", false},
        {BYTES("cat\0 1 2\n"), ".txt", false},
        {BYTES("\x01\x02\x03\x04 1\n"), ".txt", false},
        {BYTES("{\"a\": 1}\n"), "", false},
        {BYTES("\x93NUMPY\x01\x00v\x00{"), "", false},
    };
    for (size_t i = 0; i < EMBI_LEN(files); i++) {
        const unsigned char *head = (const unsigned char *)files[i].s;
        int bid = format->probe(head, files[i].n, files[i].n, files[i].ext);
        cr_assert((bid > 0) == files[i].text, "file %zu: %d", i, bid);
        cr_assert(bid < 50, "file %zu: %d, as if it had magic bytes", i, bid);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

static const float table[] = {1, -0.0f, 1e-7f, 16777216}; /* [2, 2] */
static const emb_str names[] = {{"new york", 8}, {"d\xFFg\r ", 5}};

static struct to_write two_rows(const struct embi_format *f, const emb_str *tokens)
{
    struct to_write w = {.format = f, .tokens = tokens, .data = table, .rows = 2};
    w.array = (emb_array){.dtype = EMB_F32, .ndim = 2, .shape = {2, 2}};
    return w;
}

Test(text, writes)
{
    struct to_write w = two_rows(format, names);
    check_saved(&w, BYTES("new york 1 -0\nd\xFFg\r  1e-07 16777216\n"));
    w.array.shape[0] = EMB_ROWS_UNKNOWN;
    check_saved(&w, BYTES("new york 1 -0\nd\xFFg\r  1e-07 16777216\n"));
    w = two_rows(&embi_format_word2vec_text, names);
    check_saved(&w, BYTES("2 2\nnew york 1 -0\nd\xFFg\r  1e-07 16777216\n"));
    w.array.shape[0] = EMB_ROWS_UNKNOWN;
    check_saved(&w, BYTES("00000000000000000002 2\nnew york 1 -0\nd\xFFg\r  1e-07 16777216\n"));
}

/* Shortest in the type of the array: 0.1 of f64, f16 (0x2E66), bf16 (0x3DCD), and integers. */
Test(text, writes_every_type)
{
    static const double wide = 0.1;
    static const uint16_t half = 0x2E66, brain = 0x3DCD;
    static const int64_t whole = INT64_MIN;
    const struct {
        emb_dtype dtype;
        const void *data;
        const char *line;
    } types[] = {{EMB_F64, &wide, "x 0.1\n"},
                 {EMB_F16, &half, "x 0.1\n"},
                 {EMB_BF16, &brain, "x 0.1\n"},
                 {EMB_I64, &whole, "x -9223372036854775808\n"}};
    const emb_str x = {"x", 1};
    for (size_t i = 0; i < EMBI_LEN(types); i++) {
        struct to_write w = {.format = format, .tokens = &x, .data = types[i].data, .rows = 1};
        w.array = (emb_array){.dtype = types[i].dtype, .ndim = 2, .shape = {1, 1}};
        check_saved(&w, types[i].line, strlen(types[i].line));
    }
}

/* Without a header d is what most of the first lines show, of two the smaller: here two of four. */
Test(text, writes_no_rows_that_would_change_dims)
{
    static const float one[] = {1, 2, 3, 4}; /* [4, 1] */
    const emb_str half[] = {{"Apollo 11", 9}, {"cat", 3}, {"Soyuz 1", 7}, {"dog", 3}};
    const emb_str more[] = {{"Apollo 11", 9}, {"cat", 3}, {"Soyuz 1", 7}, {" 7", 2}};
    const emb_str header[] = {{"8", 1}, {"cat", 3}, {"dog", 3}, {"cow", 3}};
    struct to_write w = {.format = format, .tokens = half, .data = one, .rows = 4};
    w.array = (emb_array){.dtype = EMB_F32, .ndim = 2, .shape = {4, 1}};
    check_saved(&w, BYTES("Apollo 11 1\ncat 2\nSoyuz 1 3\ndog 4\n"));
    w.tokens = more;
    check_not_saved(&w, EMB_BAD_DATA, "most of the first tokens end with a number");
    w.tokens = header;
    check_not_saved(&w, EMB_BAD_DATA, "the first reads as a header");
    w.format = &embi_format_word2vec_text;
    check_saved(&w, BYTES("4 1\n8 1\ncat 2\ndog 3\ncow 4\n"));
}

Test(text, writes_no_token_that_would_change)
{
    static const struct {
        emb_str token;
        const char *words;
    } bad[] = {{{"a\nb", 3}, "row 1: text cannot hold 'a\\nb': a newline ends a row"},
               {{"", 0}, "row 1: text needs a token for every row, this one is empty"},
               {{NULL, 0}, "row 1: text needs a token for every row, this one has none"}};
    for (size_t i = 0; i < EMBI_LEN(bad); i++) {
        const emb_str tokens[] = {{"cat", 3}, bad[i].token};
        struct to_write w = two_rows(format, tokens);
        check_not_saved(&w, EMB_BAD_DATA, bad[i].words);
    }
    struct to_write w = two_rows(format, NULL);
    check_not_saved(&w, EMB_UNSUPPORTED, "text needs a token for every row");
    w = two_rows(&embi_format_word2vec_text, names);
    w.rows = 0;
    check_not_saved(&w, EMB_UNSUPPORTED, "0 rows");
}

/* Tokens of blanks, digits and control bytes come back; without a header they must not look like
 * values, as most rows decide d. */
Test(text, round_trip)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        check_round_trip(&embi_format_word2vec_text, format, "a \t\r\x01\xC2\xA0\xFF,0", seed);
        check_round_trip(format, format, "ab \t\r\x01\xC2\xA0\xFF", seed);
    }
}

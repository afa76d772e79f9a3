/* test_fmt_word2vec.c - the binary form of word2vec: read, refused, written.
 *
 * Files are spelled out byte by byte from the format's description (the word2vec tool's output, and
 * gensim's without LFs); f32 bytes are IEEE 754: 1 = 00 00 80 3F, 2 = 00 00 00 40, -0.5 = 00 00 00
 * BF.
 */
#include "words_fixture.h"

#define ONE            "\x00\x00\x80\x3F"
#define TWO            "\x00\x00\x00\x40"
#define HALF           "\x00\x00\x00\xBF" /* -0.5 */
#define BYTES(literal) (literal), sizeof(literal) - 1

static const struct embi_format *const format = &embi_format_word2vec;

Test(word2vec, reads_both_layouts)
{
    static const struct {
        const char *s;
        size_t n;
    } files[] = {
        {BYTES("2 2\ncat " ONE TWO "\nd\xFFg " HALF ONE "\n")}, /* the original tool */
        {BYTES("2 2\ncat " ONE TWO "d\xFFg " HALF ONE)},        /* gensim            */
        {BYTES("2 2\ncat " ONE TWO "\nd\xFFg " HALF ONE)},      /* no LF at the end  */
        {BYTES("  2\t2 \r\n\n\ncat " ONE TWO "\n\nd\xFFg " HALF ONE "\n\n\n")},
    };
    static const float expected[] = {1, 2, -0.5, 1}; /* [2, 2] */
    for (size_t i = 0; i < EMBI_LEN(files); i++) {
        struct loaded l;
        emb_status status = load(&l, format, files[i].s, files[i].n, NULL);
        cr_assert(status == EMB_OK, "file %zu: %s", i, l.err.msg);
        cr_assert(l.reader->rows == 2 && l.reader->dims == 2);
        cr_assert(memcmp(l.values, expected, sizeof expected) == 0, "file %zu", i);
        cr_assert(embi_str_is(l.reader->tokens[0], "cat"));
        cr_assert(embi_str_is(l.reader->tokens[1], "d\xFFg"));
        unload(&l);
    }
}

/* Floats may hold the bytes that separate words; words may hold anything but a space. */
Test(word2vec, floats_and_words_of_any_bytes)
{
    static const char file[] = "2 1\na\nb\t\r \x20\x0A\x20\x0A\n\x00z \x0A\x0A\x0A\x0A\n";
    static const unsigned char expected[] = {0x20, 0x0A, 0x20, 0x0A, 0x0A, 0x0A, 0x0A, 0x0A};
    struct loaded l;
    cr_assert(load(&l, format, BYTES(file), NULL) == EMB_OK);
    cr_assert(memcmp(l.values, expected, sizeof expected) == 0);
    cr_assert(embi_str_equal(l.reader->tokens[0], (emb_str){"a\nb\t\r", 5}));
    cr_assert(embi_str_equal(l.reader->tokens[1], (emb_str){"\0z", 2}));
    unload(&l);
}

Test(word2vec, refuses)
{
    static const struct bad_file files[] = {
        {BYTES(""), OPEN, 0, "line 1: expected two numbers"},
        {BYTES("2\n"), OPEN, 0, "line 1: expected two numbers"},
        {BYTES("-2 2\n"), OPEN, 0, "line 1: expected two numbers"},
        {BYTES("2 2 2\n"), OPEN, 0, "line 1: expected two numbers"},
        {BYTES("2 2.0\n"), OPEN, 0, "line 1: expected two numbers"},
        {BYTES("2 0\na b "), OPEN, 0, "d is 0"},
        {BYTES("0 2\n"), OPEN, 0, "0 rows"},
        {BYTES("1 4294967296\n"), OPEN, 0, "d is 4294967296"},
        {BYTES("1 99999999999999999999\n"), OPEN, 0, "d is 18446744073709551615"},
        {BYTES("2 2\n"), WALK, 0, "the header says 2 rows, the file has 0"},
        {BYTES("2 2\ncat " ONE TWO "\n"), WALK, 1, "the header says 2 rows, the file has 1"},
        {BYTES("2 2\ncat " ONE TWO "\ndo"), WALK, 1, "row 1: the file ends inside its word"},
        {BYTES("2 2\ncat " ONE TWO "\ndog " ONE "\x00"), WALK, 1,
         "row 1: expected 2 values, found 1 (the header says 2 rows, the file has 1)"},
        {BYTES("1 2\ncat " ONE TWO "\ndog " ONE TWO), WALK, 16,
         "the header says 1 rows, which end at byte 16; the file has 29 bytes"},
        {BYTES("1 2\ncat " ONE TWO " "), WALK, 16, "end at byte 16; the file has 17 bytes"},
        /* nothing may be allocated for rows that cannot be there, nor may sizes wrap */
        {BYTES("1152921504606846977 4\na " ONE TWO), WALK, 0, "row 0: expected 4 values, found 2"},
        {BYTES("18446744073709551614 1\na " ONE), WALK, 1, "says 18446744073709551614 rows"},
        {BYTES("99999999999999999999 1\na " ONE), OPEN, 0, "says 2^64-1 rows, or more"},
        {BYTES("4294967295 4294967295\na " ONE), WALK, 0, "expected 4294967295 values, found 1"},
    };
    for (size_t i = 0; i < EMBI_LEN(files); i++)
        check_bad(format, &files[i]);
}

/* A word and its space take 4096 bytes at most. */
Test(word2vec, longest_word)
{
    char file[4 + 4097 + 4];
    struct loaded l;
    for (size_t word = 4095; word <= 4096; word++) {
        memcpy(file, "1 1\n", 4);
        memset(file + 4, 'x', word);
        memcpy(file + 4 + word, " " ONE, 5);
        emb_status status = load(&l, format, file, 4 + word + 5, NULL);
        cr_assert(status == (word == 4095 ? EMB_OK : EMB_BAD_DATA));
        if (status)
            cr_assert(strstr(l.err.msg, "row 0: no space within 4096 bytes") != NULL);
        else
            unload(&l);
    }
}

/* With a limit only the rows up to it are looked at: what follows may be cut or too much. */
Test(word2vec, limit)
{
    static const char file[] = "9 2\ncat " ONE TWO "\ndog " HALF ONE "\nfo";
    struct loaded l;
    struct embi_read_opts opts = {.limit_rows = 2};
    cr_assert(load(&l, format, BYTES(file), &opts) == EMB_OK);
    cr_assert(l.reader->rows == 2);
    unload(&l);
    opts.limit_rows = 3;
    cr_assert(load(&l, format, BYTES(file), &opts) == EMB_BAD_DATA);
    static const char one[] = "1 2\ncat " ONE TWO;
    cr_assert(load(&l, format, BYTES(one), &opts) == EMB_OK);
    cr_assert(l.reader->rows == 1);
    unload(&l);
}

Test(word2vec, mutants)
{
    static const char file[] = "3 2\ncat " ONE TWO "\ndog " HALF ONE "\nfox " TWO TWO "\n";
    check_mutants(format, BYTES(file));
}

/* Bids against text; a file with a text row is never binary, whatever it is called. */
Test(word2vec, probe)
{
    static const struct {
        const char *s;
        size_t n;
        const char *ext;
        bool binary;
    } files[] = {
        {BYTES("1 2\na " ONE TWO), "", true},
        {BYTES("1 2\na " ONE TWO), ".txt", true},
        {BYTES("2 2\n\nnew " HALF ONE "\nyork " HALF ONE), ".bin", true},
        {BYTES("1 1\na ABCD"), ".bin", true}, /* 781.03: number bytes that are letters */
        {BYTES("1000 300\n"), ".bin", true},  /* cut after its header                  */
        {BYTES("1000 300\n"), "", false},
        {BYTES("2 2\na 1 2\nb 3 4\n"), ".bin", false},
        {BYTES("2 2\nca\xFFt 1 0\nca\xFE"
               "d 0 1\n"),
         "", false},
        {BYTES("2 2\nnew york 1 2\nb 3 4\n"), "", false},
        {BYTES("3 3\na 1 2\nb 1 2 3\n"), "", false},
        {BYTES("a 1 2\nb 3 4\n"), ".bin", false},
        {BYTES("\x93NUMPY\x01\x00"), ".bin", false},
    };
    for (size_t i = 0; i < EMBI_LEN(files); i++) {
        const unsigned char *head = (const unsigned char *)files[i].s;
        int bid = format->probe(head, files[i].n, files[i].n, files[i].ext);
        int text = embi_format_text.probe(head, files[i].n, files[i].n, files[i].ext);
        cr_assert((bid > text) == files[i].binary, "file %zu: %d against %d", i, bid, text);
        cr_assert(bid != text || bid == 0, "file %zu: a tie", i);
    }
}

/* A text file whose first line alone is longer than the part that probes see. */
Test(word2vec, probe_of_long_text)
{
    char head[EMBI_PROBE_BYTES];
    size_t n = 0;
    memcpy(head, "2 3000\nword", 11);
    for (n = 11; n + 6 <= sizeof head; n += 6)
        memcpy(head + n, " -0.25", 6);
    const unsigned char *bytes = (const unsigned char *)head;
    cr_assert(format->probe(bytes, n, 1 << 20, ".bin") == 0);
    cr_assert(embi_format_text.probe(bytes, n, 1 << 20, ".bin") > 0);
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

static const float table[] = {1, 2, -0.5, 1}; /* [2, 2] */
static const emb_str names[] = {{"cat", 3}, {"d\n\xFFg", 4}};

static struct to_write two_rows(const emb_str *tokens)
{
    struct to_write w = {.format = format, .tokens = tokens, .data = table, .rows = 2};
    w.array = (emb_array){.dtype = EMB_F32, .ndim = 2, .shape = {2, 2}};
    return w;
}

Test(word2vec, writes)
{
    struct to_write w = two_rows(names);
    check_saved(&w, BYTES("2 2\ncat " ONE TWO "\nd\n\xFFg " HALF ONE "\n"));
}

/* The row count comes last: its place is 20 digits wide. */
Test(word2vec, writes_count_late)
{
    struct to_write w = two_rows(names);
    w.array.shape[0] = EMB_ROWS_UNKNOWN;
    check_saved(&w, BYTES("00000000000000000002 2\ncat " ONE TWO "\nd\n\xFFg " HALF ONE "\n"));
}

Test(word2vec, writes_no_other_tables)
{
    struct to_write w = two_rows(NULL);
    check_not_saved(&w, EMB_UNSUPPORTED, "word2vec needs a token for every row");
    w = two_rows(names);
    w.array.dtype = EMB_F16;
    check_not_saved(&w, EMB_UNSUPPORTED, "word2vec holds f32 only, not f16");
    w = two_rows(names);
    w.array.ndim = 3;
    w.array.shape[2] = 1;
    check_not_saved(&w, EMB_UNSUPPORTED, "not 3 axes");
    w = two_rows(names);
    w.array.shape[1] = 0;
    check_not_saved(&w, EMB_UNSUPPORTED, "d is 0");
    w = two_rows(names);
    w.rows = 0;
    check_not_saved(&w, EMB_UNSUPPORTED, "0 rows");
}

Test(word2vec, writes_no_word_that_would_change)
{
    static char long_word[4096];
    memset(long_word, 'x', sizeof long_word);
    static const struct {
        emb_str token;
        const char *words;
    } bad[] = {
        {{"new york", 8}, "row 1: word2vec cannot hold 'new york': a space ends a word"},
        {{"\nx", 2}, "a word cannot begin with a newline"},
        {{"", 0}, "row 1: word2vec needs a token for every row, this one is empty"},
        {{NULL, 0}, "row 1: word2vec needs a token for every row, this one has none"},
        {{long_word, sizeof long_word}, "longer than 4095 bytes"},
    };
    for (size_t i = 0; i < EMBI_LEN(bad); i++) {
        const emb_str tokens[] = {{"cat", 3}, bad[i].token};
        struct to_write w = two_rows(tokens);
        check_not_saved(&w, EMB_BAD_DATA, bad[i].words);
    }
}

Test(word2vec, round_trip)
{
    for (uint64_t seed = 1; seed <= 50; seed++)
        check_round_trip(format, format, "ab\t\r\x01\x7F\x80\xC3\xFF,09", seed);
}

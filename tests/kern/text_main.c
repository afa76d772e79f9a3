/* tests/kern/text_main.c - text tables read by several threads: rows, tokens, warnings and errors
 * are those of one reader that begins at the beginning. A plain main, since it runs under
 * ThreadSanitizer too: exit 0 if every check holds.
 *
 * Expected values: a reader in this file that goes line by line and cuts tokens from the right. The
 * files are random, of lines that are hard to cut, and are read in pieces of a few bytes, so that
 * each place is a cut of some run.
 */
#include "fmt/text.h"
#include "kern_fixture.h"
#include "util/buf.h"
#include "util/pool.h"

#include <inttypes.h>

enum { DIMS = 2, LINES_MAX = 60, FIRST_LINES = 4, FILES = 400 };

/* ------------------------------------------------------------------------------------------------
 * What is found in a file, or what is wrong with it
 */
struct found {
    enum { WALK, TOKENS, DONE } pass; /* that failed */
    int64_t at;
    char message[256], warning[256];
    uint64_t rows;
    emb_str tokens[LINES_MAX];
    float values[LINES_MAX * DIMS];
};

struct file {
    const char *s;
    size_t n;
    uint64_t limit; /* 0: none */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static emb_str trim(emb_str line)
{
    if (line.n > 0 && line.s[line.n - 1] == '\r')
        line.n--;
    while (line.n > 0 && is_space(line.s[line.n - 1]))
        line.n--;
    return line;
}

/* The next line, which begins at *at. */
static emb_str next_line(const struct file *f, size_t *at)
{
    emb_str line = {f->s + *at, 0};
    while (*at + line.n < f->n && line.s[line.n] != '\n')
        line.n++;
    *at += line.n + 1;
    return trim(line);
}

/* Fields that have a blank before them. */
static uint64_t fields(emb_str line)
{
    uint64_t n = 0;
    for (size_t i = 1; i < line.n; i++)
        n += is_space(line.s[i - 1]) && !is_space(line.s[i]);
    return n;
}

/* The token of a line with enough fields, and its values, which are one digit each. */
static emb_str cut(emb_str line, float values[DIMS])
{
    size_t at = line.n;
    for (int c = DIMS - 1; c >= 0; c--) {
        while (is_space(line.s[at - 1]))
            at--;
        at--;
        values[c] = (float)(line.s[at] - '0');
    }
    return (emb_str){line.s, at - 1};
}

static bool ends_in_digit(emb_str token)
{
    return token.n > 0 && token.s[token.n - 1] >= '0' && token.s[token.n - 1] <= '9' &&
           (token.n == 1 || is_space(token.s[token.n - 2]));
}

static void fail(struct found *e, int pass, int64_t at, const char *message)
{
    e->pass = pass;
    e->at = at;
    (void)snprintf(e->message, sizeof e->message, "%s", message);
}

/* Finds lines [rows]; false: they are in disorder, or not as many as the header says. */
static bool expect_lines(const struct file *f, struct found *e, emb_str lines[LINES_MAX],
                         bool *header)
{
    size_t at = 0;
    char message[200];
    long promised = 0;
    bool blank = false;
    *header = f->s[0] >= '0' && f->s[0] <= '9';
    if (*header) {
        promised = strtol(f->s, NULL, 10);
        next_line(f, &at);
    }
    while (at < f->n && (f->limit == 0 || e->rows < f->limit)) {
        emb_str line = next_line(f, &at);
        if (line.n == 0) {
            blank = true;
        } else if (blank) {
            (void)snprintf(message, sizeof message,
                           "line %" PRIu64 " (row %" PRIu64 "): blank, and rows follow it",
                           e->rows + 1 + *header, e->rows);
            fail(e, WALK, (int64_t)e->rows, message);
            return false;
        } else {
            lines[e->rows++] = line;
        }
    }
    if (!*header || e->rows == (uint64_t)promised || e->rows == f->limit)
        return true;
    (void)snprintf(message, sizeof message, "the header says %ld rows, the file has %" PRIu64,
                   promised, e->rows);
    fail(e, WALK, (int64_t)e->rows, message);
    return false;
}

static void expect(const struct file *f, struct found *e)
{
    emb_str lines[LINES_MAX];
    char message[200];
    bool header;
    uint64_t suspects = 0, first = 0;
    memset(e, 0, sizeof *e);
    if (!expect_lines(f, e, lines, &header))
        return;
    for (uint64_t i = 0; i < e->rows; i++) {
        uint64_t n = fields(lines[i]);
        if (n < DIMS) {
            (void)snprintf(message, sizeof message,
                           "line %" PRIu64 " (row %" PRIu64 "): expected %d values, found %" PRIu64,
                           i + 1 + header, i, DIMS, n);
            fail(e, TOKENS, (int64_t)i, message);
            return;
        }
        e->tokens[i] = cut(lines[i], e->values + i * DIMS);
        if (n > DIMS && ends_in_digit(e->tokens[i]) && suspects++ == 0)
            first = i;
    }
    e->pass = DONE;
    if (suspects > 0)
        (void)snprintf(e->warning, sizeof e->warning,
                       "%" PRIu64 " of the tokens end with a number, the first is '%.*s' in line "
                       "%" PRIu64 ": has it more than %d values?",
                       suspects, (int)e->tokens[first].n, e->tokens[first].s, first + 1 + header,
                       DIMS);
}

/* ------------------------------------------------------------------------------------------------
 * The library
 */
static void collect(void *arg, int level, const char *path, const char *line)
{
    struct found *found = arg;
    (void)level;
    (void)path;
    (void)snprintf(found->warning, sizeof found->warning, "%s", line);
}

static struct embi_reader *open_file(const struct embi_env *env, const struct file *f)
{
    struct embi_read_opts opts = {.limit_rows = f->limit};
    struct embi_reader *r = NULL;
    struct embi_io *io;
    emb_err err;
    unsigned char *copy = take(f->n);
    memcpy(copy, f->s, f->n);
    emb_status status = embi_io_memory(env, copy, f->n, copy, &io, &err);
    if (!status)
        status = embi_reader_open(env, io, "test", &embi_format_text, &opts, &r, &err);
    if (status) {
        printf("open: %s\n", err.msg);
        exit(2);
    }
    return r;
}

static bool same(const struct found *e, const struct found *got, const struct embi_reader *r)
{
    if (got->pass != e->pass)
        return false;
    if (e->pass != DONE)
        return got->at == e->at && strcmp(got->message, e->message) == 0;
    bool equal = r->rows == e->rows && strcmp(got->warning, e->warning) == 0 &&
                 memcmp(got->values, e->values, sizeof e->values) == 0;
    for (uint64_t i = 0; equal && i < e->rows; i++)
        equal = embi_str_equal(r->tokens[i], e->tokens[i]);
    return equal;
}

static void check_file(const struct file *f, const struct found *e, struct embi_pool *pool,
                       uint64_t piece_bytes)
{
    static struct found got;
    memset(&got, 0, sizeof got);
    struct embi_env env = {
        .log = collect, .log_arg = &got, .pool = pool, .kern = &embi_kern_scalar};
    struct embi_reader *r = open_file(&env, f);
    emb_err err = {.msg = ""};
    ((struct embi_text *)r->state)->piece_bytes = piece_bytes;
    got.pass = r->format->walk(r, &err) ? WALK : r->format->tokens(r, &err) ? TOKENS : DONE;
    if (got.pass == DONE)
        CHECK(r->format->rows(r, 0, r->rows, got.values, &err) == EMB_OK, "%s", err.msg);
    else
        fail(&got, got.pass, err.at, err.msg);
    CHECK(same(e, &got, r),
          "pieces of %" PRIu64 ", %d threads, limit %" PRIu64 ": expected '%s%s', found '%s%s' "
          "in:\n%.*s---",
          piece_bytes, embi_pool_threads(pool), f->limit, e->message, e->warning, got.message,
          got.warning, (int)f->n, f->s);
    embi_reader_close(r);
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

/* The lines that a file is made of; # is a digit. The first kind is the usual one. */
static const char *const usual[] = {"w # #",
                                    "w # # \r",
                                    "new york # #",
                                    "w\t#  #",
                                    " # #",
                                    "\xC2\xA0 # # ",
                                    "word of some length\t#\t#\r"};
static const char *const rare[] = {"",       "\r", " \t\r",   "  ",      "w #",
                                   "w # \r", "w",  "w # # #", "a 7 # #", "\t"};

static void add_line(struct embi_buf *b, const char *line)
{
    for (; *line; line++)
        embi_buf_byte(b, *line == '#' ? (char)('0' + random_bits() % 10) : *line);
}

/* One line in `calm` is not as it should be. The last one may have no end. */
static void make_file(struct embi_buf *b, uint64_t calm)
{
    uint64_t n = FIRST_LINES + random_bits() % (LINES_MAX - FIRST_LINES), headers = random_bits();
    b->n = 0;
    if (headers % 2)
        embi_buf_print(b, "%" PRIu64 " %d\n", headers % 8 == 1 ? n + 1 : n, DIMS);
    for (uint64_t i = 0; i < n; i++) {
        bool odd = i >= FIRST_LINES && random_bits() % calm == 0;
        add_line(b, i < FIRST_LINES ? usual[0]
                    : odd           ? rare[random_bits() % EMBI_LEN(rare)]
                                    : usual[random_bits() % EMBI_LEN(usual)]);
        if (i + 1 < n || random_bits() % 2)
            embi_buf_byte(b, '\n');
    }
    for (uint64_t blanks = random_bits() % 8; b->s[b->n - 1] == '\n' && blanks < 3; blanks++)
        add_line(b, "\r\n");
}

static void test_random_files(struct embi_pool *const *pools, size_t n_pools)
{
    static const uint64_t pieces[] = {1, 2, 3, 5, 8, 13, 40, 100, 1 << 20};
    static struct found e;
    struct embi_buf b = {0};
    for (int i = 0; i < FILES; i++) {
        make_file(&b, i % 2 ? 10 : 100);
        struct file f = {b.s, b.n, i % 5 == 0 ? 1 + random_bits() % LINES_MAX : 0};
        expect(&f, &e);
        for (size_t p = 0; p < EMBI_LEN(pieces); p++)
            check_file(&f, &e, pools[(i + p) % n_pools], pieces[p]);
    }
    embi_buf_free(&b);
}

/* A line that is longer than many pieces, and one where nothing but blanks follows. */
static void test_long_lines(struct embi_pool *const *pools, size_t n_pools)
{
    static struct found e;
    struct embi_buf b = {0};
    embi_buf_add(&b, "a 1 2\nb 3 4\nc 5 6\n", 18);
    for (int i = 0; i < 100000; i++)
        embi_buf_byte(&b, "xy z"[i % 4]);
    embi_buf_add(&b, " 7 8\nd 9 0\n", 11);
    for (int blanks = 0; blanks < 2; blanks++) {
        struct file f = {b.s, b.n, 0};
        expect(&f, &e);
        CHECK(e.pass == DONE && e.rows == 5, "%s", e.message);
        for (size_t p = 0; p < n_pools; p++)
            check_file(&f, &e, pools[p], 1000);
        for (int i = 0; i < 5000; i++)
            embi_buf_byte(&b, i % 50 ? ' ' : '\n');
    }
    embi_buf_free(&b);
}

/* Of several threads' errors the first of the file is told. */
static void test_first_error(struct embi_pool *const *pools, size_t n_pools)
{
    static struct found e;
    struct embi_buf b = {0};
    for (int i = 0; i < LINES_MAX; i++)
        add_line(&b, i < 40 ? "w # #\n" : "w #\n");
    struct file f = {b.s, b.n, 0};
    expect(&f, &e);
    CHECK(e.pass == TOKENS && e.at == 40, "%s", e.message);
    for (size_t p = 0; p < 20 * n_pools; p++)
        check_file(&f, &e, pools[p % n_pools], 4);
    embi_buf_free(&b);
}

int main(void)
{
    static const int threads[] = {1, 2, 3, 7};
    struct embi_pool *pools[EMBI_LEN(threads)];
    emb_err err;
    for (size_t i = 0; i < EMBI_LEN(threads); i++)
        if (embi_pool_new(threads[i], &pools[i], &err) != EMB_OK) {
            printf("pool: %s\n", err.msg);
            return 2;
        }
    RUN(test_random_files(pools, EMBI_LEN(pools)));
    RUN(test_long_lines(pools, EMBI_LEN(pools)));
    RUN(test_first_error(pools, EMBI_LEN(pools)));
    for (size_t i = 0; i < EMBI_LEN(threads); i++)
        embi_pool_free(pools[i]);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

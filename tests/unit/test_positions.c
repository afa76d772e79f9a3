/* tests/unit/test_positions.c - sinusoidal and rotary positions: emb_sinusoid_rows, emb_rope_*.
 *
 * Expected values are the formulas of docs/commands/position.md, written out here in long double;
 * what transformers makes of the same configs is held against in tests/data/check_positions.py.
 */
#include <criterion/criterion.h>

#include "emb.h"

#include <math.h>
#include <string.h>

static emb_ctx *ctx;

static void begin(void)
{
    emb_err err;
    emb_ctx_opts opts = {.size = sizeof opts, .threads = 2};
    cr_assert_eq(emb_ctx_new(&opts, &ctx, &err), EMB_OK);
}

static void end(void)
{
    emb_ctx_free(ctx);
}

TestSuite(positions, .init = begin, .fini = end);

/* ------------------------------------------------------------------------------------------------
 * Sinusoidal
 */

Test(positions, sinusoidal)
{
    enum { ROWS = 40, DIMS = 7 };
    double rows[ROWS][DIMS];
    emb_block block = {rows, ROWS, DIMS, EMB_F64, 0};
    emb_err err;
    cr_assert_eq(emb_sinusoid_rows(ctx, 500, 90, &block, &err), EMB_OK, "%s", err.msg);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < DIMS; c++) {
            long double angle = (90 + r) / powl(500, (c - c % 2) / 7.0L);
            long double want = c % 2 ? cosl(angle) : sinl(angle);
            cr_expect_float_eq(rows[r][c], (double)want, 1e-13, "%d %d", r, c);
        }
}

/* More columns than a tile, more rows than an item, rows with gaps: as one row after another. */
Test(positions, blocks_do_not_show)
{
    enum { ROWS = 90, DIMS = 515, STRIDE = DIMS + 3 };
    static float rows[ROWS][STRIDE], one[DIMS];
    emb_block block = {rows, ROWS, DIMS, EMB_F32, sizeof rows[0]};
    emb_err err;
    for (int r = 0; r < ROWS; r++)
        rows[r][DIMS] = 7;
    cr_assert_eq(emb_sinusoid_rows(ctx, 0, 5, &block, &err), EMB_OK);
    for (int r = 0; r < ROWS; r++) {
        emb_block single = {one, 1, DIMS, EMB_F32, 0};
        cr_assert_eq(emb_sinusoid_rows(ctx, 10000, 5 + (uint64_t)r, &single, &err), EMB_OK);
        cr_expect_arr_eq(rows[r], one, sizeof one, "row %d", r);
        cr_expect_eq(rows[r][DIMS], 7, "nothing is written behind a row");
    }
}

Test(positions, sinusoidal_refusals)
{
    double row[4];
    emb_block block = {row, 1, 4, EMB_F64, 0}, whole = {row, 1, 4, EMB_I32, 0};
    emb_err err;
    cr_expect_eq(emb_sinusoid_rows(ctx, -1, 0, &block, &err), EMB_BAD_ARG);
    cr_expect_eq(emb_sinusoid_rows(ctx, NAN, 0, &block, &err), EMB_BAD_ARG);
    cr_expect_eq(emb_sinusoid_rows(ctx, 0, 0, &whole, &err), EMB_BAD_ARG);
    cr_expect_eq(emb_sinusoid_rows(ctx, 0, EMB_POSITION_MAX, &block, &err), EMB_BAD_ARG);
    cr_expect_eq(emb_sinusoid_rows(ctx, 0, EMB_POSITION_MAX - 1, &block, &err), EMB_OK);
}

/* ------------------------------------------------------------------------------------------------
 * Rotary
 */

static emb_rope *rope_of(uint32_t dims, const char *scaling, double base, uint64_t positions)
{
    emb_rope_opts opts = {.size = sizeof opts,
                          .dims = dims,
                          .scaling = scaling,
                          .base = base,
                          .positions = positions};
    emb_rope *rope;
    emb_err err;
    cr_assert_eq(emb_rope_open(ctx, &opts, &rope, &err), EMB_OK, "%s: %s", scaling, err.msg);
    return rope;
}

static const double two_pi = 6.283185307179586;

/* What pair i of 8 channels has under each scaling, worked out for itself. */
static double linear(int i)
{
    return pow(10000, -i / 4.0) / 4;
}

static double dynamic(int i) /* twice the positions, factor 3: base (3 * 2 - 2)^(8/6) */
{
    return pow(10000 * pow(4, 8 / 6.0), -i / 4.0);
}

static double unscaled(int i)
{
    return pow(10000, -i / 4.0);
}

static double ntk(int i)
{
    return pow(10000 * pow(5, 8 / 6.0), -i / 4.0);
}

static double longrope(int i)
{
    return pow(10000, -i / 4.0) / (1 + i);
}

/* 16 turns in 1000 positions at frequency 0.1; 1.6 and 0.16 at those after it. */
static double llama3(int i)
{
    static const double keep[] = {1, 1, (1000 * 0.01 / 6.283185307179586 - 1) / 3, 0};
    return unscaled(i) * keep[i] + unscaled(i) / 8 * (1 - keep[i]);
}

/* 1000 positions: 32 turns at index 8 ln(1000 / 64 pi) / 2 ln 10000 = 0.697, 1 turn at 2.202: the
 * ramp goes from 0 to 3. */
static double yarn(int i)
{
    return unscaled(i) * (1 - i / 3.0) + unscaled(i) / 4 * (i / 3.0);
}

static double yarn_not_truncated(int i)
{
    double low = 8 * log(1000 / (32 * two_pi)) / (2 * log(10000)),
           high = 8 * log(1000 / two_pi) / (2 * log(10000));
    double w = fmin(fmax((i - low) / (high - low), 0), 1);
    return unscaled(i) * (1 - w) + unscaled(i) / 4 * w;
}

#define YARN "yarn:factor=4,original_max_position_embeddings=1000"
#define LONG                                                  \
    "longrope:factor=4,original_max_position_embeddings=100," \
    "short_factor=[1,1,1,1],long_factor=[1,2,3,4.0]"

static const struct scaling {
    const char *text;
    uint64_t positions;
    double (*frequency)(int i);
    double scale;
} scalings[] = {
    {NULL, 5, unscaled, 1},
    {"default", 5, unscaled, 1},
    {"linear:4", 5, linear, 1},
    {"linear:factor=4", 5, linear, 1},
    {"dynamic:factor=3,max_position_embeddings=50", 100, dynamic, 1},
    {"dynamic:factor=3,original_max_position_embeddings=50", 100, dynamic, 1},
    {"dynamic:factor=3,max_position_embeddings=50", 50, unscaled, 1},
    {"dynamic:factor=1,alpha=5", 50, ntk, 1},
    {"ntk:5", 50, ntk, 1},
    {YARN, 5, yarn, 1.1386294361119891},
    {YARN ",truncate=true,attention_factor=1.5", 5, yarn, 1.5},
    {YARN ",truncate=false", 5, yarn_not_truncated, 1.1386294361119891},
    {YARN ",mscale=1,mscale_all_dim=0.5", 5, yarn, 1.1386294361119891 / 1.0693147180559945},
    {YARN ",mscale=1,mscale_all_dim=0", 5, yarn, 1.1386294361119891},
    {"yarn:original_max_position_embeddings=1000,max_position_embeddings=4000", 5, yarn,
     1.1386294361119891},
    {LONG, 100, unscaled, 1.1406270186454384}, /* sqrt(1 + ln 4 / ln 100) */
    {LONG, 101, longrope, 1.1406270186454384},
    {LONG ",long_mscale=1.25", 101, longrope, 1.25},
    {"llama3:factor=8,low_freq_factor=1,high_freq_factor=4,original_max_position_embeddings=1000",
     5, llama3, 1},
};

Test(positions, scalings)
{
    for (size_t k = 0; k < sizeof scalings / sizeof scalings[0]; k++) {
        const struct scaling *s = &scalings[k];
        emb_rope *rope = rope_of(8, s->text, 0, s->positions);
        const emb_rope_info *info = emb_rope_describe(rope);
        cr_expect_float_eq(info->scale, s->scale, 1e-7, "%s: scale %.17g", s->text, info->scale);
        for (int i = 0; i < 4; i++) {
            double want = s->frequency(i);
            cr_expect_float_eq(info->frequencies[i], want, 1e-13 * want, "%s: %d: %.17g, %.17g",
                               s->text, i, info->frequencies[i], want);
        }
        emb_rope_close(rope);
    }
}

Test(positions, tables)
{
    enum { ROWS = 30, PAIRS = 4 };
    double rows[2][ROWS][PAIRS];
    emb_rope *rope = rope_of(8, "yarn:factor=4,original_max_position_embeddings=1000", 0, 50);
    const emb_rope_info *info = emb_rope_describe(rope);
    emb_err err;
    for (int sine = 0; sine < 2; sine++) {
        emb_block block = {rows[sine], ROWS, PAIRS, EMB_F64, 0};
        cr_assert_eq(emb_rope_rows(rope, sine, 20, &block, &err), EMB_OK, "%s", err.msg);
    }
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < PAIRS; i++) {
            long double angle = (20 + r) * (long double)info->frequencies[i];
            cr_expect_float_eq(rows[0][r][i], (double)cosl(angle) * info->scale, 1e-14);
            cr_expect_float_eq(rows[1][r][i], (double)sinl(angle) * info->scale, 1e-14);
        }
    emb_block other = {rows, 1, PAIRS + 1, EMB_F64, 0};
    cr_expect_eq(emb_rope_rows(rope, false, 0, &other, &err), EMB_BAD_ARG);
    emb_rope_close(rope);
}

/* [2, 3, 2, 6] with positions along axis 1, of 4 channels that turn; one row has an angle of its
 * position, whichever block it comes in. */
Test(positions, turning)
{
    enum { ROWS = 12, DIMS = 6 };
    static const emb_rope_style styles[] = {EMB_ROPE_NEOX, EMB_ROPE_GPTJ};
    static const int first_of[2][2] = {{0, 1}, {0, 2}}, second_of[2][2] = {{2, 3}, {1, 3}};
    for (int k = 0; k < 2; k++) {
        emb_rope_opts opts = {
            .size = sizeof opts, .dims = DIMS, .rotary_dims = 4, .style = styles[k]};
        emb_rope *rope;
        emb_err err;
        double rows[ROWS][DIMS], was[ROWS][DIMS];
        cr_assert_eq(emb_rope_open(ctx, &opts, &rope, &err), EMB_OK);
        for (int i = 0; i < ROWS * DIMS; i++)
            was[i / DIMS][i % DIMS] = rows[i / DIMS][i % DIMS] = i * 0.37 - 9;
        emb_block head = {rows, 5, DIMS, EMB_F64, 0}, tail = {rows[5], 7, DIMS, EMB_F64, 0};
        cr_assert_eq(emb_rope_turn(rope, 100, 3, 2, 0, &head, &err), EMB_OK);
        cr_assert_eq(emb_rope_turn(rope, 100, 3, 2, 5, &tail, &err), EMB_OK);
        for (int r = 0; r < ROWS; r++) {
            for (int i = 0; i < 2; i++) {
                double angle = (100 + r / 2 % 3) * (i ? 0.01 : 1);
                double a = was[r][first_of[k][i]], b = was[r][second_of[k][i]];
                cr_expect_float_eq(rows[r][first_of[k][i]], a * cos(angle) - b * sin(angle), 1e-12);
                cr_expect_float_eq(rows[r][second_of[k][i]], b * cos(angle) + a * sin(angle),
                                   1e-12);
            }
            cr_expect_eq(rows[r][4], was[r][4], "channels from r on stay");
            cr_expect_eq(rows[r][5], was[r][5]);
        }
        emb_block single = {rows, 1, DIMS, EMB_F32, 0};
        cr_expect_eq(emb_rope_turn(rope, 0, 3, 2, 0, &single, &err), EMB_BAD_ARG);
        cr_expect_eq(emb_rope_turn(rope, 0, 0, 2, 0, &head, &err), EMB_BAD_ARG);
        cr_expect_eq(emb_rope_turn(rope, EMB_POSITION_MAX - 2, 3, 2, 0, &head, &err), EMB_BAD_ARG);
        emb_rope_close(rope);
    }
}

Test(positions, refusals)
{
    static const struct {
        uint32_t dims, rotary;
        const char *scaling, *word;
        double base;
    } cases[] = {
        {0, 0, NULL, "how many channels", 0},
        {5, 0, NULL, "5 of 5", 0},
        {4, 6, NULL, "6 of 4", 0},
        {4, 3, NULL, "3 of 4", 0},
        {4, 0, NULL, "base", -2},
        {4, 0, NULL, "base", INFINITY},
        {4, 0, "", "expected default", 0},
        {4, 0, "cubic", "expected default", 0},
        {4, 0, "lin\"ear:4", "expected default", 0},
        {4, 0, "linear", "factor is missing", 0},
        {4, 0, "linear:factor=0", "factor is missing", 0},
        {4, 0, "linear:factor=-1", "0 or more", 0},
        {4, 0, "linear:factor=[4]", "a number", 0},
        {4, 0, "linear:factor=4x", "a number", 0},
        {4, 0, "linear:factor=", "a number", 0},
        {4, 0, "linear:factor=1e999", "a number", 0},
        {4, 0, "linear:factors=4", "factors: there is no such key", 0},
        {4, 0, "linear:4,factor=4", "key=value", 0},
        {4, 0, "dynamic:4", "max_position_embeddings is missing", 0},
        {2, 0, "ntk:4", "4 channels or more", 0},
        {4, 0, "ntk", "factor is missing", 0},
        {4, 0, "yarn:4", "original_max_position_embeddings is missing", 0},
        {4, 0, "yarn:factor=4,original_max_position_embeddings=8", "base above 1", 0.5},
        {4, 0, "yarn:factor=4,truncate=1", "true or false", 0},
        {4, 0, "longrope:short_factor=[1,1]", "original_max_position_embeddings is missing", 0},
        {4, 0, "longrope:original_max_position_embeddings=9", "short_factor is missing", 0},
        {4, 0, "longrope:original_max_position_embeddings=9,short_factor=[1]", "found 1", 0},
        {4, 0, "longrope:original_max_position_embeddings=9,short_factor=[1,0]", "is 0", 0},
        {4, 0, "longrope:original_max_position_embeddings=9,short_factor=[1,null]", "null", 0},
        {4, 0, "longrope:original_max_position_embeddings=9,short_factor=[1,2", "a list", 0},
        {4, 0, "longrope:original_max_position_embeddings=9,short_factor=3", "a list", 0},
        {4, 0, "llama3:factor=8,low_freq_factor=1", "high_freq_factor is missing", 0},
        {4, 0,
         "llama3:factor=8,low_freq_factor=4,high_freq_factor=4,original_max_position_embeddings=9",
         "above low_freq_factor", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        emb_rope_opts opts = {.size = sizeof opts,
                              .dims = cases[i].dims,
                              .rotary_dims = cases[i].rotary,
                              .base = cases[i].base,
                              .scaling = cases[i].scaling};
        emb_rope *rope;
        emb_err err;
        cr_expect_eq(emb_rope_open(ctx, &opts, &rope, &err), EMB_BAD_ARG, "case %zu", i);
        cr_expect_null(rope);
        cr_expect(strstr(err.msg, cases[i].word), "case %zu: %s", i, err.msg);
    }
}

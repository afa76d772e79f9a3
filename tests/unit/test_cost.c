/* tests/unit/test_cost.c - emb_cost_of: the formulas of docs/commands/plan.md, worked out by hand. */
#include <criterion/criterion.h>

#include "emb.h"

#include <math.h>
#include <string.h>

static emb_cost cost_of(emb_cost_opts opts)
{
    emb_cost cost;
    emb_err err;
    opts.size = sizeof opts;
    cr_assert_eq(emb_cost_of(&opts, &cost, &err), EMB_OK, "%s", err.msg);
    return cost;
}

/* 8449 x 768 is 6488832, and 1024 positions of 768 are 786432 more. */
Test(cost, tables)
{
    emb_cost c = cost_of((emb_cost_opts){.rows = 8449, .dims = 768, .positions = 1024});
    cr_expect_eq(c.table_params, 6488832);
    cr_expect_eq(c.position_params, 786432);
    cr_expect_eq(c.head_params, 0);
    cr_expect_eq(c.params, 7275264);
    cr_expect_eq(c.tied_params, 7275264);
    cr_expect_eq(c.untied_params, 13764096);
    cr_expect_eq(c.bytes, 29101056);
    cr_expect_eq(c.bytes_f32, 29101056);
    cr_expect_eq(c.bytes_f16, 14550528);
    cr_expect_eq(c.bytes_bf16, 14550528);
    cr_expect_eq(c.bytes_i8, 7275264);
    cr_expect_eq(c.lookup_bytes, 3072);
    cr_expect(isnan(c.share));
    cr_expect_eq(c.gpu_rows, 0);
    cr_expect_eq(c.activation_bytes, EMB_COST_UNKNOWN);
    cr_expect_eq(c.logits_bytes, EMB_COST_UNKNOWN);
    cr_expect_eq(c.optimizer_bytes, EMB_COST_UNKNOWN);
}

Test(cost, untied_and_share)
{
    emb_cost c = cost_of((emb_cost_opts){
        .rows = 65536, .dims = 1536, .dtype = EMB_BF16, .untied = true, .total_params = 402653184});
    cr_expect_eq(c.table_params, 100663296);
    cr_expect_eq(c.head_params, 100663296);
    cr_expect_eq(c.params, 201326592);
    cr_expect_eq(c.bytes, 402653184);
    cr_expect_eq(c.share, 0.5);
    cr_expect_eq(c.one_hot_ratio, 65536.0 / 1536.0);
}

/* 18 bytes hold 32 numbers of q4_0. */
Test(cost, blocks_of_quantised_rows)
{
    emb_cost c = cost_of(
        (emb_cost_opts){.rows = 10, .dims = 64, .dtype = EMB_Q4_0, .batch = 2, .length = 3});
    cr_expect_eq(c.lookup_bytes, 36);
    cr_expect_eq(c.bytes, 360);
    cr_expect_eq(c.activation_bytes, 2 * 3 * 64 * 4, "activations of such a table are f32");
}

Test(cost, a_step)
{
    emb_cost c = cost_of(
        (emb_cost_opts){.rows = 1000, .dims = 8, .dtype = EMB_BF16, .batch = 4, .length = 16});
    cr_expect_eq(c.activation_bytes, 4 * 16 * 8 * 2);
    cr_expect_eq(c.logits_bytes, 4 * 16 * 1000 * 2);
    c = cost_of((emb_cost_opts){.rows = 1000, .dims = 8, .length = 16});
    cr_expect_eq(c.activation_bytes, 16 * 8 * 4, "one sequence where no batch is said");
    c = cost_of((emb_cost_opts){.rows = 1000, .dims = 8, .batch = 5});
    cr_expect_eq(c.logits_bytes, 5 * 1000 * 4, "one token each where no length is said");
}

/* 100 x 8 and 10 positions: 880 numbers; untied 1680. */
Test(cost, optimizers)
{
    static const struct {
        emb_optimizer optimizer;
        bool untied;
        uint64_t bytes;
    } cases[] = {
        {EMB_SGD, false, 0},
        {EMB_MOMENTUM, false, 880 * 4},
        {EMB_ADAGRAD, false, 880 * 4},
        {EMB_RMSPROP, false, 880 * 4},
        {EMB_LION, true, 1680 * 4},
        {EMB_ADAM, false, 880 * 8},
        {EMB_ADAMW, true, 1680 * 8},
        {EMB_ADAFACTOR, false, (100 + 8 + 10 + 8) * 4},
        {EMB_ADAFACTOR, true, (100 + 8 + 10 + 8 + 100 + 8) * 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        emb_cost c = cost_of((emb_cost_opts){.rows = 100,
                                             .dims = 8,
                                             .dtype = EMB_BF16,
                                             .positions = 10,
                                             .untied = cases[i].untied,
                                             .optimizer = cases[i].optimizer});
        cr_expect_eq(c.optimizer_bytes, cases[i].bytes, "case %zu: %llu", i,
                     (unsigned long long)c.optimizer_bytes);
    }
}

/* 19 rows over 4: 5 each, 1 of padding; positions lie on each. */
Test(cost, gpus)
{
    emb_cost c = cost_of((emb_cost_opts){
        .rows = 19, .dims = 3, .positions = 7, .untied = true, .gpus = 4, .batch = 1, .length = 5});
    cr_expect_eq(c.gpu_rows, 5);
    cr_expect_eq(c.padding_rows, 1);
    cr_expect_eq(c.gpu_params, (5 + 5 + 7) * 3);
    cr_expect_eq(c.gpu_bytes, (5 + 5 + 7) * 3 * 4);
    cr_expect_eq(c.message_bytes, 5 * 3 * 4);
    cr_expect_eq(c.ring_bytes, 90, "2 * 3 / 4 of 60");
    c = cost_of((emb_cost_opts){.rows = 19, .dims = 3, .gpus = 1, .length = 5});
    cr_expect_eq(c.gpu_rows, 19);
    cr_expect_eq(c.padding_rows, 0);
    cr_expect_eq(c.ring_bytes, 0, "one GPU sends nothing");
    c = cost_of((emb_cost_opts){.rows = 2, .dims = 1, .gpus = 8, .dtype = EMB_BF16, .length = 5});
    cr_expect_eq(c.gpu_rows, 1);
    cr_expect_eq(c.padding_rows, 6);
    cr_expect_eq(c.ring_bytes, 18, "2 * 7 / 8 of 10 is 17.5");
    c = cost_of((emb_cost_opts){.rows = 19, .dims = 3, .gpus = 4});
    cr_expect_eq(c.message_bytes, EMB_COST_UNKNOWN);
    cr_expect_eq(c.ring_bytes, EMB_COST_UNKNOWN);
}

Test(cost, refusals)
{
    const struct {
        emb_cost_opts opts;
        const char *word;
    } cases[] = {
        {{.rows = 0, .dims = 3}, "0 x 3"},
        {{.rows = 3, .dims = 0}, "3 x 0"},
        {{.rows = UINT64_MAX, .dims = 2}, "too large"},
        {{.rows = UINT64_C(1) << 62, .dims = 1, .dtype = EMB_F64}, "too large"},
        {{.rows = UINT64_C(1) << 63, .dims = 1, .dtype = EMB_I8, .untied = true}, "too large"},
        {{.rows = 9, .dims = 9, .batch = UINT64_C(1) << 40, .length = 1 << 30}, "too large"},
        {{.rows = 9, .dims = 33, .dtype = EMB_Q8_0}, "33"},
        {{.rows = 9, .dims = 9, .total_params = 80}, "80"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        emb_cost cost;
        emb_err err;
        emb_cost_opts opts = cases[i].opts;
        opts.size = sizeof opts;
        cr_expect_eq(emb_cost_of(&opts, &cost, &err), EMB_BAD_ARG, "case %zu", i);
        cr_expect(strstr(err.msg, cases[i].word), "case %zu: %s", i, err.msg);
    }
}

/* topk_main.c - the best k, out of scores in the worst of orders, against a full sort.
 *
 * Exact scores go through the heap, intervals through the candidates: of these no row may be missing
 * that could be among the k best whatever the exact scores turn out to be, and the list may only
 * be given up where too many rows cannot be told apart.
 */
#include "check.h"
#include "ops/topk.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { V = 5000, MOST_CAP = 4100 };

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t state = 3;
static uint64_t random_bits(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static double random_unit(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}

/* ------------------------------------------------------------------------------------------------
 * Scores
 */
static double all_equal(uint64_t row)
{
    return (void)row, 0.25;
}

static double equal_at_the_top(uint64_t row)
{
    return row % 11 == 0 ? 1 : random_unit(); /* some hundreds of rows */
}

static double few_values(uint64_t row)
{
    return (void)row, (double)(random_bits() % 7);
}

static double rising(uint64_t row)
{
    return (double)row;
}

static double falling(uint64_t row)
{
    return -(double)row;
}

static double saw(uint64_t row)
{
    return (double)(row % 100) + 1e-3 * (double)row;
}

static double any(uint64_t row)
{
    return (void)row, random_unit();
}

static double zeros_of_both_signs(uint64_t row)
{
    return row % 2 ? 0.0 : -0.0;
}

static double at_the_ends(uint64_t row)
{
    return row % 3 == 0 ? DBL_MAX : row % 3 == 1 ? -DBL_MAX : 0x1p-1074;
}

static const struct {
    const char *name;
    double (*score)(uint64_t row);
} orders[] = {{"all equal", all_equal},
              {"hundreds equal", equal_at_the_top},
              {"few values", few_values},
              {"rising", rising},
              {"falling", falling},
              {"saw", saw},
              {"random", any},
              {"0 and -0", zeros_of_both_signs},
              {"extremes", at_the_ends}};

static emb_hit rows[V], sorted[V], kept[V];

static int by_order(const void *a, const void *b)
{
    const emb_hit *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->row < y->row ? -1 : 1;
}

static void make_rows(size_t order)
{
    for (uint64_t row = 0; row < V; row++)
        rows[row] = (emb_hit){row, orders[order].score(row)};
    memcpy(sorted, rows, sizeof rows);
    qsort(sorted, V, sizeof *sorted, by_order);
}

/* ------------------------------------------------------------------------------------------------
 * The heap
 */
static void check_heap(const char *name, uint64_t k)
{
    struct embi_topk top = {.hits = kept, .k = k};
    for (size_t i = 0; i < V; i++)
        embi_topk_put(&top, rows[i]);
    uint64_t n = k < V ? k : V;
    CHECK(top.n == n, "%s k %llu: %llu hits", name, (unsigned long long)k,
          (unsigned long long)top.n);
    embi_hits_sort(kept, top.n);
    for (size_t i = 0; i < n; i++)
        CHECK(kept[i].row == sorted[i].row, "%s k %llu: hit %zu is row %llu, not %llu", name,
              (unsigned long long)k, i, (unsigned long long)kept[i].row,
              (unsigned long long)sorted[i].row);
}

static void test_heap(void)
{
    static const uint64_t ks[] = {0, 1, 2, 3, 10, 63, 64, 1000, V - 1, V, V + 5};
    for (size_t order = 0; order < sizeof orders / sizeof *orders; order++) {
        make_rows(order);
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
            check_heap(orders[order].name, ks[i]);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Candidates
 */
static struct embi_candidate list[MOST_CAP];

static bool is_kept(const struct embi_candidates *c, uint64_t row)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->list[i].row == row)
            return true;
    return false;
}

/* Puts all rows, each in an interval of that width around its score, as a search does: only those
 * that reach the floor. */
static void check_candidates(const char *name, size_t k, size_t cap, double width)
{
    struct embi_candidates c = embi_candidates_in(list, cap, k);
    for (size_t i = 0; i < V && !c.overflow; i++) {
        struct embi_candidate one = {rows[i].score - width, rows[i].score + width, rows[i].row};
        if (one.hi >= c.floor)
            embi_candidates_put(&c, one);
    }
    if (!c.overflow)
        embi_candidates_trim(&c);
    double kth = sorted[k - 1].score - width; /* the k-th highest lower end */
    size_t may_answer = 0;
    for (size_t i = 0; i < V; i++) {
        bool may = sorted[i].score + width >= kth;
        may_answer += may;
        CHECK(c.overflow || !may || is_kept(&c, sorted[i].row),
              "%s k %zu width %g: row %llu is missing", name, k, width,
              (unsigned long long)sorted[i].row);
    }
    CHECK(c.overflow || c.n == may_answer, "%s k %zu width %g: %zu kept, not %zu", name, k, width,
          c.n, may_answer);
    CHECK(c.overflow || c.floor == kth, "%s k %zu width %g: floor %g, not %g", name, k, width,
          c.floor, kth);
    CHECK(!c.overflow || may_answer > cap / 4 || width > 0, "%s k %zu: given up for %zu rows", name,
          k, may_answer);
}

static void test_candidates(void)
{
    static const size_t ks[] = {1, 2, 10, 64, 128, 1000};
    static const double widths[] = {0, 1e-9, 1e-3};
    for (size_t order = 0; order < sizeof orders / sizeof *orders; order++) {
        make_rows(order);
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
                check_candidates(orders[order].name, ks[i], ks[i] > 128 ? 4 * ks[i] : 512,
                                 widths[w]);
    }
}

/* Of all equal rows as many as the list can hold are no reason to give it up. */
static void test_room(void)
{
    for (size_t n = 1; n <= 512; n++) {
        struct embi_candidates c = embi_candidates_in(list, 512, 10);
        for (uint64_t row = 0; row < n; row++)
            embi_candidates_put(&c, (struct embi_candidate){1, 1, row});
        CHECK(c.overflow || c.n == n, "%zu rows: %zu kept", n, c.n);
        CHECK(!c.overflow || n > 384, "%zu rows: given up", n);
    }
}

int main(void)
{
    RUN(test_heap());
    RUN(test_candidates());
    RUN(test_room());
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

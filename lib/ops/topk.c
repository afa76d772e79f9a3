/* topk.c - see topk.h. A binary heap, and quickselect (C. A. R. Hoare, "Algorithm 65: Find", 1961)
 * over the lower ends of intervals. No order among equal lower ends matters: only their value is
 * used.
 */
#include "ops/topk.h"

#include <float.h>
#include <stdlib.h>

static int compare_hits(const void *a, const void *b)
{
    const emb_hit *x = a, *y = b;
    return embi_hit_before(*y, *x) - embi_hit_before(*x, *y);
}

void embi_hits_sort(emb_hit *hits, size_t n)
{
    if (n > 1)
        qsort(hits, n, sizeof *hits, compare_hits);
}

/* Puts `hit` into the hole at i and moves it down to its place: every parent is worse than its
 * children. */
static void sift(emb_hit *heap, uint64_t n, uint64_t i, emb_hit hit)
{
    for (uint64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && embi_hit_before(heap[child], heap[child + 1]))
            child++;
        if (!embi_hit_before(hit, heap[child]))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = hit;
}

void embi_topk_put(struct embi_topk *top, emb_hit hit)
{
    if (top->n < top->k) {
        top->hits[top->n++] = hit;
        return;
    }
    if (top->k == 0)
        return;
    if (!top->heap)
        for (uint64_t i = top->n / 2; i-- > 0;)
            sift(top->hits, top->n, i, top->hits[i]);
    top->heap = true;
    if (embi_hit_before(hit, top->hits[0]))
        sift(top->hits, top->n, 0, hit);
}

static void swap(struct embi_candidate *a, struct embi_candidate *b)
{
    struct embi_candidate c = *a;
    *a = *b;
    *b = c;
}

/* Orders list so that the k with the highest lo come first (1 <= k <= n); returns the k-th highest.
 */
static double select_kth(struct embi_candidate *list, size_t n, size_t k)
{
    ptrdiff_t first = 0, last = (ptrdiff_t)n - 1, place = (ptrdiff_t)k - 1;
    while (first < last) {
        double pivot = list[first + (last - first) / 2].lo;
        ptrdiff_t i = first, j = last;
        while (i <= j) {
            while (list[i].lo > pivot)
                i++;
            while (list[j].lo < pivot)
                j--;
            if (i <= j)
                swap(&list[i++], &list[j--]);
        }
        /* first..j are not below the pivot, i..last not above it, what is between equals it */
        if (place <= j)
            last = j;
        else if (place >= i)
            first = i;
        else
            break;
    }
    return list[place].lo;
}

void embi_candidates_trim(struct embi_candidates *c)
{
    if (c->n < c->k)
        return;
    double kth = select_kth(c->list, c->n, c->k);
    if (kth > c->floor)
        c->floor = kth;
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++) { /* which ones stay cannot be foreseen: no branch */
        struct embi_candidate candidate = c->list[i];
        c->list[kept] = candidate;
        kept += candidate.hi >= c->floor;
    }
    c->n = kept;
}

/* An early trim raises the floor early, so that fewer rows come this far. */
static size_t room_until_trim(const struct embi_candidates *c)
{
    return embi_min(c->cap, embi_max(64, 2 * embi_max(c->k, c->n)));
}

struct embi_candidates embi_candidates_in(struct embi_candidate *list, size_t cap, size_t k)
{
    struct embi_candidates c = {.list = list, .cap = cap, .k = k, .floor = -DBL_MAX};
    c.full = room_until_trim(&c);
    return c;
}

/* A trim that frees less than a quarter of the list would be followed by the next one too soon. */
void embi_candidates_put(struct embi_candidates *c, struct embi_candidate candidate)
{
    if (c->n == c->full) {
        embi_candidates_trim(c);
        c->overflow = c->n > c->cap / 4 * 3;
        c->full = room_until_trim(c);
        if (c->overflow || candidate.hi < c->floor)
            return;
    }
    c->list[c->n++] = candidate;
}

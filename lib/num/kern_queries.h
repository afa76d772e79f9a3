/* kern_queries.h - a few queries for kern_tmpl.h and kern_dots.h; a kern_<set>.c includes it once,
 * after VL, vec, VLOADQ, VSTORE and even_lanes(a, b), odd_lanes(a, b), which have every second lane
 * of both.
 *
 * Two vectors of bf16 are widened together, those with an even number into one, the others into
 * another: then no lane moves, which would cost more than the products. So queries are `placed`
 * alike: of each 2 VL elements first those with an even number.
 */

/* VL elements, widened. */
typedef vec load_fn(const void *p);

static inline vec load_f32(const void *p)
{
    return VLOADQ(p);
}

/* Of one query that is placed at a time, on the stack of a kernel. */
enum { PLACED = 4096 };

/* n: whole pairs of vectors. */
static inline void place(float *placed, const float *q, size_t n)
{
    for (size_t i = 0; i < n; i += 2 * VL) {
        vec a = VLOADQ(q + i), b = VLOADQ(q + i + VL);
        VSTORE(placed + i, even_lanes(a, b));
        VSTORE(placed + i + VL, odd_lanes(a, b));
    }
}

/* A block of dimensions, and where the products go: out[j * ld + row] of query j. */
struct dots {
    uint32_t d;
    size_t first, end;
    const float *q;      /* [queries, d] */
    const float *placed; /* [queries, end - first] where rows are widened in pairs */
    float *out;
    size_t ld;
};

/* Rows that are asked for meanwhile: of each what the block has of it. */
struct asked {
    const char *at;
    size_t rows;
};

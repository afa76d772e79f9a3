/* kern_steps.h - what ops/assemble_row.c and ops/unit.c do with one row, as plain loops; each
 * kern_<set>.c includes it, and the compiler makes vectors of its own width of them. Every number
 * is computed by itself, in the order written, so all sets give the same bits.
 */
static void over_f32(float *out, const float *x, double divisor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)((double)x[i] / divisor);
}

static void norm_f32(float *out, const float *x, double mean, double factor, const float *weight,
                     const float *bias, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(((double)x[i] - mean) * factor * (double)weight[i] + (double)bias[i]);
}

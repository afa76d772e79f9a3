/* convert_numbers.c - numbers of one type on standard input, of another on standard output, for the
 * peer tests:
 *
 *     convert_numbers FROM TO < numbers > converted
 *
 * The kernels are those of this machine. Exit 3: refused, with the message on standard error.
 */
#include "num/cpu.h"
#include "num/dtype.h"
#include "num/kern.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 1 << 24 };

int main(int argc, char **argv)
{
    emb_dtype from = argc == 3 ? emb_dtype_parse(argv[1]) : EMB_DTYPE_NONE;
    emb_dtype to = argc == 3 ? emb_dtype_parse(argv[2]) : EMB_DTYPE_NONE;
    unsigned char *src = malloc(MOST_BYTES), *dst = malloc(8 * MOST_BYTES);
    emb_err err;
    if (!from || !to || !src || !dst)
        return 2;
    size_t n = fread(src, 1, MOST_BYTES, stdin) / embi_dtype_block_bytes(from);
    n *= emb_dtype_block(from);
    const struct embi_kern *kern = embi_kern_choose(embi_cpu_features(NULL));
    if (embi_convert(kern, dst, to, src, from, n, NULL, &err) != EMB_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return 3;
    }
    size_t bytes = n / emb_dtype_block(to) * embi_dtype_block_bytes(to);
    bool written = fwrite(dst, 1, bytes, stdout) == bytes && fflush(stdout) == 0;
    free(src);
    free(dst);
    return written ? 0 : 4;
}

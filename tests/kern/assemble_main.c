/* tests/kern/assemble_main.c - the input of a model made and written by several threads: each row
 * where it belongs, as the formula has it.
 *
 * A plain main, so that it runs under ThreadSanitizer. GPT-2's input is token row + position row,
 * of bf16 rounded to bf16 again; both are written out here.
 */
#include "check.h"
#include "emb.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { V = 300, T = 64, D = 72, N = 20000, THREADS_MAX = 5 };

static float token[V][D], place[T][D];
static uint64_t rows[N], positions[N];

static void need(bool ok, const char *what)
{
    if (!ok) {
        printf("assemble_main: %s failed\n", what);
        exit(2);
    }
}

/* To the nearest, of a middle to the even one; no NaN here. */
static uint16_t to_bf16(float x)
{
    uint32_t bits, rest;
    memcpy(&bits, &x, sizeof bits);
    rest = bits & 0xFFFF;
    bits >>= 16;
    return (uint16_t)(bits + (rest > 0x8000 || (rest == 0x8000 && bits & 1)));
}

static float of_bf16(uint16_t code)
{
    uint32_t bits = (uint32_t)code << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* All numbers are of bf16, some far from the others, so that sums are not. */
static void fill(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = of_bf16(to_bf16((float)((int)(i * 7919 % 2003) - 1001) * (i % 3 ? 0.01f : 3.7f)));
}

static void put_numbers(FILE *f, const float *x, size_t n, bool small)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t code = to_bf16(x[i]);
        need(fwrite(small ? (const void *)&code : x + i, small ? 2 : 4, 1, f) == 1, "writing");
    }
}

static void write_model(bool small)
{
    const size_t bytes = small ? 2 : 4, cut = V * D * bytes, all = cut + T * D * bytes;
    char head[512];
    uint64_t n = (uint64_t)snprintf(
        head, sizeof head,
        "{\"wte.weight\":{\"dtype\":\"%s\",\"shape\":[%d,%d],\"data_offsets\":[0,%zu]},"
        "\"wpe.weight\":{\"dtype\":\"%s\",\"shape\":[%d,%d],\"data_offsets\":[%zu,%zu]}}",
        small ? "BF16" : "F32", V, D, cut, small ? "BF16" : "F32", T, D, cut, all);
    FILE *f = fopen("m/config.json", "w");
    need(f && fputs("{\"model_type\": \"gpt2\"}", f) >= 0 && fclose(f) == 0, "writing");
    f = fopen("m/model.safetensors", "wb");
    need(f && fwrite(&n, 8, 1, f) == 1 && fwrite(head, n, 1, f) == 1, "writing");
    put_numbers(f, &token[0][0], V * D, small);
    put_numbers(f, &place[0][0], T * D, small);
    need(fclose(f) == 0, "writing");
}

static uint64_t count_wrong(const float *got, bool small)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < D; c++) {
            float sum = token[rows[i]][c] + place[positions[i]][c];
            wrong += got[i * D + c] != (small ? of_bf16(to_bf16(sum)) : sum);
        }
    return wrong;
}

/* Into a file whose rows have places, or one that is written in order; read back by the library. */
static void check_file(emb_ctx *ctx, const emb_assembly *assembly, const char *path, bool small)
{
    const emb_dtype dtype = small && strcmp(path, "x.safetensors") == 0 ? EMB_BF16 : EMB_F32;
    emb_array array = {.dtype = dtype, .ndim = 2, .shape = {N, D}};
    emb_write_opts opts = {.size = sizeof opts, .force = true};
    emb_block back = {malloc(sizeof(float) * N * D), N, D, EMB_F32, 0};
    uint64_t all[1] = {0};
    emb_writer *writer;
    emb_table *table;
    bool reading;
    emb_err err;
    need(back.data != NULL, "memory");
    need(emb_writer_open(ctx, path, &array, 1, &opts, &writer, &err) == EMB_OK, "opening");
    CHECK(emb_writer_put_assembly(writer, assembly, rows, positions, NULL, N, dtype, &reading,
                                  &err) == EMB_OK,
          "%s: %s", path, err.msg);
    need(emb_writer_commit(writer, &err) == EMB_OK, "writing");
    emb_writer_close(writer);
    need(emb_table_open(ctx, path, NULL, &table, &err) == EMB_OK, "opening");
    for (all[0] = 0; all[0] < N; all[0]++) {
        emb_block one = {(float *)back.data + all[0] * D, 1, D, EMB_F32, 0};
        need(emb_table_gather(table, all, 1, &one, &err) == EMB_OK, "reading");
    }
    uint64_t wrong = count_wrong(back.data, small);
    CHECK(wrong == 0, "%s: %llu wrong numbers", path, (unsigned long long)wrong);
    emb_table_close(table);
    free(back.data);
}

/* What is wrong is told from who it was, and before anything is written. */
static void check_refusal(emb_ctx *ctx, const emb_assembly *assembly)
{
    emb_array array = {.dtype = EMB_F32, .ndim = 2, .shape = {N, D}};
    emb_writer *writer;
    bool reading = false;
    emb_err err;
    need(emb_writer_open(ctx, "y.npy", &array, 1, NULL, &writer, &err) == EMB_OK, "opening");
    positions[N - 1] = T;
    CHECK(emb_writer_put_assembly(writer, assembly, rows, positions, NULL, N, EMB_F32, &reading,
                                  &err) == EMB_RANGE &&
              reading && err.at == N - 1,
          "%s", err.msg);
    positions[N - 1] = 0;
    CHECK(emb_writer_put_assembly(writer, assembly, rows, positions, NULL, N, EMB_F16, &reading,
                                  &err) == EMB_BAD_ARG &&
              !reading,
          "%s", err.msg);
    emb_writer_close(writer);
    CHECK(access("y.npy", F_OK) != 0, "a file");
}

static void check_all(int threads, bool small)
{
    emb_ctx_opts opts = {.size = sizeof opts, .threads = threads};
    emb_assembly_opts whole = {.size = sizeof whole, .input_layer = true};
    emb_ctx *ctx;
    emb_table *table;
    emb_assembly *assembly;
    emb_err err;
    write_model(small);
    need(emb_ctx_new(&opts, &ctx, &err) == EMB_OK, "a context");
    need(emb_table_open(ctx, "m", NULL, &table, &err) == EMB_OK, "opening");
    need(emb_assembly_open(ctx, table, &whole, &assembly, &err) == EMB_OK, "opening");
    check_file(ctx, assembly, "x.safetensors", small);
    check_file(ctx, assembly, "x.npz", small);
    check_refusal(ctx, assembly);
    emb_assembly_close(assembly);
    emb_table_close(table);
    emb_ctx_free(ctx);
}

int main(void)
{
    char folder[] = "/tmp/assemble_main.XXXXXX";
    need(mkdtemp(folder) != NULL && chdir(folder) == 0 && mkdir("m", 0700) == 0, "a folder");
    fill(&token[0][0], V * D);
    fill(&place[0][0], T * D);
    for (size_t i = 0; i < N; i++) {
        rows[i] = i * 7919 % V;
        positions[i] = i % T;
    }
    for (int threads = 1; threads <= THREADS_MAX; threads += 2) {
        RUN(check_all(threads, false));
        RUN(check_all(threads, true));
    }
    need(unlink("m/config.json") == 0 && unlink("m/model.safetensors") == 0 && rmdir("m") == 0 &&
             unlink("x.safetensors") == 0 && unlink("x.npz") == 0 && rmdir(folder) == 0,
         "cleaning up");
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

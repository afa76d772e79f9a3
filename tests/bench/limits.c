/* limits.c - what this machine can do at best, measured now, as one JSON object: the denominators of
 * the cells of `make bench`.
 *
 *     limits DIR [--threads N] [--quick]
 *
 * DIR is where the files of the benchmark lie: writing and mapping are measured there. --quick does
 * what takes no second: reading memory and multiplying, which is repeated between the cells. GB are
 * 10^9 bytes; each figure is the best of several runs on all threads, and on one where the name ends
 * in _1t. Built without -march: vector code is chosen by what the CPU says.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define WITH(set) __attribute__((target(set)))
#endif

enum { MOST_THREADS = 256, PWRITE_BYTES = 512 << 10 };

static int threads = 2;
static volatile uint64_t sink; /* what is computed must seem to be wanted */

static void fail(const char *what)
{
    fprintf(stderr, "limits: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void say(const char *name, double value)
{
    static const char *before = "{";
    printf("%s\n  \"%s\": %.6g", before, name, value);
    before = ",";
}

/* ------------------------------------------------------------------------------------------------
 * One job on several threads
 */
struct job {
    void (*run)(const struct job *job, int part);
    int parts;
    char *from;   /* [bytes] */
    size_t bytes; /* of all parts */
    long steps;   /* of a part that multiplies */
    int file;
};

struct part {
    const struct job *job;
    int number;
};

static void *run_part(void *arg)
{
    const struct part *p = arg;
    p->job->run(p->job, p->number);
    return NULL;
}

static double seconds(const struct job *job)
{
    pthread_t thread[MOST_THREADS];
    struct part part[MOST_THREADS];
    double start = now();
    for (int i = 0; i < job->parts; i++)
        part[i] = (struct part){job, i};
    for (int i = 1; i < job->parts; i++)
        if (pthread_create(&thread[i], NULL, run_part, &part[i]) != 0)
            fail("a thread");
    run_part(&part[0]);
    for (int i = 1; i < job->parts; i++)
        pthread_join(thread[i], NULL);
    return now() - start;
}

static double best(const struct job *job, int runs)
{
    double least = seconds(job);
    while (--runs > 0) {
        double s = seconds(job);
        least = s < least ? s : least;
    }
    return least;
}

/* The bytes of one part, whole pages. */
static size_t range(const struct job *job, int part, size_t *first)
{
    size_t each = job->bytes / (size_t)job->parts / 4096 * 4096;
    *first = each * (size_t)part;
    return each;
}

/* ------------------------------------------------------------------------------------------------
 * Reading memory
 */
static uint64_t read_plain(const char *p, size_t n)
{
    uint64_t sum[4] = {0}, x[4];
    for (size_t i = 0; i + sizeof x <= n; i += sizeof x) {
        memcpy(x, p + i, sizeof x);
        for (int l = 0; l < 4; l++)
            sum[l] |= x[l];
    }
    return sum[0] | sum[1] | sum[2] | sum[3];
}

static uint64_t (*read_all)(const char *p, size_t n) = read_plain;

#if defined(__x86_64__)
WITH("avx2") static uint64_t read_avx2(const char *p, size_t n)
{
    __m256i sum[4] = {0};
    for (size_t i = 0; i + 128 <= n; i += 128)
        for (int l = 0; l < 4; l++)
            sum[l] = _mm256_or_si256(sum[l], _mm256_loadu_si256((const void *)(p + i + 32 * l)));
    __m256i all = _mm256_or_si256(_mm256_or_si256(sum[0], sum[1]), _mm256_or_si256(sum[2], sum[3]));
    return (uint64_t)(_mm256_extract_epi64(all, 0) | _mm256_extract_epi64(all, 2));
}

WITH("avx512f") static uint64_t read_avx512(const char *p, size_t n)
{
    __m512i sum[4] = {0};
    for (size_t i = 0; i + 256 <= n; i += 256)
        for (int l = 0; l < 4; l++)
            sum[l] = _mm512_or_si512(sum[l], _mm512_loadu_si512(p + i + 64 * l));
    return (uint64_t)_mm512_reduce_or_epi64(
        _mm512_or_si512(_mm512_or_si512(sum[0], sum[1]), _mm512_or_si512(sum[2], sum[3])));
}
#endif

static void read_part(const struct job *job, int part)
{
    size_t first, n = range(job, part, &first);
    sink |= read_all(job->from + first, n);
}

static char *memory(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        fail("memory");
    madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 1, bytes);
    return p;
}

static void measure_reading(size_t bytes, int runs)
{
    struct job job = {.run = read_part, .parts = 1, .from = memory(bytes), .bytes = bytes};
    say("read_gbs_1t", (double)bytes / best(&job, runs) / 1e9);
    job.parts = threads;
    say("read_gbs", (double)bytes / best(&job, runs + 2) / 1e9);
    munmap(job.from, bytes);
}

/* ------------------------------------------------------------------------------------------------
 * Multiplying: 12 sums in registers hide the latency of a fused multiplication and addition. Each
 * begins with another number, or the compiler finds that they are equal and keeps one.
 */
static void fma_plain(const struct job *job, int part)
{
    float sum[64];
    for (int l = 0; l < 64; l++)
        sum[l] = (float)(l + part);
    for (long s = 0; s < job->steps; s++)
        for (int l = 0; l < 64; l++)
            sum[l] = sum[l] * 0.5f + 1.0f;
    sink |= (uint64_t)sum[part % 64];
}

static void (*multiply)(const struct job *job, int part) = fma_plain;
static double flops_of_step = 128;

#if defined(__x86_64__)
WITH("avx2,fma") static void fma_avx2(const struct job *job, int part)
{
    const __m256 half = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1);
    __m256 sum[12];
    for (int l = 0; l < 12; l++)
        sum[l] = _mm256_set1_ps((float)(l + part));
    for (long s = 0; s < job->steps; s++)
#pragma GCC unroll 12
        for (int l = 0; l < 12; l++)
            sum[l] = _mm256_fmadd_ps(sum[l], half, one);
    for (int l = 1; l < 12; l++)
        sum[0] = _mm256_add_ps(sum[0], sum[l]);
    sink |= (uint64_t)_mm256_cvtss_f32(sum[0]) + (uint64_t)part;
}

WITH("avx512f") static void fma_avx512(const struct job *job, int part)
{
    const __m512 half = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1);
    __m512 sum[12];
    for (int l = 0; l < 12; l++)
        sum[l] = _mm512_set1_ps((float)(l + part));
    for (long s = 0; s < job->steps; s++)
#pragma GCC unroll 12
        for (int l = 0; l < 12; l++)
            sum[l] = _mm512_fmadd_ps(sum[l], half, one);
    for (int l = 1; l < 12; l++)
        sum[0] = _mm512_add_ps(sum[0], sum[l]);
    sink |= (uint64_t)_mm512_cvtss_f32(sum[0]) + (uint64_t)part;
}
#endif

static void measure_multiplying(long steps, int runs)
{
    struct job job = {.run = multiply, .parts = 1, .steps = steps};
    say("fma_gflops_1t", flops_of_step * (double)steps / best(&job, runs) / 1e9);
    job.parts = threads;
    say("fma_gflops", flops_of_step * (double)steps * threads / best(&job, runs) / 1e9);
}

static void choose(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        read_all = read_avx2;
        multiply = fma_avx2;
        flops_of_step = 12 * 8 * 2;
    }
    if (__builtin_cpu_supports("avx512f")) {
        read_all = read_avx512;
        multiply = fma_avx512;
        flops_of_step = 12 * 16 * 2;
    }
#endif
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */
static void write_part(const struct job *job, int part)
{
    size_t first, n = range(job, part, &first);
    for (size_t done = 0, piece; done < n; done += piece) {
        piece = n - done < PWRITE_BYTES ? n - done : PWRITE_BYTES;
        if (pwrite(job->file, job->from, piece, (off_t)(first + done)) != (ssize_t)piece)
            fail("pwrite");
    }
}

static int new_file(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0)
        fail(path);
    return file;
}

/* A new file of known length from a buffer that stays in the cache, as an output is written. */
static double write_new(const char *path, struct job *job)
{
    job->file = new_file(path);
    double start = now();
    if (fallocate(job->file, 0, 0, (off_t)job->bytes) != 0 && errno != EOPNOTSUPP)
        fail("fallocate");
    seconds(job);
    return now() - start;
}

/* The first scan of a mapping of pages that are in the cache. */
static double scan_mapped(int file, struct job *job)
{
    double start = now();
    job->from = mmap(NULL, job->bytes, PROT_READ, MAP_SHARED, file, 0);
    if (job->from == MAP_FAILED)
        fail("mmap");
    seconds(job);
    double s = now() - start;
    munmap(job->from, job->bytes);
    return s;
}

static void measure_files(const char *directory, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/limits.tmp", directory);
    struct job writing = {
        .run = write_part, .parts = threads, .from = memory(PWRITE_BYTES), .bytes = bytes};
    struct job reading = {.run = read_part, .parts = threads, .bytes = bytes};
    double least_write = 1e9, least_scan = 1e9;
    for (int run = 0; run < 3; run++) {
        double s = write_new(path, &writing);
        least_write = s < least_write ? s : least_write;
        for (int scan = 0; scan < 3; scan++) {
            s = scan_mapped(writing.file, &reading);
            least_scan = s < least_scan ? s : least_scan;
        }
        close(writing.file);
        unlink(path);
    }
    say("pwrite_gbs", (double)bytes / least_write / 1e9);
    say("mapped_gbs", (double)bytes / least_scan / 1e9);
}

/* ------------------------------------------------------------------------------------------------
 * Starting a process: this one again, which ends at once
 */
static void measure_start(void)
{
    double least = 1e9;
    char *argv[] = {(char *)"limits", (char *)"--nothing", NULL}, *environment[] = {NULL};
    for (int i = 0; i < 100; i++) {
        pid_t child;
        double start = now();
        if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environment) != 0)
            fail("a process");
        waitpid(child, NULL, 0);
        double s = now() - start;
        least = s < least ? s : least;
    }
    say("start_ms", least * 1e3);
}

int main(int argc, char **argv)
{
    bool quick = false;
    const char *directory = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--nothing") == 0)
            return 0;
        if (strcmp(argv[i], "--quick") == 0)
            quick = true;
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoi(argv[++i]);
        else
            directory = argv[i];
    }
    if (!directory || threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: limits DIR [--threads N] [--quick]\n");
        return 2;
    }
    choose();
    measure_reading((quick ? 512ul : 1024ul) << 20, quick ? 3 : 7);
    measure_multiplying(quick ? 4000000 : 20000000, 3);
    if (!quick) {
        measure_files(directory, 1024ul << 20);
        measure_start();
    }
    printf("\n}\n");
    return 0;
}

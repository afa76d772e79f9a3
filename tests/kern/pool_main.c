/* tests/kern/pool_main.c - the thread pool under many loops. A plain main, since it runs under
 * ThreadSanitizer too: exit 0 if every check holds.
 *
 * Expected values: every item exactly once, sums by their formula, and what pool.h promises.
 */
#include "util/err.h"
#include "util/pool.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int checks, failures;

#define CHECK(condition)                                                  \
    do {                                                                  \
        checks++;                                                         \
        if (!(condition)) {                                               \
            failures++;                                                   \
            fprintf(stderr, "pool: line %d: %s\n", __LINE__, #condition); \
        }                                                                 \
    } while (0)

enum { ITEMS_MAX = 5000, THREADS_MAX = 16 };

static struct embi_pool *new_pool(int threads)
{
    struct embi_pool *pool;
    emb_err err;
    if (embi_pool_new(threads, &pool, &err) != EMB_OK) {
        fprintf(stderr, "pool: %s\n", err.msg);
        exit(1);
    }
    return pool;
}

/* What one loop leaves behind: plain memory, so that a missing barrier is a race to be seen. */
struct loop {
    int runs[ITEMS_MAX];        /* of each item                             */
    uint64_t sums[THREADS_MAX]; /* of the items that a worker ran           */
    int strangers;              /* items run by a worker number out of range */
    int threads;
};

static void count_item(void *arg, size_t item, int worker)
{
    struct loop *loop = arg;
    loop->runs[item]++;
    if (worker >= 0 && worker < loop->threads)
        loop->sums[worker] += item;
    else
        loop->strangers++;
}

static bool loop_is_right(struct embi_pool *pool, int threads, size_t n)
{
    static struct loop loop;
    memset(&loop, 0, sizeof loop);
    loop.threads = threads;
    embi_pool_run(pool, n, count_item, &loop);
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++)
        sum += loop.sums[i];
    bool right = loop.strangers == 0 && sum == (n ? n * (n - 1) / 2 : 0);
    for (size_t i = 0; i < ITEMS_MAX; i++)
        right = right && loop.runs[i] == (i < n);
    return right;
}

static void test_every_item_once(void)
{
    static const int threads[] = {1, 2, 3, 4, 7, THREADS_MAX};
    static const size_t sizes[] = {0, 1, 2, 3, 5, 16, 17, 1000, ITEMS_MAX};
    for (size_t t = 0; t < EMBI_LEN(threads); t++) {
        struct embi_pool *pool = new_pool(threads[t]);
        CHECK(embi_pool_threads(pool) == threads[t]);
        for (int round = 0; round < 20; round++)
            for (size_t s = 0; s < EMBI_LEN(sizes); s++)
                CHECK(loop_is_right(pool, threads[t], sizes[s]));
        embi_pool_free(pool);
    }
}

static void test_many_short_loops(void)
{
    struct embi_pool *pool = new_pool(4);
    bool right = true;
    for (int round = 0; round < 3000; round++)
        right = loop_is_right(pool, 4, (size_t)(round % 6)) && right;
    CHECK(right);
    embi_pool_free(pool);
}

/* As many items as threads, each waiting for all others: ends only if all threads take part. */
struct meeting {
    atomic_int arrived;
    int wanted;
    int items_of[THREADS_MAX];
    sigset_t mask[THREADS_MAX];
    pthread_t thread[THREADS_MAX];
};

static void meet(void *arg, size_t item, int worker)
{
    struct meeting *meeting = arg;
    (void)item;
    meeting->items_of[worker]++;
    meeting->thread[worker] = pthread_self();
    pthread_sigmask(SIG_SETMASK, NULL, &meeting->mask[worker]);
    atomic_fetch_add(&meeting->arrived, 1);
    while (atomic_load(&meeting->arrived) < meeting->wanted)
        sched_yield();
}

static void test_all_threads_take_part(void)
{
    struct embi_pool *pool = new_pool(8);
    for (int wanted = 1; wanted <= 8; wanted++) {
        struct meeting meeting = {.wanted = wanted};
        embi_pool_run(pool, (size_t)wanted, meet, &meeting);
        CHECK(pthread_equal(meeting.thread[0], pthread_self()));
        for (int i = 0; i < 8; i++)
            CHECK(meeting.items_of[i] == (i < wanted));
        for (int i = 1; i < wanted; i++) {
            CHECK(sigismember(&meeting.mask[i], SIGINT) == 1);
            CHECK(sigismember(&meeting.mask[i], SIGBUS) == 0);
        }
        CHECK(sigismember(&meeting.mask[0], SIGINT) == 0);
    }
    embi_pool_free(pool);
}

/* Two items in a pool of eight threads that run: while the second item takes its time, threads that
 * are not asked must not count as finished helpers. */
struct slow {
    atomic_int arrived;
    int done;
};

static void slow_item(void *arg, size_t item, int worker)
{
    struct slow *slow = arg;
    (void)item;
    atomic_fetch_add(&slow->arrived, 1);
    while (atomic_load(&slow->arrived) < 2)
        sched_yield();
    if (worker != 0) {
        usleep(20000);
        slow->done = 1;
    }
}

static void test_slow_helper_is_waited_for(void)
{
    struct embi_pool *pool = new_pool(8);
    struct meeting meeting = {.wanted = 8};
    embi_pool_run(pool, 8, meet, &meeting);
    for (int round = 0; round < 5; round++) {
        struct slow slow = {0};
        embi_pool_run(pool, 2, slow_item, &slow);
        CHECK(slow.done == 1);
    }
    embi_pool_free(pool);
}

/* Results of one loop are the input of the next, as scan and join do it. */
static void square_item(void *arg, size_t item, int worker)
{
    uint64_t *values = arg;
    (void)worker;
    values[item] = values[item] * values[item] + item;
}

static void test_loops_see_each_other(void)
{
    static uint64_t values[ITEMS_MAX], expect[ITEMS_MAX];
    struct embi_pool *pool = new_pool(4);
    for (int round = 0; round < 50; round++) {
        embi_pool_run(pool, ITEMS_MAX, square_item, values);
        for (size_t i = 0; i < ITEMS_MAX; i++)
            expect[i] = expect[i] * expect[i] + i;
        CHECK(memcmp(values, expect, sizeof values) == 0);
    }
    embi_pool_free(pool);
}

static void test_arguments(void)
{
    struct embi_pool *pool;
    emb_err err;
    CHECK(embi_pool_new(-1, &pool, &err) == EMB_BAD_ARG);
    CHECK(strcmp(err.msg, "threads: expected 0..4096, found -1") == 0);
    CHECK(pool == NULL);
    CHECK(embi_pool_new(4097, &pool, &err) == EMB_BAD_ARG);
    embi_pool_free(NULL);
}

/* With one CPU in the affinity mask a pool that was not told a number has one thread. */
static void test_affinity(void)
{
    cpu_set_t before, one;
    CHECK(embi_cpus_allowed() >= 1);
    if (sched_getaffinity(0, sizeof before, &before) != 0)
        return;
    CHECK(embi_cpus_allowed() <= CPU_COUNT(&before));
    int cpu = 0;
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    struct embi_pool *pool = new_pool(0);
    CHECK(embi_pool_threads(pool) == 1);
    CHECK(loop_is_right(pool, 1, 100));
    embi_pool_free(pool);
    CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
}

/* From here on the kernel refuses new threads; false where it cannot be made to. */
static bool forbid_threads(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {EMBI_LEN(code), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* One pool has two workers when threads are forbidden, the other none. */
static void run_without_new_threads(void)
{
    struct embi_pool *some = new_pool(8), *none = new_pool(8);
    CHECK(loop_is_right(some, 8, 3));
    if (forbid_threads()) {
        CHECK(loop_is_right(some, 8, 1000));
        CHECK(loop_is_right(none, 8, 1000));
        CHECK(embi_pool_threads(none) == 8);
        struct meeting meeting = {.wanted = 3};
        embi_pool_run(some, 3, meet, &meeting);
        CHECK(atomic_load(&meeting.arrived) == 3);
    } else {
        printf("pool: skipped: refusing threads (no seccomp here)\n");
    }
    embi_pool_free(none);
    embi_pool_free(some);
}

/* In a child, since it cannot be taken back (and the leak checker wants a thread of its own). */
static void test_no_more_threads(void)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run_without_new_threads();
        fflush(stdout);
        _exit(failures > 0);
    }
    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    test_no_more_threads(); /* first: forking is simplest while there is one thread */
    test_every_item_once();
    test_many_short_loops();
    test_all_threads_take_part();
    test_slow_helper_is_waited_for();
    test_loops_see_each_other();
    test_arguments();
    test_affinity();
    printf("pool: %d passed, %d failed\n", checks - failures, failures);
    return failures > 0;
}

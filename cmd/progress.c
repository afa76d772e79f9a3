/* progress.c - the progress line. Only ever on a terminal, so its form is nobody's interface.
 */
#include "progress.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 500, STEP_MS = 200 };

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void put(const char *text, int n)
{
    ssize_t written = write(STDERR_FILENO, text, n > 0 ? (size_t)n : 0);
    (void)written; /* a progress line that cannot be written is no loss */
}

void progress_clear(struct run *run)
{
    static const char erase[] = "\r\033[K";
    if (run->progress)
        put(erase, sizeof erase - 1);
    run->progress = false;
}

void progress_begin(struct progress *p, struct run *run, uint64_t total_rows, uint64_t row_bytes)
{
    int64_t now = now_ms();
    *p = (struct progress){run, 0, total_rows, row_bytes, now, now + FIRST_MS};
    if (!run->err_tty || run->common->quiet)
        p->next_ms = INT64_MAX;
}

static void show(struct progress *p, int64_t now)
{
    char text[160];
    double seconds = (double)(now - p->started_ms) / 1000.0;
    double rows_a_second = (double)p->rows / seconds;
    uint64_t mb_a_second = (uint64_t)(rows_a_second * (double)p->row_bytes / 1e6);
    int n = snprintf(text, sizeof text, "\r%" PRIu64, p->rows);
    if (p->total_rows > p->rows)
        n += snprintf(text + n, sizeof text - (size_t)n, " of %" PRIu64, p->total_rows);
    n += snprintf(text + n, sizeof text - (size_t)n, " rows, %" PRIu64 " MB/s", mb_a_second);
    if (p->total_rows > p->rows)
        n += snprintf(text + n, sizeof text - (size_t)n, ", %" PRIu64 " s left",
                      (uint64_t)((double)(p->total_rows - p->rows) / rows_a_second));
    n += snprintf(text + n, sizeof text - (size_t)n, "\033[K");
    put(text, n);
    p->run->progress = true;
}

void progress_add(struct progress *p, uint64_t rows)
{
    p->rows += rows;
    if (p->next_ms == INT64_MAX)
        return;
    int64_t now = now_ms();
    if (now < p->next_ms || p->rows == 0)
        return;
    show(p, now);
    p->next_ms = now + STEP_MS;
}

static void show_download(struct run *run, const char *name, uint64_t bytes, uint64_t total,
                          int64_t now)
{
    char text[240];
    double seconds = (double)(now - run->download.started_ms) / 1000.0;
    double a_second = (double)(bytes - run->download.first) / seconds;
    int n = snprintf(text, sizeof text, "\r%.60s: %" PRIu64, name, bytes / 1000000);
    if (total)
        n += snprintf(text + n, sizeof text - (size_t)n, " of %" PRIu64, total / 1000000);
    n += snprintf(text + n, sizeof text - (size_t)n, " MB, %" PRIu64 " MB/s",
                  (uint64_t)(a_second / 1e6));
    if (total && a_second > 0)
        n += snprintf(text + n, sizeof text - (size_t)n, ", %" PRIu64 " s left",
                      (uint64_t)((double)(total - bytes) / a_second));
    n += snprintf(text + n, sizeof text - (size_t)n, "\033[K");
    put(text, n);
    run->progress = true;
}

void progress_download(void *arg, const char *name, uint64_t bytes, uint64_t total)
{
    struct run *run = arg;
    struct download_seen *f = &run->download;
    if (!run->err_tty || run->common->quiet)
        return;
    int64_t now = now_ms();
    if (name != f->name) {
        progress_clear(run);
        *f = (struct download_seen){name, bytes, now, now + FIRST_MS};
    } else if (bytes == total) {
        progress_clear(run);
    } else if (now >= f->next_ms && bytes > f->first) {
        show_download(run, name, bytes, total, now);
        f->next_ms = now + STEP_MS;
    }
}

void progress_end(struct progress *p)
{
    progress_clear(p->run);
}

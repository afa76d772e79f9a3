/* device.h - the inside of an open device and of its tables, for the files of the plugin.
 *
 * Two streams: rows come over `copy`, kernels run in `compute`, and events say when one may go on
 * from what the other did. The host's side of every copy of rows is a ring of pinned buffers: the
 * driver can copy from these while the next is filled. Arrays of a call lie in buffers that the
 * device keeps and that only grow.
 *
 * Functions return an enum embi_cuda_result. A failure leaves work pending at most, which
 * embi_cuda_device_settle waits for: every entry of the plugin ends with it.
 */
#ifndef EMBI_CUDA_DEVICE_H
#define EMBI_CUDA_DEVICE_H

#include "cuda/driver.h"
#include "cuda/launch.h"
#include "cuda/sizes.h"

enum { EMBI_RING = 4, EMBI_SLOTS = 2 };

/* What the device keeps memory for. */
enum embi_buffer {
    EMBI_BUFFER_IDS, /* these three of one table, then of another, in the same order */
    EMBI_BUFFER_PLACES,
    EMBI_BUFFER_ROWS,
    EMBI_BUFFER_SIDE_IDS,
    EMBI_BUFFER_SIDE_PLACES,
    EMBI_BUFFER_SIDE_ROWS,
    EMBI_BUFFER_OUT,
    EMBI_BUFFER_ENDS,
    EMBI_BUFFER_WEIGHTS,
    EMBI_BUFFER_QUERIES,
    EMBI_BUFFER_LOW,
    EMBI_BUFFER_LENGTHS,
    EMBI_BUFFER_K,
    EMBI_BUFFER_BIAS,
    EMBI_BUFFER_ALLOWED,
    EMBI_BUFFER_DOTS,
    EMBI_BUFFER_NORM2,
    EMBI_BUFFER_FLOORS,
    EMBI_BUFFER_COUNTS,
    EMBI_BUFFER_DIGITS,
    EMBI_BUFFER_KNOWN,
    EMBI_BUFFER_HITS,
    EMBI_BUFFER_ODD,
    EMBI_BUFFER_SLOT_0, /* windows of tables that are not resident */
    EMBI_BUFFER_SLOT_1,
    EMBI_BUFFER_COUNT
};

struct embi_cuda_device {
    struct embi_driver driver;
    int number; /* CUdevice */
    bool retained;
    void *context, *module, *functions[EMBI_CUDA_KERNEL_COUNT];
    void *copy, *compute;       /* streams */
    void *copied[EMBI_RING];    /* events: a pinned buffer may be filled again */
    void *uploaded[EMBI_SLOTS]; /* a window is there                           */
    void *computed[EMBI_SLOTS]; /* its place may be overwritten                */
    unsigned char *ring[EMBI_RING];
    unsigned turn; /* of the ring */
    struct {
        embi_address at;
        uint64_t bytes;
    } buffers[EMBI_BUFFER_COUNT];
    unsigned sms;
    char about[160];
};

struct embi_cuda_table {
    struct embi_cuda_device *device;
    struct embi_cuda_rows rows;
    uint64_t pitch;
    embi_address resident; /* 0: it is not */
};

/* Calls of the driver by name: a result. */
#define EMBI_CALL(device, fault, name, ...) \
    embi_driver_result(&(device)->driver, (device)->driver.name(__VA_ARGS__), #name, fault)

/* The context becomes current, or stops being so. */
int embi_cuda_device_enter(struct embi_cuda_device *d, struct embi_cuda_fault *fault);

/* Waits for all that was begun, and leaves the context; `result` is that of the work, and what is
 * returned that, or what waiting said. */
int embi_cuda_device_leave(struct embi_cuda_device *d, int result, struct embi_cuda_fault *fault);

/* *at: memory for `bytes` in that buffer, whose contents are lost if it grows. */
int embi_cuda_device_reserve(struct embi_cuda_device *d, enum embi_buffer buffer, uint64_t bytes,
                             embi_address *at, struct embi_cuda_fault *fault);

/* The same, and it gets a copy of the array, which stays until the call of the plugin ends. */
int embi_cuda_device_send(struct embi_cuda_device *d, enum embi_buffer buffer, const void *array,
                          uint64_t bytes, embi_address *at, struct embi_cuda_fault *fault);

/* Starts a kernel in `compute`; an empty grid is no work. */
int embi_cuda_device_launch(struct embi_cuda_device *d, enum embi_cuda_kernel kernel,
                            const void *args, uint64_t blocks_x, uint64_t blocks_y,
                            struct embi_cuda_fault *fault);

/* Blocks for so many items that a block takes `per_block` of at a time, in a loop: no more than
 * fill the device a few times. */
uint64_t embi_cuda_device_blocks(const struct embi_cuda_device *d, uint64_t items,
                                 uint64_t per_block);

/* Rows to the device: through the ring, over `copy`. */
int embi_cuda_rows_upload(struct embi_cuda_device *d, const struct embi_cuda_rows *rows,
                          uint64_t first, uint64_t n, uint64_t pitch, embi_address to,
                          struct embi_cuda_fault *fault);

/* Rows 0 .. n-1 from the device, when `compute` has made them; to put they are rows base .. */
int embi_cuda_rows_download(struct embi_cuda_device *d, embi_address from, uint64_t base,
                            uint64_t n, uint64_t pitch, embi_cuda_put_fn *put, void *arg,
                            struct embi_cuda_fault *fault);

/* Rows that lie on the device together: all of a table, or what a slot holds. */
uint64_t embi_cuda_table_window(const struct embi_cuda_table *t);

/* Calls fn, which starts work in `compute`, for windows of at most `most` rows, one after another,
 * of rows 0 .. rows-1; `wanted` (NULL: all) says which are needed. While one is worked on the next
 * comes. */
struct embi_cuda_window {
    uint64_t first, rows;
    embi_address at;
};
typedef int embi_cuda_window_fn(void *arg, const struct embi_cuda_window *window,
                                struct embi_cuda_fault *fault);
typedef bool embi_cuda_wanted_fn(void *arg, uint64_t first, uint64_t rows);
int embi_cuda_table_windows(struct embi_cuda_table *t, uint64_t rows, uint64_t most,
                            embi_cuda_wanted_fn *wanted, embi_cuda_window_fn *fn, void *arg,
                            struct embi_cuda_fault *fault);

/* The functions of struct embi_cuda. */
int embi_cuda_device_count(int *n, struct embi_cuda_fault *fault);
int embi_cuda_device_open(int ordinal, struct embi_cuda_device **device,
                          struct embi_cuda_fault *fault);
void embi_cuda_device_close(struct embi_cuda_device *device);
int embi_cuda_device_room(struct embi_cuda_device *device, uint64_t row_bytes, uint64_t *rows,
                          struct embi_cuda_fault *fault);
int embi_cuda_table_open(struct embi_cuda_device *device, const struct embi_cuda_rows *rows,
                         struct embi_cuda_table **table, bool *resident,
                         struct embi_cuda_fault *fault);
void embi_cuda_table_close(struct embi_cuda_table *table);
int embi_cuda_table_gather(struct embi_cuda_table *table, const uint64_t *ids, size_t n,
                           embi_cuda_put_fn *put, void *arg, struct embi_cuda_fault *fault);
int embi_cuda_table_gather_sum(struct embi_cuda_table *table, const uint64_t *ids,
                               struct embi_cuda_table *side, const uint64_t *side_ids, size_t n,
                               embi_cuda_put_fn *put, void *arg, struct embi_cuda_fault *fault);
int embi_cuda_table_pool(struct embi_cuda_table *table, const struct embi_cuda_pool *pool,
                         struct embi_cuda_fault *fault);
int embi_cuda_table_search(struct embi_cuda_table *table, const struct embi_cuda_search *search,
                           struct embi_cuda_found *found, struct embi_cuda_fault *fault);
int embi_cuda_device_draw(struct embi_cuda_device *device, const struct embi_cuda_draw *draw,
                          embi_cuda_put_fn *put, void *arg, struct embi_cuda_fault *fault);
int embi_cuda_device_scatter(struct embi_cuda_device *device,
                             const struct embi_cuda_scatter *scatter,
                             struct embi_cuda_fault *fault);

/* The kernels, as cuModuleLoadData takes them: image.c, or what tests put in its place. */
extern const unsigned char embi_cuda_image[];

#endif

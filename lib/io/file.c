/* io/file.c - files by their path: reading, and which way a target is written.
 *
 * A regular file is mapped when somebody asks for its bytes in memory, and read by position else.
 * It is shared with everybody who may write to it, which io.h's caller knows: what became shorter
 * is an error in pread and SIGBUS in a mapping. What has no size (a FIFO, a device, /proc) is read
 * whole.
 */
#include "io/fd.h"
#include "io/newfile.h"
#include "io/out.h"
#include "io/schemes.h"
#include "util/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct file {
    struct embi_io io;
    int fd;
    void *mapped; /* [io.size], or NULL */
};

static emb_status file_pread(struct embi_io *io, void *dst, size_t n, uint64_t off, emb_err *err)
{
    return embi_fd_pread(((struct file *)io)->fd, dst, n, off, err);
}

static emb_status file_map(struct embi_io *io, const void **data, emb_err *err)
{
    struct file *file = (struct file *)io;
    if (!file->mapped) {
        void *at = mmap(NULL, io->size, PROT_READ, MAP_SHARED, file->fd, 0);
        if (at == MAP_FAILED && errno == ENOMEM)
            return embi_fail_memory(err, io->size, "the mapped file");
        if (at == MAP_FAILED)
            return embi_fail_errno(err, errno, "cannot map the file");
        file->mapped = at;
    }
    *data = file->mapped;
    return EMB_OK;
}

/* Whole pages alone: those at the ends may hold what is still in use. */
static void file_forget(struct embi_io *io, uint64_t off, uint64_t n)
{
    struct file *file = (struct file *)io;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = (off + page - 1) / page * page, end = (off + n) / page * page;
    if (file->mapped && first < end)
        madvise((char *)file->mapped + first, end - first, MADV_DONTNEED);
}

static int file_descriptor(const struct embi_io *io)
{
    return ((const struct file *)io)->fd;
}

static void file_close(struct embi_io *io)
{
    struct file *file = (struct file *)io;
    if (file->mapped)
        munmap(file->mapped, io->size);
    close(file->fd);
    free(file);
}

static const struct embi_scheme scheme_reading = {
    .name = "file",
    .pread = file_pread,
    .map = file_map,
    .forget = file_forget,
    .descriptor = file_descriptor,
    .close = file_close,
};

/* Takes fd over where it succeeds. */
static emb_status open_regular(const struct embi_env *env, int fd, uint64_t size,
                               struct embi_io **io, emb_err *err)
{
    struct file *file = calloc(1, sizeof *file);
    if (!file)
        return embi_fail_memory(err, sizeof *file, "an open file");
    file->io.scheme = &scheme_reading;
    file->io.env = env;
    file->io.caps = EMBI_IO_CAN_MAP;
    file->io.size = size;
    file->fd = fd;
    *io = &file->io;
    return EMB_OK;
}

/* The rest of fd as memory; fd stays open. */
static emb_status open_slurped(const struct embi_env *env, int fd, struct embi_io **io,
                               emb_err *err)
{
    struct embi_buf buf = {0};
    emb_status status = embi_fd_slurp(fd, &buf, err);
    if (status == EMB_OK)
        status = embi_io_memory(env, buf.s, buf.n, buf.s, io, err);
    if (status != EMB_OK)
        embi_buf_free(&buf);
    return status;
}

/* Devices that may have no end, as /dev/zero; terminals have one, and so has /dev/null. */
static bool is_device(int fd, const struct stat *st)
{
    return S_ISBLK(st->st_mode) ||
           (S_ISCHR(st->st_mode) && !isatty(fd) && st->st_rdev != makedev(1, 3));
}

emb_status embi_file_adopt(const struct embi_env *env, int fd, struct embi_io **io, emb_err *err)
{
    struct stat st;
    emb_status status;
    *io = NULL;
    if (fstat(fd, &st) != 0) {
        status = embi_fail_errno(err, errno, NULL);
    } else if (S_ISDIR(st.st_mode)) {
        status = embi_fail(err, EMB_UNSUPPORTED, -1, "is a directory, not a table file");
    } else if (is_device(fd, &st)) {
        status = embi_fail(err, EMB_UNSUPPORTED, -1, "is a device, not a table file");
    } else if (S_ISREG(st.st_mode) && st.st_size > 0 && lseek(fd, 0, SEEK_CUR) == 0) {
        status = open_regular(env, fd, (uint64_t)st.st_size, io, err);
        if (status == EMB_OK)
            return EMB_OK;
    } else {
        status = open_slurped(env, fd, io, err);
    }
    close(fd);
    return status;
}

/* N where path is folder followed by the digits of N, else -1. */
static int number_in(const char *folder, const char *path)
{
    size_t n = strlen(folder);
    if (strncmp(path, folder, n) != 0 || path[n] == '\0')
        return -1;
    int number = 0;
    for (const char *p = path + n; *p; p++) {
        if (*p < '0' || *p > '9' || number > INT16_MAX)
            return -1;
        number = 10 * number + (*p - '0');
    }
    return number;
}

/* The descriptor of this process that path is a name for, or -1. To open such a name anew would
 * begin at the start of the file that standard output is redirected to, and a socket would refuse.
 */
static int descriptor_of(const char *path)
{
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    int number = number_in("/dev/fd/", path);
    return number >= 0 ? number : number_in("/proc/self/fd/", path);
}

static emb_status open_stream(const struct embi_env *env, int fd, struct embi_io **io, emb_err *err)
{
    if (fd < 0)
        return embi_fail_errno(err, errno, NULL);
    return embi_stream_open(env, fd, io, err);
}

/* A target that is no regular file gets the bytes as they come; any other appears in one step. */
static emb_status open_target(const struct embi_env *env, const char *path, unsigned mode,
                              struct embi_io **io, emb_err *err)
{
    int own = descriptor_of(path);
    if (own >= 0)
        return open_stream(env, embi_fd_twin(own, STDERR_FILENO + 1), io, err);

    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (!exists && errno != ENOENT)
        return embi_fail_errno(err, errno, NULL);
    if (exists && S_ISDIR(st.st_mode)) {
        embi_fail(err, EMB_IO, -1, "is a directory");
        err->sys = EISDIR;
        return EMB_IO;
    }
    if (exists && !S_ISREG(st.st_mode))
        return open_stream(env, open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC), io, err);
    return embi_newfile_open(env, path, mode, io, err);
}

static emb_status file_open(const struct embi_env *env, const char *url, unsigned mode,
                            struct embi_io **io, emb_err *err)
{
    if (mode & EMBI_IO_WRITE)
        return open_target(env, url, mode, io, err);
    int fd = open(url, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return embi_fail_errno(err, errno, NULL);
    return embi_file_adopt(env, fd, io, err);
}

const struct embi_scheme embi_scheme_file = {.name = "file", .open = file_open};

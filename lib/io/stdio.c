/* io/stdio.c - the scheme "-": standard input or standard output.
 *
 * Works on second descriptors of fd 0 and 1: those two stay open, and yet what close reports about
 * output (a full disk at the far end of a network file system) is not lost.
 */
#include "io/fd.h"
#include "io/out.h"
#include "io/schemes.h"
#include "util/err.h"

#include <errno.h>
#include <unistd.h>

static emb_status stdio_open(const struct embi_env *env, const char *url, unsigned mode,
                             struct embi_io **io, emb_err *err)
{
    (void)url;
    bool write = mode & EMBI_IO_WRITE;
    int fd = embi_fd_twin(write ? STDOUT_FILENO : STDIN_FILENO, STDERR_FILENO + 1);
    if (fd < 0)
        return embi_fail_errno(err, errno, write ? "standard output" : "standard input");
    return write ? embi_stream_open(env, fd, io, err) : embi_file_adopt(env, fd, io, err);
}

const struct embi_scheme embi_scheme_stdio = {.name = "-", .open = stdio_open};

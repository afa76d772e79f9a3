/* folders.c - see folders.h. How deep they go is bounded.
 */
#include "io/folders.h"

#include "io/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

bool embi_is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A directory that may be written but not read cannot be opened for fsync. */
int embi_sync_dir(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : errno;
    int sys = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return sys;
}

/* Those inside first. */
static int sync_folders(int parent, const char *name, int depth)
{
    struct embi_dir dir;
    int sys = 0;
    embi_dir_open(&dir, parent, name, false);
    for (const char *e; !sys && depth < DEPTH_MAX && (e = embi_dir_next(&dir)) != NULL;)
        sys = sync_folders(dir.fd, e, depth + 1);
    bool folder = dir.fd >= 0;
    embi_dir_close(&dir);
    return folder && !sys ? embi_sync_dir(parent, name) : sys;
}

int embi_sync_tree(int parent, const char *name)
{
    return sync_folders(parent, name, 0);
}

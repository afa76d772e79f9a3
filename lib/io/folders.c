/* folders.c - see folders.h. How deep they go is bounded.
 */
#include "io/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

bool embi_is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

DIR *embi_open_dir_at(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !dir)
        close(fd);
    return dir;
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
    int sys = 0;
    DIR *dir = depth < DEPTH_MAX ? embi_open_dir_at(parent, name) : NULL;
    for (struct dirent *e; dir && !sys && (e = readdir(dir)) != NULL;)
        if (e->d_type != DT_REG && e->d_type != DT_LNK && !embi_is_dots(e->d_name))
            sys = sync_folders(dirfd(dir), e->d_name, depth + 1);
    if (dir)
        closedir(dir);
    return dir && !sys ? embi_sync_dir(parent, name) : sys;
}

int embi_sync_tree(int parent, const char *name)
{
    return sync_folders(parent, name, 0);
}

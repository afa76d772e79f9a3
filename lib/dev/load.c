/* load.c - see load.h. The only file that knows how shared objects are opened. */
#include "dev/load.h"
#include "util/buf.h"
#include "util/err.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

emb_status embi_plugins_new(const char *dirs, struct embi_plugins **plugins, emb_err *err)
{
    struct embi_plugins *p = calloc(1, sizeof *p);
    if (!p)
        return embi_fail_memory(err, sizeof *p, "a context");
    p->dirs = dirs ? strdup(dirs) : NULL;
    if (dirs && !p->dirs) {
        free(p);
        return embi_fail_memory(err, strlen(dirs), "a path");
    }
    *plugins = p;
    return EMB_OK;
}

void embi_plugins_free(struct embi_plugins *plugins)
{
    if (!plugins)
        return;
    free(plugins->dirs);
    free(plugins);
}

/* The file of the plugin, in *path; false where no directory has it. Relative directories would
 * depend on where the program happens to run. */
static bool find(const struct embi_plugins *plugins, const char *name, struct embi_buf *path)
{
    const char *dir = plugins->dirs;
    while (dir && *dir) {
        size_t n = strcspn(dir, ":");
        path->n = 0;
        embi_buf_print(path, "%.*s/libemb-%s.so", (int)n, dir, name);
        if (*dir == '/' && !path->failed && access(embi_buf_cstr(path), R_OK) == 0)
            return true;
        dir += n + (dir[n] == ':');
    }
    return false;
}

bool embi_plugin_there(const struct embi_plugins *plugins, const char *name)
{
    struct embi_buf path = {0};
    bool there = find(plugins, name, &path);
    embi_buf_free(&path);
    return there;
}

/* What the system says is long where it begins with the file's path, which we said already. */
static emb_status fail_open(const char *name, const char *path, emb_err *err)
{
    const char *why = dlerror();
    size_t n = strlen(path);
    if (!why)
        why = "it cannot be loaded";
    else if (strncmp(why, path, n) == 0 && strncmp(why + n, ": ", 2) == 0)
        why += n + 2;
    return embi_fail(err, EMB_DEVICE, -1, "libemb-%s.so: %s", name, why);
}

static emb_status open_file(const char *path, const char *name, const char *symbol, void **address,
                            emb_err *err)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *address = object ? dlsym(object, symbol) : NULL;
    return *address ? EMB_OK : fail_open(name, path, err);
}

emb_status embi_plugin_load(const struct embi_plugins *plugins, const char *name,
                            const char *missing, const char *symbol, void **address, emb_err *err)
{
    struct embi_buf path = {0};
    emb_status status;
    if (find(plugins, name, &path))
        status = open_file(embi_buf_cstr(&path), name, symbol, address, err);
    else if (path.failed)
        status = embi_fail_memory(err, strlen(plugins->dirs), "a path");
    else
        status = embi_fail(err, EMB_DEVICE, -1, "%s; libemb-%s.so was looked for in %s", missing,
                           name, plugins->dirs ? plugins->dirs : "no directory");
    embi_buf_free(&path);
    return status;
}

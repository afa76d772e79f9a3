/* load.c - see load.h. The only file that knows how shared objects are opened. */
#include "dev/load.h"
#include "util/buf.h"
#include "util/err.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

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

/* The next directory of a list; false at its end. */
static bool next_dir(const char **list, emb_str *dir)
{
    if (!*list || !**list)
        return false;
    *dir = (emb_str){*list, strcspn(*list, ":")};
    *list += dir->n + ((*list)[dir->n] == ':');
    return true;
}

/* Relative directories would depend on where the program happens to run. */
static bool is_absolute(emb_str dir)
{
    return dir.n && *dir.s == '/';
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The file of the plugin, in *path; false where no directory has it. */
static bool find(const struct embi_plugins *plugins, const char *name, struct embi_buf *path)
{
    const char *list = plugins->dirs;
    emb_str dir;
    while (next_dir(&list, &dir)) {
        path->n = 0;
        embi_buf_print(path, "%.*s/libemb-%s.so", (int)dir.n, dir.s, name);
        if (is_absolute(dir) && !path->failed && is_file(embi_buf_cstr(path)))
            return true;
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

/* The path is said once: what the system says begins with it as well, mostly. */
static emb_status fail_open(const char *path, emb_err *err)
{
    const char *why = dlerror();
    size_t n = strlen(path);
    if (!why)
        why = "it cannot be loaded";
    else if (strncmp(why, path, n) == 0 && strncmp(why + n, ": ", 2) == 0)
        why += n + 2;
    return embi_fail(err, EMB_DEVICE, -1, "%s: %s", path, why);
}

static emb_status open_file(const char *path, const char *symbol, void **address, emb_err *err)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *address = object ? dlsym(object, symbol) : NULL;
    return *address ? EMB_OK : fail_open(path, err);
}

/* Which directories do not count comes before those that do: a message that is too long loses its
 * end. */
static void print_places(const struct embi_plugins *plugins, const char *name,
                         struct embi_buf *text)
{
    struct embi_buf places = {0};
    const char *list = plugins->dirs;
    emb_str dir;
    while (next_dir(&list, &dir))
        if (is_absolute(dir))
            embi_buf_print(&places, "%s%.*s", places.n ? ":" : "", (int)dir.n, dir.s);
        else if (dir.n)
            embi_buf_print(text, "; %.*s is not absolute", (int)dir.n, dir.s);
    embi_buf_print(text, "; libemb-%s.so was looked for in %s", name,
                   places.n ? embi_buf_cstr(&places) : "no directory");
    text->failed = text->failed || places.failed;
    embi_buf_free(&places);
}

static emb_status fail_missing(const struct embi_plugins *plugins, const char *name,
                               const char *missing, emb_err *err)
{
    struct embi_buf text = {0};
    print_places(plugins, name, &text);
    const char *places = embi_buf_cstr(&text);
    emb_status status = text.failed ? embi_fail_memory(err, text.n, "a message")
                                    : embi_fail(err, EMB_DEVICE, -1, "%s%s", missing, places);
    embi_buf_free(&text);
    return status;
}

emb_status embi_plugin_load(const struct embi_plugins *plugins, const char *name,
                            const char *missing, const char *symbol, void **address, emb_err *err)
{
    struct embi_buf path = {0};
    emb_status status;
    if (find(plugins, name, &path))
        status = open_file(embi_buf_cstr(&path), symbol, address, err);
    else if (path.failed)
        status = embi_fail_memory(err, strlen(plugins->dirs), "a path");
    else
        status = fail_missing(plugins, name, missing, err);
    embi_buf_free(&path);
    return status;
}

emb_status embi_plugin_check(const char *name, uint32_t abi, uint32_t size, uint32_t known_abi,
                             size_t known_size, emb_err *err)
{
    if (abi == known_abi && size == known_size)
        return EMB_OK;
    return embi_fail(err, EMB_DEVICE, -1,
                     "libemb-%s.so is of another version of embtool: interface %u of %u bytes, "
                     "expected %u of %zu",
                     name, abi, size, known_abi, known_size);
}

/* place.c - see place.h. */
#include "io/place.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void embi_place_add(const struct embi_env *env, struct embi_place *place)
{
    place->env = env;
    place->next = env->places->first;
    env->places->first = place;
}

void embi_places_free(struct embi_places *places)
{
    while (places->first) {
        struct embi_place *place = places->first;
        places->first = place->next;
        free(place->dir);
        place->kind->free(place);
    }
}

struct embi_place *embi_place_of(const struct embi_env *env, const char *path, const char **name)
{
    struct embi_place *place = env->places ? env->places->first : NULL;
    for (; place; place = place->next) {
        size_t n = strlen(place->dir);
        if (strncmp(path, place->dir, n) != 0 || (path[n] && path[n] != '/'))
            continue;
        *name = path + n + strspn(path + n, "/");
        return place;
    }
    return NULL;
}

bool embi_path_exists(const struct embi_env *env, const char *path)
{
    const char *name;
    if (access(path, F_OK) == 0)
        return true;
    struct embi_place *place = embi_place_of(env, path, &name);
    return place && (!*name || place->kind->has(place, name));
}

static emb_status names_of(struct embi_place *place, const char *folder, struct embi_names *names,
                           emb_err *err)
{
    *names = (struct embi_names){0};
    return place->kind->names ? place->kind->names(place, folder, names, err) : EMB_OK;
}

bool embi_path_is_dir(const struct embi_env *env, const char *path)
{
    struct stat st;
    struct embi_names names;
    const char *name;
    emb_err err;
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode);
    struct embi_place *place = embi_place_of(env, path, &name);
    if (!place || !*name)
        return place != NULL;
    bool found = names_of(place, name, &names, &err) == EMB_OK && names.n > 0;
    embi_names_free(&names);
    return found;
}

static bool has(const struct embi_names *names, size_t n, const char *name)
{
    size_t i = 0;
    while (i < n && strcmp(names->list[i], name) != 0)
        i++;
    return i < n;
}

/* Adds what the place knows to what is in the directory. */
static emb_status add_names(struct embi_place *place, const char *folder, embi_name_fn *wanted,
                            struct embi_names *names, emb_err *err)
{
    struct embi_names all;
    size_t before = names->n;
    emb_status status = names_of(place, folder, &all, err);
    for (size_t i = 0; !status && i < all.n; i++)
        if (all.list[i][0] != '.' && wanted(-1, all.list[i]) && !has(names, before, all.list[i]))
            status = embi_names_add(names, all.list[i], strlen(all.list[i]), err);
    embi_names_free(&all);
    if (!status)
        embi_names_sort(names);
    return status;
}

emb_status embi_path_names(const struct embi_env *env, const char *path, embi_name_fn *wanted,
                           struct embi_names *names, emb_err *err)
{
    const char *folder;
    struct embi_place *place = embi_place_of(env, path, &folder);
    emb_status status = embi_dir_names(path, wanted, names, err);
    if (!place || (status && (status != EMB_IO || (err->sys != ENOENT && err->sys != ENOTDIR))))
        return status;
    return add_names(place, folder, wanted, names, err);
}

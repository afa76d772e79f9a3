/* model_dir.c - see model_dir.h. Whether a directory is a model's is for who opens it to say.
 */
#include "model/model_dir.h"

#include "io/place.h"
#include "model/hub.h"
#include "model/sidecar.h"
#include "model/web_dir.h"
#include "util/err.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A file stands for the directory that it lies in, which must be a model's. */
static emb_status dir_of_file(const struct embi_env *env, char **dir, emb_err *err)
{
    struct stat st;
    char *folder;
    bool here = stat(*dir, &st) == 0;
    int sys = errno;
    if (!here && !embi_path_exists(env, *dir))
        return embi_fail_errno(err, sys, NULL);
    if (here ? !S_ISREG(st.st_mode) : embi_path_is_dir(env, *dir))
        return EMB_OK;
    emb_status status = embi_path_dir(*dir, &folder, err);
    if (status)
        return status;
    free(*dir);
    *dir = folder;
    return embi_sidecar_exists(env, *dir, "config.json")
               ? EMB_OK
               : embi_fail(err, EMB_UNSUPPORTED, -1,
                           "expected a model: found a file without a config.json beside it");
}

emb_status embi_model_dir(const struct embi_env *env, const char *url, char **dir, emb_err *err)
{
    emb_status status = EMB_OK;
    if (emb_is_hub_name(url))
        status = embi_hub_open(env, url, dir, err);
    else if ((status = embi_web_dir_open(env, url, err)) == EMB_OK)
        *dir = strdup(url);
    if (status)
        return status;
    return *dir ? dir_of_file(env, dir, err) : embi_fail_memory(err, strlen(url), "a path");
}

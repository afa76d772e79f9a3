/* util/env.c - see env.h.
 *
 * A line of the log is formatted here and handed to the callback of the context. It goes nowhere
 * else: the library prints nothing. A line that is too long is cut.
 */
#include "util/env.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_MAX_BYTES = 512 };

void embi_log(const struct embi_env *env, int level, const char *path, const char *format, ...)
{
    if (!env->log)
        return;
    char line[LINE_MAX_BYTES] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    env->log(env->log_arg, level, path, line);
}

void embi_temp(const struct embi_env *env, const char *path, bool there)
{
    if (env->temp)
        env->temp(env->temp_arg, path, there);
}

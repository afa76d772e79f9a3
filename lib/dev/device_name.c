/* device_name.c - which GPUs a name means. */
#include "dev/device.h"
#include "util/err.h"

enum { MOST_ORDINAL = 4095 };

/* A number of decimal digits alone, at the start of s: its end, or NULL. */
static const char *read_ordinal(const char *s, int *ordinal)
{
    const char *at = s;
    for (*ordinal = 0; *at >= '0' && *at <= '9'; at++) {
        *ordinal = *ordinal * 10 + (*at - '0');
        if (*ordinal > MOST_ORDINAL)
            return NULL;
    }
    return at == s ? NULL : at;
}

/* "N" or "N,M,...": as many as can be taken. */
static bool read_ordinals(const char *s, struct embi_gpus_named *named)
{
    for (named->n = 0; named->n < EMBI_GPUS_MOST; s++) {
        s = read_ordinal(s, &named->ordinals[named->n++]);
        if (!s || (*s && *s != ','))
            return false;
        if (!*s)
            return true;
    }
    return false;
}

/* A GPU that has rows twice would only have them in two places. */
static emb_status check_once(const struct embi_gpus_named *named, emb_err *err)
{
    for (int i = 1; i < named->n; i++)
        for (int j = 0; j < i; j++)
            if (named->ordinals[i] == named->ordinals[j])
                return embi_fail(err, EMB_BAD_ARG, -1, "device %d is named twice",
                                 named->ordinals[i]);
    return EMB_OK;
}

emb_status embi_device_parse(const char *name, bool *some, struct embi_gpus_named *named,
                             emb_err *err)
{
    *named = (struct embi_gpus_named){.n = 1};
    named->optional = strcmp(name, "auto") == 0;
    *some = strcmp(name, "cpu") != 0;
    if (!*some || named->optional || strcmp(name, "cuda") == 0)
        return EMB_OK;
    named->all = strcmp(name, "cuda:all") == 0;
    if (named->all || (strncmp(name, "cuda:", 5) == 0 && read_ordinals(name + 5, named)))
        return check_once(named, err);
    return embi_fail(err, EMB_BAD_ARG, -1,
                     "unknown device %.40s: expected cpu, cuda, cuda:N, cuda:N,M,..., cuda:all or "
                     "auto",
                     name);
}

bool embi_device_same(const struct embi_gpus_named *a, const struct embi_gpus_named *b)
{
    return a->optional == b->optional && a->all == b->all && a->n == b->n &&
           memcmp(a->ordinals, b->ordinals, (size_t)a->n * sizeof *a->ordinals) == 0;
}

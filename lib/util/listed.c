/* util/listed.c - see listed.h. */
#include "util/listed.h"

#include "util/err.h"

enum { NAMED_MAX = 6 };

void embi_listed_add(struct embi_listed *l, emb_str name)
{
    char shown[EMBI_SHOW_MAX];
    if (l->n++ < NAMED_MAX)
        embi_buf_print(&l->text, "%s%s", l->n > 1 ? ", " : "", embi_show(shown, name));
}

const char *embi_listed_text(struct embi_listed *l)
{
    if (l->n > NAMED_MAX)
        embi_buf_print(&l->text, " and %zu more", l->n - NAMED_MAX);
    return embi_buf_cstr(&l->text);
}

void embi_listed_free(struct embi_listed *l)
{
    embi_buf_free(&l->text);
    *l = (struct embi_listed){0};
}

/* ini.h - the files that Amazon's tools are set up by: sections of keys, as the configparser of
 * Python reads them for those tools.
 *
 *     [section]            # and ; begin a line that says nothing
 *     key = value          or key: value; the key in any case
 *     group =
 *         key = value      further in than `group`: of it
 *
 * Only files of io/ include this.
 */
#ifndef EMBI_IO_INI_H
#define EMBI_IO_INI_H

#include "util/base.h"

/* One value; `group` is empty for most. Not EMB_OK: no more. */
typedef emb_status embi_ini_fn(void *arg, emb_str section, emb_str group, emb_str key,
                               emb_str value, emb_err *err);

/* EMB_BAD_DATA: which line is none of these. No message has anything of a line in it, which may be
 * secret. */
emb_status embi_ini_walk(emb_str text, embi_ini_fn *fn, void *arg, emb_err *err);

#endif

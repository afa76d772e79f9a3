/* netrc.h - names and passwords for servers, out of the file that ftp(1) brought and curl reads.
 *
 * Only files of io/ include this.
 */
#ifndef EMBI_IO_NETRC_H
#define EMBI_IO_NETRC_H

#include "util/buf.h"

/* What the text says of `host`, or of all others (`default`), the first of both that comes; false:
 * nothing. A name without a password has an empty one. */
bool embi_netrc_parse(emb_str text, emb_str host, struct embi_buf *user, struct embi_buf *password);

/* The same of a file. One that is not there, or cannot be read, says nothing. */
bool embi_netrc_find(const char *path, emb_str host, struct embi_buf *user,
                     struct embi_buf *password);

#endif

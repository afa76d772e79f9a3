/* address.h - what an http:// or https:// address says of its host, and which addresses may be sent
 * a secret.
 *
 * Only files of io/ include this.
 */
#ifndef EMBI_IO_ADDRESS_H
#define EMBI_IO_ADDRESS_H

#include "util/base.h"

/* The host, without a name before it, a port behind it, or the brackets of an IPv6 one. */
emb_str embi_address_host(const char *url);

/* Is it this machine itself: localhost, 127.0.0.0/8, ::1? */
bool embi_address_is_here(const char *url);

/* May a secret travel there? Over TLS, or without leaving this machine. */
bool embi_address_is_safe(const char *url);

#endif

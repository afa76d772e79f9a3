/* remote.h - what lies at an http:// or https:// address, and what else a request of it needs.
 *
 * How requests are made, and made again, is the transport's (transport.h).
 */
#ifndef EMBI_IO_REMOTE_H
#define EMBI_IO_REMOTE_H

#include "io/io.h"
#include "io/transport.h"
#include "util/buf.h"

struct embi_remote; /* below */

struct embi_address {
    const char *url;
    const char
        *bearer; /* a token for the origin of url alone, by https or to this machine; or NULL */
    /* As in embi_transport_opts. Without any of them, and without a bearer, those that the user's
     * netrc has for the host. */
    const char *user, *password, *signing, *token;
    const struct embi_version *version; /* that there must be; or NULL */
    const struct embi_remote *beside;   /* whose connections are used too, or NULL */
    size_t at_once;                     /* as in embi_transport_opts */
    /* What the server must say of the file, where it says anything of the kind; or NULL. */
    const char *commit, *tag;
    /* Puts what a refusal means into *err, which holds the transport's words; or NULL. */
    void (*explain)(void *arg, const struct embi_told *told, emb_err *err);
    void *explain_arg;
};

/* A session for one address. */
struct embi_remote {
    const struct embi_env *env;
    const struct embi_transport *transport; /* NULL: none was begun */
    void *session;
};

/* Nothing is asked for yet. End it in any case. */
emb_status embi_remote_begin(const struct embi_env *env, const struct embi_address *address,
                             struct embi_remote *remote, emb_err *err);
void embi_remote_end(struct embi_remote *remote);

/* embi_transport.get of the session, whose words become an error: EMB_IO; err->sys is ENOENT where
 * the server says that there is no such file, ESTALE where it is another version by now. The first
 * time also: is it the file that the address
 * speaks of? */
emb_status embi_remote_get(const struct embi_remote *remote, const struct embi_address *address,
                           struct embi_get *gets, size_t n, uint64_t *total, emb_err *err);

/* All of a small content, `most` bytes at most, in *out, which the caller frees. */
emb_status embi_remote_read(const struct embi_remote *remote, const struct embi_address *address,
                            uint64_t most, struct embi_buf *out, emb_err *err);

/* The content as a file to read, of which the ranges come that are needed (far.c). */
emb_status embi_remote_open(const struct embi_env *env, const struct embi_address *address,
                            struct embi_io **io, emb_err *err);

/* The tag without what stands around it: W/"abc" is abc. Where it has odd characters, "". */
void embi_remote_plain_tag(const char *tag, char plain[128]);

#endif

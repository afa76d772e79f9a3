/* util/err.c - see err.h.
 *
 * Everything is formatted into an array of its own first, so that an argument may point into the
 * error that is being filled. What does not fit is cut between characters, never inside one. The
 * system's words are the untranslated ones: a message does not depend on the locale.
 */
#include "util/err.h"

#include "util/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { MSG_MAX = sizeof((emb_err *)0)->msg };

/* text was cut after n bytes: drops a UTF-8 sequence whose end is missing. */
static void drop_half_character(char *text, size_t n)
{
    for (size_t back = 1; back < EMBI_UTF8_MAX_BYTES && back <= n; back++) {
        unsigned char lead = (unsigned char)text[n - back];
        if (lead < 0x80)
            return;
        if (lead >= 0xC0) {
            size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
            if (length > back)
                text[n - back] = '\0';
            return;
        }
    }
}

static void set_message(emb_err *err, const char *text, bool cut)
{
    size_t n = strlen(text);
    memcpy(err->msg, text, n + 1);
    if (cut)
        drop_half_character(err->msg, n);
}

emb_status embi_fail(emb_err *err, emb_status status, int64_t at, const char *format, ...)
{
    char text[MSG_MAX] = "";
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    err->status = status;
    err->sys = 0;
    err->at = at;
    set_message(err, text, n >= MSG_MAX);
    return status;
}

emb_status embi_fail_errno(emb_err *err, int sys, const char *what)
{
    const char *words = strerrordesc_np(sys);
    if (words)
        embi_fail(err, EMB_IO, -1, "%s%s%s", what ? what : "", what ? ": " : "", words);
    else
        embi_fail(err, EMB_IO, -1, "%s%serror %d", what ? what : "", what ? ": " : "", sys);
    err->sys = sys;
    err->status = sys == ENOMEM ? EMB_NO_MEMORY : EMB_IO;
    return err->status;
}

emb_status embi_fail_memory(emb_err *err, uint64_t bytes, const char *what)
{
    return embi_fail(err, EMB_NO_MEMORY, -1, "out of memory (%" PRIu64 " bytes for %s)", bytes,
                     what);
}

/* Puts s behind the n bytes that are in text, as far as it fits; returns the new length. */
static size_t put(char text[MSG_MAX], size_t n, const char *s, bool *cut)
{
    size_t length = strlen(s);
    if (length > MSG_MAX - 1 - n) {
        length = MSG_MAX - 1 - n;
        *cut = true;
    }
    memcpy(text + n, s, length);
    text[n + length] = '\0';
    return n + length;
}

emb_status embi_fail_in(emb_err *err, const char *format, ...)
{
    char text[MSG_MAX] = "";
    va_list args;
    va_start(args, format);
    bool cut = vsnprintf(text, sizeof text, format, args) >= MSG_MAX;
    va_end(args);
    size_t n = put(text, strlen(text), ": ", &cut);
    put(text, n, err->msg, &cut);
    set_message(err, text, cut);
    return err->status;
}

/* Writes the piece that stands for the beginning of s [n >= 1] to out; returns its length (at most
 * 4) and sets *used to the bytes of s that it stands for. */
static size_t show_piece(char out[8], const char *s, size_t n, size_t *used)
{
    static const char names[] = {['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r', ['\\'] = '\\'};
    unsigned char c = (unsigned char)s[0];
    size_t sequence = embi_utf8_multibyte(s, n);
    *used = 1;
    if (sequence > 0) {
        memcpy(out, s, sequence);
        *used = sequence;
        return sequence;
    }
    if (c < sizeof names && names[c]) {
        out[0] = '\\';
        out[1] = names[c];
        return 2;
    }
    if (c >= 0x20 && c < 0x7F) {
        out[0] = (char)c;
        return 1;
    }
    return (size_t)snprintf(out, 8, "\\x%02x", c);
}

const char *embi_show(char out[EMBI_SHOW_MAX], emb_str s)
{
    static const char more[] = "...";
    size_t n = 0, used = 0;
    for (size_t at = 0; at < s.n; at += used) {
        char piece[8];
        size_t length = show_piece(piece, s.s + at, s.n - at, &used);
        if (n + length > EMBI_SHOW_MAX - sizeof more) {
            memcpy(out + n, more, sizeof more);
            return out;
        }
        memcpy(out + n, piece, length);
        n += length;
    }
    out[n] = '\0';
    return out;
}

/* encode_wordpiece.c - WordPiece: the longest piece that the word begins with, then the longest
 * that continues it, and so on (Schuster and Nakajima 2012, as BERT has it). A word that cannot be
 * split so is unknown as a whole, as is one of too many characters.
 */
#include "model/encode_model.h"

#include "util/err.h"

static size_t count_chars(const char *s, size_t n)
{
    size_t chars = 0;
    for (size_t i = 0; i < n; i++)
        chars += (s[i] & 0xC0) != 0x80;
    return chars;
}

/* The bytes of the longest piece at s [n]; 0: there is none. `piece` holds the mark of a
 * continuation, to which it is put. */
static size_t longest_at(const struct embi_piece_model *m, const char *s, size_t n,
                         struct embi_buf *piece, uint32_t *id)
{
    size_t mark = piece->n;
    n = (size_t)embi_min(n, m->longest > mark ? m->longest - mark : 0);
    embi_buf_add(piece, s, n);
    for (; n > 0 && !piece->failed; n--) {
        uint64_t at = embi_piece_find(m, piece->s, mark + n);
        if (at != EMBI_MAP_NONE) {
            *id = m->ids[at];
            return n;
        }
    }
    return 0;
}

static bool split(const struct embi_piece_model *m, const char *s, size_t n, struct embi_buf *piece,
                  struct embi_ids *ids)
{
    uint32_t id;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        piece->n = 0;
        if (at > 0)
            embi_buf_add(piece, m->prefix.s, m->prefix.n);
        bytes = longest_at(m, s + at, n - at, piece, &id);
        if (bytes == 0)
            return false;
        embi_ids_add(ids, id);
    }
    return true;
}

emb_status embi_wordpiece_split(const struct embi_piece_model *model, const char *s, size_t n,
                                struct embi_ids *ids, emb_err *err)
{
    struct embi_buf piece = {0};
    size_t before = ids->n;
    bool good = count_chars(s, n) <= model->most_chars && split(model, s, n, &piece, ids);
    bool failed = piece.failed;
    embi_buf_free(&piece);
    if (failed)
        return embi_fail_memory(err, n, "a word");
    if (good)
        return EMB_OK;
    if (!model->has_unknown)
        return embi_fail_unknown(err, s, n);
    ids->n = before;
    embi_ids_add(ids, model->unknown);
    return EMB_OK;
}

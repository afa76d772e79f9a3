/* encode_unigram.c - the unigram model: of all ways to split a word that with the largest sum of
 * scores (Kudo 2018), found by Viterbi's algorithm from left to right. Sums are in double precision
 * in that order, and of equal ones the first stays, as in the reference library.
 *
 * A character that no piece covers alone counts as unknown, with a score below all others; unknown
 * ones that follow each other become one, or their bytes.
 */
#include "model/encode_model.h"

#include "util/err.h"
#include "util/utf8.h"

#include <stdlib.h>

#define NOWHERE SIZE_MAX

/* The best way to a place in the word. */
struct node {
    double score;
    size_t from; /* where its last piece begins; NOWHERE: there is no way yet */
    uint32_t id;
};

static bool is_better(const struct node *node, double score)
{
    return node->from == NOWHERE || score > node->score;
}

static void offer(struct node *node, double score, size_t from, uint32_t id)
{
    if (is_better(node, score))
        *node = (struct node){score, from, id};
}

/* All ways on from s[at]. Only whole characters are pieces. */
static emb_status go_on(const struct embi_piece_model *m, const char *s, size_t n, size_t at,
                        size_t char_bytes, struct node *nodes, emb_err *err)
{
    double so_far = nodes[at].score;
    size_t most = (size_t)embi_min(n - at, m->longest);
    bool alone = false;
    for (size_t bytes = char_bytes; bytes <= most; bytes++) {
        if (at + bytes < n && (s[at + bytes] & 0xC0) == 0x80)
            continue;
        uint64_t piece = embi_piece_find(m, s + at, bytes);
        if (piece == EMBI_MAP_NONE)
            continue;
        offer(&nodes[at + bytes], m->scores[piece] + so_far, at, m->ids[piece]);
        alone = alone || bytes == char_bytes;
    }
    struct node *next = &nodes[at + char_bytes];
    if (alone || !is_better(next, m->unknown_score + so_far))
        return EMB_OK;
    if (!m->has_unknown)
        return embi_fail_unknown(err, s + at, char_bytes);
    offer(next, m->unknown_score + so_far, at, m->unknown);
    return EMB_OK;
}

/* nodes [n + 1] = the best ways to all places. */
static emb_status search(const struct embi_piece_model *m, const char *s, size_t n,
                         struct node *nodes, emb_err *err)
{
    emb_status status = EMB_OK;
    uint32_t c;
    for (size_t i = 0; i <= n; i++)
        nodes[i] = (struct node){0, NOWHERE, 0};
    for (size_t at = 0, bytes; !status && at < n; at += bytes) {
        bytes = (size_t)abs(embi_utf8_decode(s + at, n - at, &c));
        status = go_on(m, s, n, at, bytes, nodes, err);
    }
    return status;
}

/* s [n] is one piece, or unknown. */
static emb_status put(const struct embi_piece_model *m, const char *s, size_t n,
                      struct embi_ids *ids, emb_err *err)
{
    uint64_t piece = embi_piece_find(m, s, n);
    if (piece != EMBI_MAP_NONE) {
        embi_ids_add(ids, m->ids[piece]);
        return EMB_OK;
    }
    if (m->byte_fallback && embi_piece_bytes(m, s, n, ids))
        return EMB_OK;
    if (!m->has_unknown)
        return embi_fail_unknown(err, s, n);
    embi_ids_add(ids, m->unknown);
    return EMB_OK;
}

/* Turns the way back from the end into one from the beginning: nodes[at].from becomes where the
 * piece that begins at `at` ends. */
static void turn(struct node *nodes, size_t n, const struct embi_piece_model *m)
{
    size_t after = NOWHERE;
    bool unknown = false;
    for (size_t end = n; end > 0;) {
        size_t start = nodes[end].from;
        bool is = m->has_unknown && nodes[end].id == m->unknown;
        size_t to = is && unknown ? after : end; /* one with the unknown behind it */
        nodes[end].from = after;
        after = to;
        unknown = is;
        end = start;
    }
    nodes[0].from = after;
}

emb_status embi_unigram_split(const struct embi_piece_model *model, const char *s, size_t n,
                              struct embi_ids *ids, emb_err *err)
{
    struct node *nodes = malloc((n + 1) * sizeof *nodes);
    if (!nodes)
        return embi_fail_memory(err, (n + 1) * sizeof *nodes, "a word");
    emb_status status = search(model, s, n, nodes, err);
    if (!status)
        turn(nodes, n, model);
    for (size_t at = 0; !status && at < n; at = nodes[at].from)
        status = put(model, s + at, nodes[at].from - at, ids, err);
    free(nodes);
    return status;
}

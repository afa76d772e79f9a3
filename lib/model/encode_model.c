/* encode_model.c - reading "model", and the splits that need no more than a look-up; see
 * encode_model.h.
 *
 * The keys may come in any order, so their places are found first. Files that do not name a type
 * are told apart as the reference library does: Unigram has a list, and BPE has merges.
 */
#include "model/encode_model.h"

#include "util/err.h"

#include <stdlib.h>

#define LARGEST_ID UINT64_C(0x80000000)

/* ------------------------------------------------------------------------------------------------
 * The vocabulary
 */

/* *v = the same with room for `bytes`; as it was where there is no memory. */
static bool grow(void **v, size_t bytes)
{
    void *grown = realloc(*v, bytes);
    if (!grown)
        return false;
    *v = grown;
    return true;
}

static emb_status make_room(struct embi_piece_model *m, emb_err *err)
{
    size_t cap = m->cap ? 2 * m->cap : 4096;
    void *pieces = m->pieces, *ids = m->ids, *scores = m->scores;
    bool good = grow(&pieces, cap * sizeof *m->pieces) && grow(&ids, cap * sizeof *m->ids) &&
                (m->kind != EMBI_UNIGRAM || grow(&scores, cap * sizeof *m->scores));
    m->pieces = pieces;
    m->ids = ids;
    m->scores = scores;
    if (!good)
        return embi_fail_memory(err, cap * sizeof *m->pieces, "pieces");
    m->cap = cap;
    return EMB_OK;
}

static emb_status push(struct embi_piece_model *m, emb_str piece, uint64_t id, double score,
                       emb_err *err)
{
    emb_status status = m->n < m->cap ? EMB_OK : make_room(m, err);
    if (status)
        return status;
    m->pieces[m->n] = piece;
    m->ids[m->n] = (uint32_t)id;
    if (m->scores)
        m->scores[m->n] = score;
    m->n++;
    m->longest = (size_t)embi_max(m->longest, piece.n);
    return EMB_OK;
}

/* The characters of a piece, in the file or in m->strings, which has room for all of them. */
static emb_str text_of(struct embi_piece_model *m, const struct embi_json_value *v)
{
    size_t before = m->strings.n;
    if (!v->escaped)
        return (emb_str){v->s + 1, v->n - 2};
    embi_json_string(v, &m->strings);
    return (emb_str){m->strings.s + before, m->strings.n - before};
}

static emb_status read_object(const struct embi_json_value *vocab, struct embi_piece_model *m,
                              emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key, v;
    emb_status status = EMB_OK;
    uint64_t id;
    embi_json_init(&j, vocab->s, vocab->n, 0);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&j, &key)) {
        embi_json_next(&j, &v);
        if (!embi_json_u64(&v, &id) || id > LARGEST_ID)
            return embi_fail(err, EMB_BAD_DATA, -1, "\"vocab\": an id is no whole number");
        status = push(m, text_of(m, &key), id, 0, err);
    }
    return status;
}

static emb_status read_pair(struct embi_json *j, struct embi_piece_model *m, emb_err *err)
{
    struct embi_json_value piece, score = {0};
    double x;
    embi_json_enter(j, EMBI_JSON_ARRAY);
    bool good = embi_json_item(j) && embi_json_next(j, &piece) == EMBI_JSON_STRING &&
                embi_json_item(j) && embi_json_next(j, &score) == EMBI_JSON_NUMBER &&
                emb_number_parse((emb_str){score.s, score.n}, EMB_F64, &x);
    if (!good)
        return embi_fail(err, EMB_BAD_DATA, -1, "\"vocab\": expected pieces with their scores");
    embi_json_leave(j);
    return push(m, text_of(m, &piece), m->n, x, err);
}

static emb_status read_array(const struct embi_json_value *vocab, struct embi_piece_model *m,
                             emb_err *err)
{
    struct embi_json j;
    emb_status status = EMB_OK;
    embi_json_init(&j, vocab->s, vocab->n, 0);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (!status && embi_json_item(&j))
        status = read_pair(&j, m, err);
    return status;
}

/* The last piece first. */
static void reverse(struct embi_piece_model *m)
{
    for (size_t i = 0, k = m->n; i + 1 < k; i++) {
        k--;
        emb_str piece = m->pieces[i];
        m->pieces[i] = m->pieces[k];
        m->pieces[k] = piece;
        uint32_t id = m->ids[i];
        m->ids[i] = m->ids[k];
        m->ids[k] = id;
        if (!m->scores)
            continue;
        double score = m->scores[i];
        m->scores[i] = m->scores[k];
        m->scores[k] = score;
    }
}

static emb_status read_vocab(const struct embi_json_value *value, struct embi_piece_model *m,
                             emb_err *err)
{
    struct embi_json_value vocab = embi_member(value, "vocab");
    bool array = m->kind == EMBI_UNIGRAM;
    if (vocab.kind != (array ? EMBI_JSON_ARRAY : EMBI_JSON_OBJECT))
        return embi_fail(err, EMB_BAD_DATA, -1, "\"vocab\": expected %s",
                         array ? "an array" : "an object");
    if (!embi_buf_room(&m->strings, vocab.n))
        return embi_fail_memory(err, vocab.n, "pieces");
    emb_status status = array ? read_array(&vocab, m, err) : read_object(&vocab, m, err);
    if (status)
        return status;
    reverse(m);
    return embi_map_build(&m->map, m->pieces, m->n, err);
}

/* ------------------------------------------------------------------------------------------------
 * The rest
 */

static emb_status find_kind(const struct embi_json_value *value, struct embi_piece_model *m,
                            emb_err *err)
{
    static const char *const names[] = {[EMBI_BPE] = "BPE",
                                        [EMBI_WORDPIECE] = "WordPiece",
                                        [EMBI_WORDLEVEL] = "WordLevel",
                                        [EMBI_UNIGRAM] = "Unigram"};
    struct embi_json_value type = embi_member(value, "type"), vocab = embi_member(value, "vocab");
    struct embi_json_value merges = embi_member(value, "merges");
    struct embi_json_value prefix = embi_member(value, "continuing_subword_prefix");
    if (!embi_is_given(&type)) {
        m->kind = vocab.kind == EMBI_JSON_ARRAY ? EMBI_UNIGRAM
                  : embi_is_given(&merges)      ? EMBI_BPE
                  : embi_is_given(&prefix)      ? EMBI_WORDPIECE
                                                : EMBI_WORDLEVEL;
        return EMB_OK;
    }
    for (size_t i = 0; type.kind == EMBI_JSON_STRING && i < EMBI_LEN(names); i++) {
        m->kind = (enum embi_piece_kind)i;
        if (embi_json_is(&type, names[i]))
            return EMB_OK;
    }
    return embi_fail_type("model", value, err);
}

/* The piece "unk_token" names, for what has none. One that is not in the vocabulary is no error
 * before it is needed. */
static emb_status read_unknown(const struct embi_json_value *value, struct embi_piece_model *m,
                               emb_err *err)
{
    struct embi_buf text = {0};
    emb_status status = embi_member_string(value, "unk_token", m->kind == EMBI_BPE, &text, err);
    uint64_t at = !status && text.s ? embi_piece_find(m, text.s, text.n) : EMBI_MAP_NONE;
    m->has_unknown = at != EMBI_MAP_NONE;
    m->drops_unknown = !text.s;
    m->unknown = m->has_unknown ? m->ids[at] : EMBI_NO_PIECE;
    embi_buf_free(&text);
    return status;
}

static emb_status read_bpe(const struct embi_json_value *value, struct embi_piece_model *m,
                           emb_err *err)
{
    struct embi_json_value merges = embi_member(value, "merges");
    struct embi_json_value dropout = embi_member(value, "dropout");
    double x = 0;
    if (dropout.kind == EMBI_JSON_NUMBER)
        (void)emb_number_parse((emb_str){dropout.s, dropout.n}, EMB_F64, &x);
    if (x != 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "\"dropout\" makes every split another one");
    emb_status status =
        embi_member_string(value, "continuing_subword_prefix", true, &m->prefix, err);
    if (!status)
        status = embi_member_string(value, "end_of_word_suffix", true, &m->suffix, err);
    if (!status)
        status = embi_member_bool(value, "fuse_unk", false, &m->fuse_unknown, err);
    if (!status)
        status = embi_member_bool(value, "byte_fallback", false, &m->byte_fallback, err);
    if (!status)
        status = embi_member_bool(value, "ignore_merges", false, &m->ignore_merges, err);
    if (!status)
        status = read_unknown(value, m, err);
    return status ? status : embi_merges_read(&merges, m, err);
}

static emb_status read_wordpiece(const struct embi_json_value *value, struct embi_piece_model *m,
                                 emb_err *err)
{
    struct embi_json_value most = embi_member(value, "max_input_chars_per_word");
    if (!embi_json_u64(&most, &m->most_chars))
        return embi_fail(err, EMB_BAD_DATA, -1,
                         "\"max_input_chars_per_word\": expected a whole number");
    emb_status status =
        embi_member_string(value, "continuing_subword_prefix", false, &m->prefix, err);
    return status ? status : read_unknown(value, m, err);
}

enum { UNKNOWN_PENALTY = 10 };

static emb_status read_unigram(const struct embi_json_value *value, struct embi_piece_model *m,
                               emb_err *err)
{
    struct embi_json_value unknown = embi_member(value, "unk_id");
    uint64_t id = 0;
    double lowest = 0;
    if (embi_is_given(&unknown) && (!embi_json_u64(&unknown, &id) || id >= m->n))
        return embi_fail(err, EMB_BAD_DATA, -1, "\"unk_id\": expected a place in the vocabulary");
    for (size_t i = 0; i < m->n; i++)
        lowest = i == 0 || m->scores[i] < lowest ? m->scores[i] : lowest;
    m->has_unknown = embi_is_given(&unknown);
    m->unknown = m->has_unknown ? (uint32_t)id : EMBI_NO_PIECE;
    m->unknown_score = lowest - UNKNOWN_PENALTY;
    return embi_member_bool(value, "byte_fallback", false, &m->byte_fallback, err);
}

emb_status embi_piece_model_read(const struct embi_json_value *value,
                                 struct embi_piece_model *model, emb_err *err)
{
    emb_status status = find_kind(value, model, err);
    if (!status)
        status = read_vocab(value, model, err);
    if (status)
        return status;
    switch (model->kind) {
    case EMBI_BPE: return read_bpe(value, model, err);
    case EMBI_WORDPIECE: return read_wordpiece(value, model, err);
    case EMBI_WORDLEVEL: return read_unknown(value, model, err);
    case EMBI_UNIGRAM: return read_unigram(value, model, err);
    }
    return EMB_OK;
}

void embi_piece_model_free(struct embi_piece_model *model)
{
    embi_buf_free(&model->strings);
    embi_buf_free(&model->prefix);
    embi_buf_free(&model->suffix);
    embi_map_free(&model->map);
    free(model->merges.slots);
    free(model->pieces);
    free(model->ids);
    free(model->scores);
    *model = (struct embi_piece_model){0};
}

/* ------------------------------------------------------------------------------------------------
 * Splitting
 */

emb_status embi_fail_unknown(emb_err *err, const char *s, size_t n)
{
    char shown[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "'%s' has no piece, and the tokenizer none for what is unknown",
                     embi_show(shown, (emb_str){s, n}));
}

bool embi_piece_bytes(const struct embi_piece_model *model, const char *s, size_t n,
                      struct embi_ids *ids)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t before = ids->n;
    for (size_t i = 0; i < n; i++) {
        unsigned char b = (unsigned char)s[i];
        char piece[] = {'<', '0', 'x', digits[b >> 4], digits[b & 15], '>'};
        uint64_t at = embi_piece_find(model, piece, sizeof piece);
        if (at == EMBI_MAP_NONE) {
            ids->n = before;
            return false;
        }
        embi_ids_add(ids, model->ids[at]);
    }
    return true;
}

static emb_status split_word(const struct embi_piece_model *model, const char *s, size_t n,
                             struct embi_ids *ids, emb_err *err)
{
    uint64_t at = embi_piece_find(model, s, n);
    if (at == EMBI_MAP_NONE && !model->has_unknown)
        return embi_fail_unknown(err, s, n);
    embi_ids_add(ids, at == EMBI_MAP_NONE ? model->unknown : model->ids[at]);
    return EMB_OK;
}

emb_status embi_piece_split(const struct embi_piece_model *model, const char *s, size_t n,
                            struct embi_ids *ids, emb_err *err)
{
    switch (model->kind) {
    case EMBI_BPE: return embi_bpe_split(model, s, n, ids, err);
    case EMBI_WORDPIECE: return embi_wordpiece_split(model, s, n, ids, err);
    case EMBI_UNIGRAM: return embi_unigram_split(model, s, n, ids, err);
    case EMBI_WORDLEVEL: break;
    }
    return split_word(model, s, n, ids, err);
}

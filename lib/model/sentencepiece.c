/* sentencepiece.c - the reader of SentencePiece models (protobuf ModelProto); the id of a piece is
 * its index.
 *
 * Refused is what the sentencepiece library refuses: an empty piece; a piece that occurs twice
 * among the normal, user-defined and unused ones, or among the others; not exactly one unknown
 * piece; byte pieces in a model without byte_fallback, and less than all 256 in one that has it.
 */
#include "model/tokenizer_read.h"

#include "util/err.h"
#include "util/map.h"
#include "util/protobuf.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MODEL_PIECES = 1, MODEL_TRAINER = 2 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum { TRAINER_BYTE_FALLBACK = 35, TRAINER_UNK_PIECE = 45 };
enum {
    NORMAL = EMBI_TOKEN_NORMAL,
    UNKNOWN = EMBI_TOKEN_UNKNOWN,
    CONTROL = EMBI_TOKEN_CONTROL,
    USER_DEFINED = EMBI_TOKEN_USER_DEFINED,
    UNUSED = EMBI_TOKEN_UNUSED,
    BYTE = EMBI_TOKEN_BYTE
};

/* The roles that a model names a piece for, in the order of their fields. */
enum { ROLES = 4 };
static const enum embi_noted_role roles[ROLES] = {EMBI_NOTED_UNK, EMBI_NOTED_BOS, EMBI_NOTED_EOS,
                                                  EMBI_NOTED_PAD};

#define METASPACE "\xE2\x96\x81"

struct model {
    struct embi_token_source *src;
    struct embi_buf types; /* [n] one byte a piece */
    uint64_t counts[BYTE + 1];
    bool byte_fallback;
};

static emb_status malformed(const struct embi_token_source *src, const struct embi_protobuf *m,
                            emb_err *err)
{
    int64_t at = m->s + m->at - src->s;
    return embi_fail(err, EMB_BAD_DATA, at, "sentencepiece: byte %" PRId64 ": %s", at, m->wrong);
}

/* Of a field that is there more than once the last one counts; unknown types are as if not there.
 */
static bool read_piece(struct embi_protobuf *m, emb_str *piece, float *score, unsigned *type)
{
    struct embi_protobuf_field f;
    *piece = (emb_str){0};
    *score = 0;
    *type = NORMAL;
    while (embi_protobuf_next(m, &f)) {
        if (f.number == PIECE_TEXT && f.type == EMBI_PROTOBUF_BYTES)
            *piece = f.bytes;
        uint32_t bits = (uint32_t)f.value;
        if (f.number == PIECE_SCORE && f.type == EMBI_PROTOBUF_FIXED32)
            memcpy(score, &bits, sizeof *score);
        if (f.number == PIECE_TYPE && f.type == EMBI_PROTOBUF_VARINT && f.value >= NORMAL &&
            f.value <= BYTE)
            *type = (unsigned)f.value;
    }
    return !m->wrong;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F');
}

static bool is_byte_piece(emb_str piece)
{
    return piece.n == 6 && memcmp(piece.s, "<0x", 3) == 0 && is_hex(piece.s[3]) &&
           is_hex(piece.s[4]) && piece.s[5] == '>';
}

static emb_status add_piece(struct model *m, emb_str bytes, emb_err *err)
{
    struct embi_protobuf message = {.s = bytes.s, .n = bytes.n};
    uint64_t id = m->types.n;
    emb_str piece;
    float score;
    unsigned type;
    if (!read_piece(&message, &piece, &score, &type))
        return malformed(m->src, &message, err);
    const char *wrong = piece.n == 0                            ? "is empty"
                        : type == BYTE && !is_byte_piece(piece) ? "is a byte, but no <0x..>"
                        : type == UNKNOWN && m->counts[UNKNOWN] ? "is a second unknown one"
                                                                : NULL;
    if (wrong)
        return embi_fail(err, EMB_BAD_DATA, bytes.s - m->src->s,
                         "sentencepiece: piece %" PRIu64 " %s", id, wrong);
    m->counts[type]++;
    embi_buf_byte(&m->types, (char)type);
    if (m->types.failed)
        return embi_fail_memory(err, id, "piece types");
    emb_status status = embi_token_put(m->src, id, piece, bytes.s, err);
    struct embi_token_note *note = status ? NULL : embi_token_note(m->src, id, err);
    if (!note)
        return err->status;
    *note = (struct embi_token_note){score, (uint8_t)type};
    return EMB_OK;
}

static emb_status read_trainer(struct model *m, emb_str bytes, emb_err *err)
{
    struct embi_protobuf message = {.s = bytes.s, .n = bytes.n};
    struct embi_protobuf_field f;
    while (embi_protobuf_next(&message, &f))
        if (f.number == TRAINER_BYTE_FALLBACK && f.type == EMBI_PROTOBUF_VARINT)
            m->byte_fallback = f.value != 0;
        else if (f.number >= TRAINER_UNK_PIECE && f.number < TRAINER_UNK_PIECE + ROLES &&
                 f.type == EMBI_PROTOBUF_BYTES)
            m->src->t->roles[roles[f.number - TRAINER_UNK_PIECE]] = f.bytes;
    return message.wrong ? malformed(m->src, &message, err) : EMB_OK;
}

static emb_status read_model(struct model *m, emb_err *err)
{
    struct embi_protobuf message = {.s = m->src->s, .n = m->src->n};
    struct embi_protobuf_field f;
    emb_status status = EMB_OK;
    while (!status && embi_protobuf_next(&message, &f)) {
        if (f.number == MODEL_PIECES && f.type == EMBI_PROTOBUF_BYTES)
            status = add_piece(m, f.bytes, err);
        else if (f.number == MODEL_TRAINER && f.type == EMBI_PROTOBUF_BYTES)
            status = read_trainer(m, f.bytes, err);
    }
    return !status && message.wrong ? malformed(m->src, &message, err) : status;
}

static bool is_plain(char type)
{
    return type == NORMAL || type == USER_DEFINED || type == UNUSED;
}

/* No piece twice among those with is_plain(type) == plain. keys [n] is scratch. */
static emb_status check_unique(const struct model *m, bool plain, emb_str *keys, emb_err *err)
{
    const struct embi_tokenizer *t = m->src->t;
    struct embi_map map = {0};
    char shown[EMBI_SHOW_MAX];
    for (uint64_t i = 0; i < t->n; i++)
        keys[i] = is_plain(m->types.s[i]) == plain ? t->tokens[i] : (emb_str){0};
    emb_status status = embi_map_build(&map, keys, t->n, err);
    if (!status && map.duplicates > 0) {
        uint64_t i = 0;
        while (!keys[i].s || embi_map_find(&map, keys[i]) == i)
            i++;
        status = embi_fail(err, EMB_BAD_DATA, keys[i].s - m->src->s,
                           "sentencepiece: piece %" PRIu64 " '%s' was there before", i,
                           embi_show(shown, keys[i]));
    }
    embi_map_free(&map);
    return status;
}

static emb_status check(const struct model *m, emb_err *err)
{
    if (m->counts[UNKNOWN] == 0)
        return embi_fail(err, EMB_BAD_DATA, -1, "sentencepiece: there is no unknown piece");
    uint64_t bytes = m->byte_fallback ? 256 : 0, keys_bytes = m->src->t->n * sizeof(emb_str);
    emb_str *keys = calloc(m->src->t->n, sizeof *keys);
    if (!keys)
        return embi_fail_memory(err, keys_bytes, "pieces");
    emb_status status = check_unique(m, true, keys, err);
    if (!status)
        status = check_unique(m, false, keys, err);
    free(keys);
    if (!status && m->counts[BYTE] != bytes)
        status = embi_fail(err, EMB_BAD_DATA, -1,
                           "sentencepiece: byte_fallback is %s, expected %" PRIu64
                           " byte pieces, found %" PRIu64,
                           m->byte_fallback ? "on" : "off", bytes, m->counts[BYTE]);
    return status;
}

emb_status embi_read_sentencepiece(struct embi_token_source *src, emb_err *err)
{
    static const emb_str names[ROLES] = {{"<unk>", 5}, {"<s>", 3}, {"</s>", 4}, {"<pad>", 5}};
    struct model m = {.src = src};
    for (size_t i = 0; i < ROLES; i++)
        src->t->roles[roles[i]] = names[i]; /* where the model does not say them */
    src->t->scored = true;
    emb_status status = read_model(&m, err);
    if (!status)
        status = check(&m, err);
    if (!status) {
        src->t->next_id = src->t->n;
        src->t->pieces.space = (emb_str){METASPACE, strlen(METASPACE)};
        src->t->pieces.byte_fallback = m.byte_fallback;
    }
    embi_buf_free(&m.types);
    return status;
}

/* A first field that is a whole piece, text first, and a next field that a ModelProto has. */
bool embi_sniff_sentencepiece(const char *s, size_t n)
{
    struct embi_protobuf message = {.s = s, .n = n};
    struct embi_protobuf_field f;
    emb_str piece;
    float score;
    unsigned type;
    if (n < 4 || s[0] != '\n' || !embi_protobuf_next(&message, &f) || f.bytes.n == 0)
        return false;
    struct embi_protobuf inside = {.s = f.bytes.s, .n = f.bytes.n};
    if (f.bytes.s[0] != '\n' || !read_piece(&inside, &piece, &score, &type))
        return false;
    return message.at == n ||
           (embi_protobuf_next(&message, &f) && f.number <= 5 && f.type == EMBI_PROTOBUF_BYTES);
}

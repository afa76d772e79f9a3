/* shards.c - see shards.h. The first shard's reader stands for all: its tensors get the shapes that
 * they had, and their bytes come from all files (io/joined.h).
 */
#include "model/shards.h"

#include "io/joined.h"
#include "io/place.h"
#include "model/sidecar.h"
#include "util/err.h"
#include "util/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_DIGITS = 5 };

static const char before_rank[] = "table-", before_size[] = "-of-", after[] = ".safetensors";

struct opening {
    struct embi_weights *w;
    struct embi_names names;      /* [n], in their order           */
    struct embi_reader **readers; /* [n]; NULL: not opened         */
    char **paths;                 /* [n], borrowed by the readers  */
    struct embi_shard first;      /* what the first says of itself */
    struct embi_piece *pieces;    /* [n] scratch                   */
};

/* ------------------------------------------------------------------------------------------------
 * Names, and what shards say of themselves
 */

const char *embi_shard_axis_name(bool dims)
{
    return dims ? "dims" : "vocab";
}

const char *embi_shard_key(int which, bool dims)
{
    static const char *const keys[2][EMBI_SHARD_KEYS] = {
        {"emb_axis", "emb_rank", "emb_size", "emb_first_row", "emb_rows", "emb_total_rows"},
        {"emb_axis", "emb_rank", "emb_size", "emb_first_dim", "emb_dims", "emb_total_dims"},
    };
    return keys[dims][which];
}

void embi_shard_place(struct embi_shard *s)
{
    uint64_t part = embi_shard_part(s->total, s->size);
    s->first = embi_min(s->rank * part, s->total);
    s->count = embi_min(part, s->total - s->first);
}

const char *embi_shard_name(char out[EMBI_SHARD_NAME_BYTES], uint64_t rank, uint64_t size)
{
    (void)snprintf(out, EMBI_SHARD_NAME_BYTES, "%s%05" PRIu64 "%s%05" PRIu64 "%s", before_rank,
                   rank + 1, before_size, size, after);
    return out;
}

/* Goes on behind `text`, where s begins with it. */
static bool skip_text(const char **s, const char *text)
{
    size_t n = strlen(text);
    bool same = strncmp(*s, text, n) == 0;
    *s += same ? n : 0;
    return same;
}

static bool skip_number(const char **s, uint64_t *x)
{
    *x = 0;
    for (int i = 0; i < NAME_DIGITS; i++, (*s)++) {
        if (**s < '0' || **s > '9')
            return false;
        *x = 10 * *x + (uint64_t)(**s - '0');
    }
    return true;
}

/* *number counts from 1. */
static bool parse_name(const char *s, uint64_t *number, uint64_t *size)
{
    return skip_text(&s, before_rank) && skip_number(&s, number) && skip_text(&s, before_size) &&
           skip_number(&s, size) && skip_text(&s, after) && *s == 0;
}

static bool is_shard(int dir, const char *name)
{
    uint64_t number, size;
    (void)dir;
    return parse_name(name, &number, &size);
}

bool embi_shards_in(const struct embi_env *env, const char *dir)
{
    struct embi_names names;
    emb_err err;
    bool found = embi_path_names(env, dir, is_shard, &names, &err) == EMB_OK && names.n > 0;
    embi_names_free(&names);
    return found;
}

/* The value of a key of the metadata, a string, in *text; false: there is none. */
static bool find_key(const struct embi_reader *r, const char *name, struct embi_buf *text)
{
    struct embi_json j;
    struct embi_json_value key, value;
    bool found = false;
    text->n = 0;
    embi_json_init(&j, r->metadata.s, r->metadata.n, 0);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (embi_json_member(&j, &key)) {
        if (!embi_json_is(&key, name))
            continue;
        embi_json_next(&j, &value);
        found = embi_json_string(&value, text);
    }
    return found;
}

static emb_status read_number(const struct embi_reader *r, const char *key, uint64_t *x,
                              emb_err *err)
{
    struct embi_buf text = {0};
    bool found = find_key(r, key, &text), good = found && text.n > 0;
    *x = 0;
    for (size_t i = 0; good && i < text.n; i++)
        good = text.s[i] >= '0' && text.s[i] <= '9' && embi_mul(*x, 10, x) &&
               embi_add(*x, (uint64_t)(text.s[i] - '0'), x);
    char shown[EMBI_SHOW_MAX];
    embi_show(shown, (emb_str){text.s, text.n});
    emb_status status = EMB_OK;
    if (text.failed)
        status = embi_fail_memory(err, EMBI_SHOW_MAX, "metadata");
    else if (!found)
        status = embi_fail(err, EMB_BAD_DATA, -1, "its metadata have no %s: it is no shard", key);
    else if (!good)
        status =
            embi_fail(err, EMB_BAD_DATA, -1, "%s: expected a whole number, found '%s'", key, shown);
    embi_buf_free(&text);
    return status;
}

static emb_status read_axis(const struct embi_reader *r, bool *dims, emb_err *err)
{
    struct embi_buf text = {0};
    const char *key = embi_shard_key(EMBI_SHARD_AXIS, false);
    bool found = find_key(r, key, &text);
    emb_str axis = {text.s, text.n};
    *dims = found && embi_str_is(axis, embi_shard_axis_name(true));
    emb_status status = EMB_OK;
    if (text.failed)
        status = embi_fail_memory(err, EMBI_SHOW_MAX, "metadata");
    else if (!found)
        status = embi_fail(err, EMB_BAD_DATA, -1, "its metadata have no %s: it is no shard", key);
    else if (!*dims && !embi_str_is(axis, embi_shard_axis_name(false)))
        status = embi_fail(err, EMB_BAD_DATA, -1, "%s: expected vocab or dims", key);
    embi_buf_free(&text);
    return status;
}

static emb_status read_shard(const struct embi_reader *r, struct embi_shard *s, emb_err *err)
{
    emb_status status = read_axis(r, &s->dims, err);
    uint64_t *const numbers[EMBI_SHARD_KEYS] = {
        [EMBI_SHARD_RANK] = &s->rank,   [EMBI_SHARD_SIZE] = &s->size,
        [EMBI_SHARD_FIRST] = &s->first, [EMBI_SHARD_COUNT] = &s->count,
        [EMBI_SHARD_TOTAL] = &s->total,
    };
    for (int i = EMBI_SHARD_RANK; !status && i < EMBI_SHARD_KEYS; i++)
        status = read_number(r, embi_shard_key(i, s->dims), numbers[i], err);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Are they the shards of one table?
 */

static emb_status check_number(const char *key, uint64_t expected, uint64_t found, emb_err *err)
{
    return expected == found
               ? EMB_OK
               : embi_fail(err, EMB_BAD_DATA, -1, "%s: expected %" PRIu64 ", found %" PRIu64, key,
                           expected, found);
}

/* What shard k says of itself against its name and what the first says. */
static emb_status check_shard(const struct opening *o, size_t k, emb_err *err)
{
    struct embi_shard found,
        expected = {.dims = o->first.dims, .rank = k, .size = o->names.n, .total = o->first.total};
    emb_status status = read_shard(o->readers[k], &found, err);
    if (status)
        return status;
    if (found.dims != expected.dims)
        return embi_fail(err, EMB_BAD_DATA, -1, "%s: expected %s, found %s",
                         embi_shard_key(EMBI_SHARD_AXIS, false),
                         embi_shard_axis_name(expected.dims), embi_shard_axis_name(found.dims));
    embi_shard_place(&expected);
    const struct {
        int key;
        uint64_t expected, found;
    } numbers[] = {
        {EMBI_SHARD_RANK, expected.rank, found.rank},
        {EMBI_SHARD_SIZE, expected.size, found.size},
        {EMBI_SHARD_TOTAL, expected.total, found.total},
        {EMBI_SHARD_FIRST, expected.first, found.first},
        {EMBI_SHARD_COUNT, expected.count, found.count},
    };
    for (size_t i = 0; !status && i < EMBI_LEN(numbers); i++)
        status = check_number(embi_shard_key(numbers[i].key, found.dims), numbers[i].expected,
                              numbers[i].found, err);
    return status;
}

static bool same_kind(const struct embi_tensor *a, const struct embi_tensor *b)
{
    return embi_str_equal(a->name, b->name) && strcmp(a->type_name, b->type_name) == 0 &&
           a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0;
}

/* All have the same tensors in the same order. */
static emb_status check_tensors(const struct opening *o, size_t k, emb_err *err)
{
    const struct embi_reader *first = o->readers[0], *r = o->readers[k];
    char shown[EMBI_SHOW_MAX];
    if (r->n_tensors != first->n_tensors)
        return embi_fail(err, EMB_BAD_DATA, -1, "expected %zu tensors, as %s has, found %zu",
                         first->n_tensors, o->names.list[0], r->n_tensors);
    for (size_t i = 0; i < r->n_tensors; i++)
        if (!same_kind(&first->tensors[i], &r->tensors[i]))
            return embi_fail(err, EMB_BAD_DATA, -1,
                             "tensor '%s' is not what it is in %s: another name, type or shape",
                             embi_show(shown, r->tensors[i].name), o->names.list[0]);
    return EMB_OK;
}

/* Names begin with the number: one that is missing leaves a hole in their order. */
static emb_status check_names(const struct embi_names *names, emb_err *err)
{
    uint64_t number, size, other;
    char expected[EMBI_SHARD_NAME_BYTES];
    if (!parse_name(names->list[0], &number, &size))
        return embi_fail(err, EMB_BUG, -1, "a shard without a number");
    for (size_t i = 0; i < names->n; i++)
        if (parse_name(names->list[i], &number, &other) && other != size)
            return embi_fail(err, EMB_BAD_DATA, -1, "%s and %s are shards of two tables",
                             names->list[0], names->list[i]);
    if (size == 0 || size > EMB_SHARDS_MAX)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s: expected 1 to %d shards", names->list[0],
                         EMB_SHARDS_MAX);
    for (size_t i = 0; i < size; i++) {
        embi_shard_name(expected, i, size);
        if (i >= names->n || strcmp(names->list[i], expected) > 0)
            return embi_fail(err, EMB_BAD_DATA, -1, "%s is missing", expected);
        if (strcmp(names->list[i], expected) < 0)
            break;
    }
    size_t last = names->n - 1;
    (void)parse_name(names->list[0], &number, &other);
    size_t odd = number == 0 ? 0 : last;
    if (number == 0 || names->n > size)
        return embi_fail(err, EMB_BAD_DATA, -1, "%s is none of %" PRIu64 " shards",
                         names->list[odd], size);
    return EMB_OK;
}

static emb_status open_shard(struct opening *o, const char *dir, size_t k, emb_err *err)
{
    struct embi_io *io;
    emb_status status = embi_path_join(dir, o->names.list[k], &o->paths[k], err);
    if (!status)
        status = embi_refuse_fifo(o->paths[k], err);
    if (!status)
        status = embi_io_open(o->w->env, o->paths[k], EMBI_IO_READ, &io, err);
    if (!status)
        status = embi_reader_open(o->w->env, io, o->paths[k], &embi_format_safetensors, &o->w->opts,
                                  &o->readers[k], err);
    if (!status && k == 0)
        status = read_shard(o->readers[0], &o->first, err);
    if (!status)
        status = check_shard(o, k, err);
    if (!status)
        status = check_tensors(o, k, err);
    return status ? embi_fail_in(err, "%s", o->names.list[k]) : EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Tensors as they were
 */

/* The axis along which tensor t was cut; -1: it is whole in each shard. The first tensor is the
 * table; others are tables of its shape, or biases [V] or [1, V], which dims do not cut. */
static int cut_axis(const struct embi_tensor *table, const struct embi_tensor *t, bool dims)
{
    bool alike = t->ndim == 2 && t->shape[0] == table->shape[0] && t->shape[1] == table->shape[1];
    if (dims)
        return alike ? 1 : -1;
    return t->ndim == 2 && t->shape[0] == 1 && !alike ? 1 : 0;
}

/* Its pieces, in o->pieces; *rounds of them. */
static void lay_out(const struct opening *o, size_t i, int axis, uint64_t *rounds)
{
    const struct embi_tensor *t = &o->readers[0]->tensors[i];
    struct embi_shard s = o->first;
    uint64_t lines = axis > 0 ? t->shape[0] : 1, part = t->shape[axis];
    uint64_t entry = lines && part ? t->bytes / lines / part : 0;
    for (s.rank = 0; s.rank < s.size; s.rank++) {
        embi_shard_place(&s);
        o->pieces[s.rank] = (struct embi_piece){
            .file = s.rank,
            .offset = o->readers[s.rank]->tensors[i].offset,
            .stride = part * entry,
            .bytes = s.count * entry,
        };
    }
    *rounds = lines;
}

static emb_status join_tensor(const struct opening *o, struct embi_io *joined, size_t i, int axis,
                              emb_err *err)
{
    struct embi_tensor *t = &o->readers[0]->tensors[i];
    struct embi_io *part;
    char shown[EMBI_SHOW_MAX];
    uint64_t rounds, expected = embi_shard_part(o->first.total, o->first.size);
    if (t->dtype == EMB_DTYPE_NONE || t->ndim < 1 || t->ndim > 2 || t->shape[axis] != expected)
        return embi_fail(err, EMB_BAD_DATA, -1,
                         "tensor '%s': expected a part of %" PRIu64 " %s of a table or a bias",
                         embi_show(shown, t->name), expected, o->first.dims ? "dims" : "rows");
    lay_out(o, i, axis, &rounds);
    emb_status status = embi_joined_add(joined, o->pieces, o->first.size, rounds, &part, err);
    if (status)
        return embi_fail_in(err, "tensor '%s'", embi_show(shown, t->name));
    t->io = part;
    t->offset = 0;
    t->bytes = part->size;
    t->shape[axis] = o->first.total;
    return EMB_OK;
}

/* The files of all readers, as one set; only the first reader stays. */
static emb_status join_files(struct opening *o, struct embi_io **joined, emb_err *err)
{
    size_t n = o->names.n;
    struct embi_io **files = calloc(n, sizeof(struct embi_io *));
    if (!files)
        return embi_fail_memory(err, n * sizeof(struct embi_io *), "a set of files");
    for (size_t k = 0; k < n; k++) {
        files[k] = o->readers[k]->io;
        o->readers[k]->io = NULL;
    }
    emb_status status = embi_joined_open(files, n, joined, err);
    o->readers[0]->io = *joined;
    free(files);
    return status;
}

static emb_status join(struct opening *o, emb_err *err)
{
    struct embi_io *joined = NULL;
    struct embi_reader *r = o->readers[0];
    if (!r || r->n_tensors == 0)
        return embi_fail(err, EMB_BAD_DATA, -1, "%s: no tensors", o->names.list[0]);
    emb_status status = join_files(o, &joined, err);
    const struct embi_tensor table = r->tensors[0]; /* as it is cut */
    for (size_t i = 0; !status && i < r->n_tensors; i++) {
        int axis = i == 0 && o->first.dims ? 1 : cut_axis(&table, &r->tensors[i], o->first.dims);
        if (axis >= 0)
            status = join_tensor(o, joined, i, axis, err);
    }
    r->shards = (uint32_t)o->names.n;
    return status;
}

/* There is at least one name. */
static emb_status begin(struct opening *o, emb_err *err)
{
    emb_status status = check_names(&o->names, err);
    if (status)
        return status;
    size_t n = o->names.n + 1; /* never none */
    o->readers = calloc(n, sizeof(struct embi_reader *));
    o->paths = calloc(n, sizeof(char *));
    o->pieces = calloc(n, sizeof *o->pieces);
    return o->readers && o->paths && o->pieces
               ? EMB_OK
               : embi_fail_memory(err, n * sizeof *o->pieces, "shards");
}

static void end(struct opening *o)
{
    for (size_t k = 0; o->readers && k < o->names.n; k++)
        embi_reader_close(o->readers[k]);
    for (size_t k = 0; o->paths && k < o->names.n; k++)
        free(o->paths[k]);
    free(o->readers);
    free(o->paths);
    free(o->pieces);
    embi_names_free(&o->names);
}

static emb_status open_all(struct opening *o, const char *dir, emb_err *err)
{
    emb_status status = begin(o, err);
    for (size_t k = 0; !status && k < o->names.n; k++)
        status = open_shard(o, dir, k, err);
    if (!status)
        status = join(o, err);
    if (!status) {
        status = embi_weights_take_reader(o->w, dir, o->names.list[0], o->readers[0], err);
        o->readers[0] = NULL;
    }
    return status;
}

emb_status embi_shards_open(const char *dir, struct embi_weights *w, bool *there, emb_err *err)
{
    struct opening o = {.w = w};
    emb_status status = embi_path_names(w->env, dir, is_shard, &o.names, err);
    *there = o.names.n > 0;
    if (!status && *there)
        status = open_all(&o, dir, err);
    end(&o);
    return status;
}

/* lookup_input.c - rows as a model hands them on: options into an assembly, positions out of lines,
 * token types out of a file.
 *
 * Positions are counted along each line of ids; lines of one id each are one sequence. What is done
 * with a row is the library's.
 */
#include "lookup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool wants_steps(const struct lookup_opts *o)
{
    return o->has_positions || o->scale || o->layer_norm;
}

static bool wants_input(const struct lookup_opts *o)
{
    return o->input_layer || o->type_ids || wants_steps(o);
}

int lookup_check_input(struct run *run, const struct lookup_opts *o)
{
    if (o->input_layer && wants_steps(o))
        return usage_error(run,
                           "--input-layer is all that the model does: --positions, --scale and "
                           "--layer-norm are for single steps");
    if (o->has_start && !o->input_layer && !o->positions)
        return usage_error(run, "--start is for --positions or --input-layer");
    if (o->start >= EMB_POSITION_MAX)
        return usage_error(run, "--start %" PRIu64 ": expected a position below 2^53", o->start);
    if (o->type_ids && is_stream(o->type_ids))
        return usage_error(run, "--type-ids %s: expected a file", o->type_ids);
    if (o->via == VIA_MATMUL && (wants_input(o) || o->pool >= 0 || o->normalize))
        return usage_error(run,
                           "--via matmul shows what a lookup is: nothing else is made of rows");
    if (o->via == VIA_MATMUL)
        return refuse_device(run, "--via matmul");
    return EXIT_DONE;
}

static int read_scale(struct run *run, const char *text, emb_assembly_opts *opts)
{
    if (!text)
        return EXIT_DONE;
    opts->scale_root = strcmp(text, "sqrt-d") == 0;
    if (!opts->scale_root &&
        (!emb_number_parse((emb_str){text, strlen(text)}, EMB_F64, &opts->scale) ||
         opts->scale == 0 || opts->scale - opts->scale != 0))
        return usage_error(run, "--scale %s: expected a number other than 0, or sqrt-d", text);
    return EXIT_DONE;
}

/* What was asked for is not added by this model. */
static void say_attention(const struct lookup *l)
{
    const char *how = l->inputs.info->attention;
    if (how && strcmp(how, "no") == 0)
        note(l->run, l->run->table_name, "the model has no positions: none are added");
    else if (how)
        note(l->run, l->run->table_name,
             "the model has %s positions, which live in its attention: none are added", how);
}

int lookup_open_input(struct lookup *l)
{
    const struct lookup_opts *o = l->opts;
    struct inputs *in = &l->inputs;
    emb_assembly_opts opts = {.size = sizeof opts,
                              .input_layer = o->input_layer,
                              .positions = (emb_positions)o->positions,
                              .types = o->type_ids != NULL,
                              .layer_norm = o->layer_norm,
                              .device = l->run->device};
    emb_err err;
    int code = read_scale(l->run, o->scale, &opts);
    if (code || !wants_input(o))
        return code;
    if (emb_assembly_open(l->run->ctx, l->table, &opts, &in->assembly, &err) != EMB_OK)
        return fail(l->run, l->run->table_name, &err);
    in->info = emb_assembly_describe(in->assembly);
    in->line = UINT64_MAX;
    l->dims = in->info->dims;
    l->made = in->info->dtype;
    if (!in->info->on_device)
        code = refuse_device(l->run, "what is more than a row and one of learned positions");
    say_attention(l);
    return code;
}

int lookup_begin_input(struct lookup *l)
{
    struct inputs *in = &l->inputs;
    size_t bytes = embi_max(l->block_rows, LOOKUP_IDS) * sizeof *in->positions;
    int code = EXIT_DONE;
    if (!in->assembly)
        return EXIT_DONE;
    in->positions = malloc(bytes);
    in->types = l->opts->type_ids ? malloc(bytes) : NULL;
    if (!in->positions || (l->opts->type_ids && !in->types))
        return fail_with(l->run, EXIT_MEMORY, NULL, "out of memory");
    if (in->types) {
        in->type_list_open = true;
        code = ids_open(&in->type_list, l->run, l->opts->type_ids, NULL, in->info->types, false);
    }
    return code;
}

bool lookup_joins_lines(const struct lookup *l)
{
    return l->rows.kind == ROWS_IDS && !l->opts->ragged && l->opts->pool < 0 &&
           ids_are_single(&l->rows.ids);
}

/* A line begins: the positions of its tokens do too. */
static void enter_line(struct lookup *l, uint64_t line)
{
    struct inputs *in = &l->inputs;
    bool goes_on = in->line == line || (in->line != UINT64_MAX && lookup_joins_lines(l));
    in->line = line;
    if (!goes_on)
        in->next = l->opts->start;
}

static void count_positions(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n)
{
    struct inputs *in = &l->inputs;
    for (size_t at = 0, run; at < n; at += run) {
        for (run = 1; at + run < n && lines[at + run] == lines[at]; run++)
            ;
        enter_line(l, lines[at] & ~LINE_PADDING);
        emb_assembly_count(in->assembly, rows + at, run, lines[at] & LINE_PADDING, &in->next,
                           in->positions + at);
    }
}

/* One type of a token that is there; what --pad-id has put behind is of type 0. */
static int read_types(struct lookup *l, const uint64_t *lines, size_t n)
{
    struct inputs *in = &l->inputs;
    size_t there = 0, got = 0;
    for (size_t i = 0; i < n; i++)
        there += !(lines && lines[i] & LINE_PADDING);
    while (got < there && !in->type_list.ended) {
        size_t more;
        int code = ids_read(&in->type_list, in->types + got, NULL, there - got, &more);
        if (code)
            return code;
        got += more;
    }
    if (got < there)
        return fail_with(l->run, EXIT_DATA, l->opts->type_ids,
                         "expected a token type for each id, found %" PRIu64,
                         in->type_list.kind == IDS_NPY
                             ? in->type_list.sequences.n * in->type_list.sequences.first
                             : in->type_list.items);
    for (size_t i = n; there < i; i--)
        in->types[i - 1] = lines[i - 1] & LINE_PADDING ? 0 : in->types[--there];
    return EXIT_DONE;
}

/* Positions and types of the next n rows. */
static int prepare(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n)
{
    struct inputs *in = &l->inputs;
    int code = in->types ? read_types(l, lines, n) : EXIT_DONE;
    if (!code && in->info->counts)
        count_positions(l, rows, lines, n);
    return code;
}

int lookup_make_input(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n,
                      emb_block *block)
{
    const struct inputs *in = &l->inputs;
    emb_err err;
    int code = prepare(l, rows, lines, n);
    if (!code &&
        emb_assembly_rows(in->assembly, rows, in->positions, in->types, n, block, &err) != EMB_OK)
        code = fail(l->run, l->run->table_name, &err);
    return code;
}

int lookup_put_input(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n,
                     emb_writer *writer, const char *name)
{
    const struct inputs *in = &l->inputs;
    bool reading;
    emb_err err;
    int code = prepare(l, rows, lines, n);
    if (!code && emb_writer_put_assembly(writer, in->assembly, rows, in->positions, in->types, n,
                                         l->dtype, &reading, &err) != EMB_OK)
        code = fail(l->run, reading ? l->run->table_name : name, &err);
    return code;
}

int lookup_end_input(struct lookup *l)
{
    struct inputs *in = &l->inputs;
    uint64_t type;
    size_t more = 0;
    int code = EXIT_DONE;
    while (in->types && !code && !more && !in->type_list.ended)
        code = ids_read(&in->type_list, &type, NULL, 1, &more);
    if (!code && more)
        code = fail_with(l->run, EXIT_DATA, l->opts->type_ids,
                         "expected a token type for each id, found more");
    return code;
}

void lookup_close_input(struct lookup *l)
{
    struct inputs *in = &l->inputs;
    if (in->type_list_open)
        ids_close(&in->type_list);
    emb_assembly_close(in->assembly);
    free(in->positions);
    free(in->types);
}

/* position.c - `embtool position`: sinusoidal and rotary tables, and arrays that are turned.
 *
 * Options here; tables are made in position_table.c, arrays turned in position_apply.c. The numbers
 * are the library's.
 */
#include "position.h"
#include "quantity.h"
#include "report.h"

#include <string.h>

#define AT(member) offsetof(struct position_opts, member)

static const struct opt options[] = {
    OPT_HEADING("Positions"),
    OPT("length", 'L', OPT_TEXT, AT(length), "L", "positions (256k is 256000, 256Ki is 262144)",
        .aliases = " positions context "),
    OPT("dims", 'D', OPT_TEXT, AT(dims), "D", "channels: of the table, or of a head",
        .aliases = " dim head-dim "),
    OPT("start", 0, OPT_TEXT, AT(start), "N", "the first position (default 0)",
        .aliases = " offset "),
    OPT("base", 0, OPT_NUMBER, AT(base), "X",
        "base of the frequencies (default: the model's, else 10000)",
        .aliases = " theta rope-theta "),
    OPT_HEADING("Rotary"),
    OPT("apply", 0, OPT_TEXT, AT(apply), "FILE",
        "turn the queries or keys in FILE, [..., L, D], rather than write a table"),
    OPT("axis", 0, OPT_TEXT, AT(axis), "N",
        "the axis of FILE that positions run along (default -2: the last but one)"),
    OPT("style", 0, OPT_CHOICE, AT(style), "neox|gptj",
        "pairs are channels i and i + r/2, or 2i and 2i + 1 (default: the model's, else neox)"),
    OPT("scaling", 0, OPT_TEXT, AT(scaling), "TYPE:KEY=VALUE,...",
        "default, linear, dynamic, ntk, yarn, longrope or llama3, with the keys of a config's "
        "rope_scaling; a lone number is the factor"),
    OPT("rotary-dims", 0, OPT_TEXT, AT(rotary), "R",
        "only the first R channels of a head turn (default: the model's, else all)"),
    OPT("table", 't', OPT_TEXT, COMMON_AT(table), "DIR",
        "what is not said is as in the config.json of this model: a directory, a file in it, or "
        "hf://org/model",
        .aliases = " model "),
    OPT_HEADING("Output"),
    COMMON_OUTPUT,
    COMMON_FORMAT(POSITION_FORMATS),
    COMMON_DTYPE,
    OPT("name", 0, OPT_TEXT, AT(name), "TENSOR", "name of the tensor (default: embedding.weight)",
        .aliases = " tensor "),
    COMMON_WRITE,
    COMMON_SERVERS,
    COMMON_GENERAL,
    {0},
};

static const struct position_opts defaults = {.style = -1};

/* A count of 1 or more, at most `most`; *x stays where nothing was said. */
static int parse(struct run *run, const char *name, const char *text, uint64_t least, uint64_t most,
                 uint64_t *x)
{
    if (!text)
        return EXIT_DONE;
    if (quantity_parse(text, x) && *x >= least && *x <= most)
        return EXIT_DONE;
    return usage_error(run, "%s %s: expected a whole number, %d or more%s", name,
                       *text ? text : "''", (int)least,
                       most == UINT32_MAX ? " and below 2^32" : " and below 2^53");
}

static int take_numbers(struct positions *p)
{
    const struct position_opts *o = p->opts;
    uint64_t dims = 0, rotary = 0;
    int code = parse(p->run, "-L", o->length, 1, EMB_POSITION_MAX - 1, &p->length);
    if (!code)
        code = parse(p->run, "-D", o->dims, 1, UINT32_MAX, &dims);
    if (!code)
        code = parse(p->run, "--start", o->start, 0, EMB_POSITION_MAX - 1, &p->start);
    if (!code)
        code = parse(p->run, "--rotary-dims", o->rotary, 1, UINT32_MAX, &rotary);
    if (!code && p->length > EMB_POSITION_MAX - p->start)
        code = usage_error(p->run, "--start and -L: expected positions below 2^53");
    if (!code && o->base < 0)
        code = usage_error(p->run, "--base: expected a number above 0");
    p->dims = (uint32_t)dims;
    p->rotary = (uint32_t)rotary;
    return code;
}

static int check_sinusoidal(struct positions *p)
{
    const struct position_opts *o = p->opts;
    if (!p->length || !p->dims)
        return usage_error(p->run, "expected -L and -D");
    if (o->apply || o->axis || o->style >= 0 || o->scaling || o->rotary || o->common.table)
        return usage_error(p->run, "sinusoidal: %s is for rope",
                           o->apply        ? "--apply"
                           : o->axis       ? "--axis"
                           : o->style >= 0 ? "--style"
                           : o->scaling    ? "--scaling"
                           : o->rotary     ? "--rotary-dims"
                                           : "-t");
    return EXIT_DONE;
}

static int check_rope(struct positions *p)
{
    const struct position_opts *o = p->opts;
    if (!o->apply && !o->length)
        return usage_error(p->run, "expected -L");
    if (!o->apply && !o->dims && !o->common.table)
        return usage_error(p->run, "expected -D, or -t with a model that says it");
    if (!o->apply && o->axis)
        return usage_error(p->run, "--axis is for --apply");
    return EXIT_DONE;
}

/* Sines have no place in integers and powers of two. */
static int choose_dtype(struct positions *p)
{
    p->dtype = p->run->common->dtype;
    if (p->dtype && (!emb_dtype_is_float(p->dtype) || p->dtype == EMB_F8_E8M0))
        return usage_error(p->run, "--dtype %s: expected f64, f32, f16, bf16 or a float of 8 bits",
                           emb_dtype_name(p->dtype));
    return EXIT_DONE;
}

static int choose_output(struct positions *p)
{
    const struct common *c = p->run->common;
    if (!c->output && !c->output_format)
        return usage_error(p->run, "no output: say -o FILE");
    return output_format(p->run, POSITION_FORMATS, &p->format);
}

int position_open_rope(struct positions *p, uint32_t dims, uint64_t positions, emb_rope **rope)
{
    const struct position_opts *o = p->opts;
    const char *model = p->run->common->table;
    emb_rope_opts opts = {.size = sizeof opts,
                          .model = model,
                          .dims = dims ? dims : p->dims,
                          .rotary_dims = p->rotary,
                          .base = o->base,
                          .scaling = o->scaling,
                          .style = (emb_rope_style)(o->style + 1),
                          .positions = positions};
    emb_err err;
    if (emb_rope_open(p->run->ctx, &opts, rope, &err) == EMB_OK)
        return EXIT_DONE;
    return fail(p->run, model, &err);
}

int position_open_writer(struct positions *p, const emb_array *array, emb_writer **writer)
{
    const char *path = p->run->common->output;
    emb_write_opts opts;
    emb_err err;
    write_opts(p->run, p->format, &opts);
    if (emb_writer_open(p->run->ctx, path ? path : "-", array, 1, &opts, writer, &err) == EMB_OK)
        return EXIT_DONE;
    return fail(p->run, path, &err);
}

int position_close_writer(struct positions *p, emb_writer *writer, int code)
{
    emb_err err;
    const char *path = p->run->common->output;
    if (!code &&
        (emb_writer_next(writer, &err) != EMB_OK || emb_writer_commit(writer, &err) != EMB_OK))
        code = fail(p->run, path, &err);
    emb_writer_close(writer);
    if (!code)
        report_output(p->run, path);
    return code;
}

static int run_position(struct run *run, void *opts)
{
    struct positions p = {.run = run, .opts = opts};
    const char *kind = run->items.n ? run->items.v[0].s : "";
    bool rope = strcmp(kind, "rope") == 0;
    if (run->items.n > 1)
        return usage_error(run,
                           "one word, sinusoidal or rope; '%s' is one too many: the length is -L, "
                           "the dimensions are -D",
                           run->items.v[1].s);
    if (run->items.n == 0 || (!rope && strcmp(kind, "sinusoidal") != 0))
        return usage_error(run, "expected sinusoidal or rope%s%s%s", *kind ? ", found '" : "", kind,
                           *kind ? "'" : "");
    int code = take_numbers(&p);
    if (!code)
        code = rope ? check_rope(&p) : check_sinusoidal(&p);
    if (!code)
        code = choose_dtype(&p);
    if (!code)
        code = choose_output(&p);
    if (code)
        return code;
    return !rope ? position_sinusoidal(&p) : p.opts->apply ? position_apply(&p) : position_rope(&p);
}

const struct cmd cmd_position = {
    .name = "position",
    .group = "Learn",
    .summary = "sinusoidal and rotary positions; queries and keys turned",
    .usage = "sinusoidal -L L -D D -o FILE\nrope -L L -D D -o FILE\n"
             "rope --apply FILE [--axis N] -o FILE",
    .about =
        "sinusoidal writes [L, D]: channels 2i and 2i + 1 of row t are sine and cosine of t / "
        "base^(2i/D). rope writes [2, L, R/2], the cosines and then the sines of t times "
        "base^(-2i/R), of the R channels that turn. With --apply the array in FILE is turned by "
        "them, and the result has its shape.\n"
        "Angles are computed in double precision, and each number is rounded once.",
    .examples = "embtool position sinusoidal -L 1024 -D 768 -o pe.npy\n"
                "embtool position rope -L 8Ki -D 128 --base 500000 -o rope.npy\n"
                "embtool position rope --apply q.npy -t model/ -o q_rot.npy\n"
                "embtool position rope --apply q.npy --scaling linear:4 -o q_rot.npy\n"
                "embtool position rope -L 64k -D 64 --scaling ntk:8 -o ntk.npy",
    .options = options,
    .defaults = &defaults,
    .opts_bytes = sizeof(struct position_opts),
    .run = run_position,
};

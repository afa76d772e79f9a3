/* check.c - `embtool check`: do the parts of a model directory agree?
 *
 * What is compared is the library's to say (emb_check_model); here it is printed, with the command
 * that mends it where one does.
 */
#include "out.h"

#include <inttypes.h>
#include <string.h>

struct check_opts {
    struct common common;
};

static const struct opt options[] = {
    OPT_HEADING("Output"),
    COMMON_JSON,
    OPT_HEADING("Model"),
    OPT("table", 't', OPT_TEXT, COMMON_AT(table), "DIR",
        "the model directory, a file in it, its https:// address with a slash at its end, or "
        "hf://org/model (default: $EMBTOOL_TABLE, else the current directory if it is a model's)",
        .aliases = " model dir "),
    COMMON_SERVERS,
    COMMON_GENERAL,
    {0},
};

/* A word of a command line, in quotes where the shell would see more in it than letters. */
static void put_word(struct embi_buf *out, const char *word)
{
    size_t plain = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789._/-+,:@%=");
    if (plain && !word[plain])
        embi_buf_text(out, word);
    else
        embi_buf_quoted(out, word, strlen(word));
}

/* embtool resize DIR OPTIONS */
static emb_str mending(struct embi_buf *buf, const char *dir, const char *mend)
{
    buf->n = 0;
    embi_buf_text(buf, dir[0] == '-' ? "embtool resize ./" : "embtool resize ");
    put_word(buf, dir);
    embi_buf_byte(buf, ' ');
    embi_buf_text(buf, mend);
    return (emb_str){buf->s, buf->n};
}

/* dir NULL: nothing is mended there. */
static void say_fault(struct out *out, const char *dir, const emb_fault *fault,
                      struct embi_buf *buf)
{
    out_print(out, "%s\t", fault->what);
    out_token(out, (emb_str){fault->message, strlen(fault->message)}, '\t');
    if (dir && fault->mend) {
        emb_str mend = mending(buf, dir, fault->mend);
        out_byte(out, '\t');
        out_token(out, mend, '\t');
    }
    out_byte(out, '\n');
}

static void json_fault(struct out *out, const char *dir, const emb_fault *fault,
                       struct embi_buf *buf)
{
    out_print(out, "{\"what\":\"%s\",\"message\":", fault->what);
    out_json_string(out, (emb_str){fault->message, strlen(fault->message)});
    out_text(out, ",\"mend\":");
    if (dir && fault->mend)
        out_json_string(out, mending(buf, dir, fault->mend));
    else
        out_text(out, "null");
    out_text(out, "}\n");
}

/* What a mend can be written to: not the hub's cache, which is its clients' own, nor a server. */
static const char *own_dir(const struct run *run, const emb_check *check)
{
    return emb_is_hub_name(run->table_name) || strstr(check->dir, "://") ? NULL : check->dir;
}

static int say(struct run *run, const emb_check *check)
{
    const char *dir = own_dir(run, check);
    struct out out;
    struct embi_buf buf = {0};
    int code = out_open(run, NULL, &out);
    for (size_t i = 0; !code && i < check->n_faults; i++) {
        if (run->common->json)
            json_fault(&out, dir, &check->faults[i], &buf);
        else
            say_fault(&out, dir, &check->faults[i], &buf);
    }
    if (buf.failed && !code)
        code = fail_with(run, EXIT_MEMORY, NULL, "out of memory");
    embi_buf_free(&buf);
    return out_close(&out, code ? code : check->n_faults ? EXIT_NO : EXIT_DONE);
}

static int run_check(struct run *run, void *opts)
{
    emb_check check;
    emb_err err;
    (void)opts;
    take_table_argument(run);
    if (run->items.n)
        return usage_error(run, "one model at a time: what is '%s'?", run->items.v[0].s);
    int code = choose_model(run);
    if (code)
        return code;
    watch_file(run, run->table_name);
    if (emb_check_model(run->ctx, run->table_name, &check, &err) != EMB_OK)
        return fail(run, run->table_name, &err);
    if (check.n_faults == 0 && check.tokens == 0)
        note(run, run->table_name, "%" PRIu64 " rows, no tokenizer: the parts that are here agree",
             check.rows);
    else if (check.n_faults == 0)
        note(run, run->table_name, "%" PRIu64 " rows, %" PRIu64 " ids of tokens: all parts agree",
             check.rows, check.tokens);
    code = say(run, &check);
    emb_check_free(&check);
    return code;
}

const struct cmd cmd_check = {
    .name = "check",
    .group = "Look",
    .summary = "do the parts of a model agree?",
    .usage = "[DIR]",
    .about =
        "Compares what loaders of a model directory compare, or should: the tokenizer's ids with "
        "the rows of the embedding, tokenizer files with each other, sizes in config.json, tables "
        "of positions, an output table, copies and output biases, special tokens and their ids, "
        "the index of "
        "shards. Each "
        "disagreement is a line: what, which parts with both numbers, and the command that mends "
        "it, parted by tabs. Exit 1 if there is one.",
    .examples = "embtool check model/\nembtool check model/ --json\nembtool check hf://org/model",
    .options = options,
    .defaults = NULL,
    .opts_bytes = sizeof(struct check_opts),
    .run = run_check,
};

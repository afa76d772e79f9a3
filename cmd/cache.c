/* cache.c - `embtool cache`: what is kept of files on servers, and its removal.
 *
 * What there is is the library's to say (emb_cache_list); here it is printed.
 */
#include "out.h"
#include "quantity.h"

#include <inttypes.h>
#include <string.h>

struct cache_opts {
    struct common common;
};

static const struct opt options[] = {
    OPT_HEADING("Cache"), COMMON_CACHE, OPT_HEADING("Output"), COMMON_JSON, COMMON_GENERAL, {0},
};

/* "1.05 MB = 1 MiB", or the number of bytes. */
static void add_bytes(struct embi_buf *text, uint64_t bytes)
{
    text->n = 0;
    quantity_words(text, bytes, "B");
    if (text->n == 0)
        embi_buf_print(text, "%" PRIu64 " B", bytes);
}

/* ------------------------------------------------------------------------------------------------
 * ls
 */

static void text_line(struct out *out, const emb_cached *c)
{
    out_print(out, "%" PRIu64 "\t%" PRIu64 "\t", c->bytes, c->size);
    out_token(out, (emb_str){c->url, strlen(c->url)}, '\t');
    out_byte(out, '\n');
}

static void screen_line(struct out *out, const emb_cached *c, struct embi_buf *text)
{
    size_t column = 0;
    for (int i = 0; i < 2; i++) {
        if (i)
            out_text(out, "of ");
        add_bytes(text, i ? c->size : c->bytes);
        size_t n = strcspn(embi_buf_cstr(text), "=");
        n -= n < text->n; /* the blank before it */
        out_bytes(out, text->s, n);
        column = n < 10 ? 10 - n : 1;
        out_fill(out, ' ', column);
    }
    out_token(out, (emb_str){c->url, strlen(c->url)}, '\t');
    out_byte(out, '\n');
}

static void json_line(struct out *out, const emb_cached *c)
{
    out_text(out, "{\"url\":");
    out_json_string(out, (emb_str){c->url, strlen(c->url)});
    out_text(out, ",\"etag\":");
    out_json_string(out, (emb_str){c->tag, strlen(c->tag)});
    out_print(out,
              ",\"bytes\":%" PRIu64 ",\"size\":%" PRIu64 ",\"used\":%" PRId64
              ",\"checked\":%" PRId64 "}\n",
              c->bytes, c->size, c->used_s, c->checked_s);
}

static int list(struct run *run, const char *folder)
{
    emb_cache cache;
    emb_err err;
    struct out out;
    struct embi_buf text = {0};
    if (emb_cache_list(folder, &cache, &err) != EMB_OK)
        return fail(run, folder, &err);
    int code = out_open(run, NULL, &out);
    for (size_t i = 0; !code && i < cache.n; i++) {
        if (run->common->json)
            json_line(&out, &cache.list[i]);
        else if (run->out_tty)
            screen_line(&out, &cache.list[i], &text);
        else
            text_line(&out, &cache.list[i]);
        code = out.code;
    }
    embi_buf_free(&text);
    emb_cache_free(&cache);
    return out_close(&out, code);
}

/* ------------------------------------------------------------------------------------------------
 * clear
 */

static int clear(struct run *run, const char *folder)
{
    size_t files = 0;
    uint64_t bytes = 0;
    struct embi_buf text = {0};
    int code = EXIT_DONE;
    size_t n = run->items.n > 1 ? run->items.n : 2;
    for (size_t i = 1; !code && i < n; i++) {
        const char *url = run->items.n > 1 ? run->items.v[i].s : NULL;
        size_t some;
        uint64_t of_them;
        emb_err err;
        if (emb_cache_clear(folder, url, &some, &of_them, &err) != EMB_OK)
            code = fail(run, folder, &err);
        files += some;
        bytes += of_them;
    }
    add_bytes(&text, bytes);
    if (!code)
        note(run, folder, "%zu file%s removed, %s", files, files == 1 ? "" : "s",
             embi_buf_cstr(&text));
    embi_buf_free(&text);
    return code;
}

static int run_cache(struct run *run, void *opts)
{
    struct embi_buf path = {0};
    const char *what = run->items.n ? run->items.v[0].s : "ls";
    (void)opts;
    bool lists = strcmp(what, "ls") == 0;
    if (!lists && strcmp(what, "clear") != 0)
        return usage_error(run, "expected ls or clear, found '%s'", what);
    if (lists && run->items.n > 1)
        return usage_error(run, "ls lists all: what is '%s'?", run->items.v[1].s);
    const char *folder = cache_folder(run, &path);
    int code = EXIT_DONE;
    if (path.failed)
        code = fail_with(run, EXIT_MEMORY, NULL, "out of memory");
    else if (!folder)
        code = usage_error(run, "there is no cache: say --cache DIR");
    else
        code = lists ? list(run, folder) : clear(run, folder);
    embi_buf_free(&path);
    return code;
}

const struct cmd cmd_cache = {
    .name = "cache",
    .group = "Look",
    .summary = "what is kept of files on servers",
    .usage = "[ls]\nclear [URL...]",
    .about =
        "Parts of files on servers that a command has read are kept for the next one. `ls` lists "
        "them, those that were used last first: the bytes that they take on the disk, the size of "
        "the whole file, its address without what follows a ? in it. `clear` removes all of them, "
        "or "
        "those of an address. A cache never takes more than its size ($EMBTOOL_CACHE_BYTES): what "
        "was not used for longest makes room.",
    .examples = "embtool cache ls\nembtool cache clear https://host/model.safetensors",
    .options = options,
    .defaults = NULL,
    .opts_bytes = sizeof(struct cache_opts),
    .run = run_cache,
};

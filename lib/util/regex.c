/* regex.c - compiling and searching; see regex.h. */
#include "util/regex.h"

#include "util/err.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

/* Patterns come from files: what a search may cost is bounded, in steps and in kilobytes. */
enum { MOST_STEPS = 2 * 1000 * 1000, MOST_KIB = 64 * 1024 };

struct embi_regex {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
};

static emb_status fail_code(emb_err *err, emb_str pattern, int code)
{
    PCRE2_UCHAR why[120];
    char shown[EMBI_SHOW_MAX];
    pcre2_get_error_message(code, why, sizeof why);
    return embi_fail(err, EMB_UNSUPPORTED, -1, "the pattern '%s': %s", embi_show(shown, pattern),
                     (const char *)why);
}

/* translated: in PCRE2's dialect; pattern: for messages. */
static emb_status compile(emb_str translated, emb_str pattern, struct embi_regex *regex,
                          emb_err *err)
{
    int code;
    size_t at;
    pcre2_compile_context *how = pcre2_compile_context_create(NULL);
    if (!how)
        return embi_fail_memory(err, translated.n, "a pattern");
    pcre2_set_newline(how, PCRE2_NEWLINE_LF);
    regex->code = pcre2_compile((PCRE2_SPTR)translated.s, translated.n,
                                PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                &code, &at, how);
    pcre2_compile_context_free(how);
    if (!regex->code && code == PCRE2_ERROR_HEAP_FAILED)
        return embi_fail_memory(err, translated.n, "a pattern");
    if (!regex->code)
        return fail_code(err, pattern, code);
    regex->data = pcre2_match_data_create(1, NULL);
    regex->limits = pcre2_match_context_create(NULL);
    if (!regex->data || !regex->limits)
        return embi_fail_memory(err, translated.n, "a pattern");
    pcre2_set_match_limit(regex->limits, MOST_STEPS);
    pcre2_set_heap_limit(regex->limits, MOST_KIB);
    return EMB_OK;
}

static emb_status make(emb_str translated, emb_str pattern, struct embi_regex **regex, emb_err *err)
{
    struct embi_regex *made = calloc(1, sizeof *made);
    if (!made)
        return embi_fail_memory(err, sizeof *made, "a pattern");
    emb_status status = compile(translated, pattern, made, err);
    if (status)
        embi_regex_free(made);
    else
        *regex = made;
    return status;
}

emb_status embi_regex_compile(emb_str pattern, struct embi_regex **regex, emb_err *err)
{
    struct embi_buf out = {0};
    emb_status status = embi_regex_translate(pattern, &out, err);
    if (out.failed) /* whatever else seemed wrong then */
        status = embi_fail_memory(err, out.n, "a pattern");
    if (!status)
        status = make((emb_str){embi_buf_cstr(&out), out.n}, pattern, regex, err);
    embi_buf_free(&out);
    return status;
}

emb_status embi_regex_literal(emb_str text, struct embi_regex **regex, emb_err *err)
{
    struct embi_buf out = {0};
    for (size_t i = 0; i < text.n; i++) { /* \Q..\E has no way to hold \E */
        bool letter = (text.s[i] & 0x80) || (text.s[i] >= '0' && text.s[i] <= '9') ||
                      ((text.s[i] | 32) >= 'a' && (text.s[i] | 32) <= 'z') || text.s[i] == '\0';
        if (!letter)
            embi_buf_byte(&out, '\\');
        embi_buf_byte(&out, text.s[i]);
    }
    const char *pattern = embi_buf_cstr(&out);
    emb_status status = out.failed ? embi_fail_memory(err, text.n, "a pattern")
                                   : make((emb_str){pattern, out.n}, text, regex, err);
    embi_buf_free(&out);
    return status;
}

void embi_regex_free(struct embi_regex *regex)
{
    if (!regex)
        return;
    pcre2_match_context_free(regex->limits);
    pcre2_match_data_free(regex->data);
    pcre2_code_free(regex->code);
    free(regex);
}

emb_status embi_regex_search(const struct embi_regex *regex, const char *s, size_t n, size_t from,
                             bool *found, size_t *start, size_t *end, emb_err *err)
{
    int code = pcre2_match(regex->code, (PCRE2_SPTR)s, n, from, PCRE2_NO_UTF_CHECK, regex->data,
                           regex->limits);
    const size_t *at = pcre2_get_ovector_pointer(regex->data);
    *found = code >= 0;
    *start = at[0];
    *end = at[1];
    if (code == PCRE2_ERROR_NOMEMORY)
        return embi_fail_memory(err, n, "a search");
    if (code < 0 && code != PCRE2_ERROR_NOMATCH)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "a pattern takes too long to match");
    if (code >= 0 && at[0] > at[1]) /* \K in a lookahead */
        return embi_fail(err, EMB_UNSUPPORTED, -1, "a pattern matches backwards");
    return EMB_OK;
}

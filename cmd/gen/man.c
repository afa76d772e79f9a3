/* man.c - the man pages, in the man(7) language that groff and mandoc both read.
 *
 * Everything from the tables is text to be typed, so each dash stays a dash and each quote a
 * straight one. Input lines are wrapped at blanks; none begins with a dot that is not a request.
 */
#include "gen.h"

#include <string.h>

/* Pages bear the date of the version they describe, not that of the build. */
#define MAN_DATE "2026-11-30"

enum { LINE_COLUMNS = 78 };

/* ------------------------------------------------------------------------------------------------
 * Text
 */

static const char *escape(char c)
{
    switch (c) {
    case '\\': return "\\e";
    case '-': return "\\-";
    case '\'': return "\\(aq";
    case '"': return "\\(dq";
    case '`': return "\\(ga";
    case '^': return "\\(ha";
    case '~': return "\\(ti";
    default: return NULL;
    }
}

static void add_text(struct embi_buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *escaped = escape(s[i]);
        if (s[i] == '.' && (i == 0 || s[i - 1] == ' '))
            embi_buf_text(out, "\\&");
        if (escaped)
            embi_buf_text(out, escaped);
        else
            embi_buf_byte(out, s[i]);
    }
}

/* A paragraph, wrapped. */
static void add_paragraph(struct embi_buf *out, const char *s, size_t n)
{
    struct embi_buf text = {0};
    add_text(&text, s, n);
    opt_wrap(out, embi_buf_cstr(&text), 0, 0, LINE_COLUMNS);
    embi_buf_byte(out, '\n');
    out->failed |= text.failed;
    embi_buf_free(&text);
}

/* One line of a text of several; *s goes on to the next. */
static bool take_line(const char **s, emb_str *line)
{
    if (!*s || !**s)
        return false;
    line->s = *s;
    line->n = strcspn(*s, "\n");
    *s += line->n + ((*s)[line->n] == '\n');
    return true;
}

/* A run of bytes in a font: B bold, for what is typed as it stands; I italic, for what stands for
 * something. */
static void add_font(struct embi_buf *out, char font, const char *s, size_t n)
{
    embi_buf_print(out, "\\f%c", font);
    add_text(out, s, n);
    embi_buf_text(out, "\\fR");
}

#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER "abcdefghijklmnopqrstuvwxyz"

/* `[ROW...] [-t TABLE]`: options bold, names of values italic. */
static void add_usage(struct embi_buf *out, emb_str line)
{
    for (size_t i = 0, n; i < line.n; i += n) {
        const char *s = line.s + i;
        bool option = *s == '-' && s[1] && strchr(LOWER "-", s[1]);
        n = strspn(s, option ? LOWER "-" : UPPER);
        if (n)
            add_font(out, option ? 'B' : 'I', s, n);
        else
            add_text(out, s, n = 1);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Parts of a page
 */

static void add_head(struct embi_buf *out, const char *command, const char *summary)
{
    embi_buf_text(out, ".\\\" made by embtool-gen from the tables of options\n.TH EMBTOOL");
    for (const char *c = command; c && *c; c++)
        embi_buf_print(out, "%s%c", c == command ? "\\-" : "", *c - 'a' + 'A');
    embi_buf_print(out, " 1 " MAN_DATE " \"embtool %s\" \"User Commands\"\n", emb_version());
    embi_buf_print(out, ".SH NAME\nembtool%s%s \\- ", command ? "\\-" : "", command ? command : "");
    add_paragraph(out, summary, strlen(summary));
}

static void add_synopsis(struct embi_buf *out, const struct cmd *cmd)
{
    emb_str line;
    embi_buf_text(out, ".SH SYNOPSIS\n.nf\n");
    for (const char *at = cmd->usage; take_line(&at, &line);) {
        embi_buf_print(out, "\\fBembtool %s\\fR ", cmd->name);
        add_usage(out, line);
        embi_buf_byte(out, '\n');
    }
    embi_buf_text(out, ".fi\n");
}

static void add_description(struct embi_buf *out, const char *about)
{
    emb_str line;
    bool first = true;
    embi_buf_text(out, ".SH DESCRIPTION\n");
    for (; take_line(&about, &line); first = false) {
        embi_buf_text(out, first ? "" : ".PP\n");
        add_paragraph(out, line.s, line.n);
    }
}

static void add_value(struct embi_buf *out, const struct opt *o)
{
    bool words = o->kind == OPT_CHOICE || o->kind == OPT_WORD;
    embi_buf_byte(out, ' ');
    add_font(out, words ? 'B' : 'I', o->arg, strlen(o->arg));
}

static void add_option(struct embi_buf *out, const struct opt *o)
{
    embi_buf_text(out, ".TP\n");
    if (o->key)
        embi_buf_print(out, "\\fB\\-%c\\fR, ", o->key);
    embi_buf_text(out, "\\fB\\-\\-");
    add_text(out, o->name, strlen(o->name));
    embi_buf_text(out, "\\fR");
    if (o->kind == OPT_SWITCH) {
        embi_buf_text(out, ", \\fB\\-\\-no\\-");
        add_text(out, o->name, strlen(o->name));
        embi_buf_text(out, "\\fR");
    }
    if (o->arg)
        add_value(out, o);
    embi_buf_byte(out, '\n');
    add_paragraph(out, o->about, strlen(o->about));
}

static void add_options(struct embi_buf *out, const struct cmd *cmd)
{
    static const char help[] = "print a summary of this page";
    struct opt flag = opt_help_flag;
    flag.about = help;
    embi_buf_text(out, ".SH OPTIONS\n");
    for (const struct opt *o = cmd->options; o->name; o++) {
        if (o->kind == OPT_TITLE)
            embi_buf_print(out, ".SS %s\n", o->name);
        else
            add_option(out, o);
    }
    add_option(out, &flag);
}

static void add_examples(struct embi_buf *out, const char *examples)
{
    emb_str line;
    embi_buf_text(out, ".SH EXAMPLES\n.EX\n");
    while (take_line(&examples, &line)) {
        add_text(out, line.s, line.n);
        embi_buf_byte(out, '\n');
    }
    embi_buf_text(out, ".EE\n");
}

static void add_exit_status(struct embi_buf *out)
{
    static const struct {
        int code;
        const char *about;
    } codes[] = {
        {EXIT_DONE, "done"},
        {EXIT_NO, "it ran, and the answer is no: a token is not in the vocabulary, a gate of "
                  "stats --fail-on failed"},
        {EXIT_USAGE, "the command line makes no sense"},
        {EXIT_DATA, "bad or unsupported data"},
        {EXIT_FILE, "a file or stream could not be read or written, or exists already"},
        {EXIT_MEMORY, "memory, or a plugin that was asked for is not there"},
        {EXIT_BUG, "a bug of embtool"},
    };
    embi_buf_text(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < EMBI_LEN(codes); i++) {
        embi_buf_print(out, ".TP\n.B %d\n", codes[i].code);
        add_paragraph(out, codes[i].about, strlen(codes[i].about));
    }
}

/* ------------------------------------------------------------------------------------------------
 * The environment
 */

static const struct variable {
    const char *name, *about;
} variables[] = {
    {"EMBTOOL_TABLE", "the table of commands that read one, where none is named"},
    {"EMBTOOL_THREADS", "threads to use, where -j is not given; 0: all cores"},
    {"EMB_DISABLE_CPU", "instruction sets not to use, such as avx2; for tests"},
    {"EMB_PLUGIN_PATH", "folders with plugins, absolute, separated by colons; embtool's own come "
                        "after them"},
    {"TMPDIR", "folder for what packed tables hold, where it is large against the free memory, and "
               "for what comes from servers; else /var/tmp"},
    {"CURL_CA_BUNDLE", "PEM file of the authorities that https:// servers are believed by"},
    {"SSL_CERT_FILE", "the same, where that is not set"},
    {"NETRC", "names and passwords for https:// servers; else .netrc in the home folder"},
    {"AWS_ACCESS_KEY_ID", "the key that requests to s3:// are signed with, if there is one"},
    {"AWS_SECRET_ACCESS_KEY", "its secret part"},
    {"AWS_SESSION_TOKEN", "what goes with keys that are good for some time"},
    {"AWS_REGION", "region of s3://, us-east-1 where none is said"},
    {"AWS_DEFAULT_REGION", "the same, where that is not set"},
    {"AWS_ENDPOINT_URL_S3", "a server for s3:// in place of Amazon's"},
    {"AWS_ENDPOINT_URL", "the same, where that is not set"},
    {"AWS_PROFILE", "the profile that says what of these is not set, else the default one"},
    {"AWS_DEFAULT_PROFILE", "the same, where that is not set"},
    {"AWS_CONFIG_FILE", "where profiles are; else .aws/config in the home folder"},
    {"AWS_SHARED_CREDENTIALS_FILE",
     "where their keys are; else .aws/credentials in the home folder"},
    {"EMBTOOL_CACHE", "where parts of files on servers are kept for the next run, or none"},
    {"EMBTOOL_CACHE_BYTES", "bytes that they may take there, such as 500M; else 8Gi"},
    {"OPENBLAS_CORETYPE",
     "the kind of CPU that OpenBLAS makes code for, such as HASWELL, instead of "
     "what embtool finds"},
    {"COLUMNS", "width of the terminal, instead of what it says itself"},
    {"NO_COLOR", "if set, a terminal gets no bold text, and bars of #"},
    {"TERM", "if dumb, the same"},
    {"HF_HUB_CACHE", "where the Hugging Face hub's clients keep what they downloaded, for hf:// "
                     "names"},
    {"HUGGINGFACE_HUB_CACHE", "the same, under its older name"},
    {"HF_HOME", "else: hub in this folder"},
    {"XDG_CACHE_HOME",
     "else: huggingface/hub in this folder; embtool in it is embtool's own cache"},
    {"HOME", "else: .cache/huggingface/hub in this folder; .cache/embtool likewise"},
    {"HF_ENDPOINT", "address of the hub, instead of https://huggingface.co"},
    {"HF_TOKEN", "who asks there: told to that server alone"},
    {"HUGGING_FACE_HUB_TOKEN", "the same, under its older name"},
    {"HF_TOKEN_PATH", "else: file that says it; without it, token in the folder that holds hub"},
    {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "if 1, on, yes or true, it is told to nobody"},
    {"HF_HUB_OFFLINE", "if 1, on, yes or true, the hub is not asked for what the cache has not"},
    {"TRANSFORMERS_OFFLINE", "the same, where that is not set"},
};

static void add_variable(struct embi_buf *out, const struct variable *v)
{
    embi_buf_print(out, ".TP\n.B %s\n", v->name);
    add_paragraph(out, v->about, strlen(v->about));
}

/* Does the text of an option speak of $NAME? */
static bool speaks_of(const struct cmd *cmd, const char *name)
{
    char word[40];
    const struct opt *o;
    snprintf(word, sizeof word, "$%s", name);
    for (size_t i = 0; (o = option_at(cmd, i)); i++) {
        if (strstr(o->about, word))
            return true;
    }
    return false;
}

/* Of a command: what its options speak of; the rest is in embtool(1). */
static void add_environment(struct embi_buf *out, const struct cmd *cmd)
{
    embi_buf_text(out, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < EMBI_LEN(variables); i++) {
        if (!cmd || speaks_of(cmd, variables[i].name))
            add_variable(out, &variables[i]);
    }
    if (cmd)
        embi_buf_text(out, ".PP\n.BR embtool (1)\nlists what all commands heed.\n");
}

/* ------------------------------------------------------------------------------------------------
 * Pages
 */

static void add_see_also(struct embi_buf *out, const struct cmd *cmd)
{
    embi_buf_text(out, ".SH SEE ALSO\n");
    if (cmd)
        embi_buf_text(out, ".BR embtool (1)");
    for (size_t i = 0, n = cmd != NULL; commands[i]; i++) {
        if (commands[i] != cmd)
            embi_buf_print(out, "%s.BR embtool\\-%s (1)", n++ ? " ,\n" : "", commands[i]->name);
    }
    embi_buf_byte(out, '\n');
}

void man_command(struct embi_buf *out, const struct cmd *cmd)
{
    add_head(out, cmd->name, cmd->summary);
    add_synopsis(out, cmd);
    add_description(out, cmd->about);
    add_options(out, cmd);
    add_examples(out, cmd->examples);
    add_exit_status(out);
    add_environment(out, cmd);
    add_see_also(out, cmd);
}

static void add_group(struct embi_buf *out, const char *group)
{
    embi_buf_print(out, ".SS %s\n", group);
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->group, group) != 0)
            continue;
        embi_buf_print(out, ".TP\n.BR embtool\\-%s (1)\n", commands[i]->name);
        add_paragraph(out, commands[i]->summary, strlen(commands[i]->summary));
    }
}

static void add_types(struct embi_buf *out)
{
    static const struct opt dtype = {.kind = OPT_DTYPE};
    struct embi_buf words = {0};
    add_words(&words, &dtype);
    embi_buf_text(out, ".SH TYPES\nThe types of numbers, where an option asks for one:\n");
    add_paragraph(out, words.s, words.n);
    out->failed |= words.failed;
    embi_buf_free(&words);
}

void man_program(struct embi_buf *out)
{
    add_head(out, NULL, "look into, make and change embedding tables");
    embi_buf_text(out, ".SH SYNOPSIS\n.nf\n\\fBembtool\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] "
                       "[\\fIARGUMENTS\\fR]\n\\fBembtool help\\fR [\\fICOMMAND\\fR]\n"
                       "\\fBembtool \\-V\\fR, \\fB\\-\\-version\\fR\n.fi\n");
    add_description(
        out, "An embedding table is a matrix of V rows, one for each token of a vocabulary, of d "
             "numbers. It may lie in a checkpoint, in a file of word vectors, or as bare rows.\n"
             "Each command has a page of its own. Where no table is named, $EMBTOOL_TABLE answers, "
             "else the current directory if it is a model's, else an English table that comes "
             "with embtool; a note on standard error says which.");
    embi_buf_text(out, ".SH COMMANDS\n");
    for (size_t i = 0; commands[i]; i++) {
        if (opens_group(i))
            add_group(out, commands[i]->group);
    }
    add_types(out);
    add_exit_status(out);
    add_environment(out, NULL);
    add_see_also(out, NULL);
}

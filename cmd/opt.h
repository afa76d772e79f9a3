/* opt.h - option tables as data: one array gives the parser, the -h text, "did you mean",
 * man pages and completion (gen/).
 *
 * A table is an array of struct opt, ended by {0}. Each option says where its value goes as an
 * offset into the command's options struct; nothing is global. That struct begins with `struct
 * common` (common.h), so the entries that commands share (COMMON_... macros) fit into every table.
 *
 *     struct lookup_opts { struct common common; uint64_t pad_id; bool has_pad_id; };
 *     static const struct opt options[] = {
 *         OPT_HEADING("Output"),
 *         OPT("pad-id", 0, OPT_COUNT, offsetof(struct lookup_opts, pad_id), "N", "fill short
 * lines", .given = offsetof(struct lookup_opts, has_pad_id)), COMMON_GENERAL, {0}};
 *
 * Spelling: --name=value, --name value, -kVALUE, -k VALUE, bundled flags (-qv), `--` ends options,
 * options and arguments may be mixed, a lone `-` is an argument. Names are never completed from a
 * prefix: a script must not change its meaning when an option is added. Of an option given twice
 * the last one counts, except in lists.
 */
#ifndef EMBTOOL_OPT_H
#define EMBTOOL_OPT_H

#include "emb.h"
#include "util/buf.h"

enum opt_kind {
    OPT_END = 0,
    OPT_TITLE,  /* not an option: a heading in -h                                   (OPT_HEADING) */
    OPT_FLAG,   /* bool: becomes true */
    OPT_SWITCH, /* int: --name gives 1, --no-name gives -1; 0 where neither was said */
    OPT_TEXT,   /* const char * */
    OPT_LIST,   /* struct opt_list: repeatable */
    OPT_COUNT,  /* uint64_t: decimal digits and nothing else */
    OPT_NUMBER, /* double: any finite decimal number */
    OPT_CHOICE, /* int: place of the value in `arg`, a list such as "cosine|dot|euclidean" */
    OPT_WORD,   /* const char *: a value that is in the list `arg` */
    OPT_DTYPE,  /* emb_dtype: of elements that have bytes of their own */
    OPT_TARGET, /* emb_dtype: one that numbers can be put into, two block types too */
    OPT_ITEM    /* joins the command's arguments in order, with its `tag` (struct opt_items) */
};

struct opt {
    const char *name; /* long name without dashes */
    char key;         /* the letter after one dash, or 0 */
    enum opt_kind kind;
    size_t at;           /* offset of the value (not for OPT_ITEM) */
    const char *arg;     /* what -h calls the value ("FILE"); the list of a choice */
    const char *about;   /* what it does: no capital, no full stop, no line breaks */
    size_t given;        /* offset of a bool that becomes true when the option is there; 0: none */
    int tag;             /* OPT_ITEM: what marks the item; not 0 */
    int values;          /* OPT_ITEM: how many arguments it takes; 0 means 1 */
    const char *aliases; /* " topn best ": other words people type, for "did you mean" only */
};

/* One entry of a table; members after `about` follow as designated initialisers. */
#define OPT(name_, key_, kind_, at_, arg_, about_, ...)                                     \
    {                                                                                       \
        .name = name_, .key = key_, .kind = kind_, .at = at_, .arg = arg_, .about = about_, \
        __VA_ARGS__                                                                         \
    }
#define OPT_HEADING(title)               \
    {                                    \
        .name = title, .kind = OPT_TITLE \
    }

struct opt_list {
    const char **v; /* [n] */
    size_t n;
};

/* What is left of the command line when options are taken out, in the order it was written. */
struct opt_item {
    const char *s;
    int tag; /* 0: a plain argument; else the tag of the OPT_ITEM it came with */
    int at;  /* plain arguments are counted from 1 */
};

struct opt_items {
    struct opt_item *v; /* [n] */
    size_t n;
};

enum opt_result {
    OPT_OK,
    OPT_HELP, /* -h or --help is there */
    OPT_BAD,  /* `why` says what */
    OPT_NO_MEMORY
};

/* Parses argv [argc] (without the command's name) into *opts, which holds the defaults before, and
 * *items. *why then holds one line without a newline. Strings are borrowed from argv. Free with
 * opt_free, whatever the result. */
enum opt_result opt_parse(const struct opt *table, void *opts, struct opt_items *items, int argc,
                          char **argv, struct embi_buf *why);
void opt_free(const struct opt *table, void *opts, struct opt_items *items);

/* -h, which every table has at its end without saying so. */
extern const struct opt opt_help_flag;

/* The options for -h: grouped, aligned, wrapped to `columns`. */
void opt_help(const struct opt *table, struct embi_buf *out, size_t columns);

/* Adds `text` wrapped at blanks to `columns`; lines after the first begin with `indent` blanks, and
 * `at` columns of the first line are taken. */
void opt_wrap(struct embi_buf *out, const char *text, size_t at, size_t indent, size_t columns);

/* Can an option of that kind, OPT_DTYPE or OPT_TARGET, be that type? */
bool opt_takes_dtype(enum opt_kind kind, emb_dtype dtype);

/* All of them, and the one that `value`, which is none, may stand for: float16, torch.half, F16. */
void opt_expect_dtype(struct embi_buf *out, enum opt_kind kind, const char *value);

/* Decimal digits and nothing else, at most 2^64 - 1. */
bool opt_u64(const char *s, uint64_t *value);

/* How unlike two words are: insertions, deletions, changes, exchanges of neighbours. Small words
 * only; 99 where one is longer than 40 bytes. */
unsigned opt_distance(const char *a, const char *b);

/* Is `word` close enough to `name` to ask "did you mean"? *best is the least distance so far. */
bool opt_closer(const char *word, const char *name, unsigned *best);

#endif

/* token_list.c - tokens from a file with one a line. */
#include "token_list.h"

#include "input.h"

#include <stdlib.h>

/* All lines into list->bytes, each with a newline behind it: the strings can only be pointed at
 * when the buffer no longer grows. */
static int read_lines(struct token_list *list, struct input *in)
{
    int code = EXIT_DONE;
    emb_str line;
    for (;;) {
        enum input_event event = input_line(in, &line, &code);
        if (event == INPUT_END || event == INPUT_FAILED)
            return code;
        if (event == INPUT_PAUSE)
            continue;
        if (line.n == 0)
            return fail_with(in->run, EXIT_DATA, in->path,
                             "line %zu: expected a token, found nothing", list->n + 1);
        embi_buf_add(&list->bytes, line.s, line.n);
        embi_buf_byte(&list->bytes, '\n');
        list->n++;
    }
}

static int point(struct token_list *list, struct run *run)
{
    const char *s = list->bytes.s, *end = s + list->bytes.n;
    list->v = calloc(list->n + 1, sizeof *list->v);
    if (!list->v || list->bytes.failed)
        return fail_with(run, EXIT_MEMORY, NULL, "out of memory for the tokens");
    for (size_t i = 0; s < end; i++) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        list->v[i] = (emb_str){s, (size_t)(newline - s)};
        s = newline + 1;
    }
    return EXIT_DONE;
}

int token_list_read(struct token_list *list, struct run *run, const char *path)
{
    struct input in;
    *list = (struct token_list){0};
    int code = input_open(&in, run, path);
    if (!code)
        code = read_lines(list, &in);
    if (!code)
        code = point(list, run);
    input_close(&in);
    return code;
}

void token_list_free(struct token_list *list)
{
    embi_buf_free(&list->bytes);
    free(list->v);
    *list = (struct token_list){0};
}

/* fuzz_ids_text.c - lists of ids as text: the same ids and sequences whole and in pieces, as they come
 * through a pipe, and the same failure.
 *
 * Byte 0 says V, byte 1 how long the pieces are. What the program prints is kept here instead.
 */
#include "fuzz.h"

#include "ids.h"

#include <stdarg.h>

enum { IDS_MAX = 8192, MESSAGE_MAX = 512 };

struct reading {
    int code;
    size_t n;
    uint64_t ids[IDS_MAX];
    struct ids state;
};

static char message[MESSAGE_MAX];

/* The part of cmd/ids.c and cmd/say.c that the parser needs. */
int ids_fail(struct ids *ids, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    CHECK(ids && n > 0 && n < MESSAGE_MAX);
    return EXIT_DATA;
}

void ids_end_sequence(struct ids *ids)
{
    embi_buf_add(&ids->sequences.lengths, &ids->sequences.open, sizeof ids->sequences.open);
    ids->sequences.n++;
    ids->sequences.open = 0;
}

/* Reads the text, of which `piece` bytes more are there each time, `max` ids at a time. */
static void read_text(struct reading *r, char *text, size_t size, uint64_t rows, size_t piece,
                      size_t max)
{
    r->state = (struct ids){.rows = rows, .sequences = {.keep = true}};
    r->state.in.s = text;
    r->code = 0;
    r->n = 0;
    for (struct input *in = &r->state.in; !r->code;) {
        size_t n;
        in->n = embi_min(size, in->n + piece);
        in->eof = in->n == size;
        do {
            r->code = ids_parse(&r->state, r->ids + r->n, NULL, embi_min(max, IDS_MAX - r->n), &n);
            r->n += n;
            r->state.items += n;
            CHECK(in->at <= in->n && r->n <= IDS_MAX);
        } while (n > 0 && !r->code && r->n < IDS_MAX);
        if (in->eof || r->n == IDS_MAX)
            break;
    }
    if (!r->code && r->n < IDS_MAX) {
        CHECK(r->state.in.at == size);
        r->code = ids_parse_end(&r->state);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct reading whole, parts;
    char first[MESSAGE_MAX] = "";
    if (size < 2 || size > IDS_MAX)
        return 0;
    char *text = fuzz_copy(data + 2, size - 2);
    message[0] = 0;
    read_text(&whole, text, size - 2, data[0], size, IDS_MAX);
    memcpy(first, message, sizeof first);
    read_text(&parts, text, size - 2, data[0], 1 + data[1] % 32, 1 + data[1] / 32);
    const struct sequences *a = &whole.state.sequences, *b = &parts.state.sequences;
    CHECK(whole.code == parts.code && (whole.code == 0 || strcmp(first, message) == 0));
    CHECK(whole.code || (whole.n == parts.n && memcmp(whole.ids, parts.ids, whole.n * 8) == 0));
    for (size_t i = 0; i < whole.n && !whole.code; i++)
        CHECK(whole.ids[i] < data[0]);
    CHECK(whole.code ||
          (a->n == b->n && (a->n == 0 || memcmp(a->lengths.s, b->lengths.s, a->n * 8) == 0)));
    embi_buf_free(&whole.state.sequences.lengths);
    embi_buf_free(&parts.state.sequences.lengths);
    free(text);
    return 0;
}

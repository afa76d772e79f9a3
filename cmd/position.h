/* position.h - what `embtool position` was asked for. */
#ifndef EMBTOOL_POSITION_H
#define EMBTOOL_POSITION_H

#include "cmd.h"

#define POSITION_FORMATS "npy|npz|safetensors|raw"

struct position_opts {
    struct common common;
    const char *length, *dims, *start, *rotary, *apply, *axis, *scaling, *name;
    double base;
    int style; /* emb_rope_style - 1; -1: not said */
};

struct positions {
    struct run *run;
    const struct position_opts *opts;
    const char *format;
    emb_dtype dtype;
    uint64_t length, start;
    uint32_t dims, rotary; /* 0: not said */
};

/* Each writes its output. Returns 0, or an exit code after the message. */
int position_sinusoidal(struct positions *p);
int position_rope(struct positions *p);
int position_apply(struct positions *p);

/* Opens the rotary positions that the options speak of, `positions` of which are needed; dims: D
 * where an array has said it, or 0. */
int position_open_rope(struct positions *p, uint32_t dims, uint64_t positions, emb_rope **rope);

/* Opens the writer of one array. */
int position_open_writer(struct positions *p, const emb_array *array, emb_writer **writer);

/* Completes it where `code` is 0, closes it, and notes it for --report. Returns the exit code. */
int position_close_writer(struct positions *p, emb_writer *writer, int code);

#endif

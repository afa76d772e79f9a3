/* plan.h - what `embtool plan` was asked about, and the figures of it. */
#ifndef EMBTOOL_PLAN_H
#define EMBTOOL_PLAN_H

#include "out.h"

struct plan_figures {
    struct run *run;
    const char *format; /* text or json */
    emb_cost_opts asked;
    emb_cost cost;
};

/* The figures as lines or columns; as one JSON object. */
void plan_text(const struct plan_figures *f, struct out *out);
void plan_json(const struct plan_figures *f, struct out *out);

/* Prints them. Returns 0, or the exit code after the message. */
int plan_say(const struct plan_figures *f);

#endif

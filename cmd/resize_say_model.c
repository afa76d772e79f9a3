/* resize_say_model.c - what the plan of `embtool resize` says of a model besides: names and roles,
 * each tensor with its old and new shape, each file with what becomes of it.
 */
#include "out.h"
#include "resize.h"

#include <string.h>

static const char *fate_of(const struct resize *rz, const emb_model_file *f)
{
    switch (f->fate) {
    case EMB_FILE_EDITED: return "edit";
    case EMB_FILE_REWRITTEN: return "rewrite";
    case EMB_FILE_LEFT_OUT: return "leave-out";
    case EMB_FILE_KEPT: break;
    }
    return rz->opts->in_place ? "keep" : rz->opts->link ? "link" : "copy";
}

static void text_string(struct out *out, const char *s)
{
    out_byte(out, '\t');
    out_token(out, (emb_str){s, strlen(s)}, '\t');
}

/* [384,32] */
static void put_shape(struct out *out, const uint64_t *shape, int ndim)
{
    for (int i = 0; i < ndim; i++) {
        out_byte(out, i ? ',' : '[');
        out_u64(out, shape[i]);
    }
    out_byte(out, ']');
}

static void text_tensor(struct out *out, const emb_model_tensor *t)
{
    out_text(out, "tensor");
    text_string(out, t->name);
    text_string(out, t->role);
    text_string(out, t->file);
    out_print(out, "\t%s\t", emb_dtype_name(t->dtype));
    put_shape(out, t->old_shape, t->ndim);
    out_byte(out, '\t');
    put_shape(out, t->shape, t->ndim);
    out_byte(out, '\n');
}

static void text_names(const struct resize *rz, struct out *out)
{
    for (size_t i = 0; i < rz->opts->renames.n; i++) {
        out_text(out, "rename\t");
        out_token(out, rz->renames[i].from, '\t');
        out_byte(out, '\t');
        out_token(out, rz->renames[i].to, '\t');
        out_byte(out, '\n');
    }
    for (size_t i = 0; i < rz->opts->roles.n; i++) {
        out_print(out, "role\t%s\t", rz->roles[i].role);
        out_token(out, rz->roles[i].token, '\t');
        out_byte(out, '\n');
    }
}

/* Tokens in gaps of the ids: nobody named them. */
static void text_fills(const emb_model_plan *plan, struct out *out)
{
    for (size_t i = 0; i < plan->n_fills; i++) {
        out_text(out, "fill\t");
        out_token(out, plan->fills[i].token, '\t');
        out_byte(out, '\t');
        out_u64(out, plan->fills[i].row);
        out_text(out, plan->fills[i].present ? "\tknown\n" : "\tnew\n");
    }
}

void resize_say_model_text(const struct resize *rz, struct out *out)
{
    const emb_model_plan *plan = rz->model_plan;
    text_fills(plan, out);
    text_names(rz, out);
    for (size_t i = 0; i < plan->n_tensors; i++)
        text_tensor(out, &plan->tensors[i]);
    for (size_t i = 0; i < plan->n_files; i++) {
        out_text(out, "file");
        text_string(out, fate_of(rz, &plan->files[i]));
        text_string(out, plan->files[i].name);
        out_byte(out, '\t');
        out_u64(out, plan->files[i].bytes);
        out_byte(out, '\n');
    }
}

/* ------------------------------------------------------------------------------------------------
 * JSON
 */

static void json_string(struct out *out, const char *key, const char *s)
{
    out_print(out, "\"%s\":", key);
    out_json_string(out, (emb_str){s, strlen(s)});
    out_byte(out, ',');
}

static void json_tensor(struct out *out, const emb_model_tensor *t)
{
    out_byte(out, '{');
    json_string(out, "name", t->name);
    json_string(out, "role", t->role);
    json_string(out, "file", t->file);
    json_string(out, "dtype", emb_dtype_name(t->dtype));
    out_text(out, "\"old_shape\":");
    put_shape(out, t->old_shape, t->ndim);
    out_text(out, ",\"shape\":");
    put_shape(out, t->shape, t->ndim);
    out_byte(out, '}');
}

static void json_file(const struct resize *rz, struct out *out, const emb_model_file *f)
{
    out_byte(out, '{');
    json_string(out, "name", f->name);
    json_string(out, "fate", fate_of(rz, f));
    out_text(out, "\"bytes\":");
    out_u64(out, f->bytes);
    out_byte(out, '}');
}

static void json_names(const struct resize *rz, struct out *out)
{
    out_text(out, "\"renamed\":[");
    for (size_t i = 0; i < rz->opts->renames.n; i++) {
        out_text(out, i ? ",{\"from\":" : "{\"from\":");
        out_json_string(out, rz->renames[i].from);
        out_text(out, ",\"to\":");
        out_json_string(out, rz->renames[i].to);
        out_byte(out, '}');
    }
    out_text(out, "],\"roles\":{");
    for (size_t i = 0; i < rz->opts->roles.n; i++) {
        out_print(out, i ? ",\"%s\":" : "\"%s\":", rz->roles[i].role);
        out_json_string(out, rz->roles[i].token);
    }
    out_text(out, "},");
}

static void json_fills(const emb_model_plan *plan, struct out *out)
{
    out_text(out, "\"filled\":[");
    for (size_t i = 0; i < plan->n_fills; i++) {
        out_text(out, i ? ",{" : "{");
        out_json_token(out, "token", plan->fills[i].token);
        out_text(out, "\"id\":");
        out_u64(out, plan->fills[i].row);
        out_text(out, plan->fills[i].present ? ",\"new\":false}" : ",\"new\":true}");
    }
    out_text(out, "],");
}

void resize_say_model_json(const struct resize *rz, struct out *out)
{
    const emb_model_plan *plan = rz->model_plan;
    json_fills(plan, out);
    json_names(rz, out);
    out_text(out, "\"tensors\":[");
    for (size_t i = 0; i < plan->n_tensors; i++) {
        out_text(out, i ? "," : "");
        json_tensor(out, &plan->tensors[i]);
    }
    out_text(out, "],\"files\":[");
    for (size_t i = 0; i < plan->n_files; i++) {
        out_text(out, i ? "," : "");
        json_file(rz, out, &plan->files[i]);
    }
    out_text(out, "],\"warnings\":[");
    for (size_t i = 0; i < plan->n_warnings; i++) {
        out_text(out, i ? "," : "");
        out_json_string(out, (emb_str){plan->warnings[i], strlen(plan->warnings[i])});
    }
    out_text(out, "],");
}

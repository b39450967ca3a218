#include "node/ctl/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/ctl/client.h"
#include "node/ctl/output.h"
#include "node/ctl/times.h"

static void add_encoded(struct buf *to, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || strchr("-._~,", c);

        buf_printf(to, is_plain ? "%c" : "%%%02X", c);
    }
}

/* Clients and proxies resolve "." and "..", escaped or not: the path would become another one.
 */
static bool is_resolved(const char *segment)
{
    return !strcmp(segment, ".") || !strcmp(segment, "..");
}

static void add_segment(struct request *r, const char *segment)
{
    if (is_resolved(segment))
        r->bad_segment = strstr(buf_text(&r->path), "/jobs/") ? "bad_id" : "bad_topic";
    add_encoded(&r->path, segment);
}

void request_init(struct request *r, const char *method, const char *path, ...)
{
    va_list segments;

    *r = (struct request){
        .method = method, .path = BUF_INIT, .is_write = strcmp(method, "GET") != 0};
    va_start(segments, path);
    for (; *path; path++) {
        if (*path == '%')
            add_segment(r, va_arg(segments, const char *));
        else
            buf_add_char(&r->path, *path);
    }
    va_end(segments);
}

void request_add_query(struct request *r, const char *name, const char *value)
{
    buf_add_char(&r->path, r->has_query ? '&' : '?');
    r->has_query = true;
    buf_add_text(&r->path, name);
    buf_add_char(&r->path, '=');
    add_encoded(&r->path, value);
}

void request_add_query_number(struct request *r, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    request_add_query(r, name, text);
}

/* The token is read before the first request. */
static bool has_token(const struct ctl *ctl, struct failure *failure)
{
    const char *path = ctl->token_file;
    const char *why = path && *path ? client_read_token(ctl->client, path) : NULL;

    if (why)
        failure_set(failure, CTL_USAGE, "bad_token_file",
                    "the token cannot be read from %s: %s", path, why);
    return !why;
}

static void fail_unanswered(struct failure *failure, const struct ctl *ctl,
                            const struct transfer *t)
{
    const char *where = client_where(ctl->client);

    if (!t->is_sent)
        failure_set(failure, CTL_UNREACHABLE, "unreachable", "no connection to %s: %s", where,
                    t->why);
    else if (t->is_write)
        failure_set(failure, CTL_UNKNOWN, "unknown",
                    "%s did not answer (%s): it may have happened", where, t->why);
    else
        failure_set(failure, CTL_UNREACHABLE, "unreachable", "%s did not answer: %s", where,
                    t->why);
}

/* An answer that is not the API's: from a proxy, or from another server altogether. */
static void fail_foreign(struct failure *failure, const struct ctl *ctl,
                         const struct request *r, int code)
{
    bool may_have_happened = r->is_write && (code < 300 || code >= 500);
    bool is_away = !r->is_write && code >= 500;
    const char *word = may_have_happened ? "unknown" : is_away ? "unreachable" : "bad_answer";

    failure_set(failure,
                may_have_happened ? CTL_UNKNOWN
                : is_away         ? CTL_UNREACHABLE
                                  : CTL_REFUSED,
                word, "%s answered with status %d, and not in the API's words%s",
                client_where(ctl->client), code,
                may_have_happened ? ": it may have happened" : "");
}

/* 204 and its like have no body; the others are an object. */
static bool read_answer(const struct transfer *t, json_t **answer)
{
    if (t->reply.len == 0) {
        *answer = NULL;
        return t->code == 204;
    }
    *answer = json_loadb(t->reply.at, t->reply.len, JSON_ALLOW_NUL, NULL);
    return json_is_object(*answer);
}

/* Another server may also answer "200 OK" with an object. */
static bool is_expected(const struct request *r, const json_t *answer)
{
    return r->expects ? json_object_get(answer, r->expects) != NULL : !answer;
}

static void judge(const struct ctl *ctl, const struct request *r, const struct transfer *t,
                  json_t **answer, struct failure *failure)
{
    bool is_good = read_answer(t, answer);
    const json_t *error = json_object_get(*answer, "error");

    if (is_good && t->code / 100 == 2 && is_expected(r, *answer))
        return;
    if (t->code >= 400 && failure_is_ours(error, t->code))
        failure_read(failure, error);
    else
        fail_foreign(failure, ctl, r, t->code);
    failure->retry_after_s = t->retry_after_s;
    /* "May have happened" means nothing for a request that changes nothing. */
    if (failure->end == CTL_UNKNOWN && !r->is_write)
        failure->end = CTL_UNREACHABLE;
}

static void fail_bad_segment(struct failure *failure, const char *code)
{
    const char *what = strcmp(code, "bad_id") ? "topic" : "job id";

    failure_set(failure, CTL_USAGE, code,
                "no %s is '.' or '..': in a path they mean another one", what);
}

/* A pop may have found nothing; of a list every job may have been refused. */
static bool tells_of_change(const json_t *answer)
{
    const json_t *jobs = json_object_get(answer, "jobs");
    const json_t *results = json_object_get(answer, "results");
    const json_t *result;
    size_t i;

    json_array_foreach(results, i, result)
    {
        if (!json_object_get(result, "error"))
            return true;
    }
    return !results && (!jobs || json_array_size(jobs) > 0);
}

static void send_it(struct ctl *ctl, struct request *r, const char *body, json_t **answer,
                    struct failure *failure)
{
    struct transfer t = {.method = r->method,
                         .path = buf_text(&r->path),
                         .body = body,
                         .wait_ms = r->wait_ms,
                         .is_write = r->is_write,
                         .reply = BUF_INIT};

    client_run(ctl, &t);
    if (t.is_answered)
        judge(ctl, r, &t, answer, failure);
    else
        fail_unanswered(failure, ctl, &t);
    buf_fini(&t.reply);
}

enum ctl_exit request_send(struct ctl *ctl, struct request *r, json_t **answer,
                           struct failure *failure)
{
    char *body = must(r->body ? json_dumps(r->body, JSON_COMPACT) : strdup(""));
    json_t *value = NULL;

    *failure = (struct failure){.end = CTL_DONE};
    if (r->bad_segment)
        fail_bad_segment(failure, r->bad_segment);
    else if (has_token(ctl, failure))
        send_it(ctl, r, body, &value, failure);
    if (r->is_write && failure->end == CTL_DONE && tells_of_change(value))
        ctl->has_changed = true;
    failure_advise(failure, r->advice);
    if (failure->end == CTL_DONE)
        *answer = value;
    else
        json_decref(value);
    free(body);
    buf_fini(&r->path);
    json_decref(r->body);
    return failure->end;
}

enum ctl_exit request_ask(struct ctl *ctl, struct request *r, const char *what, json_t **answer)
{
    struct failure failure;

    return request_send(ctl, r, answer, &failure) == CTL_DONE
               ? CTL_DONE
               : failure_tell(ctl, &failure, what);
}

/* ---- options in the API's form ---- */

static void set_new(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value))
        abort();
}

static void set_number(json_t *object, const char *name, int64_t number)
{
    if (number)
        set_new(object, name, json_integer(number));
}

/* Its text was found good. */
static json_t *backoff_json(const char *text)
{
    struct backoff b = {.kind = "none"};
    json_t *object = json_object();

    if (!backoff_parse(text, &b))
        abort();
    set_new(object, "kind", json_string(b.kind));
    set_number(object, "base_ms", b.base_ms);
    set_number(object, "cap_ms", b.cap_ms);
    set_number(object, "jitter_percent", b.jitter_percent);
    return object;
}

json_t *option_json(const struct option_row *row, const struct option_value *value)
{
    switch (row->kind) {
    case OPTION_FLAG:
        return json_true();
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_CHOICE:
    case OPTION_CHOICES:
        return json_string(value->text);
    case OPTION_SWITCH:
        return json_boolean(value->number);
    case OPTION_BACKOFF:
        return backoff_json(value->text);
    case OPTION_COUNT:
    case OPTION_SIZE:
    case OPTION_DURATION:
    case OPTION_MOMENT:
    case OPTION_PAST:
        break;
    }
    return json_integer(value->number);
}

json_t *options_json(const struct option_row *rows, const struct arguments *arguments)
{
    json_t *object = json_object();

    for (size_t i = 0; rows && rows[i].name; i++) {
        if (rows[i].member && arguments->own[i].is_given)
            set_new(object, rows[i].member, option_json(&rows[i], &arguments->own[i]));
    }
    return object;
}

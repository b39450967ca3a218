#include "node/ctl/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/ctl/client.h"
#include "node/ctl/output.h"

static void add_encoded(struct buf *to, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || strchr("-._~,", c);

        buf_printf(to, is_plain ? "%c" : "%%%02X", c);
    }
}

/* Clients and proxies resolve these two, escaped or not: the path would be another one's. */
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

void request_fini(struct request *r)
{
    buf_fini(&r->path);
    json_decref(r->body);
    r->body = NULL;
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

static void fail_unanswered(struct failure *failure, const struct ctl *ctl,
                            const struct request *r, const struct client_reply *reply)
{
    const char *where = client_where(ctl->client);

    if (reply->outcome == CLIENT_NOT_SENT)
        failure_set(failure, CTL_UNREACHABLE, "unreachable", "no connection to %s: %s", where,
                    reply->why);
    else if (r->is_write)
        failure_set(failure, CTL_UNKNOWN, "unknown",
                    "%s did not answer (%s): it may have happened", where, reply->why);
    else
        failure_set(failure, CTL_UNREACHABLE, "unreachable", "%s did not answer: %s", where,
                    reply->why);
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
static bool read_answer(const struct client_reply *reply, json_t **answer)
{
    if (reply->body.len == 0) {
        *answer = NULL;
        return reply->code == 204;
    }
    *answer = json_loadb(reply->body.at, reply->body.len, JSON_ALLOW_NUL, NULL);
    return json_is_object(*answer);
}

/* Another server, too, may answer "200 OK" with an object. */
static bool is_expected(const struct request *r, const json_t *answer)
{
    return r->expects ? json_object_get(answer, r->expects) != NULL : !answer;
}

static void judge(const struct ctl *ctl, const struct request *r,
                  const struct client_reply *reply, json_t **answer, struct failure *failure)
{
    const json_t *error;
    bool is_good;

    is_good = read_answer(reply, answer);
    error = json_object_get(*answer, "error");
    failure->retry_after_s = reply->retry_after_s;
    if (is_good && reply->code / 100 == 2 && is_expected(r, *answer))
        return;
    if (reply->code >= 400 && failure_is_ours(error, reply->code))
        failure_read(failure, error);
    else
        fail_foreign(failure, ctl, r, reply->code);
    /* "It may have happened" is no news of a question. */
    if (failure->end == CTL_UNKNOWN && !r->is_write)
        failure->end = CTL_UNREACHABLE;
}

static enum ctl_exit fail_bad_segment(struct failure *failure, const char *code)
{
    const char *what = strcmp(code, "bad_id") ? "topic" : "job id";

    failure_set(failure, CTL_USAGE, code,
                "no %s is '.' or '..': in a path they mean another one", what);
    return CTL_USAGE;
}

/* A pop may have found nothing, and of a list the node may have refused every job. */
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

enum ctl_exit request_send(struct ctl *ctl, const struct request *r, json_t **answer,
                           struct failure *failure)
{
    char *body = r->body ? json_dumps(r->body, JSON_COMPACT) : NULL;
    struct client_request request = {
        .method = r->method,
        .path = buf_text((struct buf *)&r->path),
        .body = body ? bytes_of_text(body) : BYTES(""),
        .is_write = r->is_write,
        .connect_ms = ctl->timeout_ms,
        .answer_ms = ctl->timeout_ms + r->wait_ms,
    };
    struct client_reply reply;
    json_t *value = NULL;

    if (r->body && !body)
        abort();
    *failure = (struct failure){.end = CTL_DONE};
    if (r->bad_segment) {
        free(body);
        return fail_bad_segment(failure, r->bad_segment);
    }
    client_call(ctl->client, &request, &reply);
    if (reply.outcome == CLIENT_ANSWERED)
        judge(ctl, r, &reply, &value, failure);
    else
        fail_unanswered(failure, ctl, r, &reply);
    client_reply_fini(&reply);
    free(body);
    if (failure->end == CTL_UNKNOWN)
        failure->advice = r->advice;
    if (r->is_write && failure->end == CTL_DONE && tells_of_change(value))
        ctl->has_changed = true;
    if (failure->end == CTL_DONE)
        *answer = value;
    else
        json_decref(value);
    return failure->end;
}

enum ctl_exit request_ask(struct ctl *ctl, const struct request *r, const char *what,
                          json_t **answer)
{
    struct failure failure;
    json_t *value = NULL;

    if (request_send(ctl, r, &value, &failure) == CTL_DONE) {
        *answer = value;
        return CTL_DONE;
    }
    if (r->unavailable && !strcmp(failure.code, "unavailable"))
        failure.advice = r->unavailable;
    failure_say(&failure, what);
    if (ctl->is_json)
        output_json_and_free(json_pack("{s:o}", "error", failure_json(&failure)));
    return failure.end;
}

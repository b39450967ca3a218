#include "node/ctl/request.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/ctl/output.h"

enum client_outcome {
    CLIENT_ANSWERED, /* whatever the answer says */
    CLIENT_NOT_SENT, /* no connection: the node has seen nothing */
    CLIENT_LOST,     /* sent, at least in part, and not answered */
};

struct client_request {
    const char *method;
    const char *path;   /* with its query, encoded */
    struct bytes body;  /* empty: none */
    bool is_write;      /* changes something: never sent twice */
    int64_t connect_ms; /* time for the connection, */
    int64_t answer_ms;  /* and for everything */
};

struct client_reply {
    enum client_outcome outcome;
    int code;              /* of an answer */
    int64_t retry_after_s; /* 0: the answer says nothing of it */
    struct buf body;
    char why[256]; /* no answer: the reason */
};

#define REPLY_MAX ((size_t)1 << 30)

struct client {
    CURL *curl;
    char *base;  /* the URL that requests go to, without a slash at its end */
    char *where; /* the same without user and password */
};

/* A request on its way. */
struct transfer {
    const struct client_request *request;
    struct client_reply *reply;
    bool is_sent; /* a connection was there, and the request was given to it */
};

static char *take_url(CURLU *url)
{
    char *text;
    char *copy;
    size_t len;

    if (curl_url_get(url, CURLUPART_URL, &text, 0))
        return NULL;
    copy = must(strdup(text));
    curl_free(text);
    for (len = strlen(copy); len && copy[len - 1] == '/'; len--)
        copy[len - 1] = '\0';
    return copy;
}

static bool has_part(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool is_there = !curl_url_get(url, part, &text, 0);

    curl_free(text);
    return is_there;
}

static bool is_http(CURLU *url)
{
    char *scheme = NULL;
    bool is;

    if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0))
        return false;
    is = !strcmp(scheme, "http") || !strcmp(scheme, "https");
    curl_free(scheme);
    return is;
}

static bool read_url(struct client *client, const char *text)
{
    CURLU *url = must(curl_url());
    bool is_good = !curl_url_set(url, CURLUPART_URL, text, CURLU_GUESS_SCHEME) &&
                   is_http(url) && !has_part(url, CURLUPART_QUERY) &&
                   !has_part(url, CURLUPART_FRAGMENT);

    if (is_good) {
        client->base = take_url(url);
        curl_url_set(url, CURLUPART_USER, NULL, 0);
        curl_url_set(url, CURLUPART_PASSWORD, NULL, 0);
        client->where = take_url(url);
    }
    curl_url_cleanup(url);
    return is_good && client->base && client->where;
}

struct client *client_new(const char *url)
{
    struct client *client = must(calloc(1, sizeof(*client)));

    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        abort();
    client->curl = must(curl_easy_init());
    if (!read_url(client, url)) {
        client_free(client);
        return NULL;
    }
    return client;
}

void client_free(struct client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->curl);
    curl_global_cleanup();
    free(client->base);
    free(client->where);
    free(client);
}

const char *client_where(const struct client *client)
{
    return client->where;
}

/* libcurl repeats a request by itself when a kept connection turns out to be dead; then it is
 * unknown whether the node has read the first one.
 * NOLINTNEXTLINE(readability-non-const-parameter): the form is libcurl's */
static int on_connected(void *arg, char *to, char *from, int to_port, int from_port)
{
    struct transfer *t = arg;

    (void)to;
    (void)from;
    (void)to_port;
    (void)from_port;
    if (t->is_sent && t->request->is_write)
        return CURL_PREREQFUNC_ABORT;
    t->is_sent = true;
    return CURL_PREREQFUNC_OK;
}

static size_t on_body(char *at, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    size_t len = size * count;

    if (t->reply->body.len + len > REPLY_MAX)
        return 0;
    buf_add(&t->reply->body, at, len);
    return len;
}

#define SET(curl, option, value)                       \
    do {                                               \
        if (curl_easy_setopt(curl, option, value))     \
            abort(); /* this libcurl lacks it: ours */ \
    } while (0)

static void set_up(CURL *curl, struct transfer *t, const char *url, struct curl_slist *headers)
{
    const struct client_request *request = t->request;

    curl_easy_reset(curl);
    SET(curl, CURLOPT_URL, url);
    SET(curl, CURLOPT_PATH_AS_IS, 1L); /* ".." may be the name of a topic */
    SET(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(curl, CURLOPT_PROXY, ""); /* the environment's are for the outside world */
    SET(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(curl, CURLOPT_USERAGENT, "dueqctl/" DUEQ_VERSION);
    SET(curl, CURLOPT_HTTPHEADER, headers);
    SET(curl, CURLOPT_CUSTOMREQUEST, request->method);
    SET(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_ms);
    SET(curl, CURLOPT_TIMEOUT_MS, (long)request->answer_ms);
    SET(curl, CURLOPT_TCP_KEEPALIVE, 1L); /* a node that vanished ends a long wait */
    SET(curl, CURLOPT_PREREQFUNCTION, on_connected);
    SET(curl, CURLOPT_PREREQDATA, t);
    SET(curl, CURLOPT_WRITEFUNCTION, on_body);
    SET(curl, CURLOPT_WRITEDATA, t);
    SET(curl, CURLOPT_ERRORBUFFER, t->reply->why);
    if (request->body.len || !strcmp(request->method, "POST")) {
        SET(curl, CURLOPT_POSTFIELDS, request->body.len ? request->body.at : "");
        SET(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
    }
}

/* For a failed connection libcurl repeats the address, and says less than errno. */
static void add_reason(CURL *curl, CURLcode result, struct client_reply *reply)
{
    long number = 0;

    if (result == CURLE_COULDNT_CONNECT)
        curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &number);
    if (number)
        snprintf(reply->why, sizeof(reply->why), "%s", strerror((int)number));
    else if (!*reply->why)
        snprintf(reply->why, sizeof(reply->why), "%s", curl_easy_strerror(result));
}

static void conclude(CURL *curl, CURLcode result, struct transfer *t)
{
    struct client_reply *reply = t->reply;
    curl_off_t retry_after = 0;
    long code = 0;

    if (result) {
        reply->outcome = t->is_sent ? CLIENT_LOST : CLIENT_NOT_SENT;
        add_reason(curl, result, reply);
        return;
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
    reply->outcome = CLIENT_ANSWERED;
    reply->code = (int)code;
    reply->retry_after_s = retry_after;
}

/* `reply` is initialized here; its body is the caller's. */
static void client_call(struct client *client, const struct client_request *request,
                        struct client_reply *reply)
{
    struct transfer t = {.request = request, .reply = reply};
    struct curl_slist *headers = NULL;
    struct buf url = BUF_INIT;
    CURLcode result;

    _Static_assert(sizeof(reply->why) >= CURL_ERROR_SIZE, "room for libcurl's reasons");
    *reply = (struct client_reply){.body = BUF_INIT};
    buf_printf(&url, "%s%s", client->base, request->path);
    /* Waiting for "100 Continue" costs a second where a proxy does not send it. */
    headers = must(curl_slist_append(NULL, "Expect:"));
    must(curl_slist_append(headers, "Content-Type: application/json"));
    set_up(client->curl, &t, buf_text(&url), headers);
    result = curl_easy_perform(client->curl);
    conclude(client->curl, result, &t);
    curl_slist_free_all(headers);
    buf_fini(&url);
}

/* ---- request ---- */

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

/* Another server may also answer "200 OK" with an object. */
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
    if (is_good && reply->code / 100 == 2 && is_expected(r, *answer))
        return;
    if (reply->code >= 400 && failure_is_ours(error, reply->code))
        failure_read(failure, error);
    else
        fail_foreign(failure, ctl, r, reply->code);
    failure->retry_after_s = reply->retry_after_s;
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

static void send_it(struct ctl *ctl, const struct request *r, const char *body, json_t **answer,
                    struct failure *failure)
{
    struct client_request request = {
        .method = r->method,
        .path = buf_text((struct buf *)&r->path),
        .body = bytes_of_text(body),
        .is_write = r->is_write,
        .connect_ms = ctl->timeout_ms,
        .answer_ms = ctl->timeout_ms + r->wait_ms,
    };
    struct client_reply reply;

    client_call(ctl->client, &request, &reply);
    if (reply.outcome == CLIENT_ANSWERED)
        judge(ctl, r, &reply, answer, failure);
    else
        fail_unanswered(failure, ctl, r, &reply);
    buf_fini(&reply.body);
}

enum ctl_exit request_send(struct ctl *ctl, struct request *r, json_t **answer,
                           struct failure *failure)
{
    char *body = must(r->body ? json_dumps(r->body, JSON_COMPACT) : strdup(""));
    json_t *value = NULL;

    *failure = (struct failure){.end = CTL_DONE};
    if (r->bad_segment)
        fail_bad_segment(failure, r->bad_segment);
    else
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

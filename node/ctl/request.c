#include "node/ctl/request.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "node/ctl/output.h"
#include "node/ctl/times.h"

#define REPLY_MAX ((size_t)1 << 30)
#define UNIX      "unix:"

struct client {
    CURL *curl;
    char *base;               /* the URL that requests go to, without a slash at its end */
    char *where;              /* the same without user and password, or "unix:/path" */
    char *socket;             /* the path of the node's socket, which is used; NULL: TCP */
    struct buf authorization; /* the header with the token; empty: not read, or there is none */
};

/* Of which the tokens of HTTP consist (RFC 6750, b64token). */
#define TOKEN_MARKS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/="

/* A request on its way, and what came of it. */
struct transfer {
    const struct request *request;
    const char *body;      /* JSON; "": none */
    bool is_sent;          /* a connection was there, and the request was given to it */
    bool is_answered;      /* whatever the answer says */
    int code;              /* of the answer */
    int64_t retry_after_s; /* 0: the answer says nothing of it */
    struct buf reply;
    char why[CURL_ERROR_SIZE]; /* no answer: the reason */
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

/* "unix:/path", as in store.redis. */
static bool read_socket(struct client *client, const char *text)
{
    const char *path = text + strlen(UNIX);

    if (strncmp(text, UNIX, strlen(UNIX)) != 0 || !*path ||
        strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return false;
    client->base = must(strdup("http://localhost"));
    client->where = must(strdup(text));
    client->socket = must(strdup(path));
    return true;
}

/* One that nobody listens at was left by a node that is gone. */
bool client_can_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool can;

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    can = fd >= 0 && (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
                      errno == EAGAIN); /* a queue that is full */
    if (fd >= 0)
        close(fd);
    return can;
}

struct client *client_new(const char *url)
{
    struct client *client = must(calloc(1, sizeof(*client)));

    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        abort();
    client->curl = must(curl_easy_init());
    if (!read_socket(client, url) && !read_url(client, url)) {
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
    free(client->socket);
    if (client->authorization.at)
        explicit_bzero(client->authorization.at, client->authorization.room);
    buf_fini(&client->authorization);
    free(client);
}

const char *client_where(const struct client *client)
{
    return client->where;
}

bool client_is_socket(const struct client *client)
{
    return client->socket;
}

bool client_is_secure(const struct client *client)
{
    return !strncmp(client->where, "https:", strlen("https:"));
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

    if (t->reply.len + len > REPLY_MAX)
        return 0;
    buf_add(&t->reply, at, len);
    return len;
}

#define SET(curl, option, value)                       \
    do {                                               \
        if (curl_easy_setopt(curl, option, value))     \
            abort(); /* this libcurl lacks it: ours */ \
    } while (0)

/* A file that cannot be read is told of when libcurl needs it. */
static void set_up_tls(CURL *curl, const struct ctl_tls *tls)
{
    if (tls->ca) {
        SET(curl, CURLOPT_CAINFO, tls->ca);
        SET(curl, CURLOPT_CAPATH, NULL); /* these and no others */
    }
    if (tls->cert)
        SET(curl, CURLOPT_SSLCERT, tls->cert);
    if (tls->key)
        SET(curl, CURLOPT_SSLKEY, tls->key);
}

static void set_up(const struct ctl *ctl, struct transfer *t, const char *url,
                   struct curl_slist *headers)
{
    const struct request *request = t->request;
    CURL *curl = ctl->client->curl;
    size_t len = strlen(t->body);

    curl_easy_reset(curl);
    SET(curl, CURLOPT_URL, url);
    if (ctl->client->socket)
        SET(curl, CURLOPT_UNIX_SOCKET_PATH, ctl->client->socket);
    SET(curl, CURLOPT_PATH_AS_IS, 1L); /* ".." may be the name of a topic */
    SET(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(curl, CURLOPT_PROXY, ""); /* the environment's are for the outside world */
    SET(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(curl, CURLOPT_USERAGENT, "dueqctl/" DUEQ_VERSION);
    SET(curl, CURLOPT_HTTPHEADER, headers);
    SET(curl, CURLOPT_CUSTOMREQUEST, request->method);
    SET(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)ctl->timeout_ms);
    SET(curl, CURLOPT_TIMEOUT_MS, (long)(ctl->timeout_ms + request->wait_ms));
    SET(curl, CURLOPT_TCP_KEEPALIVE, 1L); /* a node that vanished ends a long wait */
    SET(curl, CURLOPT_PREREQFUNCTION, on_connected);
    SET(curl, CURLOPT_PREREQDATA, t);
    SET(curl, CURLOPT_WRITEFUNCTION, on_body);
    SET(curl, CURLOPT_WRITEDATA, t);
    SET(curl, CURLOPT_ERRORBUFFER, t->why);
    set_up_tls(curl, &ctl->tls);
    if (len || !strcmp(request->method, "POST")) {
        SET(curl, CURLOPT_POSTFIELDS, t->body);
        SET(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    }
}

/* For a failed connection libcurl repeats the address, and says less than errno. */
static void add_reason(CURL *curl, CURLcode result, struct transfer *t)
{
    long number = 0;

    if (result == CURLE_COULDNT_CONNECT)
        curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &number);
    if (number)
        snprintf(t->why, sizeof(t->why), "%s", strerror((int)number));
    else if (!*t->why)
        snprintf(t->why, sizeof(t->why), "%s", curl_easy_strerror(result));
}

/* With TLS 1.3 a client learns only behind its first request that its certificate is not
 * taken. The node has read nothing of the request then. */
static bool is_certificate_refused(const struct transfer *t)
{
    static const char *const alerts[] = {"certificate",       "unknown ca",
                                         "access denied",     "decrypt error",
                                         "handshake failure", "insufficient security"};
    const char *alert = strstr(t->why, " alert ");

    for (size_t i = 0; alert && i < sizeof(alerts) / sizeof(*alerts); i++)
        if (strstr(alert, alerts[i]))
            return true;
    return false;
}

static void conclude(CURL *curl, CURLcode result, struct transfer *t)
{
    curl_off_t retry_after = 0;
    long code = 0;

    t->is_answered = result == CURLE_OK;
    if (!t->is_answered) {
        add_reason(curl, result, t);
        t->is_sent = t->is_sent && !is_certificate_refused(t);
        return;
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
    t->code = (int)code;
    t->retry_after_s = retry_after;
}

static void run(const struct ctl *ctl, struct transfer *t)
{
    struct curl_slist *headers = NULL;
    struct buf url = BUF_INIT;
    CURLcode result;

    buf_printf(&url, "%s%s", ctl->client->base, buf_text((struct buf *)&t->request->path));
    /* Waiting for "100 Continue" costs a second where a proxy does not send it. */
    headers = must(curl_slist_append(NULL, "Expect:"));
    must(curl_slist_append(headers, "Content-Type: application/json"));
    if (ctl->client->authorization.len)
        must(curl_slist_append(headers, buf_text(&ctl->client->authorization)));
    set_up(ctl, t, buf_text(&url), headers);
    result = curl_easy_perform(ctl->client->curl);
    conclude(ctl->client->curl, result, t);
    curl_slist_free_all(headers);
    buf_fini(&url);
}

/* ---- the token ---- */

/* NULL: `client` has the header with it. */
static const char *take_token(struct client *client, char *line, ssize_t len)
{
    while (len > 0 && strchr(" \r\n", line[len - 1]))
        line[--len] = '\0';
    if (len <= 0 || strspn(line, TOKEN_MARKS) != (size_t)len)
        return "there is no token in its first line";
    buf_printf(&client->authorization, "Authorization: Bearer %s", line);
    return NULL;
}

/* NULL: all is well. */
static const char *read_token(struct client *client, FILE *file)
{
    struct stat about;
    char *line = NULL;
    size_t room = 0;
    const char *why;
    ssize_t len;

    if (fstat(fileno(file), &about))
        return strerror(errno);
    if (about.st_mode & S_IROTH)
        return "it is everybody's to read; chmod o-r";
    len = getline(&line, &room, file);
    why = take_token(client, line, len);
    if (line)
        explicit_bzero(line, room);
    free(line);
    return why;
}

/* Reads the token before the first request. Others must not be able to read it. */
static bool has_token(const struct ctl *ctl, struct failure *failure)
{
    const char *path = ctl->token_file, *why;
    FILE *file;

    if (!path || !*path || ctl->client->authorization.len)
        return true;
    file = fopen(path, "re");
    why = file ? read_token(ctl->client, file) : strerror(errno);
    if (file)
        fclose(file);
    if (why)
        failure_set(failure, CTL_USAGE, "bad_token_file",
                    "the token cannot be read from %s: %s", path, why);
    return !why;
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
                            const struct transfer *t)
{
    const char *where = ctl->client->where;

    if (!t->is_sent)
        failure_set(failure, CTL_UNREACHABLE, "unreachable", "no connection to %s: %s", where,
                    t->why);
    else if (t->request->is_write)
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
                ctl->client->where, code, may_have_happened ? ": it may have happened" : "");
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

static void judge(const struct ctl *ctl, const struct transfer *t, json_t **answer,
                  struct failure *failure)
{
    const struct request *r = t->request;
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

static void send_it(struct ctl *ctl, const struct request *r, const char *body, json_t **answer,
                    struct failure *failure)
{
    struct transfer t = {.request = r, .body = body, .reply = BUF_INIT};

    run(ctl, &t);
    if (t.is_answered)
        judge(ctl, &t, answer, failure);
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

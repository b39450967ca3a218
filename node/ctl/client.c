#include "node/ctl/client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

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

/* libcurl repeats a request by itself when a kept connection turns out to be dead; whether the
 * node has read the first one nobody knows then.
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

/* Of a connection that was not made libcurl says the address once more, and less than errno. */
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

void client_call(struct client *client, const struct client_request *request,
                 struct client_reply *reply)
{
    struct transfer t = {.request = request, .reply = reply};
    struct curl_slist *headers = NULL;
    struct buf url = BUF_INIT;
    CURLcode result;

    _Static_assert(sizeof(reply->why) >= CURL_ERROR_SIZE, "room for libcurl's reasons");
    *reply = (struct client_reply){.body = BUF_INIT};
    buf_printf(&url, "%s%s", client->base, request->path);
    /* Told to go on first ("100 Continue") costs a second where a proxy does not say so. */
    headers = must(curl_slist_append(NULL, "Expect:"));
    must(curl_slist_append(headers, "Content-Type: application/json"));
    set_up(client->curl, &t, buf_text(&url), headers);
    result = curl_easy_perform(client->curl);
    conclude(client->curl, result, &t);
    curl_slist_free_all(headers);
    buf_fini(&url);
}

void client_reply_fini(struct client_reply *reply)
{
    buf_fini(&reply->body);
}

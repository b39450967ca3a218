#include "node/ctl/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_MAX ((size_t)1 << 30)
#define UNIX      "unix:"

struct client {
    CURL *curl;
    char *base;                /* the URL that requests go to, without a slash at its end */
    char *where;               /* the same without user and password, or "unix:/path" */
    char *socket;              /* the path of the node's socket, which is used; NULL: TCP */
    const char *const *others; /* URLs to try where no node listens, and NULL; NULL: none */
    struct buf authorization; /* the header with the token; empty: not read, or there is none */
};

_Static_assert(sizeof(((struct transfer *)NULL)->why) >= CURL_ERROR_SIZE, "of libcurl");

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

static bool read_place(struct client *client, const char *url)
{
    return read_socket(client, url) || read_url(client, url);
}

static void forget_place(struct client *client)
{
    free(client->base);
    free(client->where);
    free(client->socket);
    client->base = client->where = client->socket = NULL;
}

struct client *client_new(const char *url)
{
    struct client *client = must(calloc(1, sizeof(*client)));

    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        abort();
    client->curl = must(curl_easy_init());
    if (!read_place(client, url)) {
        client_free(client);
        return NULL;
    }
    return client;
}

struct client *client_new_nearest(const char *const *urls)
{
    struct client *client = client_new(*urls);

    client->others = urls + 1;
    return client;
}

void client_free(struct client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->curl);
    curl_global_cleanup();
    forget_place(client);
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
    if (t->is_sent && t->is_write)
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
    SET(curl, CURLOPT_CUSTOMREQUEST, t->method);
    SET(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)ctl->timeout_ms);
    SET(curl, CURLOPT_TIMEOUT_MS, (long)(ctl->timeout_ms + t->wait_ms));
    SET(curl, CURLOPT_TCP_KEEPALIVE, 1L); /* a node that vanished ends a long wait */
    SET(curl, CURLOPT_PREREQFUNCTION, on_connected);
    SET(curl, CURLOPT_PREREQDATA, t);
    SET(curl, CURLOPT_WRITEFUNCTION, on_body);
    SET(curl, CURLOPT_WRITEDATA, t);
    SET(curl, CURLOPT_ERRORBUFFER, t->why);
    set_up_tls(curl, &ctl->tls);
    if (len || !strcmp(t->method, "POST")) {
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

static CURLcode run(const struct ctl *ctl, struct transfer *t)
{
    struct curl_slist *headers = NULL;
    struct buf url = BUF_INIT;
    CURLcode result;

    buf_printf(&url, "%s%s", ctl->client->base, t->path);
    /* Waiting for "100 Continue" costs a second where a proxy does not send it. */
    headers = must(curl_slist_append(NULL, "Expect:"));
    must(curl_slist_append(headers, "Content-Type: application/json"));
    if (ctl->client->authorization.len)
        must(curl_slist_append(headers, buf_text(&ctl->client->authorization)));
    set_up(ctl, t, buf_text(&url), headers);
    result = curl_easy_perform(ctl->client->curl);
    curl_slist_free_all(headers);
    buf_fini(&url);
    return result;
}

/* As long as no node was found: looks elsewhere. */
static bool go_on(struct client *client)
{
    if (!client->others || !*client->others)
        return false;
    forget_place(client);
    return read_place(client, *client->others++);
}

void client_run(const struct ctl *ctl, struct transfer *t)
{
    CURLcode result;

    do
        result = run(ctl, t);
    while (result == CURLE_COULDNT_CONNECT && go_on(ctl->client));
    if (t->is_sent)
        ctl->client->others = NULL;
    conclude(ctl->client->curl, result, t);
}

/* ---- the token ---- */

/* Of which the tokens of HTTP consist (RFC 6750, b64token). */
#define TOKEN_MARKS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/="

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

const char *client_read_token(struct client *client, const char *path)
{
    FILE *file;
    const char *why;

    if (client->authorization.len)
        return NULL;
    file = fopen(path, "re");
    why = file ? read_token(client, file) : strerror(errno);
    if (file)
        fclose(file);
    return why;
}

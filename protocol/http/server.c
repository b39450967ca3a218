/* The server: accepting clients, their connections, and a request from its beginning to its
 * end: a route's handler answers it, or the server refuses it. What a request means is the
 * app's matter.
 *
 * A client over a limit is still read for a moment: health and metrics are served, so that a
 * crowded node is not taken for a dead one; any other request is answered with the limit. Such
 * clients are few; when one more comes, the oldest of them is closed. So a client that asks at
 * once is answered, however many silent ones there are.
 *
 * A connection, one request after the other:
 *
 *   IN_HEAD --> IN_BODY --> IN_WORK --> IN_HEAD
 *                                  \--> HELD -----> IN_HEAD
 *                                  \--> LEAVING --> LAST_REPLY    then it ends
 *                                  \--------------> LAST_REPLY
 *
 *   IN_WORK     the handler has it; nothing more is read
 *   HELD        its client has to read the reply first, or others are to have their turn; or it
 *               asks too often, and each answer costs as much as the last one
 *   LEAVING     answered before its body was there, or without knowing where it ends: what
 *               still comes is thrown away for a while, because a close that meets unread
 *               bytes becomes a reset, which may overtake the reply. It sees the end at once
 *   LAST_REPLY  nothing more is taken; the connection ends when the reply is read
 *
 * The timer bounds each of them but IN_WORK: a whole request has a time to arrive (an idle
 * connection is connection.c's), a reply has one to be read, however slowly. When the node
 * stops that one is short, but it begins with the reply: what is in work is waited for.
 */
#include "protocol/http/server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "protocol/conn/floating.h"
#include "protocol/access/identity.h"
#include "protocol/access/role.h"
#include "protocol/http/admit.h"
#include "protocol/http/asked.h"
#include "protocol/http/exchange.h"

#define IDLE_DEFAULT_MS   60000
#define KEPT_MAX_BYTES    (64 << 20)  /* of requests still arriving, all together */
#define OUTPUT_MAX_BYTES  65536       /* there is one reply at a time; it may go beyond */
#define UNREAD_MAX_BYTES  (256 << 20) /* of unread replies, all together */
#define EXCESS_MS         1000        /* a client over a limit has to say what it wants */
#define LEAVING_MS        1000
#define STOPPING_MS       2000 /* for a reply to be read, when the node stops */
#define SLOWED_MS         1000 /* as Retry-After says */
#define REQUESTS_PER_TURN 16

static struct http_client *client_of(const struct connection *c)
{
    return CONTAINER_OF(c, struct http_client, base.connection);
}

static void arm_timer(struct http_client *client, int64_t delay_ms)
{
    timer_arm(&client->http->port.loop->timers, &client->timer, delay_ms);
}

static void disarm_timer(struct http_client *client)
{
    timer_disarm(&client->http->port.loop->timers, &client->timer);
}

static bool has_unread_reply(const struct http_client *client)
{
    return stream_len(&client->base.connection.output) > 0;
}

/* ---- between requests ---- */

/* How long the client has to read a reply. */
static int64_t reading_ms(const struct http *h)
{
    int64_t ms = h->options.request_ms;

    return h->port.is_closing && ms > STOPPING_MS ? STOPPING_MS : ms;
}

static void await_last_reply(struct http_client *client, const char *reason)
{
    client->phase = HTTP_LAST_REPLY;
    connection_wind_up(&client->base.connection, reason);
    if (client->base.connection.state != CONNECTION_CLOSED)
        arm_timer(client, reading_ms(client->http));
}

static void hold(struct http_client *client, int64_t delay_ms)
{
    client->phase = HTTP_HELD;
    arm_timer(client, delay_ms);
    connection_begin(&client->base.connection);
}

static void unhold(struct http_client *client)
{
    client->phase = HTTP_IN_HEAD;
    disarm_timer(client);
    if (client->http->port.is_closing)
        await_last_reply(client, "the node is stopping");
    connection_done(&client->base.connection);
}

/* ---- a request ---- */

struct http_request *http_request_begin(struct http_client *client, struct bytes head)
{
    struct http_request *r = must(malloc(sizeof(*r) + head.len));

    memset(r, 0, sizeof(*r));
    if (head.len)
        memcpy(r->head, head.at, head.len);
    client->http->port.stats.requests++;
    r->client = client;
    list_init(&r->arriving);
    r->exchange.http = client->http;
    r->exchange.arg = client->http->arg;
    r->exchange.count = HTTP_ERROR_NO_COUNT;
    client->request = r;
    return r;
}

static void request_end(struct http_request *r)
{
    http_body_arrived(r);
    http_body_release(r);
    r->client->request = NULL;
    r->client->phase = HTTP_IN_HEAD;
    buf_fini(&r->exchange.fields);
    free(r->exchange.handler);
    free(r->exchange.before);
    free(r->asked);
    identity_drop(r->exchange.who);
    free(r);
}

static void leave_excess(struct http_client *client)
{
    if (!list_is_linked(&client->excess_link))
        return;
    list_remove(&client->excess_link);
    client->http->excess_count--;
}

static void free_client(struct http_client *client)
{
    if (client->request)
        request_end(client->request);
    leave_excess(client);
    port_leave(&client->base);
    free(client);
}

/* ---- the answer ---- */

bool http_request_is_kept(const struct http_request *r)
{
    return r->exchange.head.is_kept_alive && r->body.state == BODY_DONE && !r->client->excess &&
           !r->client->http->port.is_stopping &&
           !connection_is_draining(&r->client->base.connection);
}

static void send_last(struct http_request *r, struct bytes bytes)
{
    if (r->exchange.delivery_count)
        port_send_with(&r->client->base, bytes, r->exchange.deliveries,
                       r->exchange.delivery_count);
    else
        connection_send(&r->client->base.connection, bytes);
}

static void send_reply(struct http_request *r, struct bytes rest)
{
    struct buf *reply = &r->client->http->reply;

    if (rest.len)
        connection_send(&r->client->base.connection, buf_bytes(reply));
    send_last(r, rest.len ? rest : buf_bytes(reply));
    buf_reuse(reply);
}

/* The client's request was answered, and is gone. `is_kept`: another request may follow. Not
 * `has_read_all`: more bytes of the answered one may come. */
static void go_on(struct http_client *client, bool is_kept, bool has_read_all)
{
    if (client->base.connection.state == CONNECTION_CLOSED)
        return;
    if (!has_read_all) {
        client->phase = HTTP_LEAVING;
        client->base.connection.read_max_bytes = CONNECTION_READ_BYTES;
        arm_timer(client, LEAVING_MS);
        connection_end_output(&client->base.connection);
    } else if (!is_kept || client->base.connection.state == CONNECTION_ENDING) {
        await_last_reply(client, "it was the last request");
    } else if (has_unread_reply(client)) {
        hold(client, reading_ms(client->http));
    } else if (client->is_slowed) {
        hold(client, SLOWED_MS);
    }
}

void http_request_answer(struct http_request *r, struct bytes rest)
{
    struct http_client *client = r->client;
    bool is_kept = http_request_is_kept(r);
    bool has_read_all = r->body.state == BODY_DONE;

    asked_tell(r);
    send_reply(r, rest);
    request_end(r);
    go_on(client, is_kept, has_read_all);
    if (!client->is_waiting)
        return;
    client->is_waiting = false;
    connection_done(&client->base.connection);
    if (client->is_closed)
        free_client(client);
}

/* ---- the work ---- */

static void choose_id(struct exchange *x)
{
    struct bytes given = x->head.request_id;
    char digits[24];
    char *at = digits + sizeof(digits) - 1;
    uint64_t number;

    if (given.len) {
        memcpy(x->request_id, given.at, given.len);
        return;
    }
    number = ++x->http->ids;
    for (*at = '\0'; number; number /= 10)
        *--at = (char)('0' + number % 10);
    *--at = '-';
    stpcpy(stpcpy(x->request_id, x->http->id_prefix), at);
}

static void add_allowed(struct exchange *x)
{
    struct buf methods = BUF_INIT;

    route_print_allowed(x->http->app, x->head.path, &methods);
    exchange_add_header(x, "Allow", buf_text(&methods));
    buf_fini(&methods);
}

void http_request_refuse(struct http_request *r, enum http_error error)
{
    struct exchange *x = &r->exchange;

    timer_disarm(&x->http->port.loop->timers, &r->client->timer);
    http_body_arrived(r);
    x->http->port.stats.refused++;
    r->client->is_slowed |= http_error_row(error)->code == 429;
    choose_id(x);
    asked_note(r);
    if (error == HTTP_ERROR_METHOD)
        add_allowed(x);
    if (error == HTTP_ERROR_UNAUTHORIZED)
        exchange_add_header(x, "WWW-Authenticate", "Bearer realm=\"dueq\"");
    if (error == HTTP_ERROR_FORBIDDEN)
        admit_reply_forbidden(r);
    else if (error == HTTP_ERROR_NO_PATH &&
             route_is_there_without_slash(x->http->app, x->head.path))
        exchange_reply_error_text(x, error, "%s; without the '/' at its end there is",
                                  http_error_row(error)->text);
    else
        exchange_reply_error(x, error);
}

void http_request_work(struct http_request *r)
{
    struct http_client *client = r->client;

    if (!r->error && client->http->port.is_stopping)
        r->error = HTTP_ERROR_STOPPING; /* its body came too late */
    if (r->error) {
        http_request_refuse(r, r->error);
        return;
    }
    timer_disarm(&client->http->port.loop->timers, &client->timer);
    http_body_arrived(r);
    choose_id(&r->exchange);
    r->exchange.body = r->content.len ? buf_bytes(&r->content) : BYTES("");
    client->phase = HTTP_IN_WORK;
    asked_note(r);
    route_take(&r->exchange);
    if (client->phase != HTTP_IN_WORK)
        return; /* answered within the call: r is gone, and the client reads the next head */
    client->is_waiting = true;
    connection_begin(&client->base.connection);
}

/* ---- input ---- */

/* Decides what comes after this turn. `rest_bytes` of the input are not used yet. A client that
 * is held for its identity has no timer. */
static void look_ahead(struct http_client *client, size_t rest_bytes)
{
    bool is_idle = client->phase == HTTP_IN_HEAD && rest_bytes == 0;

    if (client->base.connection.is_held || (is_idle && !client->excess))
        disarm_timer(client); /* or it was an empty line, in two parts */
    else if (client->phase == HTTP_IN_HEAD && rest_bytes && client->seen == 0)
        hold(client, 0);
    else if (!is_idle && client->phase <= HTTP_IN_BODY && !timer_is_armed(&client->timer))
        arm_timer(client, client->http->options.request_ms);
}

/* How much of it was used. */
static size_t take_some(struct http_client *client, struct bytes input)
{
    switch (client->phase) {
    case HTTP_IN_HEAD:
        return http_take_head(client, input);
    case HTTP_IN_BODY:
        return http_take_body(client, input);
    case HTTP_LEAVING:
        return input.len;
    default:
        return 0;
    }
}

/* The rest of what is being read and one more head, at which the reading may stop. */
static size_t read_max(const struct http_client *client)
{
    if (client->phase == HTTP_LEAVING)
        return CONNECTION_READ_BYTES;
    if (client->phase == HTTP_IN_BODY)
        return (size_t)client->request->body.left + HEAD_MAX_BYTES;
    return HEAD_MAX_BYTES;
}

static size_t on_input(struct connection *c, struct bytes input)
{
    struct http_client *client = client_of(c);
    uint64_t enough = client->http->port.stats.requests + REQUESTS_PER_TURN;
    size_t used = 0, n;

    do {
        n = take_some(client, bytes_of(input.at + used, input.len - used));
        used += n;
    } while (n && used < input.len && c->state == CONNECTION_OPEN &&
             (client->phase == HTTP_IN_BODY || client->http->port.stats.requests < enough));
    if (c->state == CONNECTION_OPEN) {
        look_ahead(client, input.len - used);
        c->read_max_bytes = read_max(client);
    }
    return used;
}

/* ---- the connection ---- */

static void cancel_waits(struct http_client *client)
{
    struct exchange *x = client->is_waiting ? &client->request->exchange : NULL;
    void (*on_cancel_wait)(struct exchange * x) = x ? x->on_cancel_wait : NULL;

    if (!on_cancel_wait)
        return;
    x->on_cancel_wait = NULL;
    on_cancel_wait(x);
}

static void tell_gone(struct http_client *client)
{
    struct exchange *x = &client->request->exchange;

    if (x->on_gone)
        x->on_gone(x);
    else
        cancel_waits(client);
}

static bool is_busy(const struct connection *c)
{
    return timer_is_armed(&client_of(c)->timer);
}

static void on_end(struct connection *c)
{
    cancel_waits(client_of(c));
    port_hold_no_more(&client_of(c)->base);
}

static void on_written(struct connection *c)
{
    struct http_client *client = client_of(c);

    if (client->phase == HTTP_HELD && !has_unread_reply(client))
        unhold(client);
}

static void on_closed(struct connection *c)
{
    struct http_client *client = client_of(c);

    disarm_timer(client);
    port_settle(&client->base);
    client->is_closed = true;
    if (client->is_waiting)
        tell_gone(client);
    else
        free_client(client);
}

/* A client with nothing in work ends once its reply is read. */
static void wind_up(struct port_client *c)
{
    struct http_client *client = CONTAINER_OF(c, struct http_client, base);

    if (client->is_waiting || client->phase == HTTP_LEAVING)
        return; /* its turn comes */
    if (client->phase != HTTP_HELD)
        await_last_reply(client, "the node is stopping");
    else
        arm_timer(client, has_unread_reply(client) ? reading_ms(client->http) : 0);
}

static void on_timer(struct timer *timer)
{
    struct http_client *client = CONTAINER_OF(timer, struct http_client, timer);

    if (client->base.connection.state != CONNECTION_OPEN && client->phase < HTTP_HELD)
        return; /* it ends already */
    switch (client->phase) {
    case HTTP_IN_HEAD:
        http_request_begin(client, BYTES(""))->body.state = BODY_LOST;
        /* fall through */
    case HTTP_IN_BODY:
        http_request_refuse(client->request, client->excess ? client->excess : HTTP_ERROR_SLOW);
        break;
    case HTTP_HELD:
        if (has_unread_reply(client))
            connection_close(&client->base.connection, "it does not read its reply");
        else
            unhold(client);
        break;
    case HTTP_LEAVING:
        await_last_reply(client, "it was answered early");
        break;
    default:
        connection_close(&client->base.connection, "it does not read its last reply");
    }
}

/* ---- accepting ---- */

static void join_excess(struct http *h, struct http_client *client)
{
    while (h->excess_count && h->excess_count >= h->options.excess_max) {
        struct http_client *oldest =
            CONTAINER_OF(list_first(&h->excess), struct http_client, excess_link);

        leave_excess(oldest);
        connection_close(&oldest->base.connection, "it was over a limit, and others came");
    }
    list_append(&h->excess, &client->excess_link);
    h->excess_count++;
}

static void on_client(struct port *p, int fd, struct peer *peer, enum port_admission admission)
{
    static const uint8_t errors[] = {[PORT_IS_FULL] = HTTP_ERROR_FULL,
                                     [PORT_IS_FULL_FOR_ADDRESS] = HTTP_ERROR_FULL_FOR_ADDRESS};
    struct http *h = CONTAINER_OF(p, struct http, port);
    struct http_client *client = must(calloc(1, sizeof(*client)));

    list_init(&client->excess_link);
    if (admission != PORT_ADMITS) {
        client->excess = errors[admission];
        join_excess(h, client);
    }
    client->http = h;
    timer_init(&client->timer, on_timer);
    port_join(p, &client->base, fd, peer, !client->excess);
    client->base.connection.read_max_bytes = HEAD_MAX_BYTES;
    if (client->excess)
        arm_timer(client, EXCESS_MS);
    LOG_DEBUG("http", "connection %llu: accepted%s",
              (unsigned long long)client->base.connection.number,
              client->excess ? " over a limit" : "");
}

/* ---- starting and stopping ---- */

/* To a request that nobody has read. */
#define SPEAK_TLS                                                                   \
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n" \
    "Content-Length: 41\r\n\r\nThis port speaks TLS only: use https://\r\n"

static void cancel_waits_of(struct port_client *c)
{
    cancel_waits(CONTAINER_OF(c, struct http_client, base));
}

static void recheck(struct port_client *c)
{
    struct http_client *client = CONTAINER_OF(c, struct http_client, base);

    if (client->is_waiting && !exchange_may_go_on(&client->request->exchange))
        cancel_waits(client);
}

static void set_limits(struct port *p)
{
    p->kind.ending_ms = CONTAINER_OF(p, struct http, port)->options.request_ms;
    p->kind.is_draining = p->is_closing;
    p->kind.ending_ack_ms = p->is_closing ? CONNECTION_DRAIN_ACK_MS : p->kind.ending_ms;
}

static void free_http(struct port *p)
{
    struct http *h = CONTAINER_OF(p, struct http, port);

    port_fini(p);
    buf_fini(&h->reply);
    free(h);
}

static void choose_id_prefix(struct http *h)
{
    unsigned long long random;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        abort();
    snprintf(h->id_prefix, sizeof(h->id_prefix), "%016llx", random);
}

struct http *http_new(const struct http_app *app, void *arg, const struct http_options *options,
                      struct loop *loop, struct queue *queue, int listen_fd)
{
    struct http *h = must(calloc(1, sizeof(*h)));

    for (unsigned i = 0; i < app->route_count; i++)
        assert(app->routes[i].roles && !(app->routes[i].roles & ACCESS_EVERYBODY) ==
                                           (app->routes[i].operation != NULL));
    h->app = app;
    h->arg = arg;
    h->ops = (struct port_ops){
        .name = app->name,
        .on_client = on_client,
        .cancel_waits = cancel_waits_of,
        .recheck = recheck,
        .wind_up = wind_up,
        .set_limits = set_limits,
        .free = free_http,
    };
    list_init(&h->excess);
    list_init(&h->arriving);
    choose_id_prefix(h);
    h->port.kind = (struct connection_kind){
        .on_input = on_input,
        .on_end = on_end,
        .is_busy = is_busy,
        .on_written = on_written,
        .on_closed = on_closed,
        .in_work_max = 1,
        .output_max_bytes = OUTPUT_MAX_BYTES,
        .kept_max_bytes = KEPT_MAX_BYTES,
        .unread_max_bytes = UNREAD_MAX_BYTES,
        .tls = {.application = "http/1.1", .plain_refusal = BYTES(SPEAK_TLS)},
    };
    port_init(&h->port, &h->ops, loop, queue);
    http_reload(&h->port, options);
    port_open(&h->port, listen_fd);
    return h;
}

void http_reload(struct port *p, const struct http_options *options)
{
    struct http *h = CONTAINER_OF(p, struct http, port);

    assert(options->connections_max > 0 && options->excess_max > 0 && options->request_ms > 0);
    h->options = *options;
    p->connections_max = options->connections_max;
    p->connections_per_address = options->connections_per_address;
    p->of_address = options->of_address;
    p->kind.idle_ms = options->idle_ms ? options->idle_ms : IDLE_DEFAULT_MS;
    set_limits(p);
}

struct port *http_port(struct http *h)
{
    return &h->port;
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/access/access.h"
#include "protocol/access/role.h"
#include "protocol/http/tests/server_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const char *why_not_ready(void *arg)
{
    const struct fixture *f = arg;

    return f->why_not_ready;
}

static void read_store(void *arg, struct store_numbers *numbers)
{
    numbers->round_trips = 42;
}

static unsigned read_ports(void *arg, const struct port_stats **ports)
{
    const struct fixture *f = arg;

    ports[0] = &http_port(f->http)->stats;
    return 1;
}

static void choose_app(struct fixture *f, const struct stand_in *stand_ins, unsigned count)
{
    size_t size = api_app.route_count * sizeof(*api_app.routes);
    struct route *routes = malloc(size);

    assert_non_null(routes);
    memcpy(routes, api_app.routes, size);
    for (unsigned i = 0; i < api_app.route_count; i++)
        for (unsigned s = 0; s < count; s++)
            if (routes[i].handle == stand_ins[s].of)
                routes[i].handle = stand_ins[s].handle;
    f->app = api_app;
    f->app.routes = f->own_routes = routes;
}

static void on_identities(void *arg)
{
    struct fixture *f = arg;

    port_recheck(http_port(f->http));
}

static struct fixture *up(const struct http_app *app, void *arg,
                          const struct stand_in *stand_ins, unsigned count)
{
    const struct queue_options queue_options = {.body_max_bytes = JOB_BODY_MAX,
                                                .waiting_max = 1000,
                                                .scan_batch = 100,
                                                .scan_interval_ms = 1000,
                                                .node = BYTES("test-node"),
                                                .lock_ms = 60000,
                                                .history_bytes = 100000,
                                                .index_ids = app != NULL};
    static const struct log_options quiet = {.level = LEVEL_ERROR, .modules = ""};
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(log_configure(&quiet), STATUS_OK);
    f->loop = loop_new_ahead();
    f->options = (struct http_options){
        .connections_max = 3,
        .open_roles = ACCESS_ALL,
        .excess_max = 64,
        .request_ms = 60000,
        .body_max_bytes = 200000,
        .bodies_max_bytes = 300000,
        .errors = f->api.errors,
    };
    f->ms = memory_store_new(&f->loop->timers, 4);
    f->queue = queue_new(&queue_options, memory_store_port(f->ms), &f->loop->timers);
    queue_activate(f->queue);
    f->access = access_new();
    f->registry = (struct registry){.access = f->access,
                                    .queue = f->queue,
                                    .timers = &f->loop->timers,
                                    .on_changed = on_identities,
                                    .arg = f};
    registry_init(&f->registry);
    f->api = (struct api){
        .queue = f->queue,
        .loop = f->loop,
        .registry = &f->registry,
        .node = {.why_not_ready = why_not_ready,
                 .read_store = read_store,
                 .read_ports = read_ports,
                 .arg = f},
        .start_mono_ms = timers_now(&f->loop->timers),
    };
    if (app)
        f->app = *app;
    else
        choose_app(f, stand_ins, count);
    f->http = http_new(&f->app, app ? arg : &f->api, &f->options, f->loop, f->queue,
                       listen_on_loopback(&f->port));
    f->tls = serve_as_asked(http_port(f->http), f->loop);
    fixture_turn(f); /* the store is up */
    return f;
}

int fixture_up_with(void **state, const struct stand_in *stand_ins, unsigned count)
{
    *state = up(NULL, NULL, stand_ins, count);
    return 0;
}

int fixture_up_app(void **state, const struct http_app *app, void *arg)
{
    *state = up(app, arg, NULL, 0);
    return 0;
}

int fixture_up(void **state)
{
    return fixture_up_with(state, NULL, 0);
}

static void set_flag(void *arg)
{
    assert_false(*(bool *)arg);
    *(bool *)arg = true;
}

void fixture_stop(struct fixture *f)
{
    f->is_stopping = true;
    port_stop(http_port(f->http), set_flag, &f->is_stopped);
}

int fixture_down(void **state)
{
    struct fixture *f = *state;

    if (!f->is_stopping)
        fixture_stop(f);
    fixture_pass(f, 3000);
    assert_true(f->is_stopped);
    assert_int_equal(http_port(f->http)->stats.connections, 0);
    port_free(http_port(f->http));
    tls_free(f->tls);
    free(f->own_routes);
    registry_close(&f->registry);
    queue_stop(f->queue, set_flag, &f->is_queue_stopped);
    AWAIT(f, f->is_queue_stopped);
    registry_fini(&f->registry);
    access_free(f->access);
    queue_free(f->queue);
    memory_store_free(f->ms);
    loop_free(f->loop);
    buf_fini(&f->reply);
    free(f);
    return 0;
}

/* ---- time ---- */

void fixture_turn(struct fixture *f)
{
    turn_loop(f->loop);
}

void fixture_pass(struct fixture *f, int64_t ms)
{
    pass_time(f->loop, ms);
}

/* ---- clients ---- */

struct client dial(struct fixture *f)
{
    return dial_loopback(f, f->loop, f->port);
}

struct client connect_from(struct fixture *f, unsigned host)
{
    const struct port_stats *stats = &http_port(f->http)->stats;
    uint64_t before = stats->accepted + stats->rejected;
    struct client c = dial_from(f, f->loop, f->port, host);

    AWAIT(f, stats->accepted + stats->rejected > before);
    return c;
}

struct client connect_client(struct fixture *f)
{
    return connect_from(f, 1);
}

bool receive_some(struct client *c, size_t most)
{
    struct buf *reply = &c->f->reply;
    size_t n = receive_piece(c, buf_reserve(reply, most), most);

    reply->len += n;
    return n > 0;
}

const char *receive(struct client *c)
{
    struct buf *reply = &c->f->reply;
    const char *length;
    size_t whole;

    buf_clear(reply);
    while (!strstr(buf_text(reply), "\r\n\r\n"))
        assert_true(receive_some(c, 1));
    length = strstr(buf_text(reply), "Content-Length: ");
    whole = reply->len + (length ? strtoul(length + 16, NULL, 10) : 0);
    while (reply->len < whole)
        assert_true(receive_some(c, whole - reply->len));
    return buf_text(reply);
}

const char *receive_all(struct client *c)
{
    buf_clear(&c->f->reply);
    while (receive_some(c, 65536))
        ;
    return buf_text(&c->f->reply);
}

const char *ask(struct fixture *f, const char *text)
{
    struct client c = connect_client(f);
    const char *reply;

    say(&c, text);
    reply = receive_all(&c);
    leave(&c);
    return reply;
}

/* ---- requests with bodies, and the bodies of replies ---- */

static void send_request(struct client *c, const char *method, const char *path,
                         const char *body, const char *more_headers)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s %s HTTP/1.1\r\nHost: h\r\n%s", method, path, more_headers);
    if (body)
        buf_printf(&text, "Content-Length: %zu\r\n\r\n", strlen(body));
    else
        buf_add_text(&text, "\r\n");
    buf_add_text(&text, body ? body : "");
    say_bytes(c, buf_bytes(&text));
    buf_fini(&text);
}

void send_call(struct client *c, const char *method, const char *path, const char *body)
{
    send_request(c, method, path, body, "");
}

const char *call(struct fixture *f, const char *method, const char *path, const char *body)
{
    struct client c = connect_client(f);
    const char *reply;

    send_request(&c, method, path, body, "Connection: close\r\n");
    reply = receive_all(&c);
    leave(&c);
    return reply;
}

const char *json_of(const char *reply)
{
    const char *end = strstr(reply, "\r\n\r\n");

    assert_non_null(end);
    return end + 4;
}

void assert_code(const char *reply, int code)
{
    char start[32];

    snprintf(start, sizeof(start), "HTTP/1.1 %d ", code);
    assert_starts(reply, start);
}

void assert_reply_starts(const char *reply, int code, const char *start)
{
    assert_code(reply, code);
    assert_starts(json_of(reply), start);
}

void assert_reply(const char *reply, int code, const char *json)
{
    assert_code(reply, code);
    assert_string_equal(json_of(reply), json);
}

void assert_starts(const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0)
        fail_msg("'%s' does not start with '%s'", text, start);
}

void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' has no '%s'", text, part);
}

/* ---- identities ---- */

struct access *fixture_let_in(struct fixture *f, const char *line)
{
    struct access *known = access_new();
    struct buf why = BUF_INIT;

    assert_int_equal(access_take(known, bytes_of_text(line), &why), STATUS_OK);
    f->options.access = known;
    f->options.as = "shop";
    http_reload(http_port(f->http), &f->options);
    return known;
}

void fixture_shut_out(struct fixture *f, struct access *known)
{
    f->options.access = NULL;
    http_reload(http_port(f->http), &f->options);
    access_free(known);
}

void add_identity(struct buf *text, const char *line, const char *token)
{
    unsigned char hash[TOKEN_HASH_BYTES];

    access_hash(bytes_of_text(token), hash);
    buf_printf(text, "%s token=", line);
    for (unsigned i = 0; i < sizeof(hash); i++)
        buf_printf(text, "%02x", hash[i]);
    buf_add_char(text, '\n');
}

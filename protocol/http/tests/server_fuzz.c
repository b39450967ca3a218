/* Any bytes to a whole node: server, API, engine, memory store.
 *
 * The first byte of the input seeds how the rest is cut into pieces; then the client ends its
 * side. Whatever came: what goes out are well-formed replies, each with a request id, JSON
 * where it says so; and at the end nothing is left, no client, no body, no waiting consumer,
 * no job in somebody's hands.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/queue/queue.h"
#include "node/store/memory/store.h"
#include "protocol/access/access.h"
#include "protocol/access/registry.h"
#include "protocol/access/role.h"
#include "protocol/api/api.h"
#include "protocol/http/server.h"
#include "protocol/json/read.h"

#define TURNS_PER_PIECE 3
#define PIECES_MAX      16

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct node {
    struct loop *loop;
    struct memory_store *ms;
    struct queue *queue;
    struct http *http;
    struct registry registry;
    struct api api;
    int fd; /* the client's */
    struct buf replies;
    bool is_ended;
    bool is_stopped;
};

static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

/* ---- the node ---- */

static int listen_at(struct sockaddr_un *address, socklen_t *len)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *len = sizeof(*address);
    assert(fd >= 0);
    assert(bind(fd, (struct sockaddr *)address, sizeof(sa_family_t)) == 0); /* any name */
    assert(listen(fd, 1) == 0);
    assert(getsockname(fd, (struct sockaddr *)address, len) == 0);
    return fd;
}

static void start(struct node *n)
{
    static const struct log_options quiet = {.level = LEVEL_ERROR, .modules = ""};
    static const struct queue_options queue = {.body_max_bytes = 300,
                                               .waiting_max = 3,
                                               .scan_batch = 10,
                                               .scan_interval_ms = 1000,
                                               .node = BYTES("fuzzed"),
                                               .history_bytes = 10000};
    static const struct http_options http = {.connections_max = 2,
                                             .open_roles = ACCESS_ALL,
                                             .excess_max = 2,
                                             .request_ms = 1000,
                                             .body_max_bytes = 4000,
                                             .bodies_max_bytes = 6000};
    struct sockaddr_un address;
    socklen_t len;
    int listen_fd = listen_at(&address, &len);

    assert(log_configure(&quiet) == STATUS_OK);
    *n = (struct node){.loop = loop_new(), .replies = BUF_INIT};
    n->ms = memory_store_new(&n->loop->timers, 2);
    n->queue = queue_new(&queue, memory_store_port(n->ms), &n->loop->timers);
    queue_activate(n->queue);
    n->registry = (struct registry){
        .access = access_new(), .queue = n->queue, .timers = &n->loop->timers};
    registry_init(&n->registry);
    n->api = (struct api){.queue = n->queue, .loop = n->loop, .registry = &n->registry};
    n->http = http_new(&api_app, &n->api, &http, n->loop, n->queue, listen_fd);
    n->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert(n->fd >= 0 && connect(n->fd, (struct sockaddr *)&address, len) == 0);
}

/* What has come is taken; what the node does not read must not fill the socket. */
static void take_replies(struct node *n)
{
    ssize_t got;

    while ((got = recv(n->fd, buf_reserve(&n->replies, 4096), 4096, 0)) > 0)
        n->replies.len += (size_t)got;
    n->is_ended |= got == 0;
}

static void turn(struct node *n)
{
    event_base_loop(n->loop->base, EVLOOP_NONBLOCK);
    timers_run(&n->loop->timers, clock_mono_ms());
    take_replies(n);
}

/* Turns of virtual time, until the expression is true. */
static void pass_until(struct node *n, const bool *is_done)
{
    struct timers *ts = &n->loop->timers;

    for (unsigned i = 0; !*is_done; i++) {
        assert(i < 10000);
        turn(n);
        if (ts->count)
            timers_run(ts, ts->heap[1]->due_mono_ms);
    }
}

static void stop(struct node *n)
{
    const struct queue_stats *stats;

    port_stop(http_port(n->http), set_flag, &n->is_stopped);
    pass_until(n, &n->is_stopped);
    assert(http_port(n->http)->stats.connections == 0);
    assert(n->http->body_bytes[false] + n->http->body_bytes[true] == 0);
    n->is_stopped = false;
    registry_close(&n->registry);
    queue_stop(n->queue, set_flag, &n->is_stopped);
    pass_until(n, &n->is_stopped);
    stats = queue_stats(n->queue);
    assert(stats->waiting == 0);
    assert(stats->unconfirmed == 0);
    assert(stats->in_flight == 0);
    port_free(http_port(n->http));
    registry_fini(&n->registry);
    access_free(n->registry.access);
    queue_free(n->queue);
    memory_store_free(n->ms);
    loop_free(n->loop);
    close(n->fd);
    buf_fini(&n->replies);
}

/* ---- the client ---- */

static void say(struct node *n, struct bytes piece)
{
    while (piece.len && !n->is_ended) {
        ssize_t sent = send(n->fd, piece.at, piece.len, MSG_NOSIGNAL);

        if (sent < 0)
            return; /* it has closed, or does not read: that is its right */
        piece = bytes_of(piece.at + sent, piece.len - (size_t)sent);
    }
}

static void say_all(struct node *n, struct bytes input, unsigned seed)
{
    for (unsigned pieces = 0; input.len; pieces++) {
        size_t len = pieces < PIECES_MAX && seed ? 1 + (seed >> 8) % input.len : input.len;

        say(n, bytes_of(input.at, len));
        input = bytes_of(input.at + len, input.len - len);
        seed = (seed * 1103515245 + 12345 * (seed != 0)) & 0x7fffffff;
        for (unsigned i = 0; i < TURNS_PER_PIECE; i++)
            turn(n);
    }
    shutdown(n->fd, SHUT_WR);
}

/* ---- the replies ---- */

static struct bytes cut_at(struct bytes *rest, const char *mark)
{
    const char *at = memmem(rest->at, rest->len, mark, strlen(mark));
    size_t len = at ? (size_t)(at - rest->at) : 0;
    struct bytes front = bytes_of(rest->at, len);

    assert(at);
    *rest = bytes_of(at + strlen(mark), rest->len - len - strlen(mark));
    return front;
}

static bool starts_with(struct bytes bytes, const char *start)
{
    return bytes.len >= strlen(start) && memcmp(bytes.at, start, strlen(start)) == 0;
}

static bool has(struct bytes bytes, const char *part)
{
    return memmem(bytes.at, bytes.len, part, strlen(part)) != NULL;
}

/* That of a reply to HEAD is left away. */
static struct bytes cut_body(struct bytes *rest, struct bytes head)
{
    const char *length = memmem(head.at, head.len, "Content-Length: ", 16);
    size_t len = length ? strtoul(length + 16, NULL, 10) : 0;
    struct bytes body = bytes_of(rest->at, len);

    if (!rest->len || starts_with(*rest, "HTTP/1.1 "))
        return bytes_of(rest->at, 0);
    assert(len <= rest->len);
    *rest = bytes_of(rest->at + len, rest->len - len);
    return body;
}

static void check_reply(struct bytes *rest)
{
    struct bytes head, body;

    assert(starts_with(*rest, "HTTP/1.1 "));
    head = cut_at(rest, "\r\n\r\n");
    if (starts_with(head, "HTTP/1.1 100 "))
        return;
    body = cut_body(rest, head);
    assert(has(head, "\r\nX-Request-Id: ") && has(head, "\r\nDate: "));
    assert(has(head, "\r\nContent-Length: ") != starts_with(head, "HTTP/1.1 204 "));
    assert(has(head, "\r\nRetry-After: ") == starts_with(head, "HTTP/1.1 503 "));
    assert(has(head, "\r\nAllow: ") == starts_with(head, "HTTP/1.1 405 "));
    if (body.len && has(head, "\r\nContent-Type: application/json\r\n"))
        assert(json_check(body) == JSON_FAULT_NONE);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct node n;
    struct bytes rest;

    if (size < 2)
        return 0;
    start(&n);
    say_all(&n, bytes_of((const char *)data + 1, size - 1), data[0] * 257u);
    pass_until(&n, &n.is_ended);
    for (rest = buf_bytes(&n.replies); rest.len;)
        check_reply(&rest);
    stop(&n);
    return 0;
}

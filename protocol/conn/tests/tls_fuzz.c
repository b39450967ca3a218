/* Any bytes to a connection that speaks TLS: at its beginning, and behind a real handshake,
 * between true records.
 *
 * The first byte of the input says which. Behind a handshake the rest is steps, each a byte
 * that says what to do, a length, and so many bytes: say them encrypted, or as they are; ask
 * for new keys; say goodbye. Whatever came: what was said encrypted before the first foreign
 * byte is heard, in order, and nothing else is; and at the end nothing is left.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/log.h"
#include "protocol/conn/private.h"
#include "protocol/conn/tests/ahead.h"
#include "protocol/conn/tests/tls_peer.h"

#define TURNS 3

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum way { RAW, SHAKEN_1_3, SHAKEN_1_2, WAYS };
enum step { SAY, SAY_RAW, NEW_KEYS, GOODBYE, STEPS };

static struct {
    struct loop *loop;
    struct connection_kind kind;
    uint64_t handshakes, failures, shed;
    struct connection connection;
    struct tls_peer *peer;
    int fd;
    bool is_closed;
    bool is_spoilt; /* from now on anything may be heard of what is said, or nothing */
    struct buf said, heard;
} run;

static size_t on_input(struct connection *c, struct bytes input)
{
    buf_add_bytes(&run.heard, input);
    connection_send(c, input);
    connection_await_ack(c);
    return input.len;
}

static void on_acked(struct connection *c)
{
    assert(c->acked_bytes <= c->sent_bytes);
}

static void on_closed(struct connection *c)
{
    run.is_closed = true;
}

static void start_once(void)
{
    static const struct log_options quiet = {.level = LEVEL_ERROR, .modules = ""};

    if (run.loop)
        return;
    assert(log_configure(&quiet) == STATUS_OK);
    run.loop = loop_new_ahead();
    run.kind = (struct connection_kind){
        .name = "fuzz",
        .loop = run.loop,
        .on_input = on_input,
        .on_acked = on_acked,
        .on_closed = on_closed,
        .in_work_max = 1,
        .output_max_bytes = 1 << 20,
        .kept_max_bytes = 1 << 20,
        .unread_max_bytes = 1 << 20,
        .ending_ms = 5000,
        .ending_ack_ms = 5000,
        .shed = &run.shed,
        .tls = {.tls = tls_peer_server(run.loop),
                .mode = TLS_REQUIRED,
                .limit_ms = 1000,
                .plain_refusal = BYTES("no"),
                .handshakes = &run.handshakes,
                .failures = &run.failures},
    };
}

static void turn(void)
{
    char unused[65536];

    event_base_loop(run.loop->base, EVLOOP_NONBLOCK);
    timers_run(&run.loop->timers, 0);
    while (run.peer && tls_peer_read(run.peer, unused, sizeof(unused), MSG_DONTWAIT) > 0)
        ;
}

static void turn_some(void)
{
    for (unsigned i = 0; i < TURNS; i++)
        turn();
}

static void begin(enum way way)
{
    int ends[2];

    assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    run.is_closed = run.is_spoilt = false;
    run.fd = ends[1];
    connection_init(&run.connection, &run.kind, ends[0]);
    if (way == RAW)
        return;
    run.peer = tls_peer_new(run.fd);
    if (way == SHAKEN_1_2)
        SSL_set_max_proto_version(tls_peer_library(run.peer), TLS1_2_VERSION);
    while (!tls_peer_is_open(run.peer) || connection_is_shaking(&run.connection))
        turn();
}

static void say_raw(struct bytes bytes)
{
    if (bytes.len)
        (void)!send(run.fd, bytes.at, bytes.len, MSG_NOSIGNAL);
}

static void do_step(enum step step, struct bytes bytes)
{
    ssize_t n = 0;

    switch (step) {
    case SAY:
        if (bytes.len)
            n = tls_peer_write(run.peer, bytes.at, bytes.len);
        if (n > 0 && !run.is_spoilt)
            buf_add(&run.said, bytes.at, (size_t)n);
        break;
    case SAY_RAW:
        run.is_spoilt |= bytes.len > 0;
        say_raw(bytes);
        break;
    case NEW_KEYS:
        SSL_key_update(tls_peer_library(run.peer), SSL_KEY_UPDATE_REQUESTED);
        break;
    default:
        run.is_spoilt = true;
        SSL_shutdown(tls_peer_library(run.peer));
    }
    ERR_clear_error();
    turn_some();
}

static void do_steps(struct bytes rest)
{
    while (rest.len >= 2) {
        enum step step = (unsigned char)rest.at[0] % STEPS;
        size_t len = (unsigned char)rest.at[1];

        rest = bytes_of(rest.at + 2, rest.len - 2);
        len = len < rest.len ? len : rest.len;
        do_step(step, bytes_of(rest.at, len));
        rest = bytes_of(rest.at + len, rest.len - len);
    }
}

static void say_in_pieces(struct bytes rest)
{
    for (size_t len = 1; rest.len; len *= 3) {
        len = len < rest.len ? len : rest.len;
        say_raw(bytes_of(rest.at, len));
        rest = bytes_of(rest.at + len, rest.len - len);
        turn_some();
    }
}

static void end(enum way way)
{
    bool is_begun = way != RAW;

    assert(run.heard.len >= run.said.len || !is_begun || run.is_spoilt);
    assert(run.said.len == 0 ||
           memcmp(run.heard.at, run.said.at,
                  run.said.len < run.heard.len ? run.said.len : run.heard.len) == 0);
    assert(is_begun || run.heard.len == 0);
    connection_close(&run.connection, "the input is over");
    while (!run.is_closed)
        turn();
    assert(run.kind.connections == 0);
    assert(run.kind.kept_bytes == 0 && run.kind.unread_bytes == 0);
    tls_peer_free(run.peer);
    run.peer = NULL;
    close(run.fd);
    buf_clear(&run.said);
    buf_clear(&run.heard);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct bytes rest = bytes_of((const char *)data + 1, size - 1);
    enum way way;

    if (size == 0)
        return 0;
    start_once();
    way = data[0] % WAYS;
    begin(way);
    if (way == RAW)
        say_in_pieces(rest);
    else
        do_steps(rest);
    end(way);
    return 0;
}

/* A connection over TLS: whom it takes for Redis, what it says when, and how it ends. Redis is
 * the test itself, with the library's own server, on a socket.
 */
#include "node/store/redis/wire/tls.h"
#include "base/tests/unit.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/tests/certificates.h"
#include "base/tls_context.h"
#include "node/store/redis/tests/log_fixture.h"
#include "node/store/redis/wire/conn.h"

#define PATIENCE_S  60
#define TIMEOUT_MS  (PATIENCE_S * 1000)
#define DAY_S       86400
#define LARGE_BYTES (3 << 20) /* more than the kernel takes */
#define PING        "*1\r\n$4\r\nPING\r\n"

static struct pem authority, redis_pem, client_pem, other_authority, other_pem, late_pem,
    ending_pem;

static int make_certificates(void **state)
{
    authority = pem_make(&(struct pem_wish){.name = "authority", .is_authority = true});
    redis_pem = pem_make(&(struct pem_wish){.name = "redis", .by = &authority});
    client_pem = pem_make(&(struct pem_wish){.name = "node", .by = &authority});
    other_authority = pem_make(&(struct pem_wish){.name = "another", .is_authority = true});
    other_pem = pem_make(&(struct pem_wish){.name = "redis", .by = &other_authority});
    late_pem = pem_make(&(struct pem_wish){
        .name = "redis", .by = &authority, .begins_s = -2000, .ends_s = -1000});
    ending_pem = pem_make(
        &(struct pem_wish){.name = "node", .by = &authority, .ends_s = 20 * DAY_S + 1000});
    return log_begin(state);
}

static int free_certificates(void **state)
{
    pem_free(&authority);
    pem_free(&redis_pem);
    pem_free(&client_pem);
    pem_free(&other_authority);
    pem_free(&other_pem);
    pem_free(&late_pem);
    pem_free(&ending_pem);
    return log_end(state);
}

/* ---- both sides ---- */

struct fixture {
    struct loop *loop;
    struct redis_tls *tls;
    struct redis_login login;
    struct redis_conn conn;
    struct redis_call call;
    bool is_open, is_lost;
    char why[400], refused[400];
    unsigned answers, failures;
    size_t answer_bytes;

    int listener;
    struct redis_address address;
    struct tls_context *context;
    int fd; /* Redis's end of the connection; -1: none yet */
    SSL *ssl;
    struct buf heard;  /* by Redis, decrypted */
    unsigned records;  /* with what it has heard */
    unsigned new_keys; /* of ours, heard by Redis */
};

static void on_open(void *arg)
{
    ((struct fixture *)arg)->is_open = true;
}

static void on_lost(void *arg, const char *why)
{
    struct fixture *f = arg;

    f->is_lost = true;
    snprintf(f->why, sizeof(f->why), "%s", why);
}

static void on_refused(void *arg, const char *why)
{
    struct fixture *f = arg;

    assert_true(f->is_lost);
    snprintf(f->refused, sizeof(f->refused), "%s", why);
}

static void on_reply(struct redis_call *call, const redisReply *reply)
{
    struct fixture *f = CONTAINER_OF(call, struct fixture, call);

    f->answers += reply != NULL;
    f->failures += reply == NULL;
    f->answer_bytes = reply ? reply->len : 0;
}

static void listen_at_a_port(struct fixture *f)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);

    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(f->listener, 1), 0);
    getsockname(f->listener, (struct sockaddr *)&at, &len);
    f->address = (struct redis_address){.host = "127.0.0.1", .port = ntohs(at.sin_port)};
}

static struct tls_texts texts_of(const struct pem *own, const struct pem *trusted)
{
    return (struct tls_texts){.pem = {own ? own->certificate : "", own ? own->key : "",
                                      trusted ? trusted->certificate : ""},
                              .is_client_required = true};
}

static void use_redis(struct fixture *f, const struct pem *own, const struct pem *clients)
{
    struct tls_texts texts = texts_of(own, clients);
    struct buf why = BUF_INIT;
    enum tls_part blamed;

    tls_context_free(f->context);
    f->context = tls_context_new(&texts, &blamed, &why);
    assert_non_null(f->context);
    buf_fini(&why);
}

static void trust(struct fixture *f, const struct pem *own, const struct pem *trusted,
                  const char *server_name)
{
    struct tls_texts texts = texts_of(own, trusted);

    redis_tls_load(f->tls, &texts, server_name);
}

static void init_conn(struct fixture *f, int64_t timeout_ms)
{
    struct redis_conn_events events = {
        .on_open = on_open, .on_lost = on_lost, .on_refused = on_refused, .arg = f};

    redis_conn_init(&f->conn, f->loop, &f->login, timeout_ms, &events);
}

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.loop = loop_new(), .fd = -1};
    f.tls = redis_tls_new(f.loop);
    f.login.tls = f.tls;
    f.call.on_reply = on_reply;
    listen_at_a_port(&f);
    use_redis(&f, &redis_pem, NULL);
    trust(&f, NULL, &authority, "");
    init_conn(&f, TIMEOUT_MS);
    alarm(PATIENCE_S);
    *state = &f;
    return 0;
}

static void hang_up(struct fixture *f)
{
    SSL_free(f->ssl);
    f->ssl = NULL;
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    alarm(0);
    redis_conn_close(&f->conn);
    redis_conn_fail(&f->conn);
    redis_conn_fini(&f->conn);
    redis_tls_free(f->tls);
    hang_up(f);
    close(f->listener);
    tls_context_free(f->context);
    buf_fini(&f->heard);
    loop_free(f->loop);
    ERR_clear_error();
    return 0;
}

/* ---- turns ---- */

static void accept_one(struct fixture *f)
{
    f->fd = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (f->fd < 0)
        return;
    f->ssl = SSL_new(f->context->ssl);
    SSL_set_fd(f->ssl, f->fd);
    SSL_set_accept_state(f->ssl);
}

static void hear(struct fixture *f)
{
    char bytes[16384];
    size_t len = 0;

    ERR_clear_error();
    while (SSL_read_ex(f->ssl, bytes, sizeof(bytes), &len) == 1) { /* one record, at most */
        buf_add(&f->heard, bytes, len);
        f->records++;
    }
    ERR_clear_error();
}

/* A turn of the connection's loop, and one of Redis. */
static void turn(struct fixture *f)
{
    event_base_loop(f->loop->base, EVLOOP_NONBLOCK);
    if (f->fd < 0)
        accept_one(f);
    else
        hear(f);
}

static void say(struct fixture *f, const char *text, size_t len)
{
    size_t n = 0;

    for (; len > 0; text += n, len -= n, n = 0) {
        ERR_clear_error();
        (void)SSL_write_ex(f->ssl, text, len, &n);
        turn(f);
    }
}

static void open_conn(struct fixture *f)
{
    redis_conn_open(&f->conn, &f->address, f->address.host);
    while (!f->is_open && !f->is_lost)
        turn(f);
}

static void run_until_lost(struct fixture *f)
{
    while (!f->is_lost)
        turn(f);
}

static void run_until_heard(struct fixture *f, const char *text)
{
    while (f->heard.len < strlen(text))
        turn(f);
    assert_string_equal(buf_text(&f->heard), text);
}

static void send_words(struct fixture *f, const char *word, size_t len)
{
    const char *argv[] = {"ECHO", word};
    size_t lens[] = {4, len};

    redis_conn_send(&f->conn, &f->call, 2, argv, lens);
}

struct ping {
    struct redis_call call;
    bool is_answered;
};

static void on_pong(struct redis_call *call, const redisReply *reply)
{
    CONTAINER_OF(call, struct ping, call)->is_answered = reply != NULL;
}

static void send_ping(struct fixture *f, struct ping *ping)
{
    const char *argv[] = {"PING"};
    size_t lens[] = {4};

    *ping = (struct ping){.call.on_reply = on_pong};
    redis_conn_send(&f->conn, &ping->call, 1, argv, lens);
}

/* ---- whom it takes for Redis ---- */

static void assert_refused(struct fixture *f, const char *why)
{
    open_conn(f);
    assert_false(f->is_open);
    assert_string_equal(f->why, why);
    assert_string_equal(f->refused, why);
    for (unsigned i = 0; i < 10; i++)
        turn(f);
    assert_int_equal(f->heard.len, 0);
}

static void an_authority_vouches_for_it(void **state)
{
    struct fixture *f = *state;

    open_conn(f);
    assert_true(f->is_open);
    send_words(f, "hi", 2);
    run_until_heard(f, "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n");
    say(f, "$2\r\nhi\r\n", 8);
    while (!f->answers)
        turn(f);
    assert_int_equal(f->answer_bytes, 2);
}

static void the_password_comes_after_the_certificate(void **state)
{
    struct fixture *f = *state;

    f->login.password = "secret";
    f->conn.login.password = "secret";
    redis_conn_open(&f->conn, &f->address, f->address.host);
    run_until_heard(f, "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n");
    assert_false(f->is_open);
    say(f, "+OK\r\n", 5);
    while (!f->is_open)
        turn(f);
}

static void a_stranger_hears_no_password(void **state)
{
    struct fixture *f = *state;

    f->conn.login.password = "secret";
    use_redis(f, &other_pem, NULL);
    assert_refused(f, "TLS: nobody in store.tls.ca vouches for its certificate: unable to get "
                      "local issuer certificate");
}

static void a_certificate_that_has_ended_is_none(void **state)
{
    use_redis(*state, &late_pem, NULL);
    assert_refused(*state, "TLS: its certificate, or one of those behind it, has expired");
}

/* The certificates are for localhost and 127.0.0.1. A Redis behind a proxy is chosen by the
 * name that is asked for. */
static void its_name_is_the_host_it_is_reached_by(void **state)
{
    struct fixture *f = *state;

    redis_conn_open(&f->conn, &f->address, "localhost");
    while (!f->is_open)
        turn(f);
    assert_string_equal(SSL_get_servername(f->ssl, TLSEXT_NAMETYPE_host_name), "localhost");
}

static void an_address_is_no_name_to_ask_for(void **state)
{
    struct fixture *f = *state;

    open_conn(f);
    assert_true(f->is_open);
    assert_null(SSL_get_servername(f->ssl, TLSEXT_NAMETYPE_host_name));
}

static void another_name_is_refused(void **state)
{
    struct fixture *f = *state;

    trust(f, NULL, &authority, "redis.internal");
    assert_refused(f, "TLS: its certificate is not for 'redis.internal' but for localhost, "
                      "127.0.0.1; mend one of them, or set store.tls.server_name");
}

static void another_address_is_refused(void **state)
{
    struct fixture *f = *state;

    trust(f, NULL, &authority, "10.0.0.1");
    assert_refused(f, "TLS: its certificate is not for '10.0.0.1' but for localhost, "
                      "127.0.0.1; mend one of them, or set store.tls.server_name");
}

/* An authority has a common name, and no others. */
static void a_common_name_is_no_name(void **state)
{
    struct fixture *f = *state;

    use_redis(f, &authority, NULL);
    trust(f, NULL, &authority, "authority");
    assert_refused(f, "TLS: its certificate is not for 'authority' but for nobody; mend one of "
                      "them, or set store.tls.server_name");
}

static void what_is_loaded_holds_for_the_next_connection(void **state)
{
    struct fixture *f = *state;

    open_conn(f);
    trust(f, NULL, &other_authority, "");
    send_words(f, "hi", 2);
    run_until_heard(f, "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n");
    redis_conn_close(&f->conn);
    redis_conn_fail(&f->conn);
    hang_up(f);
    use_redis(f, &other_pem, NULL);
    f->is_open = false;
    open_conn(f);
    assert_true(f->is_open);
}

static void bad_texts_change_nothing(void **state)
{
    struct fixture *f = *state;
    struct pem bad = {.certificate = (char *)"a text", .key = (char *)""};

    trust(f, NULL, &bad, "redis.internal");
    open_conn(f);
    assert_true(f->is_open);
}

/* ---- the machine's authorities ---- */

static void write_authorities(const char *path, const struct pem *one)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(one->certificate, file);
    assert_int_equal(fclose(file), 0);
}

static void the_machine_s_authorities_are_read_at_each_load(void **state)
{
    struct fixture *f = *state;
    char path[] = "/tmp/dueq-authorities-XXXXXX";

    close(mkstemp(path));
    setenv("SSL_CERT_FILE", path, 1);
    write_authorities(path, &other_authority);
    trust(f, NULL, NULL, "");
    assert_refused(f,
                   "TLS: none of this machine's authorities vouches for its certificate, and "
                   "store.tls.ca is not set: unable to get local issuer certificate");
    hang_up(f);
    f->is_lost = false;
    write_authorities(path, &authority);
    trust(f, NULL, NULL, "");
    open_conn(f);
    assert_true(f->is_open);
    unsetenv("SSL_CERT_FILE");
    unlink(path);
}

/* ---- the end of ours ---- */

static void a_certificate_that_ends_soon_is_told_each_day(void **state)
{
    struct fixture *f = *state;
    const char *words = "store.tls.certificate, or one of its chain, ends in 20 "
                        "days, at ";

    trust(f, &client_pem, &authority, "");
    assert_int_equal(lines_with(log_path, words), 0);
    trust(f, &ending_pem, &authority, "");
    assert_int_equal(lines_with(log_path, words), 1);
    trust(f, &ending_pem, &authority, "");
    timers_run(&f->loop->timers, timers_now(&f->loop->timers) + DAY_S * 1000 - 1);
    assert_int_equal(lines_with(log_path, words), 1);
    for (unsigned days = 1; days <= 3; days++) {
        timers_run(&f->loop->timers, timers_now(&f->loop->timers) + DAY_S * 1000);
        assert_int_equal(lines_with(log_path, words), 1 + days);
    }
}

/* ---- whom Redis takes ---- */

static void it_shows_its_certificate(void **state)
{
    struct fixture *f = *state;

    use_redis(f, &redis_pem, &authority);
    trust(f, &client_pem, &authority, "");
    open_conn(f);
    send_words(f, "hi", 2);
    run_until_heard(f, "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n");
}

/* With TLS 1.3 Redis says so when the connection is open already. */
static void a_redis_that_wants_a_certificate_is_understood(void **state)
{
    struct fixture *f = *state;

    use_redis(f, &redis_pem, &authority);
    open_conn(f);
    run_until_lost(f);
    assert_string_equal(f->refused, "TLS: it wants a certificate (tls-auth-clients); set "
                                    "store.tls.certificate and store.tls.key");
}

static void a_redis_that_knows_only_others_is_understood(void **state)
{
    struct fixture *f = *state;

    use_redis(f, &redis_pem, &other_authority);
    trust(f, &client_pem, &authority, "");
    open_conn(f);
    run_until_lost(f);
    assert_string_equal(f->refused, "TLS: nobody it trusts vouches for store.tls.certificate "
                                    "(its tls-ca-cert-file)");
}

/* ---- versions, and ports that are others' ---- */

static void old_versions_are_not_spoken(void **state)
{
    struct fixture *f = *state;

    SSL_CTX_set_security_level(f->context->ssl, 0);
    SSL_CTX_set_min_proto_version(f->context->ssl, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(f->context->ssl, TLS1_1_VERSION);
    SSL_CTX_set_cipher_list(f->context->ssl, "ALL");
    assert_refused(f, "TLS: it speaks no TLS 1.2 or 1.3 (tls-protocols)");
}

static void version_1_2_is_spoken(void **state)
{
    struct fixture *f = *state;

    SSL_CTX_set_max_proto_version(f->context->ssl, TLS1_2_VERSION);
    open_conn(f);
    assert_true(f->is_open);
}

static void accept_plain(struct fixture *f)
{
    while (f->fd < 0) {
        event_base_loop(f->loop->base, EVLOOP_NONBLOCK);
        f->fd = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
}

static void a_port_that_speaks_plain_is_told(void **state)
{
    struct fixture *f = *state;

    redis_conn_open(&f->conn, &f->address, f->address.host);
    accept_plain(f);
    assert_int_equal(send(f->fd, "-ERR what\r\n", 11, 0), 11);
    while (!f->is_lost)
        event_base_loop(f->loop->base, EVLOOP_ONCE);
    assert_string_equal(f->refused,
                        "TLS: it does not speak TLS at this port; Redis does at its "
                        "tls-port");
}

/* A plain Redis waits for the end of what it takes for a line. */
static void a_handshake_has_a_deadline(void **state)
{
    struct fixture *f = *state;

    redis_conn_fini(&f->conn);
    init_conn(f, 50);
    redis_conn_open(&f->conn, &f->address, f->address.host);
    accept_plain(f);
    while (!f->is_lost)
        event_base_loop(f->loop->base, EVLOOP_ONCE);
    assert_string_equal(f->why, "no TLS handshake in time; does Redis speak TLS at this port "
                                "(tls-port)?");
    assert_string_equal(f->refused, "");
    assert_true(f->conn.is_late);
}

static void open_before_a_silent_one(struct fixture *f)
{
    redis_conn_close(&f->conn);
    redis_conn_fail(&f->conn);
    hang_up(f);
    f->is_lost = false;
    f->conn.timeout_ms = 50;
    redis_conn_open(&f->conn, &f->address, f->address.host);
    accept_plain(f);
    while (!f->is_lost)
        event_base_loop(f->loop->base, EVLOOP_ONCE);
}

/* Frozen, most likely: the breaker counts it. */
static void a_redis_that_has_spoken_tls_does_so_at_its_port(void **state)
{
    struct fixture *f = *state;

    open_conn(f);
    for (unsigned i = 0; i < 2; i++) {
        open_before_a_silent_one(f);
        assert_string_equal(f->why, "no TLS handshake in time");
        assert_true(f->conn.is_late);
    }
    close(f->listener);
    listen_at_a_port(f);
    open_before_a_silent_one(f);
    assert_non_null(strstr(f->why, "does Redis speak TLS at this port"));
}

static void a_handshake_may_end_in_nothing(void **state)
{
    struct fixture *f = *state;

    redis_conn_open(&f->conn, &f->address, f->address.host);
    accept_plain(f);
    shutdown(f->fd, SHUT_WR);
    while (!f->is_lost)
        event_base_loop(f->loop->base, EVLOOP_ONCE);
    assert_string_equal(f->why, "Server closed the connection instead of TLS's handshake");
}

static void open_plain(struct fixture *f)
{
    redis_conn_fini(&f->conn);
    f->login.tls = NULL;
    init_conn(f, TIMEOUT_MS);
    redis_conn_open(&f->conn, &f->address, f->address.host);
    accept_plain(f);
    while (!f->is_open)
        event_base_loop(f->loop->base, EVLOOP_NONBLOCK);
}

static void a_port_that_wants_tls_is_told(void **state)
{
    struct fixture *f = *state;

    open_plain(f);
    assert_int_equal(send(f->fd, "\x15\x03\x01\x00\x02\x02\x46", 7, 0), 7);
    while (!f->is_lost)
        event_base_loop(f->loop->base, EVLOOP_ONCE);
    assert_string_equal(f->refused, "TLS: it wants TLS: let store.redis begin with rediss");
}

static void a_redis_that_ends_without_a_word_may_want_tls(void **state)
{
    struct fixture *f = *state;

    open_plain(f);
    close(f->fd);
    f->fd = -1;
    while (!f->is_lost)
        event_base_loop(f->loop->base, EVLOOP_ONCE);
    assert_string_equal(f->why,
                        "Server closed the connection, without a word; does it want TLS "
                        "(rediss://)?");
    assert_string_equal(f->refused, "");
}

static void listen_at_a_path(struct fixture *f, char *directory)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    close(f->listener);
    assert_non_null(mkdtemp(directory));
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", directory);
    f->address = (struct redis_address){.port = 0};
    snprintf(f->address.host, sizeof(f->address.host), "%s", at.sun_path);
    f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(f->listener, 1), 0);
}

static void one_at_a_path_cannot_want_tls(void **state)
{
    struct fixture *f = *state;
    char directory[] = "/tmp/dueq-tls-XXXXXX";

    listen_at_a_path(f, directory);
    open_plain(f);
    close(f->fd);
    f->fd = -1;
    while (!f->is_lost)
        event_base_loop(f->loop->base, EVLOOP_ONCE);
    assert_string_equal(f->why, "Server closed the connection");
    unlink(f->address.host);
    rmdir(directory);
}

/* ---- bytes ---- */

static void what_is_large_goes_both_ways(void **state)
{
    struct fixture *f = *state;
    static char large[LARGE_BYTES];
    const char *head = "*2\r\n$4\r\nECHO\r\n$3145728\r\n";
    struct buf said = BUF_INIT;

    memset(large, 'x', sizeof(large));
    open_conn(f);
    send_words(f, large, sizeof(large));
    while (f->heard.len < strlen(head) + sizeof(large) + 2)
        turn(f);
    assert_memory_equal(f->heard.at, head, strlen(head));
    buf_printf(&said, "$%d\r\n", LARGE_BYTES);
    buf_add(&said, large, sizeof(large));
    buf_add_text(&said, "\r\n");
    say(f, said.at, said.len);
    while (!f->answers)
        turn(f);
    assert_int_equal(f->answer_bytes, LARGE_BYTES);
    buf_fini(&said);
}

/* The socket takes no more when the last one comes, and nothing else wakes the connection. */
static void a_command_behind_a_large_one_is_sent(void **state)
{
    struct fixture *f = *state;
    static char large[8 * LARGE_BYTES];
    struct ping first, last;
    size_t n;

    memset(large, 'x', sizeof(large));
    open_conn(f);
    send_ping(f, &first);
    send_words(f, large, sizeof(large));
    event_base_loop(f->loop->base, EVLOOP_NONBLOCK);
    assert_int_equal(SSL_write_ex(f->ssl, "+PONG\r\n", 7, &n), 1);
    while (!first.is_answered)
        event_base_loop(f->loop->base, EVLOOP_NONBLOCK);
    assert_true(f->conn.is_full);
    send_ping(f, &last);
    while (f->heard.len < 14 + 14 + 11 + sizeof(large) + 2 + 14)
        turn(f);
    assert_memory_equal(f->heard.at + f->heard.len - 14, PING, 14);
    redis_flight_take(&f->conn.flight);
    redis_flight_take(&f->conn.flight);
}

/* It reads a record a turn, and with appendfsync always each turn takes an fsync. */
static void what_comes_while_redis_works_is_one_record(void **state)
{
    struct fixture *f = *state;
    struct ping pings[5];

    open_conn(f);
    send_ping(f, &pings[0]);
    send_ping(f, &pings[1]);
    run_until_heard(f, PING PING);
    for (unsigned i = 2; i < 5; i++) {
        send_ping(f, &pings[i]);
        turn(f);
    }
    assert_int_equal(f->records, 1);
    say(f, "+PONG\r\n", 7); /* to the first: so it has read both */
    run_until_heard(f, PING PING PING PING PING);
    assert_int_equal(f->records, 2);
    for (unsigned i = 1; i < 5; i++)
        assert_ptr_equal(redis_flight_take(&f->conn.flight), &pings[i].call);
}

/* Else the next Redis would carry it out, and its answer would be taken for another's. */
static void what_a_connection_had_to_say_goes_with_it(void **state)
{
    struct fixture *f = *state;

    struct ping ping;

    open_conn(f);
    send_ping(f, &ping);
    run_until_heard(f, PING);
    buf_clear(&f->heard);
    send_words(f, "lost", 4); /* waits for the answer to the first */
    redis_conn_close(&f->conn);
    redis_conn_fail(&f->conn);
    assert_int_equal(f->failures, 1);
    hang_up(f);
    f->is_open = false;
    open_conn(f);
    send_words(f, "hi", 2);
    run_until_heard(f, "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n");
}

/* What was given to TLS may have been carried out. */
static void a_cut_in_an_answer_fails_the_call(void **state)
{
    struct fixture *f = *state;

    open_conn(f);
    send_words(f, "hi", 2);
    run_until_heard(f, "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n");
    say(f, "$2\r\nh", 5);
    hang_up(f);
    while (!f->is_lost)
        event_base_loop(f->loop->base, EVLOOP_ONCE);
    assert_string_equal(f->why, "Server closed the connection");
    assert_int_equal(f->failures, 0);
    redis_conn_fail(&f->conn);
    assert_int_equal(f->failures, 1);
    assert_int_equal(f->answers, 0);
}

static void a_goodbye_is_an_end(void **state)
{
    struct fixture *f = *state;

    open_conn(f);
    SSL_shutdown(f->ssl);
    run_until_lost(f);
    assert_string_equal(f->why, "Server closed the connection");
    assert_string_equal(f->refused, "");
}

static void a_record_that_was_changed_is_an_end(void **state)
{
    struct fixture *f = *state;
    char record[64] = "\x17\x03\x03\x00\x20";

    open_conn(f);
    assert_int_equal(send(f->fd, record, 5 + 32, 0), 5 + 32);
    run_until_lost(f);
    assert_string_equal(f->why, "TLS failed: decryption failed or bad record mac");
    assert_string_equal(f->refused, "");
}

static void count_new_keys(int is_ours, int version, int type, const void *at, size_t len,
                           SSL *ssl, void *arg)
{
    const unsigned char *message = at;

    if (!is_ours && type == SSL3_RT_HANDSHAKE && len > 0 && message[0] == SSL3_MT_KEY_UPDATE)
        ((struct fixture *)arg)->new_keys++;
}

static void ask_and_answer(struct fixture *f)
{
    unsigned answers = f->answers;

    buf_clear(&f->heard);
    send_words(f, "hi", 2);
    run_until_heard(f, "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n");
    say(f, "$2\r\nhi\r\n", 8);
    while (f->answers == answers)
        turn(f);
}

/* The first answer comes with Redis's new keys, the second command with ours. */
static void new_keys_are_confirmed(void **state)
{
    struct fixture *f = *state;

    open_conn(f);
    SSL_set_msg_callback(f->ssl, count_new_keys);
    SSL_set_msg_callback_arg(f->ssl, f);
    assert_int_equal(SSL_key_update(f->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    assert_int_equal(SSL_do_handshake(f->ssl), 1);
    ask_and_answer(f);
    ask_and_answer(f);
    assert_int_equal(f->new_keys, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_authority_vouches_for_it),
        TEST(the_password_comes_after_the_certificate),
        TEST(a_stranger_hears_no_password),
        TEST(a_certificate_that_has_ended_is_none),
        TEST(its_name_is_the_host_it_is_reached_by),
        TEST(an_address_is_no_name_to_ask_for),
        TEST(another_name_is_refused),
        TEST(another_address_is_refused),
        TEST(a_common_name_is_no_name),
        TEST(what_is_loaded_holds_for_the_next_connection),
        TEST(bad_texts_change_nothing),
        TEST(the_machine_s_authorities_are_read_at_each_load),
        TEST(a_certificate_that_ends_soon_is_told_each_day),
        TEST(it_shows_its_certificate),
        TEST(a_redis_that_wants_a_certificate_is_understood),
        TEST(a_redis_that_knows_only_others_is_understood),
        TEST(old_versions_are_not_spoken),
        TEST(version_1_2_is_spoken),
        TEST(a_port_that_speaks_plain_is_told),
        TEST(a_handshake_has_a_deadline),
        TEST(a_redis_that_has_spoken_tls_does_so_at_its_port),
        TEST(a_handshake_may_end_in_nothing),
        TEST(a_port_that_wants_tls_is_told),
        TEST(a_redis_that_ends_without_a_word_may_want_tls),
        TEST(one_at_a_path_cannot_want_tls),
        TEST(what_is_large_goes_both_ways),
        TEST(a_command_behind_a_large_one_is_sent),
        TEST(what_comes_while_redis_works_is_one_record),
        TEST(what_a_connection_had_to_say_goes_with_it),
        TEST(a_cut_in_an_answer_fails_the_call),
        TEST(a_goodbye_is_an_end),
        TEST(a_record_that_was_changed_is_an_end),
        TEST(new_keys_are_confirmed),
    };

    return cmocka_run_group_tests(tests, make_certificates, free_certificates);
}

/* TLS by itself, byte for byte; and a link among nodes that do not all speak in the same way:
 * without TLS, with another secret, with two of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/log.h"
#include "ha/peer/link.h"
#include "ha/peer/tests/peer_fixture.h"

#define OLDER   "an older secret!"
#define UNKNOWN "not the secret!!"

/* ---- two ends, and the wires between ---- */

struct ends {
    struct peer_keys *keys[2]; /* of the dialer, of the listener */
    struct peer_tls *of[2];
    enum peer_tls_state states[2];
    struct buf wires[2]; /* what each has said and the other has not taken yet */
    struct buf seen;     /* all of it */
};

static void begin(struct ends *e, const char *cluster, const char *mine, const char *const *its)
{
    const char *const own[PEER_SECRETS] = {mine};

    *e = (struct ends){.keys = {peer_keys_new(cluster, own), peer_keys_new(CLUSTER, its)}};
    e->of[0] = peer_tls_dial(e->keys[0], 0);
    e->of[1] = peer_tls_accept(e->keys[1]);
}

static void fini(struct ends *e)
{
    for (int i = 0; i < 2; i++) {
        peer_tls_free(e->of[i]);
        peer_keys_free(e->keys[i]);
        buf_fini(&e->wires[i]);
    }
    buf_fini(&e->seen);
}

/* The side takes up to `most` of what the other has said. */
static void take(struct ends *e, int side, size_t most)
{
    struct buf *wire = &e->wires[!side];
    size_t len = wire->len < most ? wire->len : most;

    buf_add(&e->seen, wire->at, len);
    e->states[side] = peer_tls_take(e->of[side], bytes_of(wire->at, len), &e->wires[side]);
    buf_drop(wire, len);
}

static void shake(struct ends *e, size_t most)
{
    take(e, 0, 0);
    while (e->wires[0].len || e->wires[1].len) {
        take(e, 1, most);
        take(e, 0, most);
    }
}

static void assert_says(struct ends *e, int side, const char *text)
{
    char heard[100];
    size_t len;

    peer_tls_write(e->of[side], bytes_of_text(text), &e->wires[side]);
    take(e, !side, SIZE_MAX);
    len = peer_tls_read(e->of[!side], heard, sizeof(heard));
    assert_true(bytes_equal(bytes_of(heard, len), bytes_of_text(text)));
}

static const char *const same[PEER_SECRETS] = {SECRET};

static void both_hear_what_nobody_else_can_read(void **state)
{
    struct ends e;

    begin(&e, CLUSTER, SECRET, same);
    shake(&e, SIZE_MAX);
    assert_int_equal(e.states[0], PEER_TLS_UP);
    assert_int_equal(e.states[1], PEER_TLS_UP);
    assert_says(&e, 0, "hello");
    assert_says(&e, 1, "session 0000000000000001");
    assert_true(e.seen.len > 300);
    assert_null(memmem(e.seen.at, e.seen.len, "hello", 5));
    assert_null(memmem(e.seen.at, e.seen.len, "session", 7));
    fini(&e);
}

/* The key as its header describes it, and as no other node's program may change it. */
static void derive(const char *purpose, unsigned char to[32])
{
    struct buf text = BUF_INIT;
    unsigned len = 0;

    buf_printf(&text, "dueq-peer-tls/1\n%s\n%s\n", purpose, CLUSTER);
    assert_non_null(HMAC(EVP_sha256(), SECRET, sizeof(SECRET) - 1,
                         (const unsigned char *)text.at, text.len, to, &len));
    buf_fini(&text);
}

static bool has_seen(const struct ends *e, const unsigned char *at, size_t len)
{
    struct buf digits = BUF_INIT;
    bool has;

    hex_add(&digits, at, len);
    has = memmem(e->seen.at, e->seen.len, at, len) ||
          memmem(e->seen.at, e->seen.len, digits.at, digits.len);
    buf_fini(&digits);
    return has;
}

/* Not even the half of it, which would be as many bytes as the name has. */
static void the_key_is_named_by_nothing_of_it(void **state)
{
    unsigned char key[32], name[32];
    struct ends e;

    derive("key", key);
    derive("name", name);
    begin(&e, CLUSTER, SECRET, same);
    shake(&e, SIZE_MAX);
    assert_true(has_seen(&e, name, 16));
    for (size_t i = 0; i + 8 <= sizeof(key); i++)
        assert_false(has_seen(&e, key + i, 8));
    fini(&e);
}

static void the_handshake_may_come_byte_by_byte(void **state)
{
    struct ends e;

    begin(&e, CLUSTER, SECRET, same);
    shake(&e, 1);
    assert_int_equal(e.states[0], PEER_TLS_UP);
    assert_says(&e, 1, "hello");
    fini(&e);
}

static void the_listener_takes_either_of_two_secrets(void **state)
{
    static const char *const mine[] = {SECRET, OLDER}, *const two[] = {OLDER, SECRET};

    for (int i = 0; i < 2; i++) {
        struct ends e;

        begin(&e, CLUSTER, mine[i], two);
        shake(&e, SIZE_MAX);
        assert_int_equal(e.states[0], PEER_TLS_UP);
        assert_int_equal(e.states[1], PEER_TLS_UP);
        fini(&e);
    }
}

static void assert_strange(const char *cluster, const char *mine)
{
    struct ends e;

    begin(&e, cluster, mine, same);
    shake(&e, SIZE_MAX);
    assert_int_equal(e.states[0], PEER_TLS_STRANGER);
    assert_int_equal(e.states[1], PEER_TLS_STRANGER);
    fini(&e);
}

static void each_side_sees_that_the_secrets_differ(void **state)
{
    assert_strange(CLUSTER, UNKNOWN);
}

static void another_clusters_key_is_another_one(void **state)
{
    assert_strange("test", SECRET);
}

/* A listener of the version before waits for a line feed or for PEER_LINE_MAX bytes. */
static void the_first_packet_is_longer_than_a_line(void **state)
{
    struct ends e;

    begin(&e, CLUSTER, SECRET, same);
    take(&e, 0, 0);
    assert_true(e.wires[0].len > PEER_LINE_MAX);
    assert_true(peer_tls_begins((unsigned char)e.wires[0].at[0]));
    assert_false(peer_tls_begins('h'));
    fini(&e);
}

static void a_changed_byte_breaks_it(void **state)
{
    char heard[100];
    struct ends e;

    begin(&e, CLUSTER, SECRET, same);
    shake(&e, SIZE_MAX);
    peer_tls_write(e.of[1], bytes_of_text("promise 1\n"), &e.wires[1]);
    e.wires[1].at[e.wires[1].len - 1] ^= 1;
    take(&e, 0, SIZE_MAX);
    assert_int_equal(peer_tls_read(e.of[0], heard, sizeof(heard)), 0);
    assert_int_equal(peer_tls_state(e.of[0]), PEER_TLS_BROKEN);
    fini(&e);
}

static void a_recorded_first_packet_opens_nothing(void **state)
{
    struct ends e, again;

    begin(&e, CLUSTER, SECRET, same);
    begin(&again, CLUSTER, SECRET, same);
    take(&e, 0, 0);
    take(&again, 0, 0);
    buf_clear(&again.wires[0]);
    buf_add_bytes(&again.wires[0], buf_bytes(&e.wires[0]));
    take(&again, 1, SIZE_MAX);
    take(&again, 0, SIZE_MAX); /* whoever replays has not the keys of that packet */
    assert_int_not_equal(again.states[0], PEER_TLS_UP);
    assert_int_not_equal(again.states[1], PEER_TLS_UP);
    fini(&e);
    fini(&again);
}

/* ---- a side that OpenSSL plays as it comes ---- */

/* Turns the handshake between `t` and a side of OpenSSL's; true: `t` is UP. */
static bool shake_with(struct peer_tls *t, SSL *other)
{
    enum peer_tls_state state = PEER_TLS_SHAKING;
    struct buf out = BUF_INIT;
    char bytes[8192];

    for (int i = 0; i < 10 && state == PEER_TLS_SHAKING; i++) {
        int n = BIO_read(SSL_get_wbio(other), bytes, sizeof(bytes));

        state = peer_tls_take(t, bytes_of(bytes, n > 0 ? (size_t)n : 0), &out);
        BIO_write(SSL_get_rbio(other), out.at, (int)out.len);
        buf_clear(&out);
        SSL_do_handshake(other);
    }
    buf_fini(&out);
    return state == PEER_TLS_UP;
}

static SSL *other_side(SSL_CTX *context)
{
    SSL *ssl = SSL_new(context);

    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    return ssl;
}

/* Its certificate is in order, but for who has signed it. */
static void certify(SSL_CTX *context)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();

    X509_gmtime_adj(X509_getm_notBefore(x), 0);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    assert_int_equal(SSL_CTX_use_certificate(context, x), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(context, key), 1);
    X509_free(x);
    EVP_PKEY_free(key);
}

static void a_certificate_in_place_of_the_key_is_refused(void **state)
{
    struct peer_keys *keys = peer_keys_new(CLUSTER, same);
    struct peer_tls *dialer = peer_tls_dial(keys, 0);
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    SSL *listener;

    certify(context);
    listener = other_side(context);
    SSL_set_accept_state(listener);
    assert_false(shake_with(dialer, listener));
    assert_int_equal(peer_tls_state(dialer), PEER_TLS_BROKEN);
    SSL_free(listener);
    SSL_CTX_free(context);
    peer_tls_free(dialer);
    peer_keys_free(keys);
}

static void a_client_without_the_key_is_refused_by_any_version(void **state)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct peer_keys *keys = peer_keys_new(CLUSTER, same);

    for (int i = 0; i < 2; i++) {
        struct peer_tls *listener = peer_tls_accept(keys);
        SSL_CTX *context = SSL_CTX_new(TLS_method());
        SSL *dialer;

        SSL_CTX_set_max_proto_version(context, versions[i]);
        certify(context);
        dialer = other_side(context);
        SSL_set_connect_state(dialer);
        SSL_do_handshake(dialer);
        assert_false(shake_with(listener, dialer));
        assert_int_not_equal(peer_tls_state(listener), PEER_TLS_SHAKING);
        SSL_free(dialer);
        SSL_CTX_free(context);
        peer_tls_free(listener);
    }
    peer_keys_free(keys);
}

/* ---- nodes ---- */

struct fixture {
    struct loop *loop;
    struct peer_node {
        struct peers *link;
        struct peer_name who;
        struct peer_notes notes;
    } a, b;
    int listen_fd; /* of the other one, played by hand */
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    peer_speak(PEER_TLS_OPTIONAL);
    f->loop = loop_new();
    hand_use(f->loop);
    f->listen_fd = -1;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    peer_link_free(f->a.link);
    peer_link_free(f->b.link);
    peer_loop_free(f->loop);
    if (f->listen_fd >= 0)
        close(f->listen_fd);
    free(f);
    return 0;
}

static void start(struct fixture *f, struct peer_node *n, struct peer_options options)
{
    strcpy(n->who.name, options.node);
    options.listen_fd = peer_listen(n->who.address);
    n->link = peer_link_new(&options, f->loop);
    peer_note(n->link, &n->notes);
}

static void join(struct fixture *f, struct peer_options a, struct peer_options b)
{
    start(f, &f->a, a);
    start(f, &f->b, b);
    peers_set(f->a.link, &f->b.who, 1);
    peers_set(f->b.link, &f->a.who, 1);
}

static struct peer_options node_of(const char *name, enum peer_tls_mode mode,
                                   const char *secret, const char *old)
{
    struct peer_options options = peer_options_of(name, secret);

    options.tls = mode;
    options.secret_old = old;
    return options;
}

static bool are_joined(const struct fixture *f)
{
    return peer_link_up_count(f->a.link) == 1 && peer_link_up_count(f->b.link) == 1;
}

static unsigned plain_count(const struct fixture *f)
{
    return peer_link_plain_count(f->a.link) + peer_link_plain_count(f->b.link);
}

static void turn(struct fixture *f)
{
    for (int i = 0; i < 300; i++)
        peer_turn(f->loop);
}

static void plain_text_is_for_nodes_without_tls_only(void **state)
{
    static const struct {
        enum peer_tls_mode a, b;
        unsigned plain;
    } rows[] = {{PEER_TLS_OPTIONAL, PEER_TLS_OPTIONAL, 0},
                {PEER_TLS_REQUIRED, PEER_TLS_OPTIONAL, 0},
                {PEER_TLS_REQUIRED, PEER_TLS_REQUIRED, 0},
                {PEER_TLS_OPTIONAL, PEER_TLS_OFF, 2}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fixture *f;

        setup(state);
        f = *state;
        join(f, node_of("na", rows[i].a, SECRET, ""), node_of("nb", rows[i].b, SECRET, ""));
        AWAIT(f->loop, are_joined(f));
        assert_int_equal(plain_count(f), rows[i].plain);
        teardown(state);
    }
}

static void required_joins_no_node_without_tls(void **state)
{
    struct fixture *f = *state;

    join(f, node_of("na", PEER_TLS_REQUIRED, SECRET, ""),
         node_of("nb", PEER_TLS_OFF, SECRET, ""));
    turn(f);
    assert_int_equal(peer_link_up_count(f->a.link) + peer_link_up_count(f->b.link), 0);
}

static unsigned count_in(const char *text, const char *words)
{
    unsigned count = 0;

    for (; (text = strstr(text, words)); text += strlen(words))
        count++;
    return count;
}

/* What is logged from now on, until log_end(). */
struct log_file {
    char path[32];
    int fd;
};

static const struct log_options to_stderr = {.level = LEVEL_INFO, .modules = ""};

static struct log_file log_begin(void)
{
    struct log_file log = {.path = "/tmp/dueq-peer-tls-XXXXXX"};
    struct log_options to_file = to_stderr;

    log.fd = mkstemp(log.path);
    to_file.file = log.path;
    assert_int_equal(log_configure(&to_file), STATUS_OK);
    return log;
}

/* The text so far, which the next call overwrites. */
static const char *log_text(const struct log_file *log)
{
    static char said[8192];
    ssize_t len = pread(log->fd, said, sizeof(said) - 1, 0);

    assert_true(len >= 0);
    said[len] = '\0';
    return said;
}

static const char *log_end(struct log_file *log)
{
    const char *said = log_text(log);

    assert_int_equal(log_configure(&to_stderr), STATUS_OK);
    close(log->fd);
    unlink(log->path);
    return said;
}

/* Only a node that is not told of the new secret yet has something to say: once, of the first
 * attempt. */
static void the_secret_may_change_from_node_to_node(void **state)
{
    static const struct {
        const char *a, *a_old, *b, *b_old;
        unsigned warnings;
    } rows[] = {
        {SECRET, OLDER, OLDER, "", 1},     /* a has begun */
        {SECRET, OLDER, SECRET, OLDER, 0}, /* both have */
        {SECRET, "", SECRET, OLDER, 0},    /* a is done */
        {SECRET, "", SECRET, "", 0},
    };

    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
        size_t at = i / 2;
        enum peer_tls_mode mode = i % 2 ? PEER_TLS_OFF : PEER_TLS_REQUIRED;
        struct log_file log = log_begin();
        struct fixture *f;
        const char *said;

        setup(state);
        f = *state;
        join(f, node_of("na", mode, rows[at].a, rows[at].a_old),
             node_of("nb", mode, rows[at].b, rows[at].b_old));
        AWAIT(f->loop, are_joined(f));
        said = log_end(&log);
        assert_int_equal(count_in(said, "the secrets differ"), rows[at].warnings);
        assert_int_equal(count_in(said, " warn  ha "), rows[at].warnings);
        teardown(state);
    }
}

static void who_has_only_the_older_secret_is_not_joined_when_it_is_dropped(void **state)
{
    struct log_file log = log_begin();
    struct fixture *f = *state;
    const char *said;

    join(f, node_of("na", PEER_TLS_OPTIONAL, SECRET, ""),
         node_of("nb", PEER_TLS_OPTIONAL, OLDER, UNKNOWN));
    AWAIT(f->loop, strstr(log_text(&log), "peer na at ") && /* nb has tried both of its */
                       strstr(log_text(&log), "peer nb at "));
    turn(f);
    assert_int_equal(peer_link_up_count(f->a.link) + peer_link_up_count(f->b.link), 0);
    said = log_end(&log);
    assert_int_equal(count_in(said, "peer na at "), 1);
    assert_int_equal(count_in(said, "peer nb at "), 1);
}

static void each_node_says_once_a_minute_that_the_secrets_differ(void **state)
{
    struct log_file log = log_begin();
    struct fixture *f = *state;
    const char *said;

    join(f, node_of("na", PEER_TLS_OPTIONAL, SECRET, ""),
         node_of("nb", PEER_TLS_OPTIONAL, UNKNOWN, ""));
    turn(f); /* several attempts */
    said = log_end(&log);
    assert_int_equal(count_in(said, "somebody from 127.0.0.1 on the peer port is sent away: "
                                    "the secrets differ"),
                     2);
    assert_int_equal(count_in(said, "peer na at "), 1);
    assert_int_equal(count_in(said, "peer nb at "), 1);
    assert_int_equal(count_in(said, "the secrets differ: check that ha.secret is the same"), 4);
    assert_null(strstr(said, SECRET));
}

/* ---- an older node, or somebody on the way, by hand ---- */

/* Watches nb, which is played by hand. */
static void watch(struct fixture *f, struct peer_options a)
{
    struct peer_name nb = {.name = "nb"};

    start(f, &f->a, a);
    f->listen_fd = peer_listen(nb.address);
    peers_set(f->a.link, &nb, 1);
}

/* Does what a version before TLS does with it. */
static void hang_up(struct fixture *f)
{
    peer_speak(PEER_TLS_OFF);
    close(hand_accept(f->loop, f->listen_fd));
}

static int be_plain_nb(struct fixture *f)
{
    int fd;

    peer_speak(PEER_TLS_OFF);
    fd = hand_accept(f->loop, f->listen_fd);
    hand_let_in(f->loop, fd, "nb", 1, SECRET);
    AWAIT(f->loop, peer_link_plain_count(f->a.link) == 1);
    return fd;
}

static int be_tls_nb(struct fixture *f)
{
    int fd;

    peer_speak(PEER_TLS_OPTIONAL);
    fd = hand_accept(f->loop, f->listen_fd);
    hand_let_in(f->loop, fd, "nb", 1, SECRET);
    AWAIT(f->loop, peer_link_up_count(f->a.link) == 1);
    assert_int_equal(peer_link_plain_count(f->a.link), 0);
    return fd;
}

/* The first byte of the next attempt, which then ends. */
static unsigned char next_begins_with(struct fixture *f)
{
    unsigned char first;
    int fd;

    peer_speak(PEER_TLS_OFF);
    fd = hand_accept(f->loop, f->listen_fd);
    AWAIT(f->loop, read(fd, &first, 1) == 1);
    close(fd);
    return first;
}

static void an_older_node_is_spoken_to_in_plain_text_at_the_second_attempt(void **state)
{
    struct fixture *f = *state;

    watch(f, node_of("na", PEER_TLS_OPTIONAL, SECRET, ""));
    for (int round = 0; round < 2; round++) {
        hang_up(f);
        close(be_plain_nb(f)); /* it may come back with TLS */
        AWAIT(f->loop, peer_link_up_count(f->a.link) == 0);
    }
    close(be_tls_nb(f));
}

/* Somebody on the way hangs up, or it was the end of a process. */
static void each_plain_attempt_is_followed_by_one_with_tls(void **state)
{
    struct fixture *f = *state;

    watch(f, node_of("na", PEER_TLS_OPTIONAL, SECRET, ""));
    for (int i = 0; i < 3; i++) {
        assert_true(peer_tls_begins(next_begins_with(f)));
        assert_int_equal(next_begins_with(f), 'h');
    }
}

static void the_death_of_an_older_node_is_looked_for_in_plain_text(void **state)
{
    struct peer_message m = {.kind = PEER_SESSION, .session = peer_credentials(0xb1)};
    struct fixture *f = *state;
    int fd;

    watch(f, node_of("na", PEER_TLS_OPTIONAL, SECRET, ""));
    hang_up(f);
    fd = be_plain_nb(f);
    hand_say(fd, &m);
    hand_say(fd, &(struct peer_message){.kind = PEER_BEAT});
    turn(f);
    close(fd);
    fd = hand_accept(f->loop, f->listen_fd);
    hand_let_in(f->loop, fd, "nb", 2, SECRET);
    AWAIT(f->loop, f->a.notes.deaths == 1);
    close(fd);
}

static void required_never_speaks_plain_text(void **state)
{
    struct fixture *f = *state;

    watch(f, node_of("na", PEER_TLS_REQUIRED, SECRET, ""));
    for (int i = 0; i < 5; i++)
        assert_true(peer_tls_begins(next_begins_with(f)));
}

/* The hello in plain text that na sends when it is made to believe that nb has no TLS. */
static struct peer_message marked_hello(struct fixture *f)
{
    struct peer_message hello;
    int fd;

    watch(f, node_of("na", PEER_TLS_OPTIONAL, SECRET, ""));
    hang_up(f);
    fd = hand_accept(f->loop, f->listen_fd);
    assert_true(hand_hear(f->loop, fd, &hello));
    close(fd);
    peers_set(f->a.link, NULL, 0);
    return hello;
}

static void nobody_keeps_tls_from_two_nodes_that_have_it(void **state)
{
    struct fixture *f = *state;
    struct peer_hellos hellos = {.of[PEER_DIALER] = marked_hello(f)};
    struct peer_message proof = {.kind = PEER_PROOF}, m = hellos.of[PEER_DIALER];
    int fd;

    start(f, &f->b, node_of("nb", PEER_TLS_OPTIONAL, SECRET, ""));
    fd = hand_dial(f->b.who.address);
    hand_say(fd, &m); /* as it is */
    assert_false(hand_hear(f->loop, fd, &m));
    close(fd);
    fd = hand_dial(f->b.who.address);
    m = hellos.of[PEER_DIALER];
    m.challenge[0] ^= 1; /* without the mark; na goes on as if nothing were changed */
    hand_say(fd, &m);
    assert_true(hand_hear(f->loop, fd, &hellos.of[PEER_LISTENER]));
    peer_auth_prove(SECRET, PEER_DIALER, &hellos, proof.mac);
    hand_say(fd, &proof);
    assert_true(hand_hear(f->loop, fd, &m));
    assert_int_equal(m.kind, PEER_REFUSED);
    close(fd);
}

/* nb answers the next attempt by TLS, and knows `secret` alone: another one than na uses. */
static void be_strange_nb(struct fixture *f, const char *secret)
{
    const char *const secrets[PEER_SECRETS] = {secret};
    struct peer_keys *keys = peer_keys_new(CLUSTER, secrets);
    struct peer_tls *t = peer_tls_accept(keys);
    struct buf alert = BUF_INIT;
    char hello[1000];
    ssize_t n;
    int fd;

    peer_speak(PEER_TLS_OFF);
    fd = hand_accept(f->loop, f->listen_fd);
    AWAIT(f->loop, (n = read(fd, hello, sizeof(hello))) > 0);
    assert_int_equal(peer_tls_take(t, bytes_of(hello, (size_t)n), &alert), PEER_TLS_STRANGER);
    assert_true(hand_try(fd, buf_bytes(&alert)));
    close(fd);
    buf_fini(&alert);
    peer_tls_free(t);
    peer_keys_free(keys);
}

static void a_stranger_by_tls_does_not_lead_to_plain_text(void **state)
{
    struct fixture *f = *state;

    watch(f, node_of("na", PEER_TLS_OPTIONAL, SECRET, ""));
    for (int i = 0; i < 4; i++)
        be_strange_nb(f, UNKNOWN);
}

static void the_two_secrets_are_tried_in_turns(void **state)
{
    struct fixture *f = *state;

    watch(f, node_of("na", PEER_TLS_OPTIONAL, SECRET, OLDER));
    for (int i = 0; i < 2; i++) {
        be_strange_nb(f, OLDER);
        be_strange_nb(f, SECRET);
    }
}

#define ON_FIXTURE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_hear_what_nobody_else_can_read),
        cmocka_unit_test(the_key_is_named_by_nothing_of_it),
        cmocka_unit_test(the_handshake_may_come_byte_by_byte),
        cmocka_unit_test(the_listener_takes_either_of_two_secrets),
        cmocka_unit_test(each_side_sees_that_the_secrets_differ),
        cmocka_unit_test(another_clusters_key_is_another_one),
        cmocka_unit_test(the_first_packet_is_longer_than_a_line),
        cmocka_unit_test(a_changed_byte_breaks_it),
        cmocka_unit_test(a_recorded_first_packet_opens_nothing),
        cmocka_unit_test(a_certificate_in_place_of_the_key_is_refused),
        cmocka_unit_test(a_client_without_the_key_is_refused_by_any_version),
        cmocka_unit_test(plain_text_is_for_nodes_without_tls_only),
        ON_FIXTURE(required_joins_no_node_without_tls),
        cmocka_unit_test(the_secret_may_change_from_node_to_node),
        ON_FIXTURE(who_has_only_the_older_secret_is_not_joined_when_it_is_dropped),
        ON_FIXTURE(each_node_says_once_a_minute_that_the_secrets_differ),
        ON_FIXTURE(an_older_node_is_spoken_to_in_plain_text_at_the_second_attempt),
        ON_FIXTURE(each_plain_attempt_is_followed_by_one_with_tls),
        ON_FIXTURE(the_death_of_an_older_node_is_looked_for_in_plain_text),
        ON_FIXTURE(required_never_speaks_plain_text),
        ON_FIXTURE(nobody_keeps_tls_from_two_nodes_that_have_it),
        ON_FIXTURE(a_stranger_by_tls_does_not_lead_to_plain_text),
        ON_FIXTURE(the_two_secrets_are_tried_in_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

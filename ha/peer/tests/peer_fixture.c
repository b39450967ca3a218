#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/peer/tests/peer_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/list.h"
#include "base/resolve.h"
#include "ha/peer/link.h"

static void on_tick(struct timer *timer)
{
}

void peer_turn(struct loop *loop)
{
    struct timer tick;

    loop_touch(loop);
    timer_init(&tick, on_tick);
    timer_arm(&loop->timers, &tick, 1);
    event_base_loop(loop->base, EVLOOP_ONCE);
    timer_disarm(&loop->timers, &tick);
}

void peer_loop_free(struct loop *loop)
{
    for (unsigned i = 0; i < RESOLVE_DRAIN_TURNS; i++)
        peer_turn(loop);
    loop_free(loop);
}

int peer_listen(char address[PEER_ADDR_MAX + 1])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    /* Inherited by what is accepted: a peer that does not read is noticed soon. */
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int));
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    snprintf(address, PEER_ADDR_MAX + 1, "127.0.0.1:%u", ntohs(at.sin_port));
    return fd;
}

struct coord_credentials peer_credentials(int64_t session)
{
    struct coord_credentials c = {.session = session};

    memset(c.password, (int)session, sizeof(c.password));
    return c;
}

/* ---- notes ---- */

static void on_death(struct peers *p, const char *name, const struct coord_credentials *dead)
{
    struct peer_notes *n = p->user;

    n->deaths++;
    strcpy(n->dead_name, name);
    n->dead = *dead;
}

static bool on_question(struct peers *p, const char *name, const struct peer_question *question)
{
    struct peer_notes *n = p->user;

    n->questions++;
    n->question = *question;
    return n->promises;
}

static void on_promise(struct peers *p, const char *name, uint64_t seq)
{
    struct peer_notes *n = p->user;

    n->promised++;
    n->promised_seq = seq;
}

void peer_note(struct peers *port, struct peer_notes *notes)
{
    port->on_death = on_death;
    port->on_question = on_question;
    port->on_promise = on_promise;
    port->user = notes;
}

/* ---- both ways ---- */

static enum peer_tls_mode way;
static struct loop *hand_loop;

/* Of all connections by hand, by descriptor. */
static struct hand {
    struct peer_tls *tls; /* NULL: plain text */
    struct buf out;
} hands[1024];

static struct peer_keys *keys_of_all(void)
{
    static struct peer_keys *keys;
    static const char *const secrets[PEER_SECRETS] = {SECRET};

    if (!keys)
        keys = peer_keys_new(CLUSTER, secrets);
    return keys;
}

void peer_speak(enum peer_tls_mode mode)
{
    way = mode;
}

int peer_run_groups(const struct CMUnitTest *tests, size_t count)
{
    int failed;

    peer_speak(PEER_TLS_OFF);
    failed = _cmocka_run_group_tests("plain", tests, count, NULL, NULL);
    peer_speak(PEER_TLS_OPTIONAL);
    return failed + _cmocka_run_group_tests("TLS", tests, count, NULL, NULL);
}

struct peer_options peer_options_of(const char *node, const char *secret)
{
    return (struct peer_options){.node = node,
                                 .cluster = CLUSTER,
                                 .secret = secret,
                                 .secret_old = "",
                                 .tls = way,
                                 .silence_ms = 4000};
}

struct peer_self peer_self_of(struct loop *loop, struct peers *port, const char *node)
{
    return (struct peer_self){.loop = loop,
                              .port = port,
                              .node = node,
                              .secrets = {SECRET},
                              .tls = way,
                              .keys = keys_of_all(),
                              .incarnation = 7,
                              .handshake_ms = 2000,
                              .silence_ms = 4000};
}

/* ---- by hand ---- */

void hand_use(struct loop *loop)
{
    hand_loop = loop;
}

static bool flush(int fd)
{
    struct buf *out = &hands[fd].out;

    while (out->len) {
        ssize_t n = send(fd, out->at, out->len, MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN;
        buf_drop(out, (size_t)n);
    }
    return true;
}

bool hand_try(int fd, struct bytes bytes)
{
    struct hand *h = &hands[fd];

    if (h->out.len)
        return flush(fd);
    if (h->tls)
        peer_tls_write(h->tls, bytes, &h->out);
    else
        buf_add_bytes(&h->out, bytes);
    return flush(fd);
}

/* A byte that the other side has said; 0: the end, -1: none yet. */
static ssize_t hear_byte(int fd, char *byte)
{
    struct hand *h = &hands[fd];
    char wire[4096];
    ssize_t n;

    if (!h->tls)
        return recv(fd, byte, 1, 0);
    if (peer_tls_read(h->tls, byte, 1))
        return 1;
    n = recv(fd, wire, sizeof(wire), 0);
    if (n <= 0)
        return n;
    peer_tls_take(h->tls, bytes_of(wire, (size_t)n), &h->out);
    return peer_tls_read(h->tls, byte, 1) ? 1 : (errno = EAGAIN, -1);
}

/* One step of the handshake. True: it is over, one way or the other. */
static bool shake(int fd)
{
    struct hand *h = &hands[fd];
    enum peer_tls_state state;
    char wire[4096];
    ssize_t n = recv(fd, wire, sizeof(wire), 0);

    if (n == 0 || (n < 0 && errno != EAGAIN))
        return true;
    state = peer_tls_take(h->tls, bytes_of(wire, n > 0 ? (size_t)n : 0), &h->out);
    flush(fd);
    return state != PEER_TLS_SHAKING;
}

static int begin(int fd, struct peer_tls *tls)
{
    struct hand *h = &hands[fd];

    assert_true(fd < (int)(sizeof(hands) / sizeof(*hands)));
    peer_tls_free(h->tls); /* of an earlier connection, which the test has closed */
    buf_fini(&h->out);
    *h = (struct hand){.tls = tls};
    buf_init(&h->out);
    if (tls)
        AWAIT(hand_loop, shake(fd));
    return fd;
}

int hand_dial(const char *address)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_port = htons((uint16_t)atoi(strchr(address, ':') + 1));
    if (connect(fd, (struct sockaddr *)&at, sizeof(at))) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return begin(fd, way == PEER_TLS_OFF ? NULL : peer_tls_dial(keys_of_all(), 0));
}

int hand_accept(struct loop *loop, int listen_fd)
{
    int fd;

    AWAIT(loop, (fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
    return begin(fd, way == PEER_TLS_OFF ? NULL : peer_tls_accept(keys_of_all()));
}

void hand_say_text(int fd, const char *text)
{
    assert_true(hand_try(fd, bytes_of_text(text)));
    assert_int_equal(hands[fd].out.len, 0);
}

void hand_say(int fd, const struct peer_message *m)
{
    struct buf line = BUF_INIT;

    peer_wire_print(m, &line);
    hand_say_text(fd, buf_text(&line));
    buf_fini(&line);
}

bool hand_hear(struct loop *loop, int fd, struct peer_message *m)
{
    char line[PEER_LINE_MAX];
    size_t len = 0;
    ssize_t n;

    for (;;) {
        AWAIT(loop, (n = hear_byte(fd, line + len)) >= 0 || errno != EAGAIN);
        if (n <= 0)
            return false;
        if (line[len] == '\n')
            break;
        assert_true(++len < sizeof(line));
    }
    assert_int_equal(peer_wire_parse(m, bytes_of(line, len)), STATUS_OK);
    return true;
}

void hand_reset(int fd)
{
    struct linger at_once = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
}

static struct peer_message hello_of(const char *node, uint64_t incarnation)
{
    struct peer_message m = {.kind = PEER_HELLO, .incarnation = incarnation};

    strcpy(m.node, node);
    peer_auth_random(m.challenge, sizeof(m.challenge));
    return m;
}

bool hand_join(struct loop *loop, int fd, const char *node, uint64_t incarnation,
               const char *secret, struct peer_message *last)
{
    struct peer_hellos hellos = {.of[PEER_DIALER] = hello_of(node, incarnation)};
    struct peer_message proof = {.kind = PEER_PROOF};

    hand_say(fd, &hellos.of[PEER_DIALER]);
    assert_true(hand_hear(loop, fd, &hellos.of[PEER_LISTENER]));
    assert_int_equal(hellos.of[PEER_LISTENER].kind, PEER_HELLO);
    peer_auth_prove(secret, PEER_DIALER, &hellos, proof.mac);
    hand_say(fd, &proof);
    assert_true(hand_hear(loop, fd, last));
    return last->kind == PEER_PROOF &&
           peer_auth_is_proven(SECRET, PEER_LISTENER, &hellos, last->mac);
}

void hand_let_in(struct loop *loop, int fd, const char *node, uint64_t incarnation,
                 const char *secret)
{
    struct peer_hellos hellos = {.of[PEER_LISTENER] = hello_of(node, incarnation)};
    struct peer_message proof = {0};

    assert_true(hand_hear(loop, fd, &hellos.of[PEER_DIALER]));
    hand_say(fd, &hellos.of[PEER_LISTENER]);
    assert_true(hand_hear(loop, fd, &proof));
    assert_int_equal(proof.kind, PEER_PROOF);
    assert_true(peer_auth_is_proven(SECRET, PEER_DIALER, &hellos, proof.mac));
    peer_auth_prove(secret, PEER_LISTENER, &hellos, proof.mac);
    hand_say(fd, &proof);
}

/* ---- another process ---- */

static volatile sig_atomic_t has_term;

static void on_term(int number)
{
    has_term = 1;
}

static void run_peer(const char *node, int listen_fd, int64_t session, bool says_bye)
{
    struct loop *loop = loop_new();
    struct peer_options options = peer_options_of(node, SECRET);
    struct coord_credentials mine = peer_credentials(session);
    struct peers *p;

    options.listen_fd = listen_fd;
    p = peer_link_new(&options, loop);
    if (says_bye)
        signal(SIGTERM, on_term);
    peers_report(p, &mine);
    while (!has_term)
        peer_turn(loop);
    peers_leave(p);
    _exit(0);
}

pid_t peer_process(const char *node, int listen_fd, int64_t session, bool says_bye)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_peer(node, listen_fd, session, says_bye);
    }
    return pid;
}

void peer_kill(pid_t pid, int number)
{
    kill(pid, number);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

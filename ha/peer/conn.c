#include "ha/peer/conn.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WARNING_MS 60000

bool peer_may_warn(const struct peer_self *self, int64_t *next_mono_ms)
{
    int64_t now = timers_now(&self->loop->timers);

    if (now < *next_mono_ms)
        return false;
    *next_mono_ms = now + WARNING_MS;
    return true;
}

void peer_auth_prove(const char *secret, enum peer_side side, const struct peer_hellos *hellos,
                     unsigned char mac[PEER_MAC_BYTES])
{
    struct buf said = BUF_INIT;
    unsigned len = 0;

    /* A name has no line feed, so the text has one meaning only. */
    buf_add_text(&said, side == PEER_DIALER ? "dialer\n" : "listener\n");
    peer_wire_print(&hellos->of[PEER_DIALER], &said);
    peer_wire_print(&hellos->of[PEER_LISTENER], &said);
    if (!HMAC(EVP_sha256(), secret, (int)strlen(secret), (const unsigned char *)said.at,
              said.len, mac, &len) ||
        len != PEER_MAC_BYTES)
        abort();
    buf_fini(&said);
}

bool peer_auth_is_proven(const char *secret, enum peer_side side,
                         const struct peer_hellos *hellos,
                         const unsigned char mac[PEER_MAC_BYTES])
{
    unsigned char right[PEER_MAC_BYTES];

    peer_auth_prove(secret, side, hellos, right);
    return CRYPTO_memcmp(right, mac, sizeof(right)) == 0;
}

void peer_auth_random(void *at, size_t len)
{
    if (RAND_bytes(at, (int)len) != 1)
        abort();
}

/* By chance it is there once in 2^64 times. */
static const unsigned char mark[] = {'h', 'a', 's', ' ', 'T', 'L', 'S', '\n'};

void peer_auth_challenge(unsigned char challenge[PEER_CHALLENGE_BYTES], bool is_marked)
{
    peer_auth_random(challenge, PEER_CHALLENGE_BYTES);
    if (is_marked)
        memcpy(challenge, mark, sizeof(mark));
}

bool peer_auth_is_marked(const unsigned char challenge[PEER_CHALLENGE_BYTES])
{
    return !memcmp(challenge, mark, sizeof(mark));
}

#define OUT_MAX      4096
#define TLS_READ_MAX 4096

/* ---- the end ---- */

static void free_event(struct event **e)
{
    if (*e)
        event_free(*e);
    *e = NULL;
}

void peer_conn_close(struct peer_conn *c)
{
    free_event(&c->readable);
    free_event(&c->writable);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->is_connecting = c->is_heard = c->is_undecided = false;
    peer_tls_free(c->tls);
    c->tls = NULL;
    c->in_len = 0;
    buf_clear(&c->out);
}

static void end(struct peer_conn *c, enum peer_end how, const char *why)
{
    peer_conn_close(c);
    c->on_end(c, how, why);
}

/* The other side has closed, by an end of file or a reset. */
static void end_closed(struct peer_conn *c, const char *why)
{
    if (c->tls && !c->is_connecting && !c->is_heard)
        end(c, PEER_END_NO_TLS,
            "it takes no TLS: it is of an older version, or has ha.peer.tls: off");
    else
        end(c, PEER_END_CLOSED, why);
}

/* A timeout or an unreachable host comes from the network, not from the other process. */
static void end_by_error(struct peer_conn *c, int error)
{
    if (error == ECONNRESET || error == EPIPE)
        end_closed(c, strerror(error));
    else
        end(c, PEER_END_FAILED, strerror(error));
}

/* ---- out ---- */

static void flush(struct peer_conn *c)
{
    while (c->out.len) {
        ssize_t n = send(c->fd, c->out.at, c->out.len, MSG_NOSIGNAL);

        if (n < 0)
            break; /* the next read will find the error */
        buf_drop(&c->out, (size_t)n);
    }
    if (c->out.len)
        event_add(c->writable, NULL);
}

void peer_conn_send(struct peer_conn *c, const struct peer_message *m)
{
    struct buf line = BUF_INIT;

    if (c->fd < 0)
        return;
    peer_wire_print(m, c->tls ? &line : &c->out);
    if (c->tls)
        peer_tls_write(c->tls, buf_bytes(&line), &c->out);
    buf_fini(&line);
    flush(c);
    if (c->out.len > OUT_MAX)
        shutdown(c->fd, SHUT_RDWR); /* on_end comes in the next turn */
}

/* ---- in ---- */

/* False: the connection has ended, because of the line or by the owner's callback. */
static bool handle_line(struct peer_conn *c, struct bytes line)
{
    struct peer_message m;

    if (peer_wire_parse(&m, line) != STATUS_OK) {
        end(c, PEER_END_GARBAGE, "it does not speak this program's language");
        return false;
    }
    c->on_message(c, &m);
    return c->fd >= 0 && !c->is_connecting;
}

/* Handles all complete lines, with `n` bytes more. False: the connection has ended. The owner
 * may have begun another with the same struct by then: nothing more is touched. */
static bool handle_more(struct peer_conn *c, size_t n)
{
    char *feed;

    c->in_len += n;
    while ((feed = memchr(c->in, '\n', c->in_len))) {
        char line[PEER_LINE_MAX];
        size_t len = (size_t)(feed - c->in);

        memcpy(line, c->in, len);
        c->in_len -= len + 1;
        memmove(c->in, feed + 1, c->in_len);
        if (!handle_line(c, bytes_of(line, len)))
            return false;
    }
    if (c->in_len == sizeof(c->in)) {
        end(c, PEER_END_GARBAGE, "it sends a line that is too long");
        return false;
    }
    return true;
}

/* The bytes that have come, at most `room`; 0: none yet, or the connection has ended. */
static size_t receive(struct peer_conn *c, char *at, size_t room, int flags)
{
    ssize_t n = recv(c->fd, at, room, flags);

    if (n > 0) {
        c->is_heard = true;
        return (size_t)n;
    }
    if (n == 0)
        end_closed(c, "closed by the other side");
    else if (errno != EAGAIN && errno != EINTR)
        end_by_error(c, errno);
    return 0;
}

static void read_plain(struct peer_conn *c)
{
    size_t n = receive(c, c->in + c->in_len, sizeof(c->in) - c->in_len, 0);

    if (n)
        handle_more(c, n);
}

/* Goes on with TLS. False: messages cannot pass yet, or the connection has ended. */
static bool take_tls(struct peer_conn *c, struct bytes bytes)
{
    bool was_up = peer_tls_state(c->tls) == PEER_TLS_UP;
    enum peer_tls_state state = peer_tls_take(c->tls, bytes, &c->out);

    flush(c);
    if (state == PEER_TLS_STRANGER)
        end(c, PEER_END_STRANGE, peer_refusal_text(PEER_REFUSED_SECRET));
    else if (state == PEER_TLS_BROKEN)
        end(c, PEER_END_GARBAGE, peer_tls_why(c->tls));
    else if (state == PEER_TLS_UP && !was_up && c->on_connected)
        c->on_connected(c);
    return c->fd >= 0 && c->tls && state == PEER_TLS_UP;
}

static void read_tls(struct peer_conn *c)
{
    char bytes[TLS_READ_MAX];
    size_t n = receive(c, bytes, sizeof(bytes), 0);

    if (!n || !take_tls(c, bytes_of(bytes, n)))
        return;
    while ((n = peer_tls_read(c->tls, c->in + c->in_len, sizeof(c->in) - c->in_len)))
        if (!handle_more(c, n))
            return;
    if (peer_tls_state(c->tls) == PEER_TLS_BROKEN)
        end(c, PEER_END_GARBAGE, peer_tls_why(c->tls));
}

/* Looks at the first byte of an accepted connection. False: it has not come, or the connection
 * has ended. */
static bool decide(struct peer_conn *c)
{
    char first;

    if (!receive(c, &first, 1, MSG_PEEK))
        return false;
    c->is_undecided = false;
    if (peer_tls_begins((unsigned char)first)) {
        c->tls = peer_tls_accept(c->self->keys);
    } else if (c->self->tls == PEER_TLS_REQUIRED) {
        end(c, PEER_END_GARBAGE, "it speaks plain text, and ha.peer.tls is required here");
        return false;
    }
    return true;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct peer_conn *c = arg;

    loop_touch(c->self->loop);
    if (c->is_undecided && !decide(c))
        return;
    if (c->tls)
        read_tls(c);
    else
        read_plain(c);
}

/* ---- connecting ---- */

/* Is the refusal an ICMP message? A TCP reset says that the kernel there knows of no listener.
 * A packet filter may send an ICMP message instead, which connect() reports as a refusal, too:
 * only the error queue tells them apart. */
static bool is_by_icmp(int fd)
{
    char control[512];
    struct msghdr m = {.msg_control = control, .msg_controllen = sizeof(control)};

    return recvmsg(fd, &m, MSG_ERRQUEUE) >= 0;
}

static void set_icmp_reports(int fd, bool is_on)
{
    int on = is_on;

    setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
    setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
}

static void connected(struct peer_conn *c)
{
    c->is_connecting = false;
    set_icmp_reports(c->fd, false);
    event_add(c->readable, NULL);
    if (c->tls)
        take_tls(c, bytes_of(NULL, 0));
    else
        c->on_connected(c);
}

static void connect_failed(struct peer_conn *c, int error)
{
    if (error != ECONNREFUSED)
        end_by_error(c, error);
    else if (is_by_icmp(c->fd))
        end(c, PEER_END_FAILED, "rejected by a packet filter");
    else
        end(c, PEER_END_REFUSED, "connection refused");
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct peer_conn *c = arg;
    int error = 0;
    socklen_t len = sizeof(error);

    loop_touch(c->self->loop);
    if (!c->is_connecting) {
        flush(c);
        return;
    }
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len))
        error = errno;
    if (error)
        connect_failed(c, error);
    else
        connected(c);
}

/* ---- life ---- */

static void take(struct peer_conn *c, int fd)
{
    int on = 1;

    c->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    c->readable =
        must(event_new(c->self->loop->base, fd, EV_READ | EV_PERSIST, on_readable, c));
    c->writable = must(event_new(c->self->loop->base, fd, EV_WRITE, on_writable, c));
    loop_serve_first(c->readable);
    loop_serve_first(c->writable);
}

void peer_conn_init(struct peer_conn *c, const struct peer_self *self)
{
    *c = (struct peer_conn){.self = self, .fd = -1};
    buf_init(&c->out);
}

void peer_conn_fini(struct peer_conn *c)
{
    peer_conn_close(c);
    buf_fini(&c->out);
}

void peer_conn_accept(struct peer_conn *c, int fd)
{
    take(c, fd);
    c->is_undecided = c->self->tls != PEER_TLS_OFF;
    event_add(c->readable, NULL);
}

void peer_conn_dial(struct peer_conn *c, const struct sockaddr *to, unsigned len,
                    struct peer_tls *tls)
{
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    c->tls = tls;
    if (fd < 0) {
        end(c, PEER_END_FAILED, strerror(errno));
        return;
    }
    take(c, fd);
    set_icmp_reports(fd, true);
    c->is_connecting = true;
    if (connect(fd, to, len) && errno != EINPROGRESS)
        connect_failed(c, errno);
    else
        event_add(c->writable, NULL);
}

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

#define OUT_MAX 4096

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
    c->is_connecting = false;
    c->in_len = 0;
    buf_clear(&c->out);
}

static void end(struct peer_conn *c, enum peer_end how, const char *why)
{
    peer_conn_close(c);
    c->on_end(c, how, why);
}

/* A timeout or an unreachable host comes from the network, not from the other process. */
static enum peer_end end_of_error(int error)
{
    return error == ECONNRESET || error == EPIPE ? PEER_END_CLOSED : PEER_END_FAILED;
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
    if (c->fd < 0)
        return;
    peer_wire_print(m, &c->out);
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
    return c->fd >= 0;
}

/* Handles all complete lines. An owner that ends this connection may begin another with the
 * same struct: then `in_len` is 0 again, and nothing more is touched. */
static bool handle_lines(struct peer_conn *c)
{
    char *feed;

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

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct peer_conn *c = arg;
    ssize_t n;

    loop_touch(c->loop);
    n = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        end(c, end_of_error(errno), strerror(errno));
    } else if (n == 0) {
        end(c, PEER_END_CLOSED, "closed by the other side");
    } else {
        c->in_len += (size_t)n;
        handle_lines(c);
    }
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
    c->on_connected(c);
}

static void connect_failed(struct peer_conn *c, int error)
{
    if (error != ECONNREFUSED)
        end(c, end_of_error(error), strerror(error));
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

    loop_touch(c->loop);
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
    c->readable = must(event_new(c->loop->base, fd, EV_READ | EV_PERSIST, on_readable, c));
    c->writable = must(event_new(c->loop->base, fd, EV_WRITE, on_writable, c));
}

void peer_conn_init(struct peer_conn *c, struct loop *loop)
{
    *c = (struct peer_conn){.loop = loop, .fd = -1};
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
    event_add(c->readable, NULL);
}

void peer_conn_dial(struct peer_conn *c, const struct sockaddr *to, unsigned len)
{
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

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

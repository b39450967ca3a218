/* The way of a connection to its keys: whether it speaks TLS at all, its hello, its turn in the
 * line of handshakes, and its time.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/sockios.h>

#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/tls_context.h"
#include "protocol/conn/private.h"
#include "protocol/conn/tls_session.h"

#define TURN_US 2000 /* of handshakes in each turn of the loop, and the end of the last one */

#define REFUSED_MS   1000 /* a client that speaks plain may go on for so long, unheard */
#define SPEAKS_PLAIN "it speaks plain where TLS is required"

#define RECORD_HEAD_BYTES 5
#define HELLO_MAX_BYTES   16384 /* the library would make room for 131072 at the first word */

#define TYPE_CHANGE_CIPHER 20
#define TYPE_HANDSHAKE     22
#define TYPE_HELLO         1 /* of a handshake's message */

/* ---- the hello ---- */

void connection_fail_tls(struct connection *c, const char *reason)
{
    ++*c->kind->tls.failures;
    LOG_DEBUG(c->kind->name, "connection %llu: no TLS: %s", (unsigned long long)c->number,
              reason);
    connection_close(c, "its TLS handshake failed");
}

/* The kernel reports input when there are so many bytes, or the last ones. */
static void await_bytes(struct tls_session *s, size_t count)
{
    int low = (int)count;

    s->awaited_bytes = count;
    (void)setsockopt(s->connection->fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
}

static bool has_bytes(const struct connection *c, size_t count)
{
    int there = 0;

    return ioctl(c->fd, SIOCINQ, &there) == 0 && (size_t)there >= count;
}

static size_t number_at(const unsigned char *at, unsigned len)
{
    size_t number = 0;

    for (unsigned i = 0; i < len; i++)
        number = number << 8 | at[i];
    return number;
}

/* How many bytes the record of the hello takes, that begins with the `len` bytes at `head`; as
 * many as are needed to tell, where there are fewer. 0: this is no hello that anybody sends. */
static size_t hello_bytes(const unsigned char *head, size_t len)
{
    size_t record_bytes;

    if (head[0] != TYPE_HANDSHAKE)
        return len; /* the library says what is wrong with it */
    if (len < RECORD_HEAD_BYTES + 4)
        return RECORD_HEAD_BYTES + 4;
    record_bytes = number_at(head + 3, 2);
    if (record_bytes > RECORD_MAX_BYTES ||
        (record_bytes >= 4 && head[RECORD_HEAD_BYTES] == TYPE_HELLO &&
         number_at(head + RECORD_HEAD_BYTES + 1, 3) > HELLO_MAX_BYTES))
        return 0;
    return RECORD_HEAD_BYTES + record_bytes;
}

/* A client that was asked for another hello may tell in front of it that it changes its cipher,
 * for the sake of old middle boxes. */
static size_t change_bytes(const unsigned char *head, size_t len)
{
    return len > RECORD_HEAD_BYTES && head[0] == TYPE_CHANGE_CIPHER
               ? RECORD_HEAD_BYTES + number_at(head + 3, 2)
               : 0;
}

/* False: it is not there yet, and the kernel will tell; or the connection is closed. When the
 * kernel tells of fewer bytes than it was asked to wait for, no more may come. */
static bool has_hello(struct tls_session *s)
{
    struct connection *c = s->connection;
    unsigned char head[2 * RECORD_HEAD_BYTES + 16];
    ssize_t n = recv(c->fd, head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
    size_t skipped, wanted;

    if (n <= 0)
        return true; /* to the end, or the error, which the next read finds */
    skipped = change_bytes(head, (size_t)n);
    if (skipped >= (size_t)n)
        return true;
    wanted = hello_bytes(head + skipped, (size_t)n - skipped);
    if (wanted == 0) {
        connection_fail_tls(c, "its hello is too large");
        return false;
    }
    wanted += skipped;
    if (!has_bytes(c, wanted) && s->awaited_bytes < wanted) {
        await_bytes(s, wanted);
        return false;
    }
    await_bytes(s, 1);
    s->awaited_bytes = 0;
    return true;
}

/* ---- its time ---- */

void connection_watch_tls_time(struct connection *c)
{
    if (c->kind->tls.limit_ms)
        connection_arm_sooner(c, c->kind->tls.limit_ms);
}

static int64_t time_left(const struct connection *c, int64_t since_mono_ms, int64_t limit_ms)
{
    int64_t left_ms = since_mono_ms + limit_ms - connection_now(c);

    return left_ms > 0 ? left_ms : 0;
}

int64_t connection_time_for_tls(const struct connection *c)
{
    bool has_to_begin = c->is_undecided && c->kind->tls.mode == TLS_REQUIRED;
    int64_t since_mono_ms = c->tls         ? c->tls->since_mono_ms
                            : has_to_begin ? c->progress_mono_ms
                                           : 0;

    if (c->refused_mono_ms)
        return time_left(c, c->refused_mono_ms, REFUSED_MS);
    if (!since_mono_ms || !c->kind->tls.limit_ms)
        return INT64_MAX;
    return time_left(c, since_mono_ms, c->kind->tls.limit_ms);
}

void connection_give_up_tls(struct connection *c)
{
    if (c->refused_mono_ms)
        connection_close(c, SPEAKS_PLAIN);
    else if (connection_is_shaking(c))
        connection_fail_tls(c, "it took too long (limits.request_time)");
    else
        connection_close(c, "a TLS record took too long to arrive (limits.request_time)");
}

/* ---- whether it speaks TLS at all ---- */

static bool has_certificate(const struct tls_port *port)
{
    return port->tls && port->tls->context;
}

void connection_start_tls(struct connection *c)
{
    enum tls_mode mode = c->kind->tls.mode;

    c->is_undecided =
        mode == TLS_REQUIRED || (mode == TLS_OPTIONAL && has_certificate(&c->kind->tls));
    if (mode == TLS_REQUIRED)
        connection_watch_tls_time(c);
}

/* It may have more to say, a request with its body, and its kernel would throw the refusal away
 * if that met a closed socket. */
static void refuse_plain(struct connection *c)
{
    ++*c->kind->tls.failures;
    if (c->kind->tls.plain_refusal.len)
        connection_send(c, c->kind->tls.plain_refusal);
    connection_end_output(c);
    if (c->state != CONNECTION_OPEN)
        return;
    c->refused_mono_ms = connection_now(c);
    connection_arm_sooner(c, REFUSED_MS);
}

static void discard(struct connection *c)
{
    static char bytes[CONNECTION_READ_BYTES];
    ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        connection_close(c, SPEAKS_PLAIN);
}

/* By the first byte; an end or an error is found by the next read. False: there is nothing to
 * read, or the connection is ending. */
static bool decide(struct connection *c)
{
    char first;
    ssize_t n = recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false; /* it was no byte that may be read yet */
    c->is_undecided = false;
    if (n == 1 && first == TYPE_HANDSHAKE && has_certificate(&c->kind->tls)) {
        c->tls = tls_session_new(c);
        connection_watch_tls_time(c);
        return true;
    }
    if (n != 1 || c->kind->tls.mode != TLS_REQUIRED)
        return true;
    if (has_certificate(&c->kind->tls))
        refuse_plain(c);
    else
        connection_fail_tls(c, "it is required, and there is no certificate");
    return false;
}

/* ---- the handshake, in its turn ---- */

bool connection_is_shaking(const struct connection *c)
{
    return c->is_undecided || c->refused_mono_ms || (c->tls && !c->tls->is_open);
}

static struct tls_session *session_of(struct list *waiting)
{
    return CONTAINER_OF(waiting, struct tls_session, waiting);
}

static void await_turn(struct tls_session *s)
{
    struct tls *tls = s->tls;

    if (list_is_linked(&s->waiting))
        return;
    event_del(s->connection->readable);
    list_append(&tls->waiting, &s->waiting);
    if (!timer_is_armed(&tls->turn))
        timer_arm(&tls->loop->timers, &tls->turn, 0);
}

/* The first one; or the second, where the server has asked for another, and so has not come to
 * the end of what it says. */
static bool awaits_hello(const struct tls_session *s)
{
    char unused;

    return !s->ssl || (SSL_get_state(s->ssl) == TLS_ST_EARLY_DATA &&
                       SSL_get_finished(s->ssl, &unused, 0) == 0);
}

void connection_shake(struct connection *c)
{
    if (c->is_undecided && !decide(c))
        return;
    if (c->refused_mono_ms)
        discard(c);
    else if (!c->tls)
        connection_read(c);
    else if (!awaits_hello(c->tls) || has_hello(c->tls))
        await_turn(c->tls);
}

static void on_turn(struct timer *timer)
{
    struct tls *tls = CONTAINER_OF(timer, struct tls, turn);
    int64_t until_us = clock_mono_us() + TURN_US;
    struct list *link;

    while ((link = list_pop(&tls->waiting))) {
        struct tls_session *s = session_of(link);

        event_add(s->connection->readable, NULL);
        if (s->ssl || tls_session_begin(s))
            connection_read(s->connection);
        else
            connection_fail_tls(s->connection, "there is no certificate any more");
        if (clock_mono_us() >= until_us)
            break;
    }
    if (!list_is_empty(&tls->waiting))
        timer_arm(&tls->loop->timers, timer, 0);
}

static enum tls_progress conclude(struct tls_session *s)
{
    s->is_open = true;
    s->since_mono_ms = 0;
    ++*s->connection->kind->tls.handshakes;
    LOG_DEBUG(s->connection->kind->name, "connection %llu: %s, %s%s",
              (unsigned long long)s->connection->number, SSL_get_version(s->ssl),
              SSL_get_cipher_name(s->ssl), SSL_session_reused(s->ssl) ? ", resumed" : "");
    return TLS_MORE;
}

/* The library tells what has failed by a list of its own, which has to be empty before: what
 * it meets in a handshake may stay there even if all is well in the end. */
enum tls_progress tls_session_shake(struct tls_session *s)
{
    int result = SSL_do_handshake(s->ssl), error = SSL_get_error(s->ssl, result);

    if (result != 1 && error != SSL_ERROR_WANT_READ) {
        const char *why = tls_take_reason();

        connection_fail_tls(s->connection, s->blamed ? s->blamed : why);
        return TLS_CLOSED;
    }
    ERR_clear_error();
    if (result == 1)
        return conclude(s);
    return TLS_MORE;
}

/* ---- the line ---- */

void tls_init_handshakes(struct tls *tls)
{
    list_init(&tls->waiting);
    timer_init(&tls->turn, on_turn);
}

void tls_fini_handshakes(struct tls *tls)
{
    timer_disarm(&tls->loop->timers, &tls->turn);
}

#include "ha/peer/dialer.h"

#include <event2/util.h>
#include <string.h>

#include "base/log.h"
#include "ha/peer/conn.h"
#include "ha/peer/listener.h"

#define FIRST_MS 20
#define MAX_MS   1000

int64_t peer_retry_ms(unsigned attempts)
{
    int64_t ms = FIRST_MS;
    uint32_t random;

    while (attempts-- && ms < MAX_MS)
        ms *= 2;
    if (ms > MAX_MS)
        ms = MAX_MS;
    peer_auth_random(&random, sizeof(random));
    return ms / 2 + (int64_t)(random % (uint32_t)(ms / 2 + 1));
}

bool peer_retry_address(const char *servers, unsigned attempts, struct sockaddr_storage *at,
                        int *at_len)
{
    char one[PEER_ADDR_MAX];
    unsigned count = 1;
    size_t len;

    for (const char *c = servers; *c; c++)
        count += *c == ',';
    for (unsigned skip = attempts % count; skip; skip--)
        servers = strchr(servers, ',') + 1;
    len = strcspn(servers, ",");
    if (len == 0 || len >= sizeof(one))
        return false;
    memcpy(one, servers, len);
    one[len] = '\0';
    memset(at, 0, sizeof(*at)); /* addresses are compared as bytes */
    *at_len = sizeof(*at);
    return evutil_parse_sockaddr_port(one, (struct sockaddr *)at, at_len) == 0;
}

static struct timers *timers_of(struct peer_dial *d)
{
    return &d->self->loop->timers;
}

static int64_t beat_ms(const struct peer_dial *d)
{
    return d->self->silence_ms / 4;
}

static void enter(struct peer_dial *d, enum peer_dial_state state, int64_t deadline_ms)
{
    d->state = state;
    timer_arm(timers_of(d), &d->timer, deadline_ms);
}

static void warn(struct peer_dial *d, const char *what)
{
    if (peer_may_warn(d->self, &d->next_warning_mono_ms))
        LOG_WARN("ha", "peer %s at %s: %s", d->who.name, d->who.address, what);
}

/* ---- how to speak ---- */

static bool is_plain_next(const struct peer_dial *d)
{
    enum peer_tls_mode mode = d->self->tls;

    return mode == PEER_TLS_OFF || (mode == PEER_TLS_OPTIONAL && d->has_hung_up);
}

/* Learns from the end of an attempt how to speak in the next one. */
static void learn(struct peer_dial *d, enum peer_end how)
{
    if (how != PEER_END_REFUSED && how != PEER_END_FAILED) /* these say nothing of TLS */
        d->has_hung_up = how == PEER_END_NO_TLS;
    d->strange_ends = how == PEER_END_STRANGE ? d->strange_ends + 1 : 0;
    if (d->strange_ends && d->self->secrets[1])
        d->secret = !d->secret;
}

/* Is there another way to speak, which the next attempts try first? */
static bool has_another_way(const struct peer_dial *d, enum peer_end how)
{
    return (how == PEER_END_NO_TLS && d->self->tls == PEER_TLS_OPTIONAL) ||
           (how == PEER_END_STRANGE && d->self->secrets[1] && !d->strange_ends);
}

/* ---- again ---- */

static void retry(struct peer_dial *d)
{
    enter(d, DIAL_WAITING, peer_retry_ms(d->attempts++));
}

/* ---- death ---- */

/* Calls on_death as its last statement. */
static void report_death(struct peer_dial *d, const struct coord_credentials *left,
                         const char *how)
{
    struct peers *port = d->self->port;
    struct coord_credentials dead = *left;
    struct peer_name who = d->who;

    if (!dead.session)
        return;
    LOG_WARN("ha", "peer %s at %s: its process is dead: %s", who.name, who.address, how);
    if (port->on_death)
        port->on_death(port, who.name, &dead);
}

/* Has the watched process still a connection to us? */
static bool is_heard(const struct peer_dial *d)
{
    return peer_server_hears(d->server, d->who.name, d->watched.incarnation);
}

static void on_probe_end(struct peer_dial *d, enum peer_end how)
{
    struct coord_credentials left = d->watched.reported;

    switch (peer_watched_probed(&d->watched, how, is_heard(d))) {
    case PEER_LOOK_AGAIN:
        enter(d, DIAL_WAITING, peer_watched_wait_ms(&d->watched));
        break;
    case PEER_NOT_PROVEN:
        retry(d);
        break;
    case PEER_DEAD:
        d->watched.reported = (struct coord_credentials){0};
        retry(d);
        report_death(d, &left, "nobody listens there any more");
        break;
    }
}

/* ---- connections end ---- */

static void on_end(struct peer_conn *c, enum peer_end how, const char *why)
{
    struct peer_dial *d = CONTAINER_OF(c, struct peer_dial, conn);
    bool was_up = d->state == DIAL_UP;

    if (was_up) {
        LOG_INFO("ha", "peer %s at %s: connection ended: %s", d->who.name, d->who.address, why);
        d->attempts = 0;
    } else if (!d->watched.probes_left && !has_another_way(d, how)) {
        warn(d, why);
    }
    learn(d, how);
    if (was_up && peer_watched_suspect(&d->watched, how))
        enter(d, DIAL_WAITING, 0);
    else if (!was_up && d->watched.probes_left)
        on_probe_end(d, how);
    else
        retry(d);
}

static void give_up_as(struct peer_dial *d, enum peer_end how, const char *why)
{
    peer_conn_close(&d->conn);
    on_end(&d->conn, how, why);
}

static void give_up(struct peer_dial *d, const char *why)
{
    give_up_as(d, PEER_END_FAILED, why);
}

static void on_refused(struct peer_dial *d, enum peer_refusal refusal)
{
    give_up_as(d, refusal == PEER_REFUSED_SECRET ? PEER_END_STRANGE : PEER_END_FAILED,
               peer_refusal_text(refusal));
}

/* ---- the handshake ---- */

static void on_connected(struct peer_conn *c)
{
    struct peer_dial *d = CONTAINER_OF(c, struct peer_dial, conn);
    struct peer_message hello = {.kind = PEER_HELLO, .incarnation = d->self->incarnation};

    strcpy(hello.node, d->self->node);
    peer_auth_challenge(hello.challenge, d->is_plain && d->self->tls != PEER_TLS_OFF);
    d->hellos.of[PEER_DIALER] = hello;
    d->state = DIAL_GREETING;
    peer_conn_send(c, &hello);
}

static void on_hello(struct peer_dial *d, const struct peer_message *m)
{
    struct peer_message proof = {.kind = PEER_PROOF};

    if (strcmp(m->node, d->who.name) != 0) {
        give_up(d, "another node answers there: check the addresses of both");
        return;
    }
    d->hellos.of[PEER_LISTENER] = *m;
    d->state = DIAL_PROVING;
    peer_auth_prove(d->self->secrets[d->secret], PEER_DIALER, &d->hellos, proof.mac);
    peer_conn_send(&d->conn, &proof);
}

static void be_up(struct peer_dial *d)
{
    d->attempts = 0;
    d->next_warning_mono_ms = 0;
    d->heard_mono_ms = timers_now(timers_of(d));
    enter(d, DIAL_UP, beat_ms(d));
}

static void on_proof(struct peer_dial *d, const struct peer_message *m)
{
    uint64_t incarnation = d->hellos.of[PEER_LISTENER].incarnation;
    struct peer_watched *before = &d->watched;
    bool replaces = peer_watched_is_replaced(before, incarnation, &d->at, is_heard(d));
    struct coord_credentials left = before->reported;

    if (!peer_auth_is_proven(d->self->secrets[d->secret], PEER_LISTENER, &d->hellos, m->mac)) {
        on_refused(d, PEER_REFUSED_SECRET);
        return;
    }
    LOG_INFO("ha", "peer %s at %s: connected%s%s", d->who.name, d->who.address,
             incarnation == before->incarnation ? " again, to the same process"
             : before->incarnation              ? ", to another process than before"
                                                : "",
             d->is_plain ? ", without TLS" : "");
    peer_watched_meet(&d->watched, incarnation, &d->at);
    be_up(d);
    if (replaces)
        report_death(d, &left, "another one answers in its place");
}

static void on_news(struct peer_dial *d, const struct peer_message *m)
{
    struct peers *port = d->self->port;

    d->heard_mono_ms = timers_now(timers_of(d));
    if (m->kind == PEER_SESSION)
        d->watched.reported = m->session;
    else if (m->kind == PEER_BYE)
        d->watched.reported = (struct coord_credentials){0};
    else if (m->kind == PEER_PROMISE && port->on_promise)
        port->on_promise(port, d->who.name, m->seq);
}

static bool is_news(enum peer_message_kind kind)
{
    return kind == PEER_SESSION || kind == PEER_BYE || kind == PEER_PROMISE ||
           kind == PEER_BEAT;
}

static void on_message(struct peer_conn *c, const struct peer_message *m)
{
    struct peer_dial *d = CONTAINER_OF(c, struct peer_dial, conn);

    if (d->state == DIAL_GREETING && m->kind == PEER_HELLO)
        on_hello(d, m);
    else if (d->state == DIAL_PROVING && m->kind == PEER_PROOF)
        on_proof(d, m);
    else if (d->state == DIAL_PROVING && m->kind == PEER_REFUSED)
        on_refused(d, m->refusal);
    else if (d->state == DIAL_UP && is_news(m->kind))
        on_news(d, m);
    else
        give_up(d, "it says what it may not say now");
}

/* ---- attempts ---- */

static void connect_now(struct peer_dial *d)
{
    if (!d->watched.probes_left)
        d->is_plain = is_plain_next(d);
    enter(d, DIAL_CONNECTING, d->self->handshake_ms);
    peer_conn_dial(&d->conn, (struct sockaddr *)&d->at.at, (unsigned)d->at.len,
                   d->is_plain ? NULL : peer_tls_dial(d->self->keys, d->secret));
}

static void on_resolved(struct resolve *r)
{
    struct peer_dial *d = CONTAINER_OF(r, struct peer_dial, resolve);

    if (d->state != DIAL_RESOLVING)
        return;
    if (peer_retry_address(buf_text(&r->servers), d->attempts, &d->at.at, &d->at.len)) {
        connect_now(d);
    } else {
        warn(d, *r->unknown ? r->unknown : "no address");
        retry(d);
    }
}

static void beat(struct peer_dial *d)
{
    struct peer_message m = {.kind = PEER_BEAT};

    if (timers_now(timers_of(d)) - d->heard_mono_ms >= d->self->silence_ms) {
        give_up(d, "it is silent");
        return;
    }
    peer_conn_send(&d->conn, &m);
    timer_arm(timers_of(d), &d->timer, beat_ms(d));
}

static void on_timer(struct timer *timer)
{
    struct peer_dial *d = CONTAINER_OF(timer, struct peer_dial, timer);

    if (d->state == DIAL_UP) {
        beat(d);
    } else if (d->state != DIAL_WAITING) {
        resolve_cancel(&d->resolve);
        give_up(d, "it does not answer");
    } else if (d->watched.probes_left) {
        connect_now(d);
    } else {
        enter(d, DIAL_RESOLVING, 2 * d->self->handshake_ms);
        resolve_start(&d->resolve, d->who.address);
    }
}

/* ---- for the link ---- */

void peer_dial_ask(struct peer_dial *d, const struct peer_question *question)
{
    struct peer_message m = {.kind = PEER_ASK,
                             .token = question->token,
                             .seq = question->seq,
                             .session_ms = question->session_ms};

    if (d->state == DIAL_UP)
        peer_conn_send(&d->conn, &m);
}

void peer_dial_init(struct peer_dial *d, const struct peer_self *self,
                    const struct peer_server *server, const struct peer_name *who)
{
    *d = (struct peer_dial){.self = self, .server = server, .who = *who};
    list_init(&d->link);
    resolve_init(&d->resolve, self->loop, on_resolved);
    peer_conn_init(&d->conn, self);
    d->conn.on_connected = on_connected;
    d->conn.on_message = on_message;
    d->conn.on_end = on_end;
    timer_init(&d->timer, on_timer);
    enter(d, DIAL_WAITING, 0);
}

void peer_dial_stop(struct peer_dial *d)
{
    resolve_cancel(&d->resolve);
    peer_conn_close(&d->conn);
    timer_disarm(timers_of(d), &d->timer);
}

void peer_dial_fini(struct peer_dial *d)
{
    peer_dial_stop(d);
    resolve_fini(&d->resolve);
    peer_conn_fini(&d->conn);
}

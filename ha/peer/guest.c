#include "ha/peer/guest.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const struct peer_message *hello_of(const struct peer_guest *g)
{
    return &g->hellos.of[PEER_DIALER];
}

static void be_patient(struct peer_guest *g, int64_t ms)
{
    timer_arm(&g->host->self->loop->timers, &g->timer, ms);
}

bool peer_guest_is(const struct peer_guest *g, const char *node, uint64_t incarnation)
{
    return hello_of(g)->incarnation == incarnation && !strcmp(hello_of(g)->node, node);
}

/* ---- the end ---- */

void peer_guest_end(struct peer_guest *g)
{
    peer_conn_close(&g->conn);
    timer_disarm(&g->host->self->loop->timers, &g->timer);
    g->host->on_end(g);
}

static void on_end(struct peer_conn *c, enum peer_end how, const char *why)
{
    struct peer_guest *g = CONTAINER_OF(c, struct peer_guest, conn);
    struct peer_host *h = g->host;

    if (how == PEER_END_GARBAGE && peer_may_warn(h->self, &h->next_warning_mono_ms))
        LOG_WARN("ha", "somebody on the peer port is sent away: %s", why);
    peer_guest_end(g);
}

static void on_patience(struct timer *timer)
{
    peer_guest_end(CONTAINER_OF(timer, struct peer_guest, timer));
}

static void refuse(struct peer_guest *g, enum peer_refusal refusal)
{
    struct peer_host *h = g->host;
    struct peer_message m = {.kind = PEER_REFUSED, .refusal = refusal};

    peer_conn_send(&g->conn, &m);
    if (peer_may_warn(h->self, &h->next_warning_mono_ms))
        LOG_WARN("ha", "refuses a peer that calls itself %s: %s", hello_of(g)->node,
                 peer_refusal_text(refusal));
    peer_guest_end(g);
}

/* ---- what is said ---- */

static void send_plain(struct peer_guest *g, enum peer_message_kind kind)
{
    struct peer_message m = {.kind = kind};

    peer_conn_send(&g->conn, &m);
}

void peer_guest_tell(struct peer_guest *g)
{
    struct peer_message m = {.kind = PEER_SESSION, .session = g->host->mine};

    peer_conn_send(&g->conn, &m);
}

void peer_guest_say_bye(struct peer_guest *g)
{
    send_plain(g, PEER_BYE);
}

static void answer(struct peer_guest *g, const struct peer_message *m)
{
    struct peers *port = g->host->self->port;
    struct peer_question question = {
        .token = m->token, .seq = m->seq, .session_ms = m->session_ms};
    struct peer_message promise = {.kind = PEER_PROMISE, .seq = m->seq};

    if (port->on_question && port->on_question(port, hello_of(g)->node, &question))
        peer_conn_send(&g->conn, &promise);
}

/* ---- the handshake ---- */

static void greet(struct peer_guest *g, const struct peer_message *hello)
{
    const struct peer_self *self = g->host->self;
    struct peer_message mine = {.kind = PEER_HELLO, .incarnation = self->incarnation};

    strcpy(mine.node, self->node);
    peer_auth_random(mine.challenge, sizeof(mine.challenge));
    g->hellos.of[PEER_DIALER] = *hello;
    g->hellos.of[PEER_LISTENER] = mine;
    g->state = GUEST_PROVING;
    peer_conn_send(&g->conn, &mine);
}

static void let_in(struct peer_guest *g)
{
    struct peer_host *h = g->host;
    struct peer_message proof = {.kind = PEER_PROOF};

    h->on_proven(g);
    g->state = GUEST_UP;
    be_patient(g, h->self->silence_ms);
    peer_auth_prove(h->self->secret, PEER_LISTENER, &g->hellos, proof.mac);
    peer_conn_send(&g->conn, &proof);
    if (h->is_leaving)
        peer_guest_say_bye(g);
    else if (h->mine.session)
        peer_guest_tell(g);
}

static void judge(struct peer_guest *g, const struct peer_message *proof)
{
    const struct peer_self *self = g->host->self;

    if (!peer_auth_is_proven(self->secret, PEER_DIALER, &g->hellos, proof->mac))
        refuse(g, PEER_REFUSED_SECRET);
    else if (!strcmp(hello_of(g)->node, self->node))
        refuse(g, PEER_REFUSED_NAME);
    else if (!g->host->has_room(g->host))
        refuse(g, PEER_REFUSED_TOO_MANY);
    else
        let_in(g);
}

static void on_message(struct peer_conn *c, const struct peer_message *m)
{
    struct peer_guest *g = CONTAINER_OF(c, struct peer_guest, conn);

    if (g->state == GUEST_GREETING && m->kind == PEER_HELLO) {
        greet(g, m);
    } else if (g->state == GUEST_PROVING && m->kind == PEER_PROOF) {
        judge(g, m);
    } else if (g->state == GUEST_UP && m->kind == PEER_BEAT) {
        be_patient(g, g->host->self->silence_ms);
        send_plain(g, PEER_BEAT);
    } else if (g->state == GUEST_UP && m->kind == PEER_ASK) {
        be_patient(g, g->host->self->silence_ms);
        answer(g, m);
    } else {
        on_end(c, PEER_END_GARBAGE, "it says what it may not say now");
    }
}

/* ---- life ---- */

struct peer_guest *peer_guest_new(struct peer_host *host, int fd)
{
    struct peer_guest *g = calloc(1, sizeof(*g));

    if (!g)
        abort();
    g->host = host;
    g->state = GUEST_GREETING;
    list_init(&g->link);
    peer_conn_init(&g->conn, host->self->loop);
    g->conn.on_message = on_message;
    g->conn.on_end = on_end;
    timer_init(&g->timer, on_patience);
    be_patient(g, host->self->handshake_ms);
    peer_conn_accept(&g->conn, fd);
    return g;
}

void peer_guest_free(struct peer_guest *g)
{
    peer_conn_fini(&g->conn);
    timer_disarm(&g->host->self->loop->timers, &g->timer);
    free(g);
}

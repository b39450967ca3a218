#include "ha/peer_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/list.h"
#include "base/log.h"
#include "ha/peer_auth.h"
#include "ha/peer_conn.h"

#define STRANGERS_MAX 16
#define GUESTS_MAX    ((PEERS_MAX)*2) /* authenticated: a restarted node may be here twice */
#define BREAK_MS      100             /* after EMFILE and the like: else the loop would spin */

enum guest_state { GUEST_GREETING, GUEST_PROVING, GUEST_UP };

struct guest {
    struct peer_conn conn;
    struct list link; /* strangers, guests or ended; oldest first */
    struct peer_server *server;
    enum guest_state state;
    struct peer_hellos hellos;
    struct timer timer; /* strangers: the end of patience; guests: of silence */
};

struct peer_server {
    const struct peer_self *self;
    int listen_fd;
    struct event *acceptable;
    struct timer accept_break;
    struct list strangers;
    struct list guests;
    unsigned stranger_count;
    unsigned guest_count;
    struct list ended; /* freed when the loop turns */
    struct timer reaper;
    struct coord_credentials mine; /* session 0: none yet */
    bool is_leaving;
    int64_t next_warning_mono_ms;
};

static const char *name_of(const struct guest *g)
{
    return g->hellos.of[PEER_DIALER].node;
}

/* ---- the end ---- */

static void guest_end(struct guest *g)
{
    struct peer_server *s = g->server;

    peer_conn_close(&g->conn);
    timer_disarm(&s->self->loop->timers, &g->timer);
    if (g->state == GUEST_UP)
        s->guest_count--;
    else
        s->stranger_count--;
    list_remove(&g->link);
    list_append(&s->ended, &g->link);
    timer_arm(&s->self->loop->timers, &s->reaper, 0);
}

static void free_all(struct list *guests)
{
    struct list *link;

    while ((link = list_pop(guests))) {
        struct guest *g = CONTAINER_OF(link, struct guest, link);

        peer_conn_fini(&g->conn);
        timer_disarm(&g->server->self->loop->timers, &g->timer);
        free(g);
    }
}

static void on_reap(struct timer *timer)
{
    free_all(&CONTAINER_OF(timer, struct peer_server, reaper)->ended);
}

static void on_end(struct peer_conn *c, enum peer_end how, const char *why)
{
    struct guest *g = CONTAINER_OF(c, struct guest, conn);

    if (how == PEER_END_GARBAGE &&
        peer_may_warn(g->server->self, &g->server->next_warning_mono_ms))
        LOG_WARN("ha", "somebody on the peer port is sent away: %s", why);
    guest_end(g);
}

static void on_patience(struct timer *timer)
{
    guest_end(CONTAINER_OF(timer, struct guest, timer));
}

static void refuse(struct guest *g, enum peer_refusal refusal)
{
    struct peer_server *s = g->server;
    struct peer_message m = {.kind = PEER_REFUSED, .refusal = refusal};

    peer_conn_send(&g->conn, &m);
    if (peer_may_warn(s->self, &s->next_warning_mono_ms))
        LOG_WARN("ha", "refuses a peer that calls itself %s: %s", name_of(g),
                 peer_refusal_text(refusal));
    guest_end(g);
}

/* ---- what is said ---- */

static void send_plain(struct guest *g, enum peer_message_kind kind)
{
    struct peer_message m = {.kind = kind};

    peer_conn_send(&g->conn, &m);
}

static void send_session(struct guest *g)
{
    struct peer_message m = {.kind = PEER_SESSION, .session = g->server->mine};

    peer_conn_send(&g->conn, &m);
}

static void answer(struct guest *g, const struct peer_message *m)
{
    struct peers *port = g->server->self->port;
    struct peer_question question = {
        .token = m->token, .seq = m->seq, .session_ms = m->session_ms};
    struct peer_message promise = {.kind = PEER_PROMISE, .seq = m->seq};

    if (port->on_question && port->on_question(port, name_of(g), &question))
        peer_conn_send(&g->conn, &promise);
}

/* ---- the handshake ---- */

static void greet(struct guest *g, const struct peer_message *hello)
{
    const struct peer_self *self = g->server->self;
    struct peer_message mine = {.kind = PEER_HELLO, .incarnation = self->incarnation};

    strcpy(mine.node, self->node);
    peer_auth_random(mine.challenge, sizeof(mine.challenge));
    g->hellos.of[PEER_DIALER] = *hello;
    g->hellos.of[PEER_LISTENER] = mine;
    g->state = GUEST_PROVING;
    peer_conn_send(&g->conn, &mine);
}

/* An older connection of the same process is a half-open one. */
static void drop_double(struct guest *g)
{
    LIST_EACH_SAFE (it, &g->server->guests) {
        struct guest *old = CONTAINER_OF(it, struct guest, link);

        if (!strcmp(name_of(old), name_of(g)) &&
            old->hellos.of[PEER_DIALER].incarnation == g->hellos.of[PEER_DIALER].incarnation)
            guest_end(old);
    }
}

static void let_in(struct guest *g)
{
    struct peer_server *s = g->server;
    struct peer_message proof = {.kind = PEER_PROOF};

    drop_double(g);
    g->state = GUEST_UP;
    s->stranger_count--;
    s->guest_count++;
    list_remove(&g->link);
    list_append(&s->guests, &g->link);
    timer_arm(&s->self->loop->timers, &g->timer, s->self->silence_ms);
    peer_auth_prove(s->self->secret, PEER_LISTENER, &g->hellos, proof.mac);
    peer_conn_send(&g->conn, &proof);
    if (s->is_leaving)
        send_plain(g, PEER_BYE);
    else if (s->mine.session)
        send_session(g);
}

static void judge(struct guest *g, const struct peer_message *proof)
{
    const struct peer_self *self = g->server->self;

    if (!peer_auth_is_proven(self->secret, PEER_DIALER, &g->hellos, proof->mac))
        refuse(g, PEER_REFUSED_SECRET);
    else if (!strcmp(name_of(g), self->node))
        refuse(g, PEER_REFUSED_NAME);
    else if (g->server->guest_count >= GUESTS_MAX)
        refuse(g, PEER_REFUSED_TOO_MANY);
    else
        let_in(g);
}

static void on_message(struct peer_conn *c, const struct peer_message *m)
{
    struct guest *g = CONTAINER_OF(c, struct guest, conn);
    struct timers *timers = &g->server->self->loop->timers;

    if (g->state == GUEST_GREETING && m->kind == PEER_HELLO) {
        greet(g, m);
    } else if (g->state == GUEST_PROVING && m->kind == PEER_PROOF) {
        judge(g, m);
    } else if (g->state == GUEST_UP && m->kind == PEER_BEAT) {
        timer_arm(timers, &g->timer, g->server->self->silence_ms);
        send_plain(g, PEER_BEAT);
    } else if (g->state == GUEST_UP && m->kind == PEER_ASK) {
        timer_arm(timers, &g->timer, g->server->self->silence_ms);
        answer(g, m);
    } else {
        on_end(c, PEER_END_GARBAGE, "it says what it may not say now");
    }
}

/* ---- coming in ---- */

static void welcome(struct peer_server *s, int fd)
{
    struct guest *g = calloc(1, sizeof(*g));

    if (!g)
        abort();
    if (s->stranger_count == STRANGERS_MAX)
        guest_end(CONTAINER_OF(list_first(&s->strangers), struct guest, link));
    g->server = s;
    g->state = GUEST_GREETING;
    peer_conn_init(&g->conn, s->self->loop);
    g->conn.on_message = on_message;
    g->conn.on_end = on_end;
    list_init(&g->link);
    list_append(&s->strangers, &g->link);
    s->stranger_count++;
    timer_init(&g->timer, on_patience);
    timer_arm(&s->self->loop->timers, &g->timer, s->self->handshake_ms);
    peer_conn_accept(&g->conn, fd);
}

static void on_break_over(struct timer *timer)
{
    event_add(CONTAINER_OF(timer, struct peer_server, accept_break)->acceptable, NULL);
}

/* One in each turn: strangers must not keep the loop from what matters. */
static void on_acceptable(evutil_socket_t listen_fd, short what, void *arg)
{
    struct peer_server *s = arg;
    int fd;

    loop_touch(s->self->loop);
    fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        welcome(s, fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        event_del(s->acceptable);
        timer_arm(&s->self->loop->timers, &s->accept_break, BREAK_MS);
    }
}

/* ---- for the link ---- */

void peer_server_tell(struct peer_server *s, const struct coord_credentials *mine)
{
    s->mine = *mine;
    if (s->is_leaving)
        return;
    LIST_EACH (it, &s->guests)
        send_session(CONTAINER_OF(it, struct guest, link));
}

void peer_server_leave(struct peer_server *s)
{
    s->is_leaving = true;
    LIST_EACH (it, &s->guests)
        send_plain(CONTAINER_OF(it, struct guest, link), PEER_BYE);
}

bool peer_server_hears(const struct peer_server *s, const char *node, uint64_t incarnation)
{
    LIST_EACH (it, &s->guests) {
        const struct guest *g = CONTAINER_OF(it, struct guest, link);

        if (g->hellos.of[PEER_DIALER].incarnation == incarnation && !strcmp(name_of(g), node))
            return true;
    }
    return false;
}

struct peer_server *peer_server_new(const struct peer_self *self, int listen_fd)
{
    struct peer_server *s = calloc(1, sizeof(*s));

    if (!s)
        abort();
    s->self = self;
    s->listen_fd = listen_fd;
    list_init(&s->strangers);
    list_init(&s->guests);
    list_init(&s->ended);
    timer_init(&s->reaper, on_reap);
    timer_init(&s->accept_break, on_break_over);
    s->acceptable =
        event_new(self->loop->base, listen_fd, EV_READ | EV_PERSIST, on_acceptable, s);
    if (!s->acceptable || event_add(s->acceptable, NULL))
        abort();
    return s;
}

void peer_server_free(struct peer_server *s)
{
    free_all(&s->strangers);
    free_all(&s->guests);
    free_all(&s->ended);
    timer_disarm(&s->self->loop->timers, &s->reaper);
    timer_disarm(&s->self->loop->timers, &s->accept_break);
    event_free(s->acceptable);
    close(s->listen_fd);
    free(s);
}

#include "ha/peer/listener.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

static const struct peer_message *hello_of(const struct peer_inbound *in)
{
    return &in->hellos.of[PEER_DIALER];
}

static void be_patient(struct peer_inbound *in, int64_t ms)
{
    timer_arm(&in->host->self->loop->timers, &in->timer, ms);
}

/* Does the peer claim to be this very process? */
static bool peer_inbound_is(const struct peer_inbound *in, const char *node,
                            uint64_t incarnation)
{
    return hello_of(in)->incarnation == incarnation && !strcmp(hello_of(in)->node, node);
}

/* ---- the end ---- */

/* Closes the connection, and calls on_end. */
static void peer_inbound_end(struct peer_inbound *in)
{
    peer_conn_close(&in->conn);
    timer_disarm(&in->host->self->loop->timers, &in->timer);
    in->host->on_end(in);
}

static void on_end(struct peer_conn *c, enum peer_end how, const char *why)
{
    struct peer_inbound *in = CONTAINER_OF(c, struct peer_inbound, conn);
    struct peer_host *h = in->host;

    if (how == PEER_END_GARBAGE && peer_may_warn(h->self, &h->next_warning_mono_ms))
        LOG_WARN("ha", "somebody on the peer port is sent away: %s", why);
    peer_inbound_end(in);
}

static void on_patience(struct timer *timer)
{
    peer_inbound_end(CONTAINER_OF(timer, struct peer_inbound, timer));
}

static void refuse(struct peer_inbound *in, enum peer_refusal refusal)
{
    struct peer_host *h = in->host;
    struct peer_message m = {.kind = PEER_REFUSED, .refusal = refusal};

    peer_conn_send(&in->conn, &m);
    if (peer_may_warn(h->self, &h->next_warning_mono_ms))
        LOG_WARN("ha", "refuses a peer that calls itself %s: %s", hello_of(in)->node,
                 peer_refusal_text(refusal));
    peer_inbound_end(in);
}

/* ---- what is said ---- */

static void send_plain(struct peer_inbound *in, enum peer_message_kind kind)
{
    struct peer_message m = {.kind = kind};

    peer_conn_send(&in->conn, &m);
}

/* Tells a peer that is UP this process's session. */
static void peer_inbound_tell(struct peer_inbound *in)
{
    struct peer_message m = {.kind = PEER_SESSION, .session = in->host->mine};

    peer_conn_send(&in->conn, &m);
}

static void peer_inbound_say_bye(struct peer_inbound *in)
{
    send_plain(in, PEER_BYE);
}

static void answer(struct peer_inbound *in, const struct peer_message *m)
{
    struct peers *port = in->host->self->port;
    struct peer_question question = {
        .token = m->token, .seq = m->seq, .session_ms = m->session_ms};
    struct peer_message promise = {.kind = PEER_PROMISE, .seq = m->seq};

    if (port->on_question && port->on_question(port, hello_of(in)->node, &question))
        peer_conn_send(&in->conn, &promise);
}

/* ---- the handshake ---- */

static void greet(struct peer_inbound *in, const struct peer_message *hello)
{
    const struct peer_self *self = in->host->self;
    struct peer_message mine = {.kind = PEER_HELLO, .incarnation = self->incarnation};

    strcpy(mine.node, self->node);
    peer_auth_random(mine.challenge, sizeof(mine.challenge));
    in->hellos.of[PEER_DIALER] = *hello;
    in->hellos.of[PEER_LISTENER] = mine;
    in->state = INBOUND_PROVING;
    peer_conn_send(&in->conn, &mine);
}

static void let_in(struct peer_inbound *in)
{
    struct peer_host *h = in->host;
    struct peer_message proof = {.kind = PEER_PROOF};

    h->on_proven(in);
    in->state = INBOUND_UP;
    be_patient(in, h->self->silence_ms);
    peer_auth_prove(h->self->secret, PEER_LISTENER, &in->hellos, proof.mac);
    peer_conn_send(&in->conn, &proof);
    if (h->is_leaving)
        peer_inbound_say_bye(in);
    else if (h->mine.session)
        peer_inbound_tell(in);
}

static void judge(struct peer_inbound *in, const struct peer_message *proof)
{
    const struct peer_self *self = in->host->self;

    if (!peer_auth_is_proven(self->secret, PEER_DIALER, &in->hellos, proof->mac))
        refuse(in, PEER_REFUSED_SECRET);
    else if (!strcmp(hello_of(in)->node, self->node))
        refuse(in, PEER_REFUSED_NAME);
    else if (!in->host->has_room(in->host))
        refuse(in, PEER_REFUSED_TOO_MANY);
    else
        let_in(in);
}

static void on_message(struct peer_conn *c, const struct peer_message *m)
{
    struct peer_inbound *in = CONTAINER_OF(c, struct peer_inbound, conn);

    if (in->state == INBOUND_GREETING && m->kind == PEER_HELLO) {
        greet(in, m);
    } else if (in->state == INBOUND_PROVING && m->kind == PEER_PROOF) {
        judge(in, m);
    } else if (in->state == INBOUND_UP && m->kind == PEER_BEAT) {
        be_patient(in, in->host->self->silence_ms);
        send_plain(in, PEER_BEAT);
    } else if (in->state == INBOUND_UP && m->kind == PEER_ASK) {
        be_patient(in, in->host->self->silence_ms);
        answer(in, m);
    } else {
        on_end(c, PEER_END_GARBAGE, "it says what it may not say now");
    }
}

/* ---- life ---- */

/* Takes over a connected socket: non-blocking, close-on-exec. */
static struct peer_inbound *peer_inbound_new(struct peer_host *host, int fd)
{
    struct peer_inbound *in = calloc(1, sizeof(*in));

    if (!in)
        abort();
    in->host = host;
    in->state = INBOUND_GREETING;
    list_init(&in->link);
    peer_conn_init(&in->conn, host->self->loop);
    in->conn.on_message = on_message;
    in->conn.on_end = on_end;
    timer_init(&in->timer, on_patience);
    be_patient(in, host->self->handshake_ms);
    peer_conn_accept(&in->conn, fd);
    return in;
}

/* Frees the peer without on_end; after the turn of the loop in which it ended. */
static void peer_inbound_free(struct peer_inbound *in)
{
    peer_conn_fini(&in->conn);
    timer_disarm(&in->host->self->loop->timers, &in->timer);
    free(in);
}

/* ---- all of them ---- */

#define STRANGERS_MAX 16
#define INBOUNDS_MAX  ((PEERS_MAX)*2) /* UP: a restarted node may be here twice */
#define BREAK_MS      100             /* pause after EMFILE and the like: else the loop spins */

struct peer_server {
    struct peer_host host;
    int listen_fd;
    struct event *acceptable;
    struct timer accept_break;
    struct list strangers; /* oldest first */
    struct list inbounds;  /* UP */
    unsigned stranger_count;
    unsigned inbound_count;
    struct list ended; /* freed when the loop turns */
    struct timer reaper;
};

static struct peer_server *server_of(const struct peer_host *h)
{
    return CONTAINER_OF((struct peer_host *)h, struct peer_server, host);
}

static struct peer_inbound *inbound_of(struct list *link)
{
    return CONTAINER_OF(link, struct peer_inbound, link);
}

static struct timers *timers_of(const struct peer_server *s)
{
    return &s->host.self->loop->timers;
}

static void free_all(struct list *inbounds)
{
    struct list *link;

    while ((link = list_pop(inbounds)))
        peer_inbound_free(inbound_of(link));
}

static void on_reap(struct timer *timer)
{
    free_all(&CONTAINER_OF(timer, struct peer_server, reaper)->ended);
}

/* ---- who is here ---- */

static bool has_room(const struct peer_host *h)
{
    return server_of(h)->inbound_count < INBOUNDS_MAX;
}

/* Ends an older connection of the same process, which must be half-open. */
static void drop_double(struct peer_server *s, const struct peer_message *hello)
{
    LIST_EACH_SAFE (it, &s->inbounds) {
        if (peer_inbound_is(inbound_of(it), hello->node, hello->incarnation))
            peer_inbound_end(inbound_of(it));
    }
}

static void on_proven(struct peer_inbound *in)
{
    struct peer_server *s = server_of(in->host);

    drop_double(s, &in->hellos.of[PEER_DIALER]);
    s->stranger_count--;
    s->inbound_count++;
    list_remove(&in->link);
    list_append(&s->inbounds, &in->link);
}

static void on_listener_end(struct peer_inbound *in)
{
    struct peer_server *s = server_of(in->host);

    if (in->state == INBOUND_UP)
        s->inbound_count--;
    else
        s->stranger_count--;
    list_remove(&in->link);
    list_append(&s->ended, &in->link);
    timer_arm(timers_of(s), &s->reaper, 0);
}

/* ---- coming in ---- */

static void welcome(struct peer_server *s, int fd)
{
    if (s->stranger_count == STRANGERS_MAX)
        peer_inbound_end(inbound_of(list_first(&s->strangers)));
    list_append(&s->strangers, &peer_inbound_new(&s->host, fd)->link);
    s->stranger_count++;
}

static void on_break_over(struct timer *timer)
{
    event_add(CONTAINER_OF(timer, struct peer_server, accept_break)->acceptable, NULL);
}

/* Accepts one connection in each turn, so that strangers cannot keep the loop busy. */
static void on_acceptable(evutil_socket_t listen_fd, short what, void *arg)
{
    struct peer_server *s = arg;
    int fd;

    loop_touch(s->host.self->loop);
    fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        welcome(s, fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        event_del(s->acceptable);
        timer_arm(timers_of(s), &s->accept_break, BREAK_MS);
    }
}

/* ---- for the link ---- */

void peer_server_tell(struct peer_server *s, const struct coord_credentials *mine)
{
    s->host.mine = *mine;
    if (s->host.is_leaving)
        return;
    LIST_EACH (it, &s->inbounds)
        peer_inbound_tell(inbound_of(it));
}

void peer_server_leave(struct peer_server *s)
{
    s->host.is_leaving = true;
    LIST_EACH (it, &s->inbounds)
        peer_inbound_say_bye(inbound_of(it));
}

bool peer_server_hears(const struct peer_server *s, const char *node, uint64_t incarnation)
{
    LIST_EACH (it, &s->inbounds) {
        if (peer_inbound_is(inbound_of(it), node, incarnation))
            return true;
    }
    return false;
}

struct peer_server *peer_server_new(const struct peer_self *self, int listen_fd)
{
    struct peer_server *s = calloc(1, sizeof(*s));

    if (!s)
        abort();
    s->host = (struct peer_host){
        .self = self, .has_room = has_room, .on_proven = on_proven, .on_end = on_listener_end};
    s->listen_fd = listen_fd;
    list_init(&s->strangers);
    list_init(&s->inbounds);
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
    free_all(&s->inbounds);
    free_all(&s->ended);
    timer_disarm(timers_of(s), &s->reaper);
    timer_disarm(timers_of(s), &s->accept_break);
    event_free(s->acceptable);
    close(s->listen_fd);
    free(s);
}

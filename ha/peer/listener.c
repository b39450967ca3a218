#include "ha/peer/listener.h"

#include <errno.h>
#include <event2/event.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

#define STRANGERS_MAX 16
#define INBOUNDS_MAX  ((PEERS_MAX)*2) /* UP: a restarted node may be here twice */
#define FROM_CHARS    (INET6_ADDRSTRLEN + IF_NAMESIZE)
#define BREAK_MS      100 /* pause after EMFILE and the like: else the loop spins */

struct peer_server {
    const struct peer_self *self;
    struct coord_credentials mine; /* session 0: none yet */
    bool is_leaving;
    int64_t next_warning_mono_ms;
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

/* A connection that another node, or a stranger, has dialed.
 *
 *      accepted --> GREETING --hello--> PROVING --right proof--> UP
 *                       |                  |                      |
 *                       +---- 2 s, garbage, wrong proof ----------+---- silence, garbage
 *
 * Before UP an inbound peer is a stranger: it gets this node's name, a random number, and no
 * more. From UP on it gets this process's session, and answers to its questions.
 */
struct inbound {
    struct peer_conn conn;
    struct list link; /* in strangers, inbounds or ended */
    struct peer_server *server;
    enum { GREETING, PROVING, UP } state;
    char from[FROM_CHARS];
    struct peer_hellos hellos;
    const char *secret; /* that both know */
    struct timer timer; /* strangers: the handshake's deadline; UP: the limit of silence */
};

static struct timers *timers_of(const struct peer_server *s)
{
    return &s->self->loop->timers;
}

static struct inbound *inbound_of(struct list *link)
{
    return CONTAINER_OF(link, struct inbound, link);
}

static const struct peer_message *hello_of(const struct inbound *in)
{
    return &in->hellos.of[PEER_DIALER];
}

static void be_patient(struct inbound *in, int64_t ms)
{
    timer_arm(timers_of(in->server), &in->timer, ms);
}

/* Does the peer claim to be this very process? */
static bool is_process(const struct inbound *in, const char *node, uint64_t incarnation)
{
    return hello_of(in)->incarnation == incarnation && !strcmp(hello_of(in)->node, node);
}

/* ---- the end ---- */

static void end(struct inbound *in)
{
    struct peer_server *s = in->server;

    peer_conn_close(&in->conn);
    timer_disarm(timers_of(s), &in->timer);
    if (in->state == UP)
        s->inbound_count--;
    else
        s->stranger_count--;
    list_remove(&in->link);
    list_append(&s->ended, &in->link);
    timer_arm(timers_of(s), &s->reaper, 0);
}

static void on_end(struct peer_conn *c, enum peer_end how, const char *why)
{
    struct inbound *in = CONTAINER_OF(c, struct inbound, conn);
    struct peer_server *s = in->server;

    if ((how == PEER_END_GARBAGE || how == PEER_END_STRANGE) &&
        peer_may_warn(s->self, &s->next_warning_mono_ms))
        LOG_WARN("ha", "somebody from %s on the peer port is sent away: %s", in->from, why);
    end(in);
}

static void on_patience(struct timer *timer)
{
    end(CONTAINER_OF(timer, struct inbound, timer));
}

static void refuse(struct inbound *in, enum peer_refusal refusal)
{
    struct peer_server *s = in->server;
    struct peer_message m = {.kind = PEER_REFUSED, .refusal = refusal};

    peer_conn_send(&in->conn, &m);
    if (peer_may_warn(s->self, &s->next_warning_mono_ms))
        LOG_WARN("ha", "refuses a peer that calls itself %s: %s", hello_of(in)->node,
                 peer_refusal_text(refusal));
    end(in);
}

/* ---- what is said ---- */

static void send_plain(struct inbound *in, enum peer_message_kind kind)
{
    struct peer_message m = {.kind = kind};

    peer_conn_send(&in->conn, &m);
}

static void send_session(struct inbound *in)
{
    struct peer_message m = {.kind = PEER_SESSION, .session = in->server->mine};

    peer_conn_send(&in->conn, &m);
}

static void answer(struct inbound *in, const struct peer_message *m)
{
    struct peers *port = in->server->self->port;
    struct peer_question question = {
        .token = m->token, .seq = m->seq, .session_ms = m->session_ms};
    struct peer_message promise = {.kind = PEER_PROMISE, .seq = m->seq};

    if (port->on_question && port->on_question(port, hello_of(in)->node, &question))
        peer_conn_send(&in->conn, &promise);
}

/* ---- the handshake ---- */

/* Does it speak plain text because it found no TLS here? */
static bool could_have_tls(const struct inbound *in, const struct peer_message *hello)
{
    return in->server->self->tls != PEER_TLS_OFF && !in->conn.tls &&
           peer_auth_is_marked(hello->challenge);
}

static void greet(struct inbound *in, const struct peer_message *hello)
{
    const struct peer_self *self = in->server->self;
    struct peer_message mine = {.kind = PEER_HELLO, .incarnation = self->incarnation};

    strcpy(mine.node, self->node);
    peer_auth_challenge(mine.challenge, false);
    in->hellos.of[PEER_DIALER] = *hello;
    in->hellos.of[PEER_LISTENER] = mine;
    in->state = PROVING;
    peer_conn_send(&in->conn, &mine);
}

/* Ends an older connection of the same process, which must be half-open. */
static void drop_double(struct peer_server *s, const struct peer_message *hello)
{
    LIST_EACH_SAFE (it, &s->inbounds) {
        if (is_process(inbound_of(it), hello->node, hello->incarnation))
            end(inbound_of(it));
    }
}

static void let_in(struct inbound *in)
{
    struct peer_server *s = in->server;
    struct peer_message proof = {.kind = PEER_PROOF};

    drop_double(s, hello_of(in));
    s->stranger_count--;
    s->inbound_count++;
    list_remove(&in->link);
    list_append(&s->inbounds, &in->link);
    in->state = UP;
    be_patient(in, s->self->silence_ms);
    peer_auth_prove(in->secret, PEER_LISTENER, &in->hellos, proof.mac);
    peer_conn_send(&in->conn, &proof);
    if (s->is_leaving)
        send_plain(in, PEER_BYE);
    else if (s->mine.session)
        send_session(in);
}

/* The secret that the peer has proven to know; NULL: none of ours. */
static const char *proven_secret(const struct inbound *in, const struct peer_message *proof)
{
    const char *const *secrets = in->server->self->secrets;

    for (unsigned i = 0; i < PEER_SECRETS && secrets[i]; i++)
        if (peer_auth_is_proven(secrets[i], PEER_DIALER, &in->hellos, proof->mac))
            return secrets[i];
    return NULL;
}

static void judge(struct inbound *in, const struct peer_message *proof)
{
    const struct peer_self *self = in->server->self;

    in->secret = proven_secret(in, proof);
    if (!in->secret)
        refuse(in, PEER_REFUSED_SECRET);
    else if (!strcmp(hello_of(in)->node, self->node))
        refuse(in, PEER_REFUSED_NAME);
    else if (in->server->inbound_count == INBOUNDS_MAX)
        refuse(in, PEER_REFUSED_TOO_MANY);
    else
        let_in(in);
}

static void on_message(struct peer_conn *c, const struct peer_message *m)
{
    struct inbound *in = CONTAINER_OF(c, struct inbound, conn);

    if (in->state == GREETING && m->kind == PEER_HELLO && could_have_tls(in, m)) {
        on_end(c, PEER_END_GARBAGE, "it speaks plain text, and has TLS as this node has");
    } else if (in->state == GREETING && m->kind == PEER_HELLO) {
        greet(in, m);
    } else if (in->state == PROVING && m->kind == PEER_PROOF) {
        judge(in, m);
    } else if (in->state == UP && m->kind == PEER_BEAT) {
        be_patient(in, in->server->self->silence_ms);
        send_plain(in, PEER_BEAT);
    } else if (in->state == UP && m->kind == PEER_ASK) {
        be_patient(in, in->server->self->silence_ms);
        answer(in, m);
    } else {
        on_end(c, PEER_END_GARBAGE, "it says what it may not say now");
    }
}

static void free_all(struct list *inbounds)
{
    struct list *link;

    while ((link = list_pop(inbounds))) {
        struct inbound *in = inbound_of(link);

        peer_conn_fini(&in->conn);
        timer_disarm(timers_of(in->server), &in->timer);
        free(in);
    }
}

static void on_reap(struct timer *timer)
{
    free_all(&CONTAINER_OF(timer, struct peer_server, reaper)->ended);
}

/* ---- accepting ---- */

/* Takes over a connected socket: non-blocking, close-on-exec. */
static void welcome(struct peer_server *s, int fd, const struct sockaddr *from, socklen_t len)
{
    struct inbound *in = must(calloc(1, sizeof(*in)));

    if (s->stranger_count == STRANGERS_MAX)
        end(inbound_of(list_first(&s->strangers)));
    in->server = s;
    if (getnameinfo(from, len, in->from, sizeof(in->from), NULL, 0, NI_NUMERICHOST))
        strcpy(in->from, "an unknown address");
    peer_conn_init(&in->conn, s->self);
    in->conn.on_message = on_message;
    in->conn.on_end = on_end;
    timer_init(&in->timer, on_patience);
    be_patient(in, s->self->handshake_ms);
    list_append(&s->strangers, &in->link);
    s->stranger_count++;
    peer_conn_accept(&in->conn, fd);
}

static void on_break_over(struct timer *timer)
{
    event_add(CONTAINER_OF(timer, struct peer_server, accept_break)->acceptable, NULL);
}

/* Accepts one connection in each turn, so that strangers cannot keep the loop busy. */
static void on_acceptable(evutil_socket_t listen_fd, short what, void *arg)
{
    struct peer_server *s = arg;
    struct sockaddr_storage from;
    socklen_t len = sizeof(from);
    int fd;

    loop_touch(s->self->loop);
    fd = accept4(listen_fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        welcome(s, fd, (struct sockaddr *)&from, len);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        event_del(s->acceptable);
        timer_arm(timers_of(s), &s->accept_break, BREAK_MS);
    }
}

/* ---- for the link ---- */

void peer_server_report(struct peer_server *s, const struct coord_credentials *mine)
{
    s->mine = *mine;
    if (s->is_leaving)
        return;
    LIST_EACH (it, &s->inbounds)
        send_session(inbound_of(it));
}

void peer_server_leave(struct peer_server *s)
{
    s->is_leaving = true;
    LIST_EACH (it, &s->inbounds)
        send_plain(inbound_of(it), PEER_BYE);
}

bool peer_server_hears(const struct peer_server *s, const char *node, uint64_t incarnation)
{
    LIST_EACH (it, &s->inbounds) {
        if (is_process(inbound_of(it), node, incarnation))
            return true;
    }
    return false;
}

struct peer_server *peer_server_new(const struct peer_self *self, int listen_fd)
{
    struct peer_server *s = must(calloc(1, sizeof(*s)));

    s->self = self;
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

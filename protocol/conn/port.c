#include "protocol/conn/port.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/log.h"
#include "node/queue/queue.h"
#include "protocol/access/access.h"
#include "protocol/access/identity.h"
#include "protocol/conn/floating.h"

#define PORT_GRACE_MS 50

/* A connection that ends waits so long for a client that reads nothing; when the node stops,
 * also for one that reads slowly. Then the replies are lost. */
#define ENDING_MS 5000

/* Memory of all connections: for requests that have not arrived completely, and for unread
 * replies. */
#define KEPT_BYTES(request_bytes)  (4 * (request_bytes) + (64 << 20))
#define UNREAD_BYTES(output_bytes) (16 * (output_bytes) + (128 << 20))

#define BREAK_MS   100   /* after EMFILE and the like: else the loop would spin */
#define WARNING_MS 10000 /* between two of its warnings */

#define TURNED_AWAY_PER_TURN 4

#define PROXIED_SPARE    32
#define RESUMED_PER_TURN 64

/* Other sockets than TCP refuse the options, and need none. */
void listener_prepare(int fd)
{
    static const struct {
        int level;
        int name;
        int value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 5},  /* s of silence, */
        {IPPROTO_TCP, TCP_KEEPINTVL, 1}, /* s between probes, */
        {IPPROTO_TCP, TCP_KEEPCNT, 3},   /* unanswered ones */
        {IPPROTO_TCP, TCP_NOTSENT_LOWAT, LISTENER_UNSENT_BYTES},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, 8000}, /* ms that sent bytes stay unacknowledged; it
                                                * overrides the count of probes: 5 + 3 x 1 s */
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                         sizeof(options[i].value));
}

static void have_a_break(struct listener *l)
{
    int64_t now_mono_ms = timers_now(&l->loop->timers);

    if (now_mono_ms >= l->next_warning_mono_ms) {
        LOG_WARN(l->name, "cannot accept clients, trying again: %s", strerror(errno));
        l->next_warning_mono_ms = now_mono_ms + WARNING_MS;
    }
    event_del(l->acceptable);
    timer_arm(&l->loop->timers, &l->timer, BREAK_MS);
}

static void on_break_over(struct timer *timer)
{
    event_add(CONTAINER_OF(timer, struct listener, timer)->acceptable, NULL);
}

/* A client that left while it waited is no failure of ours. */
static bool is_clients_fault(int error)
{
    return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM ||
           error == ENETDOWN || error == ENETUNREACH || error == EHOSTUNREACH;
}

/* Accepts `most` clients at most. */
static void accept_some(struct listener *l, unsigned most)
{
    l->turned_away = 0;
    for (unsigned i = 0; i < most && l->acceptable; i++) {
        struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
        socklen_t len = sizeof(from);
        int fd = accept4(l->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            l->from = peer_end_of((struct sockaddr *)&from);
            l->on_accept(l, fd);
            if (l->turned_away >= TURNED_AWAY_PER_TURN && most != UINT_MAX)
                return;
        } else if (errno == EAGAIN) {
            return;
        } else if (!is_clients_fault(errno)) {
            have_a_break(l);
            return;
        }
    }
}

static void on_acceptable(evutil_socket_t listen_fd, short what, void *arg)
{
    struct listener *l = arg;

    loop_touch(l->loop);
    accept_some(l, LISTENER_ACCEPTS_PER_TURN);
}

void listener_accept(struct listener *l)
{
    accept_some(l, UINT_MAX);
}

void listener_init(struct listener *l, const char *name, struct loop *loop, int fd,
                   void (*on_accept)(struct listener *l, int fd))
{
    *l = (struct listener){.name = name, .loop = loop, .fd = fd, .on_accept = on_accept};
    timer_init(&l->timer, on_break_over);
    evutil_make_socket_nonblocking(fd);
    l->acceptable = event_new(loop->base, fd, EV_READ | EV_PERSIST, on_acceptable, l);
    if (!l->acceptable)
        abort();
    event_add(l->acceptable, NULL);
}

void listener_stop(struct listener *l)
{
    if (!l->acceptable)
        return;
    timer_disarm(&l->loop->timers, &l->timer);
    event_free(l->acceptable);
    l->acceptable = NULL;
    close(l->fd);
}

/* ---- clients ---- */

static enum port_admission admission_of(const struct port *p, const struct peer *peer)
{
    unsigned most = p->connections_per_address;

    if (p->stats.connections >= p->connections_max)
        return PORT_IS_FULL;
    return most && peer->connections >= most ? PORT_IS_FULL_FOR_ADDRESS : PORT_ADMITS;
}

/* A unix socket's clients have no address, and would all be one. */
static bool is_limited(const struct peer *peer)
{
    return peer->network.family != 0;
}

bool port_take_request(struct port_client *c, bool is_for_monitors)
{
    struct allowance *of = is_for_monitors ? &c->peer->monitoring : &c->peer->requests;
    bool is_fine = !is_limited(c->peer) || allowance_take(of, c->port->of_address.requests,
                                                          timers_now(&c->port->loop->timers));

    c->port->stats.slowed += !is_fine;
    return is_fine;
}

int64_t port_await_request(struct port_client *c)
{
    unsigned a_second = is_limited(c->peer) ? c->port->of_address.requests : 0;
    int64_t now_mono_ms = timers_now(&c->port->loop->timers);

    if (allowance_take(&c->peer->requests, a_second, now_mono_ms))
        return 0;
    return allowance_wait_ms(&c->peer->requests, a_second, now_mono_ms);
}

bool port_may_have_bytes(const struct port_client *c, size_t bytes, uint64_t more)
{
    size_t most = c->port->of_address.bytes;

    return !most || !is_limited(c->peer) || bytes + more <= most;
}

static void act_as_nobody(struct port_client *c)
{
    if (!c->account)
        return;
    c->account->connections--;
    identity_account_drop(c->account);
    c->account = NULL;
}

bool port_act_as(struct port_client *c, const struct identity *identity)
{
    if (c->account == identity->account)
        return true;
    if (identity->connections_max &&
        identity->account->connections >= identity->connections_max)
        return false;
    act_as_nobody(c);
    c->account = identity_account_use(identity->account);
    c->account->connections++;
    return true;
}

/* ---- clients whose identity may be on its way ---- */

bool port_hold_for_identities(struct port_client *c, const struct access *access)
{
    if (!access_is_awaited(access) || c->holds_no_more || c->port->is_stopping ||
        connection_is_draining(&c->connection))
        return false;
    connection_hold(&c->connection);
    list_append(&c->port->held, &c->held);
    return true;
}

/* The client may be held again at once. */
static void resume(struct port_client *c)
{
    list_remove(&c->held);
    connection_resume(&c->connection);
}

static void resume_some(struct port *p, unsigned most)
{
    struct list *link;

    for (unsigned i = 0; i < most && (link = list_first(&p->resumed)); i++)
        resume(CONTAINER_OF(link, struct port_client, held));
}

static void on_resuming(struct timer *timer)
{
    struct port *p = CONTAINER_OF(timer, struct port, resuming);

    resume_some(p, RESUMED_PER_TURN);
    if (!list_is_empty(&p->resumed))
        timer_arm(&p->loop->timers, timer, 0);
}

void port_hold_no_more(struct port_client *c)
{
    c->holds_no_more = true;
    if (list_is_linked(&c->held))
        resume(c);
}

void port_recheck(struct port *p)
{
    list_append_all(&p->resumed, &p->held);
    timer_arm(&p->loop->timers, &p->resuming, 0);
    if (!p->ops->recheck)
        return;
    LIST_EACH (link, &p->clients)
        p->ops->recheck(CONTAINER_OF(link, struct port_client, link));
}

/* ---- accepting ---- */

/* A client that comes from p->listener.from. */
static void admit(struct port *p, int fd)
{
    int64_t now_mono_ms = timers_now(&p->loop->timers);
    struct peer *peer = peers_join(&p->peers, &p->listener.from, now_mono_ms);
    enum port_admission admission = admission_of(p, peer);

    if (is_limited(peer) &&
        !allowance_take(&peer->connecting, p->of_address.connects, now_mono_ms)) {
        p->stats.rejected++;
        p->listener.turned_away++;
        peer_leave(peer);
        close(fd);
        return;
    }
    if (admission)
        p->stats.rejected++;
    p->ops->on_client(p, fd, peer, admission);
}

static void on_proxied(struct proxied *proxied, int fd, const struct peer_end *client)
{
    struct port *p = CONTAINER_OF(proxied, struct port, proxied);

    p->listener.from = *client;
    admit(p, fd);
}

/* A full port still hears a few, because they may ask for its health. */
static bool has_room_to_hear(const struct port *p)
{
    return p->proxied.count < PROXIED_SPARE ||
           p->proxied.count + p->stats.connections < p->connections_max;
}

static void on_accept(struct listener *l, int fd)
{
    struct port *p = CONTAINER_OF(l, struct port, listener);

    if (!proxied_is_from(&p->proxied, &l->from)) {
        admit(p, fd);
    } else if (has_room_to_hear(p)) {
        proxied_hear(&p->proxied, fd, &l->from);
    } else {
        p->stats.rejected++;
        l->turned_away++;
        close(fd);
    }
}

void port_join(struct port *p, struct port_client *c, int fd, struct peer *peer,
               bool is_admitted)
{
    c->port = p;
    c->peer = peer;
    c->is_admitted = is_admitted;
    if (is_admitted) {
        p->stats.accepted++;
        p->stats.connections++;
        peer->connections++;
    }
    listener_prepare(fd);
    list_append(&p->clients, &c->link);
    list_init(&c->unacked);
    list_init(&c->held);
    connection_init(&c->connection, &p->kind, fd);
    c->connection.end = p->listener.from;
}

/* Input that has come by now is read, because unread input would turn the close into a reset.
 */
void port_reject(struct port *p, int fd, struct peer *peer, struct bytes reply)
{
    char unread[4096];

    peer_leave(peer);
    if (p->kind.tls.mode != TLS_REQUIRED)
        (void)send(fd, reply.at, reply.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)recv(fd, unread, sizeof(unread), MSG_DONTWAIT);
    close(fd);
}

void port_leave(struct port_client *c)
{
    struct port *p = c->port;

    list_remove(&c->link);
    list_remove(&c->held);
    if (c->is_admitted) {
        p->stats.connections--;
        c->peer->connections--;
    }
    act_as_nobody(c);
    peer_leave(c->peer);
    peer_fini(&c->connection);
    if (p->is_closing && list_is_empty(&p->clients))
        timer_arm(&p->loop->timers, &p->stopped, 0);
}

/* ---- replies that the client's kernel has not acknowledged ---- */

struct unacked {
    struct list link;
    uint64_t end; /* of its reply, in sent_bytes */
    struct delivery *delivery;
};

/* True when the delivery's fate is known, and was told. */
static bool settle(const struct port_client *c, uint64_t end, struct delivery *d)
{
    const struct connection *at = &c->connection;

    if (at->acked_bytes >= end)
        queue_delivered(c->port->queue, d);
    else if (at->state == CONNECTION_CLOSED && end <= at->astray_bytes)
        queue_left_open(c->port->queue, d);
    else if (at->state == CONNECTION_CLOSED)
        queue_returned(c->port->queue, d);
    else
        return false;
    return true;
}

void port_settle(struct port_client *c)
{
    struct list *link;

    while ((link = list_first(&c->unacked))) {
        struct unacked *u = CONTAINER_OF(link, struct unacked, link);

        if (!settle(c, u->end, u->delivery))
            return;
        list_remove(&u->link);
        free(u);
    }
}

static void on_acked(struct connection *c)
{
    port_settle(CONTAINER_OF(c, struct port_client, connection));
}

static void await_fate(struct port_client *c, uint64_t end, struct delivery *d)
{
    struct unacked *u;

    if (settle(c, end, d))
        return;
    u = must(malloc(sizeof(*u)));
    *u = (struct unacked){.end = end, .delivery = d};
    list_append(&c->unacked, &u->link);
    connection_await_ack(&c->connection);
}

void port_send_with(struct port_client *c, struct bytes reply, struct delivery *const *ds,
                    unsigned count)
{
    uint64_t end = c->connection.sent_bytes + reply.len; /* never, if it is closed */

    connection_send(&c->connection, reply);
    for (unsigned i = 0; i < count; i++)
        await_fate(c, end, ds[i]);
}

void port_send(struct port_client *c, struct bytes reply, struct delivery *d)
{
    port_send_with(c, reply, &d, 1);
}

/* ---- stopping ---- */

static void on_all_gone(struct timer *timer)
{
    struct port *p = CONTAINER_OF(timer, struct port, stopped);

    p->on_stopped(p->stopped_arg);
}

static void on_grace_over(struct timer *timer)
{
    struct port *p = CONTAINER_OF(timer, struct port, grace);

    p->is_closing = true;
    proxied_forget(&p->proxied);
    p->ops->set_limits(p);
    LIST_EACH (link, &p->clients)
        p->ops->wind_up(CONTAINER_OF(link, struct port_client, link));
    if (list_is_empty(&p->clients))
        timer_arm(&p->loop->timers, &p->stopped, 0);
}

void port_stop(struct port *p, void (*on_stopped)(void *arg), void *arg)
{
    assert(!p->is_stopping);
    p->is_stopping = true;
    p->on_stopped = on_stopped;
    p->stopped_arg = arg;
    listener_stop(&p->listener);
    list_append_all(&p->resumed, &p->held);
    resume_some(p, UINT_MAX);
    LIST_EACH (link, &p->clients)
        p->ops->cancel_waits(CONTAINER_OF(link, struct port_client, link));
    timer_arm(&p->loop->timers, &p->grace, list_is_empty(&p->clients) ? 0 : PORT_GRACE_MS);
}

/* ---- life ---- */

void port_init(struct port *p, const struct port_ops *ops, struct loop *loop,
               struct queue *queue)
{
    p->ops = ops;
    p->stats.name = ops->name;
    p->loop = loop;
    p->queue = queue;
    peers_init(&p->peers);
    list_init(&p->clients);
    p->proxied = (struct proxied){
        .name = ops->name, .loop = loop, .wrong = &p->stats.unproxied, .on_known = on_proxied};
    proxied_init(&p->proxied);
    list_init(&p->held);
    list_init(&p->resumed);
    timer_init(&p->resuming, on_resuming);
    timer_init(&p->grace, on_grace_over);
    timer_init(&p->stopped, on_all_gone);
    p->kind.name = ops->name;
    p->kind.loop = loop;
    p->kind.shed = &p->stats.shed;
    p->kind.on_acked = on_acked;
    p->kind.tls.handshakes = &p->stats.handshakes;
    p->kind.tls.failures = &p->stats.handshakes_failed;
}

void port_set_tls(struct port *p, struct tls *tls, enum tls_mode mode, int64_t limit_ms)
{
    p->kind.tls.tls = tls;
    p->kind.tls.mode = mode;
    p->kind.tls.limit_ms = limit_ms;
    p->stats.certificate_end_s = mode == TLS_OFF ? 0 : (uint64_t)tls_end_s(tls);
}

void port_set_proxies(struct port *p, struct bytes proxies)
{
    proxied_set(&p->proxied, proxies);
}

void port_set_limits(struct port *p)
{
    int64_t ms = p->limits.request_ms;

    p->kind.reading_ms = p->is_closing && (ms == 0 || ms > ENDING_MS) ? ENDING_MS : ms;
    p->kind.is_draining = p->is_closing;
    p->kind.ending_ack_ms = p->is_closing ? CONNECTION_DRAIN_ACK_MS : ENDING_MS;
}

void port_limit(struct port *p, const struct port_limits *limits, size_t request_max_bytes)
{
    assert(limits->pipelined_max > 0);
    p->limits = *limits;
    p->connections_max = limits->connections_max;
    p->connections_per_address = limits->connections_per_address;
    p->of_address = limits->of_address;
    p->kind.in_work_max = limits->pipelined_max;
    p->kind.output_max_bytes = limits->output_max_bytes;
    p->kind.kept_max_bytes = KEPT_BYTES(request_max_bytes);
    p->kind.unread_max_bytes = UNREAD_BYTES(limits->output_max_bytes);
    p->kind.idle_ms = limits->idle_ms;
    p->kind.ending_ms = ENDING_MS;
    port_set_limits(p);
}

void port_open(struct port *p, int listen_fd)
{
    p->ops->set_limits(p);
    listener_init(&p->listener, p->ops->name, p->loop, listen_fd, on_accept);
}

void port_fini(struct port *p)
{
    assert(list_is_empty(&p->clients) && p->proxied.count == 0);
    timer_disarm(&p->loop->timers, &p->resuming);
    listener_stop(&p->listener);
    peers_fini(&p->peers);
}

void port_free(struct port *p)
{
    if (p)
        p->ops->free(p);
}

/* ---- the virtual address ---- */

/* Clients over an address that leaves wait for no identity. */
static void resume_leaving(struct list *clients)
{
    LIST_EACH_SAFE (link, clients) {
        struct port_client *c = CONTAINER_OF(link, struct port_client, held);

        if (connection_is_draining(&c->connection))
            resume(c);
    }
}

/* Replies to held clients come first: behind them the connections are wound up. */
void port_follow(struct port *p, const struct floating *floating)
{
    if (p->kind.floating) /* else the clients' own address cannot be judged */
        listener_accept(&p->listener);
    resume_leaving(&p->held);
    resume_leaving(&p->resumed);
    connections_follow(&p->kind, floating);
}

unsigned port_floating(const struct port *p)
{
    return connections_floating(&p->kind);
}

bool port_owes(struct port *p)
{
    listener_accept(&p->listener);
    return connections_are_owed(&p->kind);
}

#include "ha/peer/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "ha/peer/guest.h"

#define STRANGERS_MAX 16
#define GUESTS_MAX    ((PEERS_MAX)*2) /* UP: a restarted node may be here twice */
#define BREAK_MS      100             /* after EMFILE and the like: else the loop would spin */

struct peer_server {
    struct peer_host host;
    int listen_fd;
    struct event *acceptable;
    struct timer accept_break;
    struct list strangers; /* oldest first */
    struct list guests;    /* UP */
    unsigned stranger_count;
    unsigned guest_count;
    struct list ended; /* freed when the loop turns */
    struct timer reaper;
};

static struct peer_server *server_of(const struct peer_host *h)
{
    return CONTAINER_OF((struct peer_host *)h, struct peer_server, host);
}

static struct peer_guest *guest_of(struct list *link)
{
    return CONTAINER_OF(link, struct peer_guest, link);
}

static struct timers *timers_of(const struct peer_server *s)
{
    return &s->host.self->loop->timers;
}

static void free_all(struct list *guests)
{
    struct list *link;

    while ((link = list_pop(guests)))
        peer_guest_free(guest_of(link));
}

static void on_reap(struct timer *timer)
{
    free_all(&CONTAINER_OF(timer, struct peer_server, reaper)->ended);
}

/* ---- who is here ---- */

static bool has_room(const struct peer_host *h)
{
    return server_of(h)->guest_count < GUESTS_MAX;
}

/* An older connection of the same process is a half-open one. */
static void drop_double(struct peer_server *s, const struct peer_message *hello)
{
    LIST_EACH_SAFE (it, &s->guests) {
        if (peer_guest_is(guest_of(it), hello->node, hello->incarnation))
            peer_guest_end(guest_of(it));
    }
}

static void on_proven(struct peer_guest *g)
{
    struct peer_server *s = server_of(g->host);

    drop_double(s, &g->hellos.of[PEER_DIALER]);
    s->stranger_count--;
    s->guest_count++;
    list_remove(&g->link);
    list_append(&s->guests, &g->link);
}

static void on_end(struct peer_guest *g)
{
    struct peer_server *s = server_of(g->host);

    if (g->state == GUEST_UP)
        s->guest_count--;
    else
        s->stranger_count--;
    list_remove(&g->link);
    list_append(&s->ended, &g->link);
    timer_arm(timers_of(s), &s->reaper, 0);
}

/* ---- coming in ---- */

static void welcome(struct peer_server *s, int fd)
{
    if (s->stranger_count == STRANGERS_MAX)
        peer_guest_end(guest_of(list_first(&s->strangers)));
    list_append(&s->strangers, &peer_guest_new(&s->host, fd)->link);
    s->stranger_count++;
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
    LIST_EACH (it, &s->guests)
        peer_guest_tell(guest_of(it));
}

void peer_server_leave(struct peer_server *s)
{
    s->host.is_leaving = true;
    LIST_EACH (it, &s->guests)
        peer_guest_say_bye(guest_of(it));
}

bool peer_server_hears(const struct peer_server *s, const char *node, uint64_t incarnation)
{
    LIST_EACH (it, &s->guests) {
        if (peer_guest_is(guest_of(it), node, incarnation))
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
        .self = self, .has_room = has_room, .on_proven = on_proven, .on_end = on_end};
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
    timer_disarm(timers_of(s), &s->reaper);
    timer_disarm(timers_of(s), &s->accept_break);
    event_free(s->acceptable);
    close(s->listen_fd);
    free(s);
}

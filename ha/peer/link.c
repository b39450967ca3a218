#include "ha/peer/link.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "ha/peer/dialer.h"
#include "ha/peer/listener.h"

#define HANDSHAKE_MS 2000

struct peer_link {
    struct peers base;
    struct peer_self self;
    struct peer_server *server;
    struct list dials;
    struct list stopped; /* freed when the loop turns: a dialer's callback may call set() */
    struct timer reaper;
};

static struct peer_link *link_of(const struct peers *p)
{
    return CONTAINER_OF((struct peers *)p, struct peer_link, base);
}

static struct peer_dial *dial_of(struct list *link)
{
    return CONTAINER_OF(link, struct peer_dial, link);
}

static void free_all(struct list *dials)
{
    struct list *link;

    while ((link = list_pop(dials))) {
        peer_dial_fini(dial_of(link));
        free(dial_of(link));
    }
}

static void on_reap(struct timer *timer)
{
    free_all(&CONTAINER_OF(timer, struct peer_link, reaper)->stopped);
}

/* ---- who the others are ---- */

static bool is_same(const struct peer_name *a, const struct peer_name *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->address, b->address);
}

static bool is_among(const struct peer_name *who, const struct peer_name *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (is_same(who, &names[i]))
            return true;
    return false;
}

static bool is_dialed(struct peer_link *l, const struct peer_name *who)
{
    LIST_EACH (it, &l->dials)
        if (is_same(&dial_of(it)->who, who))
            return true;
    return false;
}

static void add(struct peer_link *l, const struct peer_name *who)
{
    struct peer_dial *d = must(calloc(1, sizeof(*d)));

    peer_dial_init(d, &l->self, l->server, who);
    list_append(&l->dials, &d->link);
}

static void set(struct peers *p, const struct peer_name *names, unsigned count)
{
    struct peer_link *l = link_of(p);

    LIST_EACH_SAFE (it, &l->dials) {
        if (is_among(&dial_of(it)->who, names, count))
            continue;
        peer_dial_stop(dial_of(it));
        list_remove(it);
        list_append(&l->stopped, it);
        timer_arm(&l->self.loop->timers, &l->reaper, 0);
    }
    for (unsigned i = 0; i < count; i++)
        if (*names[i].address && strcmp(names[i].name, l->self.node) != 0 &&
            !is_dialed(l, &names[i]))
            add(l, &names[i]);
}

/* ---- the rest of the port ---- */

static void report(struct peers *p, const struct coord_credentials *mine)
{
    peer_server_report(link_of(p)->server, mine);
}

static void ask(struct peers *p, const struct peer_question *question)
{
    assert(!token_is_none(&question->token));
    LIST_EACH (it, &link_of(p)->dials)
        peer_dial_ask(dial_of(it), question);
}

static void leave(struct peers *p)
{
    peer_server_leave(link_of(p)->server);
}

unsigned peer_link_up_count(const struct peers *p)
{
    unsigned count = 0;

    LIST_EACH (it, &link_of(p)->dials)
        count += dial_of(it)->state == DIAL_UP;
    return count;
}

unsigned peer_link_plain_count(const struct peers *p)
{
    unsigned count = 0;

    LIST_EACH (it, &link_of(p)->dials)
        count += dial_of(it)->state == DIAL_UP && dial_of(it)->is_plain;
    return count;
}

/* ---- life ---- */

static uint64_t new_incarnation(void)
{
    uint64_t random;

    do
        peer_auth_random(&random, sizeof(random));
    while (random == 0);
    return random;
}

static const char *old_of(const struct peer_options *options)
{
    return options->secret_old && *options->secret_old ? options->secret_old : NULL;
}

struct peers *peer_link_new(const struct peer_options *options, struct loop *loop)
{
    static const struct peers_ops ops = {
        .set = set, .report = report, .ask = ask, .leave = leave};
    struct peer_link *l = must(calloc(1, sizeof(*l)));

    assert(peer_wire_is_name(bytes_of_text(options->node)));
    l->base.ops = &ops;
    l->self = (struct peer_self){.loop = loop,
                                 .port = &l->base,
                                 .node = options->node,
                                 .secrets = {options->secret, old_of(options)},
                                 .tls = options->tls,
                                 .incarnation = new_incarnation(),
                                 .handshake_ms = HANDSHAKE_MS,
                                 .silence_ms = options->silence_ms};
    if (options->tls != PEER_TLS_OFF)
        l->self.keys = peer_keys_new(options->cluster, l->self.secrets);
    list_init(&l->dials);
    list_init(&l->stopped);
    timer_init(&l->reaper, on_reap);
    l->server = peer_server_new(&l->self, options->listen_fd);
    return &l->base;
}

void peer_link_free(struct peers *p)
{
    struct peer_link *l;

    if (!p)
        return;
    l = link_of(p);
    free_all(&l->dials);
    free_all(&l->stopped);
    timer_disarm(&l->self.loop->timers, &l->reaper);
    peer_server_free(l->server);
    peer_keys_free(l->self.keys);
    free(l);
}

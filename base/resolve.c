#include "base/resolve.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/dns.h>
#include <event2/util.h>

#include "base/list.h"

struct query {
    struct resolve_lookup *lookup;
    char *name;
    char *port;
    struct buf found; /* "address:port,..." */
    const char *why;  /* no address was found; NULL: not answered yet, or one was found */
    struct evdns_getaddrinfo_request *request; /* NULL: answered */
};

/* Lives until libevent has answered all queries, even when its owner has gone; then a later
 * turn frees it, because libevent still uses it after the last answer. */
struct resolve_lookup {
    struct resolve *owner; /* NULL: the lookup was cancelled */
    struct loop *loop;
    struct evdns_base *dns; /* NULL: all servers are addresses */
    struct timer drained;
    unsigned waiting; /* queries not answered yet, and one for the start itself */
    unsigned count;
    struct query queries[];
};

/* ---- the end ---- */

static void lookup_free(struct resolve_lookup *l)
{
    if (l->dns)
        evdns_base_free(l->dns, 0);
    for (unsigned i = 0; i < l->count; i++) {
        free(l->queries[i].name);
        free(l->queries[i].port);
        buf_fini(&l->queries[i].found);
    }
    free(l);
}

static void on_drained(struct timer *timer)
{
    lookup_free(CONTAINER_OF(timer, struct resolve_lookup, drained));
}

static bool has_found_any(const struct resolve_lookup *l)
{
    for (unsigned i = 0; i < l->count; i++) {
        if (l->queries[i].found.len)
            return true;
    }
    return false;
}

static void note_unknown(struct resolve *r)
{
    struct resolve_lookup *l = r->lookup;

    r->unknown[0] = '\0';
    for (unsigned i = 0; i < l->count && !*r->unknown; i++) {
        struct query *q = &l->queries[i];

        if (!q->found.len)
            snprintf(r->unknown, sizeof(r->unknown), "%s: %s", q->name,
                     q->why ? q->why : "the name service has not answered yet");
    }
}

static void collect(struct resolve *r)
{
    struct resolve_lookup *l = r->lookup;

    buf_clear(&r->servers);
    for (unsigned i = 0; i < l->count; i++) {
        if (l->queries[i].found.len && r->servers.len)
            buf_add_char(&r->servers, ',');
        buf_add_bytes(&r->servers, buf_bytes(&l->queries[i].found));
    }
}

/* All queries are answered, or RESOLVE_PATIENCE_MS are over. */
static void on_timer(struct timer *timer)
{
    struct resolve *r = CONTAINER_OF(timer, struct resolve, timer);
    struct resolve_lookup *l = r->lookup;

    note_unknown(r);
    if (l->waiting > 0 && !has_found_any(l)) {
        timer_arm(&r->loop->timers, timer, RESOLVE_PATIENCE_MS);
        return; /* no address yet */
    }
    collect(r);
    if (l->waiting == 0) {
        r->lookup = NULL;
        lookup_free(l);
    }
    r->on_done(r);
}

static void one_less(struct resolve_lookup *l)
{
    if (--l->waiting > 0)
        return;
    timer_arm(&l->loop->timers, l->owner ? &l->owner->timer : &l->drained, 0);
}

/* ---- answers ---- */

static void add_found(struct query *q, const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN];
    bool is_v6 = address->sa_family == AF_INET6;
    const void *at = is_v6 ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
                           : (const void *)&((const struct sockaddr_in *)address)->sin_addr;

    if (!inet_ntop(address->sa_family, at, text, sizeof(text)))
        return;
    buf_printf(&q->found, is_v6 ? "%s[%s]:%s" : "%s%s:%s", q->found.len ? "," : "", text,
               q->port);
}

static void on_answer(int error, struct evutil_addrinfo *list, void *arg)
{
    struct query *q = arg;

    q->request = NULL;
    for (struct evutil_addrinfo *it = list; it; it = it->ai_next)
        if (it->ai_family == AF_INET || it->ai_family == AF_INET6)
            add_found(q, it->ai_addr);
    if (list)
        evutil_freeaddrinfo(list);
    if (!q->found.len)
        q->why = error == EVUTIL_EAI_NONAME || error == EVUTIL_EAI_NODATA || error == 0
                     ? "no such name"
                 : error == EVUTIL_EAI_AGAIN ? "the name service does not answer"
                                             : evutil_gai_strerror(error);
    one_less(q->lookup);
}

/* ---- questions ---- */

/* Cuts "host:port" in two; false without a port. */
static bool take_apart(struct query *q, const char *text, size_t len)
{
    char *colon, *end;

    q->name = must(strndup(text, len));
    colon = strrchr(q->name, ':');
    q->port = must(strdup(colon ? colon + 1 : ""));
    if (!colon || !*q->port || strspn(q->port, "0123456789") != strlen(q->port))
        return false;
    *colon = '\0';
    end = colon - 1;
    if (*q->name == '[' && *end == ']') {
        *end = '\0';
        memmove(q->name, q->name + 1, strlen(q->name + 1) + 1);
    }
    return *q->name != '\0';
}

static bool is_address(struct query *q)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, q->name, &v4.sin_addr) == 1)
        add_found(q, (struct sockaddr *)&v4);
    else if (inet_pton(AF_INET6, q->name, &v6.sin6_addr) == 1)
        add_found(q, (struct sockaddr *)&v6);
    return q->found.len > 0;
}

static void ask(struct query *q)
{
    struct resolve_lookup *l = q->lookup;
    struct evutil_addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = EVUTIL_AI_ADDRCONFIG};

    if (!l->dns) {
        l->dns = must(evdns_base_new(l->loop->base, 0));
        /* Without the file libevent asks 127.0.0.1. */
        (void)evdns_base_resolv_conf_parse(l->dns, DNS_OPTIONS_ALL, l->owner->conf);
    }
    l->waiting++;
    q->request = evdns_getaddrinfo(l->dns, q->name, NULL, &hints, on_answer, q);
}

static void begin(struct resolve_lookup *l, const char *servers)
{
    while (*servers) {
        size_t len = strcspn(servers, ",");
        struct query *q = &l->queries[l->count];

        if (len) {
            *q = (struct query){.lookup = l};
            l->count++;
            if (!take_apart(q, servers, len))
                q->why = "not host:port";
            else if (!is_address(q))
                ask(q);
        }
        servers += len + (servers[len] == ',');
    }
}

void resolve_start(struct resolve *r, const char *servers)
{
    struct resolve_lookup *l;
    unsigned most = 1;

    if (r->lookup)
        return;
    for (const char *at = servers; *at; at++)
        most += *at == ',';
    l = must(calloc(1, sizeof(*l) + most * sizeof(l->queries[0])));
    l->owner = r;
    l->loop = r->loop;
    timer_init(&l->drained, on_drained);
    r->lookup = l;
    timer_arm(&r->loop->timers, &r->timer, RESOLVE_PATIENCE_MS);
    l->waiting = 1;
    begin(l, servers);
    one_less(l);
}

static void lookup_abandon(struct resolve_lookup *l)
{
    l->owner = NULL;
    if (l->waiting == 0)
        timer_arm(&l->loop->timers, &l->drained, 0);
    for (unsigned i = 0; i < l->count; i++)
        if (l->queries[i].request) /* on_answer comes in a later turn */
            evdns_getaddrinfo_cancel(l->queries[i].request);
}

bool resolve_cancel(struct resolve *r)
{
    bool is_under_way = r->lookup != NULL;

    timer_disarm(&r->loop->timers, &r->timer);
    if (is_under_way)
        lookup_abandon(r->lookup);
    r->lookup = NULL;
    return is_under_way;
}

void resolve_init(struct resolve *r, struct loop *loop, void (*on_done)(struct resolve *r))
{
    *r = (struct resolve){.loop = loop, .conf = "/etc/resolv.conf", .on_done = on_done};
    buf_init(&r->servers);
    timer_init(&r->timer, on_timer);
}

void resolve_fini(struct resolve *r)
{
    resolve_cancel(r);
    buf_fini(&r->servers);
}

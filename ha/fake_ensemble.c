#include "ha/fake_ensemble.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ha/fake_answer.h"

/* ---- the wires ---- */

static bool can_connect(const struct fake_client *c)
{
    return c->state != FAKE_LINK_REFUSED && c->ensemble->has_quorum;
}

/* To connect takes both ways. */
static bool passes_out(const struct fake_client *c, const struct fake_message *m)
{
    if (m->kind == FAKE_CONNECT)
        return c->state == FAKE_LINK_UP;
    /* A session is ended over a connection of its own. */
    return c->state != FAKE_LINK_MUTE && c->state != FAKE_LINK_MUTE_OUT &&
           (m->kind == FAKE_END_SESSION || m->connection != c->broken_out);
}

static bool passes_in(const struct fake_client *c, const struct fake_message *m)
{
    return c->state != FAKE_LINK_MUTE && c->state != FAKE_LINK_MUTE_IN &&
           m->connection != c->broken_in;
}

static void send_request(struct fake_client *c, struct fake_message *m)
{
    if (passes_out(c, m)) {
        fake_wire_send(&c->up, m, timers_now(c->down.timers) + c->ensemble->delay_ms);
        return;
    }
    c->broken_out = m->connection;
    fake_message_free(m);
}

static void answer(struct fake_client *c, struct fake_message *m)
{
    if (passes_in(c, m)) {
        fake_wire_send(&c->down, m, timers_now(c->up.timers) + c->ensemble->delay_ms);
        return;
    }
    c->broken_in = m->connection;
    fake_message_free(m);
}

static void answer_kind(struct fake_client *c, enum fake_kind kind, unsigned connection)
{
    answer(c, fake_message_new(kind, connection));
}

/* ---- watches ---- */

static void watch(struct fake_session *s, const char *path, bool is_list)
{
    struct fake_watch *w = calloc(1, sizeof(*w));

    if (!w || !(w->path = strdup(path)))
        abort();
    w->session = s;
    w->is_list = is_list;
    list_append(&s->ensemble->watches, &w->link);
}

static void watch_free(struct fake_watch *w)
{
    list_remove(&w->link);
    free(w->path);
    free(w);
}

/* The client is told, and the watch used up. */
static void fire(struct fake_watch *w)
{
    struct fake_session *s = w->session;
    struct fake_message *m;

    if (s->client) {
        m = fake_message_new(FAKE_CHANGED, s->connection);
        m->path = strdup(w->path);
        answer(s->client, m);
    }
    watch_free(w);
}

static void on_tree_change(struct fake_tree *tree, const char *path, bool came_or_went)
{
    struct fake_ensemble *e = CONTAINER_OF(tree, struct fake_ensemble, tree);

    LIST_EACH_SAFE (link, &e->watches) {
        struct fake_watch *w = CONTAINER_OF(link, struct fake_watch, link);

        if (w->is_list ? came_or_went && fake_tree_name_under(w->path, path)
                       : !strcmp(w->path, path))
            fire(w);
    }
}

/* A connection's watches end with it: the client reads everything again. */
static void drop_watches(struct fake_session *s)
{
    LIST_EACH_SAFE (link, &s->ensemble->watches) {
        struct fake_watch *w = CONTAINER_OF(link, struct fake_watch, link);

        if (w->session == s)
            watch_free(w);
    }
}

/* ---- sessions ---- */

static struct fake_session *find_session(struct fake_ensemble *e, int64_t id)
{
    LIST_EACH (link, &e->sessions) {
        struct fake_session *s = CONTAINER_OF(link, struct fake_session, link);

        if (s->who.session == id)
            return s;
    }
    return NULL;
}

static struct fake_session *find_with_password(struct fake_ensemble *e,
                                               const struct coord_credentials *who)
{
    struct fake_session *s = find_session(e, who->session);

    if (!s || memcmp(s->who.password, who->password, COORD_PASSWORD_BYTES) != 0)
        return NULL;
    return s;
}

static void touch(struct fake_session *s)
{
    struct fake_ensemble *e = s->ensemble;
    int64_t now = timers_now(e->timers);
    int64_t end = now + s->timeout_ms;

    end = (end / e->tick_ms + 1) * e->tick_ms;
    if (e->has_quorum)
        timer_arm(e->timers, &s->expiry, end - now);
}

static void end_session(struct fake_session *s)
{
    struct fake_ensemble *e = s->ensemble;

    timer_disarm(e->timers, &s->expiry);
    list_remove(&s->link);
    drop_watches(s);
    if (s->client)
        answer_kind(s->client, FAKE_EXPIRED, s->connection);
    fake_tree_remove_owned(&e->tree, s->who.session);
    free(s);
}

static void on_expiry(struct timer *timer)
{
    end_session(CONTAINER_OF(timer, struct fake_session, expiry));
}

static struct fake_session *begin_session(struct fake_ensemble *e, int64_t timeout_ms)
{
    struct fake_session *s = calloc(1, sizeof(*s));

    if (!s)
        abort();
    s->ensemble = e;
    s->who.session = e->next_session++;
    memset(s->who.password, (int)(s->who.session % 255) + 1, sizeof(s->who.password));
    if (timeout_ms < e->least_timeout_ms)
        timeout_ms = e->least_timeout_ms;
    if (timeout_ms > e->most_timeout_ms)
        timeout_ms = e->most_timeout_ms;
    s->timeout_ms = timeout_ms;
    timer_init(&s->expiry, on_expiry);
    list_append(&e->sessions, &s->link);
    return s;
}

static void connect_client(struct fake_client *c, const struct fake_message *m)
{
    struct fake_ensemble *e = c->ensemble;
    struct fake_session *s;
    struct fake_message *reply;

    if (e->denies) {
        answer_kind(c, FAKE_DENIED, m->connection);
        return;
    }
    s = m->who.session ? find_with_password(e, &m->who) : begin_session(e, m->timeout_ms);
    if (!s) {
        answer_kind(c, FAKE_EXPIRED, m->connection);
        return;
    }
    drop_watches(s);
    s->client = c;
    s->connection = m->connection;
    touch(s);
    reply = fake_message_new(FAKE_CONNECTED, m->connection);
    reply->who = s->who;
    reply->timeout_ms = s->timeout_ms;
    answer(c, reply);
}

/* ---- requests ---- */

static void read_znode(struct fake_session *s, const struct fake_message *m,
                       struct fake_message *reply)
{
    if (m->watches)
        watch(s, m->path, false);
    fake_answer_read(&s->ensemble->tree, m->path, reply);
}

static void list_znodes(struct fake_session *s, const struct fake_message *m,
                        struct fake_message *reply)
{
    if (fake_answer_list(&s->ensemble->tree, m->path, reply) && m->watches)
        watch(s, m->path, true);
}

static void serve(struct fake_session *s, const struct fake_message *m)
{
    struct fake_client *c = s->client;
    struct fake_message *reply =
        fake_message_new(m->kind == FAKE_PING ? FAKE_PONG : FAKE_ANSWER, m->connection);

    touch(s);
    reply->call = m->call;
    if (m->kind == FAKE_READ)
        read_znode(s, m, reply);
    else if (m->kind == FAKE_LIST)
        list_znodes(s, m, reply);
    else if (m->kind == FAKE_WRITE)
        reply->status = fake_tree_write(&s->ensemble->tree, m->changes, m->change_count,
                                        s->who.session, &reply->failed);
    answer(c, reply);
}

/* `who` is the sender's session, but for END_SESSION. */
static void on_request(struct fake_wire *w, struct fake_message *m)
{
    struct fake_client *c = CONTAINER_OF(w, struct fake_client, up);
    struct fake_session *s;

    if (!c->ensemble->has_quorum ||
        (m->connection == c->broken_out && m->kind != FAKE_END_SESSION)) {
        c->broken_out = m->connection;
        fake_message_free(m);
        return;
    }
    if (m->kind == FAKE_CONNECT) {
        connect_client(c, m);
        fake_message_free(m);
        return;
    }
    s = find_with_password(c->ensemble, &m->who);
    if (m->kind == FAKE_END_SESSION) {
        if (s)
            end_session(s);
    } else if (!s) {
        answer_kind(c, FAKE_EXPIRED, m->connection);
    } else if (s->client == c && s->connection == m->connection) {
        if (m->kind == FAKE_BYE)
            end_session(s);
        else
            serve(s, m);
    }
    fake_message_free(m);
}

/* ---- clients ---- */

static void release(struct fake_client *c)
{
    LIST_EACH (link, &c->ensemble->sessions) {
        struct fake_session *s = CONTAINER_OF(link, struct fake_session, link);

        if (s->client == c)
            s->client = NULL;
    }
    list_remove(&c->link);
    fake_wire_fini(&c->up);
}

static const struct fake_service service = {
    .can_connect = can_connect, .send = send_request, .release = release};

void fake_client_init(struct fake_client *c, struct fake_ensemble *e, struct timers *timers,
                      void (*on_message)(struct fake_wire *w, struct fake_message *m))
{
    *c = (struct fake_client){.service = &service, .ensemble = e};
    fake_wire_init(&c->up, e->timers, on_request);
    fake_wire_init(&c->down, timers, on_message);
    list_append(&e->clients, &c->link);
}

bool fake_client_can_connect(const struct fake_client *c)
{
    return c->service->can_connect(c);
}

void fake_client_send(struct fake_client *c, struct fake_message *m)
{
    c->service->send(c, m);
}

void fake_client_fini(struct fake_client *c)
{
    c->service->release(c);
    fake_wire_fini(&c->down);
}

/* ---- what the test does ---- */

void fake_ensemble_freeze(struct fake_ensemble *e, bool is_frozen)
{
    LIST_EACH (link, &e->clients)
        fake_wire_hold(&CONTAINER_OF(link, struct fake_client, link)->up, is_frozen);
}

void fake_ensemble_set_quorum(struct fake_ensemble *e, bool has_quorum)
{
    e->has_quorum = has_quorum;
    LIST_EACH (link, &e->sessions) {
        struct fake_session *s = CONTAINER_OF(link, struct fake_session, link);

        if (has_quorum)
            touch(s);
        else
            timer_disarm(e->timers, &s->expiry);
    }
}

void fake_ensemble_expire(struct fake_ensemble *e, int64_t session)
{
    struct fake_session *s = find_session(e, session);

    if (s)
        end_session(s);
}

void fake_ensemble_wipe(struct fake_ensemble *e)
{
    fake_tree_fini(&e->tree);
    list_init(&e->tree.znodes);
    while (!list_is_empty(&e->watches))
        fire(CONTAINER_OF(e->watches.next, struct fake_watch, link));
}

void fake_ensemble_init(struct fake_ensemble *e, struct timers *timers)
{
    *e = (struct fake_ensemble){.timers = timers,
                                .next_session = 0x1000,
                                .has_quorum = true,
                                .delay_ms = 1,
                                .tick_ms = 100,
                                .least_timeout_ms = 1000,
                                .most_timeout_ms = 60000};
    fake_tree_init(&e->tree);
    e->tree.on_change = on_tree_change;
    list_init(&e->sessions);
    list_init(&e->watches);
    list_init(&e->clients);
}

void fake_ensemble_fini(struct fake_ensemble *e)
{
    assert(list_is_empty(&e->clients));
    while (!list_is_empty(&e->sessions))
        end_session(CONTAINER_OF(e->sessions.next, struct fake_session, link));
    fake_tree_fini(&e->tree);
}

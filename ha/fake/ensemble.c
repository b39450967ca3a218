#include "ha/fake/ensemble.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void answer(struct fake_client *c, enum fake_kind kind, unsigned connection)
{
    fake_client_answer(c, fake_message_new(kind, connection));
}

/* ---- watches ---- */

static void on_watch_fired(void *owner, const char *path)
{
    struct fake_session *s = owner;
    struct fake_message *m;

    if (!s->client)
        return;
    m = fake_message_new(FAKE_CHANGED, s->connection);
    m->path = must(strdup(path));
    fake_client_answer(s->client, m);
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
    fake_tree_unwatch(&e->tree, s);
    if (s->client)
        answer(s->client, FAKE_EXPIRED, s->connection);
    fake_tree_remove_owned(&e->tree, s->who.session);
    free(s);
}

static void on_expiry(struct timer *timer)
{
    end_session(CONTAINER_OF(timer, struct fake_session, expiry));
}

static struct fake_session *begin_session(struct fake_ensemble *e, int64_t timeout_ms)
{
    struct fake_session *s = must(calloc(1, sizeof(*s)));

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
        answer(c, FAKE_DENIED, m->connection);
        return;
    }
    s = m->who.session ? find_with_password(e, &m->who) : begin_session(e, m->timeout_ms);
    if (!s) {
        answer(c, FAKE_EXPIRED, m->connection);
        return;
    }
    fake_tree_unwatch(&e->tree, s); /* the client reads everything again */
    s->client = c;
    s->connection = m->connection;
    touch(s);
    reply = fake_message_new(FAKE_CONNECTED, m->connection);
    reply->who = s->who;
    reply->timeout_ms = s->timeout_ms;
    fake_client_answer(c, reply);
}

/* ---- requests ---- */

static void serve(struct fake_session *s, const struct fake_message *m)
{
    struct fake_ensemble *e = s->ensemble;
    struct fake_message *reply;

    touch(s);
    reply = fake_tree_answer(&e->tree, s, m);
    if (m->kind == FAKE_WRITE)
        reply->status = fake_tree_write(&e->tree, m->changes, m->change_count, s->who.session,
                                        &reply->failed);
    fake_client_answer(s->client, reply);
}

static void serve_session(struct fake_client *c, const struct fake_message *m)
{
    struct fake_session *s = find_with_password(c->ensemble, &m->who);

    if (m->kind == FAKE_END_SESSION) {
        if (s)
            end_session(s);
    } else if (!s) {
        answer(c, FAKE_EXPIRED, m->connection);
    } else if (s->client == c && s->connection == m->connection) {
        if (m->kind == FAKE_BYE)
            end_session(s);
        else
            serve(s, m);
    }
}

void fake_ensemble_serve(struct fake_client *c, struct fake_message *m)
{
    if (m->kind == FAKE_CONNECT)
        connect_client(c, m);
    else
        serve_session(c, m);
    fake_message_free(m);
}

void fake_ensemble_forget(const struct fake_client *c)
{
    LIST_EACH (link, &c->ensemble->sessions) {
        struct fake_session *s = CONTAINER_OF(link, struct fake_session, link);

        if (s->client == c)
            s->client = NULL;
    }
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
    fake_tree_wipe(&e->tree);
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
    fake_tree_init(&e->tree, on_watch_fired);
    list_init(&e->sessions);
    list_init(&e->clients);
}

void fake_ensemble_fini(struct fake_ensemble *e)
{
    assert(list_is_empty(&e->clients));
    while (!list_is_empty(&e->sessions))
        end_session(CONTAINER_OF(e->sessions.next, struct fake_session, link));
    fake_tree_fini(&e->tree);
}

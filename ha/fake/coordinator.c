#include "ha/fake/coordinator.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS 50

static struct fake_coordinator *of(struct coordinator *base)
{
    return CONTAINER_OF(base, struct fake_coordinator, base);
}

static void tell_session(struct fake_coordinator *c)
{
    bool was_inside = c->is_inside;

    c->is_inside = true;
    c->base.on_session(&c->base);
    c->is_inside = was_inside;
}

/* ---- calls under way, as zk_client.c has them for the real one ---- */

static void tell(struct later *later, struct list *link)
{
    struct fake_coordinator *c = CONTAINER_OF(later, struct fake_coordinator, ended);
    struct coord_call *call = CONTAINER_OF(link, struct coord_call, link);

    c->is_telling = true;
    call->on_done(call);
    c->is_telling = false;
}

/* Calls are answered in the order in which they were sent. Writes the question into the
 * message. */
static void begin_call(struct fake_coordinator *c, struct coord_call *call,
                       struct fake_message *m)
{
    list_init(&call->link);
    list_append(&c->in_flight, &call->link);
    m->call = call;
    if (m->kind == FAKE_WRITE) {
        fake_message_set_changes(m, call->changes, call->change_count);
    } else {
        m->path = must(strdup(call->path));
        m->watches = call->watches;
    }
}

/* It ends in a later turn. */
static void refuse_call(struct fake_coordinator *c, struct coord_call *call,
                        enum coord_status status)
{
    list_init(&call->link);
    call->status = status;
    later_add(&c->ended, &call->link);
}

static void end_calls(struct fake_coordinator *c, enum coord_status status)
{
    struct list *link;

    while ((link = list_pop(&c->in_flight)))
        refuse_call(c, CONTAINER_OF(link, struct coord_call, link), status);
}

static void end_call(struct fake_coordinator *c, const struct fake_message *m)
{
    struct coord_call *call = m->call;
    const char *name = m->data.at;
    const char **names;

    assert(list_first(&c->in_flight) == &call->link);
    list_remove(&call->link);
    names = must(calloc(m->name_count + 1, sizeof(*names)));
    for (unsigned i = 0; i < m->name_count; i++, name += strlen(name) + 1)
        names[i] = name;
    call->status = m->status;
    call->failed = m->failed;
    call->data = buf_bytes(&m->data);
    call->version = m->version;
    call->owner = m->owner;
    call->names = names;
    call->name_count = m->name_count;
    call->list_number = m->list_number;
    c->is_telling = true;
    call->on_done(call);
    c->is_telling = false;
    free((void *)names);
}

/* ---- the connection ---- */

/* Messages from the old connection are void from now on. */
static void end_connection(struct fake_coordinator *c)
{
    c->connection++;
    timer_disarm(c->timers, &c->ping);
    timer_disarm(c->timers, &c->silence);
    timer_disarm(c->timers, &c->retry);
    c->base.server[0] = '\0';
}

static int64_t session_ms(const struct fake_coordinator *c)
{
    return c->base.granted_ms ? c->base.granted_ms : c->asked_ms;
}

static struct fake_message *message(struct fake_coordinator *c, enum fake_kind kind)
{
    struct fake_message *m = fake_message_new(kind, c->connection);

    m->who = c->base.credentials;
    return m;
}

static void try_to_connect(struct fake_coordinator *c)
{
    struct fake_message *m;

    end_connection(c);
    if (!fake_client_can_connect(&c->client)) {
        snprintf(c->base.why, sizeof(c->base.why), "connection refused at fake:2181");
        timer_arm(c->timers, &c->retry, RETRY_MS);
        return;
    }
    m = message(c, FAKE_CONNECT);
    m->timeout_ms = c->asked_ms;
    fake_client_send(&c->client, m);
    timer_arm(c->timers, &c->silence, session_ms(c) / 3);
}

static void lose_connection(struct fake_coordinator *c, const char *why)
{
    bool was_connected = c->base.session == COORD_SESSION_CONNECTED;

    end_connection(c);
    c->base.session = COORD_SESSION_CONNECTING;
    snprintf(c->base.why, sizeof(c->base.why), "%s", why);
    end_calls(c, COORD_UNKNOWN);
    timer_arm(c->timers, &c->retry, RETRY_MS);
    if (was_connected)
        tell_session(c);
}

static void on_retry(struct timer *timer)
{
    try_to_connect(CONTAINER_OF(timer, struct fake_coordinator, retry));
}

static void on_silence(struct timer *timer)
{
    lose_connection(CONTAINER_OF(timer, struct fake_coordinator, silence),
                    "no answer from fake:2181");
}

static void on_ping(struct timer *timer)
{
    struct fake_coordinator *c = CONTAINER_OF(timer, struct fake_coordinator, ping);

    fake_client_send(&c->client, message(c, FAKE_PING));
    timer_arm(c->timers, &c->ping, session_ms(c) / 3);
}

static void end_in(struct fake_coordinator *c, enum coord_session session,
                   enum coord_status status)
{
    end_connection(c);
    c->base.session = session;
    end_calls(c, status);
    tell_session(c);
}

/* ---- what the ensemble says ---- */

/* The simulation's servers are not asked. */
static int64_t tick_told(const struct fake_ensemble *e)
{
    return e && !e->hides_tick ? e->tick_ms : 0;
}

static void on_connected(struct fake_coordinator *c, const struct fake_message *m)
{
    bool was_here = c->is_resumed;

    c->base.session = COORD_SESSION_CONNECTED;
    c->base.credentials = m->who;
    c->base.granted_ms = m->timeout_ms;
    c->base.tick_ms = tick_told(c->client.ensemble);
    c->base.why[0] = '\0';
    snprintf(c->base.server, sizeof(c->base.server), "fake:2181");
    c->is_resumed = true;
    timer_arm(c->timers, &c->ping, session_ms(c) / 3);
    c->base.on_session(&c->base);
    if (was_here && c->base.session == COORD_SESSION_CONNECTED)
        c->base.on_change(&c->base, "");
}

static void on_message(struct fake_wire *w, struct fake_message *m)
{
    struct fake_client *client = CONTAINER_OF(w, struct fake_client, down);
    struct fake_coordinator *c = CONTAINER_OF(client, struct fake_coordinator, client);

    c->is_inside = true;
    if (m->connection == c->connection) {
        if (m->kind != FAKE_CHANGED) /* a notice does not prove that requests arrive */
            timer_arm(c->timers, &c->silence, session_ms(c) * 2 / 3);
        if (m->kind == FAKE_CONNECTED)
            on_connected(c, m);
        else if (m->kind == FAKE_EXPIRED)
            end_in(c, COORD_SESSION_EXPIRED, COORD_EXPIRED);
        else if (m->kind == FAKE_DENIED)
            end_in(c, COORD_SESSION_DENIED, COORD_UNKNOWN);
        else if (m->kind == FAKE_ANSWER)
            end_call(c, m);
        else if (m->kind == FAKE_CHANGED)
            c->base.on_change(&c->base, m->path);
        else if (m->kind == FAKE_CLOSED)
            lose_connection(c, "connection closed by fake:2181");
    }
    c->is_inside = false;
    fake_message_free(m);
}

/* ---- the port ---- */

static void fake_open(struct coordinator *base)
{
    struct fake_coordinator *c = of(base);

    base->session = COORD_SESSION_CONNECTING;
    base->credentials = (struct coord_credentials){0};
    base->granted_ms = 0;
    c->is_resumed = false;
    try_to_connect(c);
}

static void fake_close(struct coordinator *base)
{
    struct fake_coordinator *c = of(base);

    assert(!c->is_inside && !c->is_telling);
    if (base->session == COORD_SESSION_CONNECTED)
        fake_client_send(&c->client, message(c, FAKE_BYE));
    end_connection(c);
    base->session = COORD_SESSION_CLOSED;
    base->credentials = (struct coord_credentials){0};
    end_calls(c, COORD_UNKNOWN);
}

static void send_call(struct coordinator *base, struct coord_call *call, enum fake_kind kind)
{
    struct fake_coordinator *c = of(base);
    struct fake_message *m;

    if (base->session != COORD_SESSION_CONNECTED) {
        refuse_call(c, call, COORD_UNAVAILABLE);
        return;
    }
    m = message(c, kind);
    begin_call(c, call, m);
    fake_client_send(&c->client, m);
    timer_arm(c->timers, &c->ping, session_ms(c) / 3);
}

static void fake_read(struct coordinator *base, struct coord_call *call)
{
    send_call(base, call, FAKE_READ);
}

static void fake_list(struct coordinator *base, struct coord_call *call)
{
    send_call(base, call, FAKE_LIST);
}

static void fake_write(struct coordinator *base, struct coord_call *call)
{
    send_call(base, call, FAKE_WRITE);
}

static void fake_end_session(struct coordinator *base, const struct coord_credentials *whose)
{
    struct fake_coordinator *c = of(base);
    struct fake_message *m = message(c, FAKE_END_SESSION);

    m->who = *whose;
    fake_client_send(&c->client, m);
}

static const struct coordinator_ops ops = {
    .open = fake_open,
    .close = fake_close,
    .read = fake_read,
    .list = fake_list,
    .write = fake_write,
    .end_session = fake_end_session,
};

/* ---- what the test does ---- */

static void init(struct fake_coordinator *c, struct timers *timers, int64_t session_ms)
{
    *c = (struct fake_coordinator){
        .base = {.ops = &ops}, .timers = timers, .asked_ms = session_ms};
    list_init(&c->in_flight);
    later_init(&c->ended, timers, tell);
    timer_init(&c->ping, on_ping);
    timer_init(&c->silence, on_silence);
    timer_init(&c->retry, on_retry);
}

void fake_coordinator_init(struct fake_coordinator *c, struct fake_ensemble *e,
                           struct timers *timers, int64_t session_ms)
{
    init(c, timers, session_ms);
    fake_client_init(&c->client, e, timers, on_message);
}

void fake_coordinator_init_on(struct fake_coordinator *c, const struct fake_service *service,
                              struct timers *timers, int64_t session_ms)
{
    init(c, timers, session_ms);
    fake_client_init_on(&c->client, service, timers, on_message);
}

void fake_coordinator_fini(struct fake_coordinator *c)
{
    struct list *link;

    end_connection(c);
    while ((link = list_first(&c->in_flight)) || (link = list_first(&c->ended.ended)))
        list_remove(link);
    later_fini(&c->ended);
    fake_client_fini(&c->client);
}

void fake_coordinator_cut(struct fake_coordinator *c, bool requests_arrive)
{
    if (!requests_arrive)
        fake_wire_drop(&c->client.up);
    if (c->base.session == COORD_SESSION_CONNECTED ||
        c->base.session == COORD_SESSION_CONNECTING)
        lose_connection(c, "connection lost");
}

void fake_coordinator_link(struct fake_coordinator *c, enum fake_link state)
{
    c->client.state = state;
}

#include "ha/fake/client.h"

#include "ha/fake/ensemble.h"

/* ---- the fake ensemble ---- */

static bool can_connect(const struct fake_client *c)
{
    return c->state != FAKE_LINK_REFUSED && c->ensemble->has_quorum;
}

/* Does the message leave the client? Connecting needs both ways. */
static bool passes_out(const struct fake_client *c, const struct fake_message *m)
{
    if (m->kind == FAKE_CONNECT)
        return c->state == FAKE_LINK_UP;
    /* FAKE_END_SESSION has a connection of its own. */
    return c->state != FAKE_LINK_MUTE && c->state != FAKE_LINK_MUTE_OUT &&
           (m->kind == FAKE_END_SESSION || m->connection != c->broken_out);
}

static bool passes_in(const struct fake_client *c, const struct fake_message *m)
{
    return c->state != FAKE_LINK_MUTE && c->state != FAKE_LINK_MUTE_IN &&
           m->connection != c->broken_in;
}

static void lose_request(struct fake_client *c, struct fake_message *m)
{
    c->broken_out = m->connection;
    fake_message_free(m);
}

static void send_request(struct fake_client *c, struct fake_message *m)
{
    if (passes_out(c, m))
        fake_wire_send(&c->up, m, timers_now(c->down.timers) + c->ensemble->delay_ms);
    else
        lose_request(c, m);
}

/* After the message was sent, an earlier one may have been lost. */
static void on_arrival(struct fake_wire *w, struct fake_message *m)
{
    struct fake_client *c = CONTAINER_OF(w, struct fake_client, up);

    if (c->ensemble->has_quorum &&
        (m->connection != c->broken_out || m->kind == FAKE_END_SESSION))
        fake_ensemble_serve(c, m);
    else
        lose_request(c, m);
}

void fake_client_answer(struct fake_client *c, struct fake_message *m)
{
    if (passes_in(c, m)) {
        fake_wire_send(&c->down, m, timers_now(c->up.timers) + c->ensemble->delay_ms);
        return;
    }
    c->broken_in = m->connection;
    fake_message_free(m);
}

static void release(struct fake_client *c)
{
    fake_ensemble_forget(c);
    list_remove(&c->link);
    fake_wire_fini(&c->up);
}

static const struct fake_service fake_ensemble_service = {
    .can_connect = can_connect, .send = send_request, .release = release};

/* ---- any service ---- */

void fake_client_init_on(struct fake_client *c, const struct fake_service *service,
                         struct timers *timers,
                         void (*on_message)(struct fake_wire *w, struct fake_message *m))
{
    *c = (struct fake_client){.service = service};
    fake_wire_init(&c->down, timers, on_message);
}

void fake_client_init(struct fake_client *c, struct fake_ensemble *e, struct timers *timers,
                      void (*on_message)(struct fake_wire *w, struct fake_message *m))
{
    fake_client_init_on(c, &fake_ensemble_service, timers, on_message);
    c->ensemble = e;
    fake_wire_init(&c->up, e->timers, on_arrival);
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

#include "ha/fake/wire.h"

#include <stdlib.h>
#include <string.h>

struct fake_message *fake_message_new(enum fake_kind kind, unsigned connection)
{
    struct fake_message *m = must(calloc(1, sizeof(*m)));

    list_init(&m->link);
    m->kind = kind;
    m->connection = connection;
    return m;
}

void fake_message_free(struct fake_message *m)
{
    for (unsigned i = 0; i < m->change_count; i++) {
        free((char *)m->changes[i].path);
        free((char *)m->changes[i].data.at);
    }
    buf_fini(&m->data);
    free(m->path);
    free(m);
}

static char *copy_of(const void *at, size_t len)
{
    char *copy = must(malloc(len + 1));

    if (len)
        memcpy(copy, at, len);
    copy[len] = '\0';
    return copy;
}

void fake_message_set_changes(struct fake_message *m, const struct coord_change *changes,
                              unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        m->changes[i] = changes[i];
        m->changes[i].path = copy_of(changes[i].path, strlen(changes[i].path));
        m->changes[i].data.at = copy_of(changes[i].data.at, changes[i].data.len);
    }
    m->change_count = count;
}

static struct fake_message *first(struct fake_wire *w)
{
    struct list *link = list_first(&w->messages);

    return link ? CONTAINER_OF(link, struct fake_message, link) : NULL;
}

static void arm(struct fake_wire *w)
{
    struct fake_message *next = first(w);

    if (!next || w->is_held)
        timer_disarm(w->timers, &w->timer);
    else
        timer_arm(w->timers, &w->timer, next->at_ms - timers_now(w->timers));
}

static void on_fire(struct timer *timer)
{
    struct fake_wire *w = CONTAINER_OF(timer, struct fake_wire, timer);
    struct fake_message *m = first(w);

    list_remove(&m->link);
    arm(w);
    w->on_message(w, m);
}

void fake_wire_init(struct fake_wire *w, struct timers *timers,
                    void (*on_message)(struct fake_wire *w, struct fake_message *m))
{
    *w = (struct fake_wire){.timers = timers, .on_message = on_message};
    timer_init(&w->timer, on_fire);
    list_init(&w->messages);
}

void fake_wire_drop(struct fake_wire *w)
{
    struct list *link;

    while ((link = list_pop(&w->messages)))
        fake_message_free(CONTAINER_OF(link, struct fake_message, link));
    arm(w);
}

void fake_wire_fini(struct fake_wire *w)
{
    fake_wire_drop(w);
}

void fake_wire_send(struct fake_wire *w, struct fake_message *m, int64_t at_ms)
{
    m->at_ms = at_ms;
    list_append(&w->messages, &m->link);
    if (first(w) == m)
        arm(w);
}

void fake_wire_hold(struct fake_wire *w, bool is_held)
{
    w->is_held = is_held;
    arm(w);
}

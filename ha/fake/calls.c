#include "ha/fake/calls.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void tell(struct later *later, struct list *link)
{
    struct fake_calls *cs = CONTAINER_OF(later, struct fake_calls, ended);
    struct coord_call *call = CONTAINER_OF(link, struct coord_call, link);

    cs->is_telling = true;
    call->on_done(call);
    cs->is_telling = false;
}

void fake_calls_begin(struct fake_calls *cs, struct coord_call *call, struct fake_message *m)
{
    list_init(&call->link);
    list_append(&cs->in_flight, &call->link);
    m->call = call;
    if (m->kind == FAKE_WRITE) {
        fake_message_set_changes(m, call->changes, call->change_count);
    } else {
        m->path = strdup(call->path);
        m->watches = call->watches;
    }
}

void fake_calls_refuse(struct fake_calls *cs, struct coord_call *call, enum coord_status status)
{
    list_init(&call->link);
    call->status = status;
    later_add(&cs->ended, &call->link);
}

void fake_calls_end_all(struct fake_calls *cs, enum coord_status status)
{
    struct list *link;

    while ((link = list_pop(&cs->in_flight)))
        fake_calls_refuse(cs, CONTAINER_OF(link, struct coord_call, link), status);
}

void fake_calls_answer(struct fake_calls *cs, const struct fake_message *m)
{
    struct coord_call *call = m->call;
    const char *name = m->data.at;
    const char **names;

    assert(list_first(&cs->in_flight) == &call->link);
    list_remove(&call->link);
    names = calloc(m->name_count + 1, sizeof(*names));
    if (!names)
        abort();
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
    cs->is_telling = true;
    call->on_done(call);
    cs->is_telling = false;
    free((void *)names);
}

void fake_calls_init(struct fake_calls *cs, struct timers *timers)
{
    list_init(&cs->in_flight);
    cs->is_telling = false;
    later_init(&cs->ended, timers, tell);
}

void fake_calls_fini(struct fake_calls *cs)
{
    struct list *link;

    while ((link = list_first(&cs->in_flight)) || (link = list_first(&cs->ended.ended)))
        list_remove(link);
    later_fini(&cs->ended);
}

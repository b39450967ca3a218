#include "protocol/beanstalkd/tubes.h"

#include <stdlib.h>

#include "base/crc16.h"

static struct list *slot_of(struct tubes *tubes, struct bytes name)
{
    return &tubes->slots[crc16(name) % TUBES_SLOTS];
}

void tubes_init(struct tubes *tubes)
{
    for (unsigned i = 0; i < TUBES_SLOTS; i++)
        list_init(&tubes->slots[i]);
    list_init(&tubes->referred);
    list_init(&tubes->idle);
    tubes->count = tubes->idle_count = 0;
}

static void forget(struct tubes *tubes, struct tube *tube)
{
    list_remove(&tube->slot);
    list_remove(&tube->place);
    free(tube);
    tubes->idle_count--;
}

static struct tube *oldest_idle(struct tubes *tubes)
{
    return CONTAINER_OF(list_first(&tubes->idle), struct tube, place);
}

void tubes_fini(struct tubes *tubes)
{
    while (tubes->idle_count)
        forget(tubes, oldest_idle(tubes));
}

struct tube *tubes_find(struct tubes *tubes, struct bytes name)
{
    LIST_EACH (link, slot_of(tubes, name)) {
        struct tube *tube = CONTAINER_OF(link, struct tube, slot);

        if (bytes_equal(tube->name, name))
            return tube;
    }
    return NULL;
}

static struct tube *make(struct tubes *tubes, struct bytes name)
{
    struct tube *tube = must(calloc(1, sizeof(*tube) + name.len));
    char *room = tube->text;

    tube->name = text_put(&room, name);
    list_append(slot_of(tubes, name), &tube->slot);
    list_append(&tubes->idle, &tube->place);
    tubes->idle_count++;
    return tube;
}

struct tube *tubes_use(struct tubes *tubes, struct bytes name)
{
    struct tube *tube = tubes_find(tubes, name);

    if (!tube)
        tube = make(tubes, name);
    if (tube->references++ == 0) {
        list_remove(&tube->place);
        list_append(&tubes->referred, &tube->place);
        tubes->idle_count--;
        tubes->count++;
    }
    return tube;
}

void tubes_drop(struct tubes *tubes, struct tube *tube)
{
    if (--tube->references)
        return;
    list_remove(&tube->place);
    list_append(&tubes->idle, &tube->place);
    tubes->count--;
    if (++tubes->idle_count > TUBES_IDLE_MAX)
        forget(tubes, oldest_idle(tubes));
}

/* ---- what a client watches ---- */

static unsigned place_of(const struct watch *watch, struct bytes name)
{
    unsigned i = 0;

    while (i < watch->count && !bytes_equal(watch->at[i]->name, name))
        i++;
    return i;
}

bool watch_has(const struct watch *watch, struct bytes name)
{
    return place_of(watch, name) < watch->count;
}

bool watch_add(struct watch *watch, struct tubes *tubes, struct bytes name)
{
    struct tube *tube;

    if (watch_has(watch, name))
        return true;
    if (watch->count == WATCH_MAX)
        return false;
    tube = tubes_use(tubes, name);
    tube->watching++;
    watch->at[watch->count++] = tube;
    return true;
}

/* The last one takes its place, as in beanstalkd. */
static void remove_at(struct watch *watch, struct tubes *tubes, unsigned i)
{
    struct tube *tube = watch->at[i];

    watch->at[i] = watch->at[--watch->count];
    tube->watching--;
    tubes_drop(tubes, tube);
}

void watch_remove(struct watch *watch, struct tubes *tubes, struct bytes name)
{
    unsigned i = place_of(watch, name);

    if (i < watch->count)
        remove_at(watch, tubes, i);
}

void watch_clear(struct watch *watch, struct tubes *tubes)
{
    while (watch->count)
        remove_at(watch, tubes, watch->count - 1);
}

#include "node/queue/walk.h"

#include <stdlib.h>
#include <string.h>

#include "node/queue/names.h"

#define MET_BITS (1u << 21) /* 256 KB; of 100,000 topics one in forty or so is left out */

/* ---- what was met ---- */

/* FNV-1a, begun with the seed. */
static uint64_t hash(const struct walk *w, struct bytes topic)
{
    uint64_t value = UINT64_C(14695981039346656037) ^ w->seed;

    for (size_t i = 0; i < topic.len; i++)
        value = (value ^ (uint8_t)topic.at[i]) * UINT64_C(1099511628211);
    return value ^ value >> 32;
}

/* For the first time? */
static bool meet(struct walk *w, struct bytes topic)
{
    unsigned bit = (unsigned)(hash(w, topic) % MET_BITS);
    uint8_t mask = (uint8_t)(1u << bit % 8);
    bool is_met = w->met[bit / 8] & mask;

    w->met[bit / 8] |= mask;
    return !is_met;
}

static void forget_met(struct walk *w)
{
    free(w->met);
    w->met = NULL;
    w->seed = (w->seed + 1) * UINT64_C(6364136223846793005);
}

/* ---- pages ---- */

static void drop_names(struct walk *w)
{
    free(w->names);
    w->names = NULL;
    w->names_len = w->names_at = 0;
}

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void add_name(struct walk *w, struct bytes topic)
{
    if (!topic_name_is_valid(topic) || !meet(w, topic))
        return;
    w->names[w->names_len++] = (char)(uint8_t)topic.len;
    memcpy(w->names + w->names_len, topic.at, topic.len);
    w->names_len += topic.len;
}

static size_t length_of_names(const struct op *places)
{
    size_t len = 1;

    for (unsigned i = 0; i < places->out.places.count; i++)
        len += 1 + places->out.places.rows[i].topic.len;
    return len;
}

struct bytes walk_after(const struct walk *w)
{
    return bytes_of(w->after, w->after_len);
}

void walk_take_page(struct walk *w, const struct op *places)
{
    struct bytes next = places->out.places.next;

    drop_names(w);
    if (!w->met)
        w->met = must(calloc(MET_BITS / 8, 1));
    w->names = must(malloc(length_of_names(places)));
    for (unsigned i = 0; i < places->out.places.count; i++)
        add_name(w, places->out.places.rows[i].topic);
    w->next_len = next.len <= sizeof(w->next) ? next.len : 0;
    if (w->next_len)
        memcpy(w->next, next.at, next.len);
}

bool walk_next_topic(struct walk *w, struct bytes *topic)
{
    if (w->names_at >= w->names_len)
        return false;
    topic->len = (uint8_t)w->names[w->names_at];
    topic->at = w->names + w->names_at + 1;
    w->names_at += 1 + topic->len;
    return true;
}

bool walk_turn_page(struct walk *w)
{
    if (w->next_len == 0) {
        walk_begin_anew(w);
        return false;
    }
    drop_names(w);
    memcpy(w->after, w->next, w->next_len);
    w->after_len = w->next_len;
    w->next_len = 0;
    return true;
}

void walk_begin_anew(struct walk *w)
{
    walk_pause(w);
    w->after_len = 0;
}

void walk_pause(struct walk *w)
{
    drop_names(w);
    forget_met(w);
    w->next_len = 0;
}

void walk_init(struct walk *w)
{
    *w = (struct walk){0};
}

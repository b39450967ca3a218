#include "node/queue/waiters.h"

#include <string.h>

#include "node/queue/hash.h"

/* An address that has places; freed with the last of them. */
struct account {
    UT_hash_handle hh;
    unsigned used[PLACE_KINDS];    /* topics */
    struct list pops[PLACE_KINDS]; /* first come first */
    unsigned len;
    char address[];
};

static struct account *find(const struct places *ps, struct bytes address)
{
    const char *at = address.len ? address.at : ""; /* an unknown address counts as one, too */
    struct account *a;

    HASH_FIND(hh, ps->accounts, at, address.len, a);
    return a;
}

static struct account *get(struct places *ps, struct bytes address)
{
    struct account *a = find(ps, address);

    if (a)
        return a;
    a = must(calloc(1, sizeof(*a) + address.len));
    for (unsigned i = 0; i < PLACE_KINDS; i++)
        list_init(&a->pops[i]);
    a->len = (unsigned)address.len;
    if (address.len)
        memcpy(a->address, address.at, address.len);
    HASH_ADD(hh, ps->accounts, address, a->len, a);
    return a;
}

/* The limit may have changed meanwhile: `max`, the one of now, counts. */
static struct account *find_largest_holder(const struct places *ps, enum place_kind kind,
                                           unsigned max)
{
    struct account *largest = ps->largest[kind];

    return largest && largest->used[kind] > max / 2 ? largest : NULL;
}

static unsigned free_of(const struct places *ps, enum place_kind kind, unsigned max)
{
    return ps->used[kind] < max ? max - ps->used[kind] : 0;
}

bool places_can_be_had(struct places *ps, const struct pop *pop, enum place_kind kind,
                       unsigned max)
{
    const struct account *largest = find_largest_holder(ps, kind, max),
                         *own = find(ps, pop->address);
    unsigned wanted = pop->topic_count, left = free_of(ps, kind, max);

    if (wanted <= left)
        return true;
    if (!largest || (own ? own->used[kind] : 0) + wanted > max / 2)
        return false;
    return wanted + ps->used[kind] <= max + largest->used[kind] - max / 2;
}

struct pop *places_next_victim(struct places *ps, const struct pop *pop, enum place_kind kind,
                               unsigned max)
{
    struct account *largest = find_largest_holder(ps, kind, max);

    if (pop->topic_count <= free_of(ps, kind, max) || !largest)
        return NULL;
    return CONTAINER_OF(list_first(&largest->pops[kind]), struct pop, place);
}

void places_take(struct places *ps, struct pop *pop, enum place_kind kind, unsigned max)
{
    struct account *a = get(ps, pop->address);

    pop->account = a;
    pop->place_kind = kind;
    list_append(&a->pops[kind], &pop->place);
    a->used[kind] += pop->topic_count;
    ps->used[kind] += pop->topic_count;
    if (a->used[kind] > max / 2)
        ps->largest[kind] = a;
}

static void free_if_unused(struct places *ps, struct account *a)
{
    for (unsigned i = 0; i < PLACE_KINDS; i++) {
        if (a->used[i])
            return;
    }
    for (unsigned i = 0; i < PLACE_KINDS; i++) {
        if (ps->largest[i] == a)
            ps->largest[i] = NULL;
    }
    HASH_DEL(ps->accounts, a);
    free(a);
}

void places_leave(struct places *ps, struct pop *pop)
{
    struct account *a = pop->account;

    if (!a)
        return;
    list_remove(&pop->place);
    a->used[pop->place_kind] -= pop->topic_count;
    ps->used[pop->place_kind] -= pop->topic_count;
    pop->account = NULL;
    free_if_unused(ps, a);
}

#include "protocol/beanstalkd/numbers.h"

#include <stdlib.h>

#include "base/crc16.h"
#include "protocol/access/access.h"

struct known {
    struct list slot, all;
    uint64_t number;
    struct bytes topic, id;
    char text[];
};

void numbers_init(struct numbers *n, unsigned buckets)
{
    n->buckets = buckets;
    n->count = 0;
    list_init(&n->all);
    for (unsigned i = 0; i < NUMBERS_SLOTS; i++)
        list_init(&n->slots[i]);
}

static void forget(struct numbers *n, struct known *known)
{
    list_remove(&known->slot);
    list_remove(&known->all);
    free(known);
    n->count--;
}

void numbers_fini(struct numbers *n)
{
    struct list *link;

    while ((link = list_first(&n->all)))
        forget(n, CONTAINER_OF(link, struct known, all));
}

static struct known *known_of(struct numbers *n, uint64_t number)
{
    LIST_EACH (link, &n->slots[number % NUMBERS_SLOTS]) {
        struct known *known = CONTAINER_OF(link, struct known, slot);

        if (known->number == number)
            return known;
    }
    return NULL;
}

static void remember(struct numbers *n, uint64_t number, struct bytes topic, struct bytes id)
{
    struct known *known = known_of(n, number);
    char *room;

    if (known) {
        list_remove(&known->all);
        list_append(&n->all, &known->all);
        return;
    }
    if (n->count == NUMBERS_MAX)
        forget(n, CONTAINER_OF(list_first(&n->all), struct known, all));
    known = must(malloc(sizeof(*known) + topic.len + id.len));
    room = known->text;
    known->number = number;
    known->topic = text_put(&room, topic);
    known->id = text_put(&room, id);
    list_append(&n->slots[number % NUMBERS_SLOTS], &known->slot);
    list_append(&n->all, &known->all);
    n->count++;
}

static uint64_t hash_of(struct bytes topic, struct bytes id)
{
    unsigned char length = (unsigned char)topic.len; /* of a topic: at most 200 */
    unsigned char digest[TOKEN_HASH_BYTES];          /* SHA-256 */
    char text[256 + 256];
    char *room = text;
    uint64_t hash = 0;

    text_put(&room, bytes_of((const char *)&length, 1));
    text_put(&room, topic);
    text_put(&room, id);
    access_hash(bytes_of(text, (size_t)(room - text)), digest);
    for (unsigned i = 0; i < sizeof(hash); i++)
        hash = hash << 8 | digest[i];
    return hash % NUMBERS_OWN_MAX;
}

/* The store makes numbers from 1 on, each of them of its topic's bucket. */
static bool is_own(const struct numbers *n, struct bytes topic, struct bytes id,
                   uint64_t *number)
{
    struct bytes rest = id;
    int64_t value;

    if (id.len == 0 || id.at[0] == '0' || !bytes_take_digits(&rest, &value) || rest.len ||
        (uint64_t)value >= NUMBERS_OWN_MAX)
        return false;
    *number = (uint64_t)value;
    return *number % n->buckets == crc16(topic) % n->buckets;
}

uint64_t numbers_of(struct numbers *n, struct bytes topic, struct bytes id)
{
    uint64_t number;

    if (is_own(n, topic, id, &number))
        return number;
    number = NUMBERS_OWN_MAX + hash_of(topic, id);
    remember(n, number, topic, id);
    return number;
}

bool numbers_find(struct numbers *n, uint64_t number, struct bytes *topic, struct bytes *id)
{
    const struct known *known = known_of(n, number);

    if (!known)
        return false;
    *topic = known->topic;
    *id = known->id;
    return true;
}

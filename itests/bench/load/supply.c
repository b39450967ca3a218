#include "itests/bench/load/supply.h"

#include <stdio.h>
#include <stdlib.h>

#include "itests/bench/load/die.h"

#define NAME_ROOM 31

struct name {
    unsigned char len;
    char text[NAME_ROOM];
};

static struct {
    struct name *topics;
    char *body;
    size_t body_bytes;
} supply;

void supply_init(const struct options *o)
{
    if (strlen(o->topic_name) > NAME_ROOM - 10)
        die("--topic-name is too long");
    supply.topics = must_calloc(o->topics, sizeof(*supply.topics));
    for (int64_t i = 0; i < o->topics; i++) {
        struct name *name = &supply.topics[i];

        name->len = (unsigned char)snprintf(name->text, sizeof(name->text), "%s-%d",
                                            o->topic_name, (int)i);
    }
    supply.body_bytes = (size_t)o->body_bytes;
    supply.body = must_calloc(o->body_bytes + 1, 1);
    memset(supply.body, 'x', supply.body_bytes);
}

void supply_fini(void)
{
    free(supply.topics);
    free(supply.body);
}

struct bytes supply_topic(unsigned number)
{
    return bytes_of(supply.topics[number].text, supply.topics[number].len);
}

struct bytes supply_body(void)
{
    return bytes_of(supply.body, supply.body_bytes);
}

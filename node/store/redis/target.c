#include "node/store/redis/target.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"

static unsigned count_of(const char *list)
{
    unsigned count = *list != '\0';

    for (; *list; list++)
        count += *list == ',';
    return count;
}

/* The item whose turn it is, of "address:port,...". */
static enum status pick(struct redis_target *t, struct redis_address *address)
{
    const char *list = buf_text(&t->names.servers);
    unsigned count = count_of(list);
    char item[REDIS_ADDRESS_CHARS];
    size_t len;

    if (count == 0)
        return STATUS_NOT_FOUND;
    for (unsigned skip = t->turn++ % count; skip > 0; skip--)
        list = strchr(list, ',') + 1;
    len = strcspn(list, ",");
    if (len >= sizeof(item))
        return STATUS_NOT_FOUND;
    memcpy(item, list, len);
    item[len] = '\0';
    return redis_address_parse(item, address);
}

static void on_names(struct resolve *names)
{
    struct redis_target *t = CONTAINER_OF(names, struct redis_target, names);
    struct redis_address found;

    if (!t->is_looking)
        return;
    t->is_looking = false;
    if (pick(t, &found) == STATUS_OK)
        t->on_found(t, &found, "");
    else
        t->on_found(t, NULL, names->unknown);
}

void redis_target_init(struct redis_target *t, struct loop *loop,
                       const struct redis_address *address,
                       void (*on_found)(struct redis_target *t,
                                        const struct redis_address *address, const char *why))
{
    *t = (struct redis_target){.address = *address, .on_found = on_found};
    resolve_init(&t->names, loop, on_names);
}

void redis_target_fini(struct redis_target *t)
{
    resolve_fini(&t->names);
}

bool redis_target_is_known(const struct redis_target *t)
{
    return *t->address.host != '\0';
}

bool redis_target_set(struct redis_target *t, const struct redis_address *address)
{
    if (redis_address_equal(&t->address, address))
        return false;
    t->address = *address;
    t->turn = 0;
    t->is_looking = false;
    resolve_cancel(&t->names);
    return true;
}

static bool is_numeric(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

const struct redis_address *redis_target_look(struct redis_target *t)
{
    char text[REDIS_ADDRESS_CHARS];

    if (t->address.port == 0 || is_numeric(t->address.host))
        return &t->address;
    t->is_looking = true;
    redis_address_print(&t->address, text);
    resolve_start(&t->names, text);
    return NULL;
}

void redis_target_stop_looking(struct redis_target *t)
{
    t->is_looking = false;
}

bool redis_target_cancel(struct redis_target *t)
{
    t->is_looking = false;
    return resolve_cancel(&t->names);
}

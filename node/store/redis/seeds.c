#include "node/store/redis/seeds.h"

#include <string.h>

#define SCHEME "cluster://"

/* Its nodes talk to each other by TCP, and so does who follows them from one to the other. */
static bool has_socket(const struct redis_seeds *seeds)
{
    for (unsigned i = 0; i < seeds->count; i++) {
        if (seeds->list[i].port == 0)
            return true;
    }
    return false;
}

enum status redis_seeds_parse(const char *text, struct redis_seeds *seeds)
{
    struct redis_seeds parsed = {.count = 0};

    if (strncmp(text, "cluster:", strlen("cluster:")) != 0)
        return STATUS_NOT_FOUND;
    if (strncmp(text, SCHEME, strlen(SCHEME)) != 0 ||
        redis_address_parse_list(text + strlen(SCHEME), REDIS_PORT, parsed.list,
                                 REDIS_SEEDS_MAX, &parsed.count) != STATUS_OK ||
        has_socket(&parsed))
        return STATUS_BAD_CONFIG;
    *seeds = parsed;
    return STATUS_OK;
}

/* The list of Sentinels in a configuration. */
#include "node/store/redis/sentinel.h"

#include <string.h>

#define SCHEME "sentinel://"

/* What Sentinel takes as a name, too. */
static bool is_name(const char *text, size_t len)
{
    return len >= 1 && len < REDIS_MASTER_CHARS &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_") >=
               len;
}

enum status redis_sentinels_parse(const char *text, struct redis_sentinels *sentinels)
{
    struct redis_sentinels parsed = {.count = 0};
    const char *name = text + strlen(SCHEME), *at;

    if (strncmp(text, "sentinel:", strlen("sentinel:")) != 0)
        return STATUS_NOT_FOUND;
    at = strncmp(text, SCHEME, strlen(SCHEME)) ? NULL : strchr(name, '@');
    if (!at || !is_name(name, (size_t)(at - name)) ||
        redis_address_parse_list(at + 1, REDIS_SENTINEL_PORT, parsed.list, REDIS_SENTINELS_MAX,
                                 &parsed.count) != STATUS_OK)
        return STATUS_BAD_CONFIG;
    memcpy(parsed.master, name, (size_t)(at - name));
    *sentinels = parsed;
    return STATUS_OK;
}

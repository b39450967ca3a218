#include "ha/peer/retry.h"

#include <string.h>

#include <event2/util.h>

#include "ha/peer/auth.h"

#define FIRST_MS 20
#define MAX_MS   1000

int64_t peer_retry_ms(unsigned attempts)
{
    int64_t ms = FIRST_MS;
    uint32_t random;

    while (attempts-- && ms < MAX_MS)
        ms *= 2;
    if (ms > MAX_MS)
        ms = MAX_MS;
    peer_auth_random(&random, sizeof(random));
    return ms / 2 + (int64_t)(random % (uint32_t)(ms / 2 + 1));
}

bool peer_retry_address(const char *servers, unsigned attempts, struct sockaddr_storage *at,
                        int *at_len)
{
    char one[PEER_ADDR_MAX];
    unsigned count = 1;
    size_t len;

    for (const char *c = servers; *c; c++)
        count += *c == ',';
    for (unsigned skip = attempts % count; skip; skip--)
        servers = strchr(servers, ',') + 1;
    len = strcspn(servers, ",");
    if (len == 0 || len >= sizeof(one))
        return false;
    memcpy(one, servers, len);
    one[len] = '\0';
    memset(at, 0, sizeof(*at)); /* addresses are compared as bytes */
    *at_len = sizeof(*at);
    return evutil_parse_sockaddr_port(one, (struct sockaddr *)at, at_len) == 0;
}

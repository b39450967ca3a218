/* Any bytes as a PROXY header: what is one needs all of its bytes, and no others. */
#include <assert.h>
#include <string.h>

#include "protocol/conn/proxy.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static bool is_header(enum proxy_result result)
{
    return result == PROXY_CLIENT || result == PROXY_ITSELF;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct bytes input = bytes_of((const char *)data, size);
    struct peer_end client = {.port = 0}, again = {.port = 0};
    size_t used = 0, used_again = 0;
    enum proxy_result result = proxy_read(input, &client, &used);

    if (!is_header(result)) {
        assert(used == 0 && (result == PROXY_BAD || size < PROXY_HEADER_MAX));
        return 0;
    }
    assert(used > 0 && used <= size && used <= PROXY_HEADER_MAX);
    for (size_t len = 0; len < used; len++)
        assert(proxy_read(bytes_of(input.at, len), &again, &used_again) == PROXY_MORE);
    assert(proxy_read(bytes_of(input.at, used), &again, &used_again) == result);
    assert(used_again == used && memcmp(&client, &again, sizeof(client)) == 0);
    return 0;
}

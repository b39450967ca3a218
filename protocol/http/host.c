#include "protocol/http/host.h"

#include <strings.h>

#include "protocol/http/url.h"

static bool is_same(struct bytes a, struct bytes b)
{
    return a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0;
}

static bool is_v4_address(struct bytes name)
{
    size_t i = 0;

    while (i < name.len && strchr("0123456789.", name.at[i]))
        i++;
    return name.len && i == name.len;
}

static bool is_listed(struct bytes name, struct bytes names)
{
    while (names.len)
        if (is_same(name, url_cut(&names, ',')))
            return true;
    return false;
}

bool host_is_ours(struct bytes host, const char *names)
{
    struct bytes name;

    if (!host.len || !names || !*names || host.at[0] == '[')
        return true;
    name = url_cut(&host, ':');
    return is_v4_address(name) || is_same(name, BYTES("localhost")) ||
           is_listed(name, bytes_of_text(names));
}

#include "node/store/redis/wire/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_PATH_MAX 107 /* of sockaddr_un; hiredis would cut it off without a word */

static enum status parse_path(const char *path, struct redis_address *address)
{
    size_t len = strlen(path);

    if (len == 0 || len > SOCKET_PATH_MAX)
        return STATUS_BAD_CONFIG;
    memcpy(address->host, path, len + 1);
    address->port = 0;
    return STATUS_OK;
}

static enum status parse_port(const char *text, int *port)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || number < 1 || number > 65535)
        return STATUS_BAD_CONFIG;
    *port = (int)number;
    return STATUS_OK;
}

/* The end of the host in "host:port" or "[host]:port"; NULL when it has none. */
static const char *host_end(const char **host)
{
    const char *end;

    if (**host == '[') {
        ++*host;
        end = strchr(*host, ']');
        return end && (end[1] == ':' || !end[1]) ? end : NULL;
    }
    end = *host + strcspn(*host, ":");
    return strchr(end + (*end != '\0'), ':') ? NULL : end;
}

/* `port`: where the text has none. */
static enum status parse_with(const char *text, int port, struct redis_address *address)
{
    struct redis_address parsed = {.port = port};
    const char *host = text, *end;
    enum status status = STATUS_OK;
    size_t len;

    if (!strncmp(text, "unix:", 5)) {
        status = parse_path(text + 5, &parsed);
        goto out;
    }
    end = host_end(&host);
    len = end ? (size_t)(end - host) : 0;
    if (len == 0 || len >= sizeof(parsed.host) || strcspn(host, ",@") < len)
        return STATUS_BAD_CONFIG;
    memcpy(parsed.host, host, len);
    end += *end == ']';
    if (*end == ':')
        status = parse_port(end + 1, &parsed.port);
out:
    if (status == STATUS_OK)
        *address = parsed;
    return status;
}

enum status redis_address_parse(const char *text, struct redis_address *address)
{
    return parse_with(text, REDIS_PORT, address);
}

static enum status parse_item(const char *text, size_t len, int port,
                              struct redis_address *address)
{
    char item[REDIS_ADDRESS_CHARS];

    if (len >= sizeof(item))
        return STATUS_BAD_CONFIG;
    memcpy(item, text, len);
    item[len] = '\0';
    return parse_with(item, port, address);
}

enum status redis_address_parse_list(const char *text, int port, struct redis_address *list,
                                     unsigned max, unsigned *count)
{
    for (unsigned read = 0; read < max; text++) {
        size_t len = strcspn(text, ",");

        if (parse_item(text, len, port, &list[read++]) != STATUS_OK)
            return STATUS_BAD_CONFIG;
        text += len;
        if (!*text) {
            *count = read;
            return STATUS_OK;
        }
    }
    return STATUS_BAD_CONFIG;
}

enum status redis_address_set(struct redis_address *address, struct bytes host, long port)
{
    if (host.len == 0 || host.len >= sizeof(address->host) || port < 1 || port > 65535)
        return STATUS_BAD_CONFIG;
    for (size_t i = 0; i < host.len; i++) {
        if (host.at[i] <= ' ' || host.at[i] > '~')
            return STATUS_BAD_CONFIG;
    }
    *address = (struct redis_address){.port = (int)port};
    memcpy(address->host, host.at, host.len);
    return STATUS_OK;
}

bool redis_address_equal(const struct redis_address *a, const struct redis_address *b)
{
    return a->port == b->port && !strcmp(a->host, b->host);
}

void redis_address_print(const struct redis_address *address, char text[REDIS_ADDRESS_CHARS])
{
    bool is_v6 = strchr(address->host, ':') != NULL;

    if (!*address->host)
        *text = '\0';
    else if (address->port == 0)
        snprintf(text, REDIS_ADDRESS_CHARS, "unix:%s", address->host);
    else
        snprintf(text, REDIS_ADDRESS_CHARS, is_v6 ? "[%s]:%d" : "%s:%d", address->host,
                 address->port);
}

union any_address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

/* Returns the length of the address; 0: it is none. */
static socklen_t read_address(const struct redis_address *from, union any_address *to)
{
    memset(to, 0, sizeof(*to));
    if (from->port == 0) {
        if (strlen(from->host) >= sizeof(to->un.sun_path))
            return 0;
        to->un.sun_family = AF_UNIX;
        memcpy(to->un.sun_path, from->host, strlen(from->host));
        return sizeof(to->un);
    }
    if (inet_pton(AF_INET, from->host, &to->in.sin_addr) == 1) {
        to->in.sin_family = AF_INET;
        to->in.sin_port = htons((uint16_t)from->port);
        return sizeof(to->in);
    }
    to->in6.sin6_family = AF_INET6;
    to->in6.sin6_port = htons((uint16_t)from->port);
    return inet_pton(AF_INET6, from->host, &to->in6.sin6_addr) == 1 ? sizeof(to->in6) : 0;
}

int redis_address_connect(const struct redis_address *address)
{
    union any_address to;
    socklen_t len = read_address(address, &to);
    int fd, error;

    if (len == 0) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, &to.any, len) == 0 || errno == EINPROGRESS)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

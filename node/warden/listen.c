#include "node/warden/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4096 /* the kernel cuts it to net.core.somaxconn */

static const char *hint(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "; another program listens there (`ss -ltnp` shows which): stop it, or choose "
               "another port";
    case EADDRNOTAVAIL:
        return "; this machine does not have that address";
    case EACCES:
        return "; ports below 1024 need the capability CAP_NET_BIND_SERVICE";
    default:
        return "";
    }
}

/* `::` hears IPv4, too, whatever the machine's net.ipv6.bindv6only says. */
static void choose_families(int fd, const struct addrinfo *ai)
{
    const struct sockaddr_in6 *address = (const void *)ai->ai_addr;
    int only_v6;

    if (ai->ai_family != AF_INET6)
        return;
    only_v6 = !IN6_IS_ADDR_UNSPECIFIED(&address->sin6_addr);
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6));
}

static int give_up(int fd)
{
    int error = errno;

    close(fd);
    errno = error;
    return -1;
}

/* -1 with errno. */
static int bind_to(const struct addrinfo *ai, const struct sockaddr *address)
{
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    choose_families(fd, ai);
    return bind(fd, address, ai->ai_addrlen) ? give_up(fd) : fd;
}

/* With shutdown() a socket loses a port that the system chose, and keeps a port that was asked
 * for. So a second socket asks for the chosen port, before the first one gives it up. -1 with
 * errno. */
static int bind_one(const struct addrinfo *ai)
{
    struct sockaddr_storage chosen;
    socklen_t len = sizeof(chosen);
    int first = bind_to(ai, ai->ai_addr), fd;

    if (first < 0)
        return -1;
    if (getsockname(first, (struct sockaddr *)&chosen, &len))
        return give_up(first);
    fd = bind_to(ai, (const struct sockaddr *)&chosen);
    if (fd < 0)
        return give_up(first);
    close(first);
    return listen(fd, BACKLOG) ? give_up(fd) : fd;
}

/* A name may have several addresses, and the machine may not have all of them: the first that
 * it has, IPv4 before IPv6. An address whose port is taken is not skipped, because clients that
 * know this node by that address would reach another program. -1 with the errno of the first.
 */
static int bind_first(const struct addrinfo *list)
{
    int fd, first_error = 0;

    for (int round = 0; round < 2; round++) {
        for (const struct addrinfo *ai = list; ai; ai = ai->ai_next) {
            if ((ai->ai_family == AF_INET) == (round == 1))
                continue;
            fd = bind_one(ai);
            if (fd >= 0 || (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT))
                return fd;
            if (!first_error)
                first_error = errno;
        }
    }
    errno = first_error;
    return -1;
}

enum status listen_open(const char *key, const char *host, unsigned port, int *fd)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list;
    char service[16];
    int error, bound;

    snprintf(service, sizeof(service), "%u", port);
    error = getaddrinfo(host, service, &hints, &list);
    if (error) {
        LOG_ERROR("warden", "%s: cannot resolve '%s': %s", key, host, gai_strerror(error));
        return STATUS_IO_ERROR;
    }
    bound = bind_first(list);
    error = errno;
    freeaddrinfo(list);
    if (bound < 0) {
        LOG_ERROR("warden", "%s: cannot listen on %s port %u: %s%s", key, host, port,
                  strerror(error), hint(error));
        return STATUS_IO_ERROR;
    }
    *fd = bound;
    return STATUS_OK;
}

/* ---- a socket of this machine ---- */

/* A node that was killed leaves its socket behind. */
static bool is_left_over(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat about;
    bool is;

    if (fd < 0)
        return false;
    is = !lstat(address->sun_path, &about) && S_ISSOCK(about.st_mode) &&
         connect(fd, (const struct sockaddr *)address, sizeof(*address)) &&
         errno == ECONNREFUSED;
    close(fd);
    return is;
}

/* -1 with errno. The file has the descriptor's mode, less the umask. */
static int bind_path(const struct sockaddr_un *address, mode_t mode)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (fchmod(fd, mode) ||
        (is_left_over(address) && unlink(address->sun_path) && errno != ENOENT) ||
        bind(fd, (const struct sockaddr *)address, sizeof(*address)) || listen(fd, BACKLOG))
        return give_up(fd);
    return fd;
}

enum status listen_open_path(const char *key, const char *path, mode_t mode,
                             enum log_level level, int *fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    int bound;

    if (len >= sizeof(address.sun_path)) {
        LOG_AT(level, "warden", "%s: %s has %zu bytes, and the path of a socket at most %zu",
               key, path, len, sizeof(address.sun_path) - 1);
        return STATUS_IO_ERROR;
    }
    memcpy(address.sun_path, path, len);
    bound = bind_path(&address, mode);
    if (bound < 0) {
        LOG_AT(level, "warden", "%s: cannot listen at %s: %s%s", key, path, strerror(errno),
               errno == EADDRINUSE ? "; something has that path: give another one" : "");
        return STATUS_IO_ERROR;
    }
    *fd = bound;
    return STATUS_OK;
}

bool listen_is_local(int fd)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    const struct sockaddr_in6 *v6 = (const void *)&address;
    const struct sockaddr_in *v4 = (const void *)&address;
    socklen_t len = sizeof(address);

    if (getsockname(fd, (struct sockaddr *)&address, &len))
        return false;
    return address.ss_family == AF_UNIX ||
           (address.ss_family == AF_INET &&
            ntohl(v4->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET) ||
           (address.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr));
}

/* ---- what is open ---- */

void listen_outlive_address(int fd)
{
    int one = 1;

    if (fd >= 0)
        (void)setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one));
}

void listen_refuse(int fd)
{
    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
}

enum status listen_again(const char *key, int fd)
{
    if (fd < 0 || !listen(fd, BACKLOG))
        return STATUS_OK;
    LOG_ERROR("warden", "%s: cannot listen again: %s%s", key, strerror(errno), hint(errno));
    return STATUS_IO_ERROR;
}

void listen_print(int fd, struct buf *to)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof(address);
    char host[NI_MAXHOST], port[NI_MAXSERV];

    if (getsockname(fd, (struct sockaddr *)&address, &len))
        return;
    if (address.ss_family == AF_UNIX)
        buf_add_text(to, ((const struct sockaddr_un *)(const void *)&address)->sun_path);
    if (address.ss_family == AF_UNIX ||
        getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV))
        return;
    buf_printf(to, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

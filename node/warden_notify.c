#include "node/warden_notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* "/run/systemd/notify", or "@name" in the abstract space. */
static bool parse_address(struct notify *n, const char *text)
{
    size_t len = strlen(text);

    if ((*text != '/' && *text != '@') || len < 2 || len >= sizeof(n->to.sun_path)) {
        errno = len < 2 ? EINVAL : *text == '/' || *text == '@' ? ENAMETOOLONG : EAFNOSUPPORT;
        return false;
    }
    n->to.sun_family = AF_UNIX;
    memcpy(n->to.sun_path, text, len + 1);
    if (*text == '@')
        n->to.sun_path[0] = '\0';
    /* Of an abstract name each byte counts, so the NUL behind it must not be one of them. */
    n->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (*text == '/'));
    return true;
}

static void open_socket(struct notify *n, const char *address)
{
    if (parse_address(n, address))
        n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (n->fd < 0)
        LOG_WARN("warden", "$NOTIFY_SOCKET: cannot use %s: %s", address, strerror(errno));
}

/* 0: none is wanted, or of another process. */
static int64_t read_watchdog_ms(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    long long parsed_us = us ? atoll(us) : 0;

    if (parsed_us <= 0 || (pid && atoll(pid) != getpid()))
        return 0;
    return parsed_us < 2000 ? 1 : parsed_us / 2000;
}

void notify_init(struct notify *n)
{
    const char *address = getenv("NOTIFY_SOCKET");

    *n = (struct notify){.fd = -1};
    if (address && *address)
        open_socket(n, address);
    if (n->fd >= 0)
        n->watchdog_ms = read_watchdog_ms();
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_fini(struct notify *n)
{
    if (n->fd >= 0)
        close(n->fd);
    n->fd = -1;
}

/* False: not now. One that has gone, or forbids it, has no use for it later either. */
static bool put(struct notify *n, const char *text)
{
    ssize_t sent = sendto(n->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
                          (const struct sockaddr *)&n->to, n->to_len);

    return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS && errno != EINTR);
}

/* Behind what waits already: the newest of each kind counts, and is the last one. */
static void keep(struct notify *n, const char *text)
{
    size_t len = strlen(n->unsent);

    if (len + 1 + strlen(text) < sizeof(n->unsent))
        snprintf(n->unsent + len, sizeof(n->unsent) - len, "%s%s", len ? "\n" : "", text);
}

void notify_send(struct notify *n, const char *text)
{
    if (n->fd < 0)
        return;
    if (*n->unsent || !put(n, text))
        keep(n, text);
}

int64_t notify_tick(struct notify *n, bool is_well, int64_t now_mono_ms)
{
    if (n->fd < 0)
        return -1;
    if (*n->unsent && put(n, n->unsent))
        n->unsent[0] = '\0';
    if (*n->unsent)
        return NOTIFY_RETRY_MS;
    if (!n->watchdog_ms)
        return -1;
    if (now_mono_ms >= n->next_mono_ms && is_well) {
        notify_send(n, "WATCHDOG=1");
        n->next_mono_ms = now_mono_ms + n->watchdog_ms;
    }
    return n->next_mono_ms > now_mono_ms ? n->next_mono_ms - now_mono_ms : n->watchdog_ms;
}

#include "node/warden/notify.h"

#include <errno.h>
#include <inttypes.h>
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

/* 0: no watchdog is wanted, or it is for another process. */
static int64_t read_watchdog_ms(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    long long parsed_us = us ? atoll(us) : 0;

    if (parsed_us <= 0 || (pid && atoll(pid) != getpid()))
        return 0;
    return parsed_us < 2000 ? 1 : parsed_us / 2000;
}

/* Takes $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID out of the environment: they are for
 * this process alone. A socket that cannot be used is logged, once. */
static void notify_init(struct notify *n)
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

static void notify_fini(struct notify *n)
{
    if (n->fd >= 0)
        close(n->fd);
    n->fd = -1;
}

/* False: try again later. With a supervisor that is gone or refuses there is no point in that.
 */
static bool put(struct notify *n, const char *text)
{
    ssize_t sent = sendto(n->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
                          (const struct sockaddr *)&n->to, n->to_len);

    return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS && errno != EINTR);
}

/* Appends to the unsent text: of each kind the last one counts. */
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

/* Tells the watchdog, if it is time and `is_well`. Returns the ms until it wants to be called
 * again; -1: never. */
static int64_t notify_tick(struct notify *n, bool is_well, int64_t now_mono_ms)
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

/* ---- what is told when ---- */

static const char *status_of(const struct notifier_facts *f)
{
    if (f->is_stopping)
        return "stopping";
    if (f->waits_for_redis)
        return "waiting for the embedded Redis";
    if (f->worker == CHILD_BACKOFF || f->worker == CHILD_KILLED)
        return "the worker has ended: a new one is about to start";
    if (f->worker != CHILD_UP)
        return "starting";
    if (!f->is_store_up)
        return "Redis, or ZooKeeper, has not been reached yet: requests wait; `dueqctl status` "
               "says more";
    return "serving";
}

static bool is_ready(struct notifier *t, const struct notifier_facts *f, int64_t now_mono_ms)
{
    bool works = !f->is_stopping && f->worker == CHILD_UP;

    if (!works)
        t->works_mono_ms = -1;
    else if (t->works_mono_ms < 0)
        t->works_mono_ms = now_mono_ms;
    return works && (f->is_store_up || now_mono_ms - t->works_mono_ms >= NOTIFIER_PATIENCE_MS);
}

static int64_t patience_left_ms(const struct notifier *t, int64_t now_mono_ms)
{
    if (t->is_ready || t->works_mono_ms < 0)
        return -1;
    return t->works_mono_ms + NOTIFIER_PATIENCE_MS - now_mono_ms;
}

static void say(struct notifier *t, bool becomes_ready, bool begins_to_stop, const char *status)
{
    char text[256];

    if (!becomes_ready && !begins_to_stop && status == t->status)
        return;
    snprintf(text, sizeof(text), "%s%sSTATUS=%s", becomes_ready ? "READY=1\n" : "",
             begins_to_stop ? "STOPPING=1\n" : "", status);
    notify_send(&t->notify, text);
    t->is_ready |= becomes_ready;
    t->is_stopping |= begins_to_stop;
    t->status = status;
}

static bool is_well(const struct notifier_facts *f)
{
    return f->worker != CHILD_KILLED && f->redis != CHILD_KILLED;
}

int64_t notifier_tick(struct notifier *t, const struct notifier_facts *now, int64_t now_mono_ms)
{
    bool ready = is_ready(t, now, now_mono_ms);
    int64_t notify_ms, left_ms;

    say(t, ready && !t->is_ready, now->is_stopping && !t->is_stopping, status_of(now));
    notify_ms = notify_tick(&t->notify, is_well(now), now_mono_ms);
    left_ms = patience_left_ms(t, now_mono_ms);
    if (left_ms < 0 || (notify_ms >= 0 && notify_ms < left_ms))
        return notify_ms;
    return left_ms;
}

void notifier_reloading(struct notifier *t, int64_t now_mono_us)
{
    char text[64];

    if (!t->is_ready)
        return; /* it says READY=1 when it is */
    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRId64, now_mono_us);
    notify_send(&t->notify, text);
}

void notifier_reloaded(struct notifier *t)
{
    if (t->is_ready)
        notify_send(&t->notify, "READY=1");
}

void notifier_init(struct notifier *t)
{
    *t = (struct notifier){.works_mono_ms = -1};
    notify_init(&t->notify);
}

void notifier_fini(struct notifier *t)
{
    notify_fini(&t->notify);
}

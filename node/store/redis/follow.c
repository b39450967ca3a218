#include "node/store/redis/follow.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "node/store/redis/wire/link.h"
#include "node/store/redis/topology/sentinel.h"
#include "node/store/redis/wakeups.h"

struct redis_follow {
    struct redis_follow_options options;
    struct loop *loop;
    struct redis_sentinel *sentinel; /* NULL: the address is fixed */
    char master[REDIS_MASTER_CHARS]; /* its name to the Sentinels */
    struct redis_link *commands;
    struct redis_wakeups *wakeups;
    struct redis_address address;
    char text[REDIS_ADDRESS_CHARS];
    struct timer stopped; /* calls on_stopped in a later turn, where nothing is to stop */
};

static void set_address(struct redis_follow *f, const struct redis_address *address)
{
    f->address = *address;
    redis_address_print(address, f->text);
}

/* ---- what the Sentinels say ---- */

/* Called again with each answer; the links know whether the address is new. */
static void on_master(void *arg, const struct redis_address *address)
{
    struct redis_follow *f = arg;

    if (!redis_address_equal(&f->address, address)) {
        set_address(f, address);
        LOG_INFO("redis", "the master of '%s' is %s", f->master, f->text);
    }
    redis_wakeups_aim(f->wakeups, address);
    redis_link_aim(f->commands, address);
}

static void on_nobody(void *arg, const char *why, bool is_lasting)
{
    struct redis_follow *f = arg;

    redis_link_nowhere(f->commands, why);
    if (is_lasting)
        f->options.on_refused(f->options.arg, why);
}

static void on_stopped(void *arg)
{
    struct redis_follow *f = arg;

    f->options.on_stopped(f->options.arg);
}

static void on_nothing_to_stop(struct timer *timer)
{
    on_stopped(CONTAINER_OF(timer, struct redis_follow, stopped));
}

/* ---- for the store ---- */

static enum status parse(struct redis_follow *f)
{
    struct redis_sentinel_options sentinel = {
        .login = f->options.login,
        .timeout_ms = f->options.timeout_ms,
        .backoff_max_ms = f->options.backoff_max_ms,
        .on_master = on_master,
        .on_nobody = on_nobody,
        .on_stopped = on_stopped,
        .arg = f,
    };
    enum status status = redis_sentinels_parse(f->options.address, &sentinel.sentinels);
    struct redis_address address;

    if (status == STATUS_OK) {
        memcpy(f->master, sentinel.sentinels.master, sizeof(f->master));
        f->sentinel = redis_sentinel_new(f->loop, &sentinel);
    } else if (status == STATUS_NOT_FOUND) {
        status = redis_address_parse(f->options.address, &address);
        if (status == STATUS_OK)
            set_address(f, &address);
    }
    return status;
}

struct redis_follow *redis_follow_new(struct loop *loop,
                                      const struct redis_follow_options *options)
{
    struct redis_follow *f = must(calloc(1, sizeof(*f)));
    const char *login_end;

    f->options = *options;
    f->loop = loop;
    timer_init(&f->stopped, on_nothing_to_stop);
    if (parse(f) == STATUS_OK)
        return f;
    login_end = strrchr(options->address, '@'); /* in front of it may be a password */
    LOG_ERROR("redis", "not an address of a Redis, or of Sentinels: '%s'",
              login_end ? login_end : options->address);
    free(f);
    return NULL;
}

void redis_follow_free(struct redis_follow *f)
{
    if (!f)
        return;
    redis_sentinel_free(f->sentinel);
    free(f);
}

const struct redis_address *redis_follow_address(const struct redis_follow *f)
{
    return &f->address;
}

bool redis_follow_has_sentinels(const struct redis_follow *f)
{
    return f->sentinel != NULL;
}

void redis_follow_look(struct redis_follow *f)
{
    redis_sentinel_ask(f->sentinel);
}

void redis_follow_used(struct redis_follow *f, bool is_used)
{
    if (f->sentinel)
        redis_sentinel_used(f->sentinel, is_used);
}

void redis_follow_attach(struct redis_follow *f, struct redis_link *commands,
                         struct redis_wakeups *wakeups)
{
    f->commands = commands;
    f->wakeups = wakeups;
}

void redis_follow_start(struct redis_follow *f)
{
    if (f->sentinel)
        redis_sentinel_start(f->sentinel);
}

void redis_follow_stop(struct redis_follow *f)
{
    if (f->sentinel)
        redis_sentinel_stop(f->sentinel);
    else
        timer_arm(&f->loop->timers, &f->stopped, 0);
}

const char *redis_follow_text(const struct redis_follow *f)
{
    return f->text;
}

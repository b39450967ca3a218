/* What must hold in `store`: what is for one kind of Redis only, and times that need an order.
 */
#include "conf/check.h"

static enum conf_address_kind kind_of(const struct conf_draft *d)
{
    return d->conf->store.redis.kind;
}

static void allow_one_of_each(struct conf_draft *d)
{
    if (*d->conf->store.password && *d->conf->store.password_file)
        check_complain(d, "store.password_file",
                       "store.password is given too; only one of the two");
    if (*d->conf->store.sentinel_password && *d->conf->store.sentinel_password_file)
        check_complain(d, "store.sentinel_password_file",
                       "store.sentinel_password is given too; only one of the two");
}

static void allow_no_password_when_embedded(struct conf_draft *d)
{
    const char *why = "the embedded Redis has no password: only this node can reach it";

    if (kind_of(d) != ADDRESS_EMBEDDED)
        return;
    if (*d->conf->store.password)
        check_complain(d, "store.password", "%s", why);
    if (*d->conf->store.password_file)
        check_complain(d, "store.password_file", "%s", why);
}

static void allow_sentinel_password_with_sentinels(struct conf_draft *d)
{
    const char *why = "is of Sentinels, and store.redis names none (sentinel://...); "
                      "the password of Redis is store.password";

    if (kind_of(d) == ADDRESS_SENTINELS)
        return;
    if (*d->conf->store.sentinel_password)
        check_complain(d, "store.sentinel_password", "%s", why);
    if (*d->conf->store.sentinel_password_file)
        check_complain(d, "store.sentinel_password_file", "%s", why);
}

static void read_password_file(struct conf_draft *d)
{
    const char *file = d->conf->store.password_file;

    if (*file && kind_of(d) != ADDRESS_EMBEDDED && !*d->conf->store.password)
        check_read_secret(d, "store.password_file", file, &d->conf->store.password);
}

static void read_sentinel_password_file(struct conf_draft *d)
{
    const char *file = d->conf->store.sentinel_password_file;

    if (*file && kind_of(d) == ADDRESS_SENTINELS && !*d->conf->store.sentinel_password)
        check_read_secret(d, "store.sentinel_password_file", file,
                          &d->conf->store.sentinel_password);
}

static void allow_appendfsync_when_embedded(struct conf_draft *d)
{
    if (kind_of(d) != ADDRESS_EMBEDDED && d->conf->store.appendfsync != APPENDFSYNC_ALWAYS)
        check_complain(d, "store.appendfsync",
                       "is for the embedded Redis only; another one has its own redis.conf");
}

#define MEMORY_MIN (16u << 20)

static void want_enough_memory(struct conf_draft *d)
{
    size_t bytes = d->conf->store.memory_bytes;

    if (kind_of(d) != ADDRESS_EMBEDDED && bytes > 0)
        check_complain(d, "store.memory",
                       "is for the embedded Redis only; another one has maxmemory in its own "
                       "redis.conf");
    else if (bytes > 0 && bytes < MEMORY_MIN)
        check_complain(d, "store.memory",
                       "is too little to work with: give 16MiB or more, or 0 for half of the "
                       "memory that there is");
}

static void allow_no_replicas_when_embedded(struct conf_draft *d)
{
    if (kind_of(d) == ADDRESS_EMBEDDED && d->conf->store.min_replicas > 0)
        check_complain(d, "store.min_replicas",
                       "the embedded Redis has no replicas, so no push would ever be "
                       "acknowledged; set it to 0, or give store.redis a Redis of your own");
}

/* The WAIT of a connection is a command as well, and a late answer ends the connection. */
static void wait_for_replicas_within_a_command(struct conf_draft *d)
{
    if (d->conf->store.min_replicas > 0 &&
        d->conf->store.replica_timeout_ms >= d->conf->store.command_timeout_ms)
        check_complain(d, "store.replica_timeout",
                       "must be below store.command_timeout, or waiting for replicas would "
                       "look like a lost link");
}

static const struct check_rule rules[] = {
    {allow_one_of_each,
     {"store.password", "store.password_file", "store.sentinel_password",
      "store.sentinel_password_file"}},
    {allow_no_password_when_embedded, {"store.redis", "store.password", "store.password_file"}},
    {allow_sentinel_password_with_sentinels,
     {"store.redis", "store.sentinel_password", "store.sentinel_password_file"}},
    {read_password_file, {"store.redis", "store.password", "store.password_file"}},
    {read_sentinel_password_file,
     {"store.redis", "store.sentinel_password", "store.sentinel_password_file"}},
    {allow_appendfsync_when_embedded, {"store.redis", "store.appendfsync"}},
    {want_enough_memory, {"store.redis", "store.memory"}},
    {allow_no_replicas_when_embedded, {"store.redis", "store.min_replicas"}},
    {wait_for_replicas_within_a_command,
     {"store.min_replicas", "store.replica_timeout", "store.command_timeout"}},
};

void check_store(struct conf_draft *d)
{
    check_rules(d, rules, sizeof(rules) / sizeof(*rules));
}

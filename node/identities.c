#include "node/identities.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "conf/conf.h"
#include "conf/load.h"
#include "node/warden/listen.h"
#include "protocol/access/access.h"
#include "protocol/conn/port.h"

#define FILE_MAX_BYTES (1 << 20)

/* ---- the file ---- */

static enum status read_file(const struct conf *conf, struct buf *text, struct buf *why)
{
    struct file_limits limits = {
        .bytes_max = FILE_MAX_BYTES, .forbidden = S_IWGRP | S_IWOTH, .is_regular = true};

    return file_read(conf->access.file, &limits, text, why);
}

static void warn_of_mode(const struct conf *conf, struct buf *why)
{
    struct stat about;

    if (!stat(conf->access.file, &about) && (about.st_mode & S_IROTH))
        buf_printf(why, "everybody on this machine may read it (mode %04o): chmod o-r",
                   (unsigned)about.st_mode & 07777);
}

/* Without a file it is good. */
static enum status take_file(struct registry *registry, const struct conf *conf,
                             struct buf *why)
{
    struct buf text = BUF_INIT;
    enum status status;

    if (!*conf->access.file) {
        registry_forget_file(registry);
        return STATUS_OK;
    }
    status = read_file(conf, &text, why);
    if (status == STATUS_OK)
        status = registry_take_file(registry, buf_bytes(&text), why);
    if (status == STATUS_OK)
        warn_of_mode(conf, why);
    buf_fini(&text);
    return status == STATUS_OK ? STATUS_OK : STATUS_BAD_CONFIG;
}

enum status identities_check(const struct conf *conf, struct buf *why)
{
    struct registry alone = {.access = access_new()};
    enum status status = take_file(&alone, conf, why);

    access_free(alone.access);
    registry_fini(&alone);
    return status;
}

/* ---- in the log ---- */

static void warn_of_everybody(const struct identities *i)
{
    for (unsigned n = 0; n < i->port_count; n++)
        if (!listen_is_local(i->ports[n]->listener.fd))
            LOG_WARN("app",
                     "%s.listen is open to other machines, and there are no identities "
                     "(access.file, access.in_redis): whoever reaches it may push, take and "
                     "read all jobs",
                     conf_port_word(i->which[n]));
}

/* Whom clients without a token act as at this port. */
static const char *as_of(const struct identities *i, unsigned n)
{
    return i->which[n] == WIRING_SOCKET ? "" : i->conf->as[i->which[n]];
}

/* Clients of a port whose identity is unknown may do nothing. */
static bool lets_nobody_in(const struct identities *i, unsigned n)
{
    const char *as = as_of(i, n);

    if (i->which[n] != PORT_GMQ && !*as)
        return false; /* its clients have tokens, or need none */
    return !access_of_name(i->access, bytes_of_text(as), clock_wall_ms());
}

/* The operator wants to know, once. */
static void warn_of_nobody(struct identities *i)
{
    for (unsigned n = 0; n < i->port_count; n++) {
        const char *as = as_of(i, n);
        bool was_told = i->is_told[n];

        i->is_told[n] = lets_nobody_in(i, n);
        if (i->is_told[n] && !was_told)
            LOG_WARN("app", "%s.as: %s%s%s: requests without a token are refused",
                     conf_port_word(i->which[n]), *as ? "there is no identity " : "",
                     *as ? as : "no identity is given", *as ? ", or it has expired" : "");
    }
}

static void tell(struct identities *i)
{
    if (!access_is_on(i->access)) {
        warn_of_everybody(i);
    } else if (!access_is_incomplete(i->access)) {
        LOG_INFO("app", "%u identities are known", access_count(i->access));
        warn_of_nobody(i);
    }
}

/* ---- changes ---- */

static void recheck(const struct identities *i)
{
    for (unsigned n = 0; n < i->port_count; n++)
        port_recheck(i->ports[n]);
}

static void on_changed(void *arg)
{
    tell(arg);
    recheck(arg);
}

/* In the place of a file that cannot be used: one without identities. */
static void take_nobody(struct registry *registry)
{
    struct buf ignored = BUF_INIT;

    if (registry_take_file(registry, BYTES(""), &ignored) != STATUS_OK)
        abort();
    buf_fini(&ignored);
}

static void load_file(struct identities *i)
{
    bool was_open = i->is_loaded && !access_is_on(i->access);
    struct buf why = BUF_INIT;

    if (take_file(&i->registry, i->conf, &why) == STATUS_OK) {
        if (why.len)
            LOG_WARN("app", "access.file: %s: %s", i->conf->access.file, buf_text(&why));
    } else {
        LOG_ERROR("app", "access.file: %s: %s; %s", i->conf->access.file, buf_text(&why),
                  was_open       ? "there are no identities, as before"
                  : i->is_loaded ? "the identities of before hold"
                                 : "all requests that need a role are refused");
        if (!was_open && !i->registry.has_file)
            take_nobody(&i->registry);
    }
    buf_fini(&why);
}

void identities_load(struct identities *i)
{
    load_file(i);
    registry_use_redis(&i->registry, i->conf->access.in_redis);
    i->is_loaded = true;
    tell(i);
    recheck(i);
}

void identities_init(struct identities *i, struct queue *queue, struct timers *timers)
{
    i->access = access_new();
    i->registry = (struct registry){.access = i->access,
                                    .queue = queue,
                                    .timers = timers,
                                    .on_changed = on_changed,
                                    .arg = i};
    registry_init(&i->registry);
}

void identities_fini(struct identities *i)
{
    registry_fini(&i->registry);
    access_free(i->access);
}

/* Sessions: a session goes on after a lost connection; a new session keeps nothing of the old
 * one. And set-ups with which no session is possible.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "ha/state.h"

void ha_refuse(struct ha *ha, const char *format, ...)
{
    char why[sizeof(ha->refused)];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    if (strcmp(why, ha->refused) != 0)
        LOG_ERROR("ha", "%s", why);
    memcpy(ha->refused, why, sizeof(why));
    ha->refused_for = HA_REFUSED_SETUP;
    if (ha->has_joined || ha->is_refused_reported)
        return;
    ha->is_refused_reported = true;
    ha->options.on_refused(ha->options.arg, ha->refused);
}

void ha_refused_no_more(struct ha *ha, enum ha_refused_for what)
{
    if (ha->refused_for == what)
        ha->refused[0] = '\0';
}

/* Forgets everything that belonged to the session. */
static void end_session(struct ha *ha)
{
    election_begin(&ha->election);
    membership_begin(&ha->membership);
    write_lease_void(&ha->context.lease);
    coordinator_close(ha->context.coordinator);
}

/* A leader steps down, and reports that, before the others can learn that the lead is free. */
static void reopen_later(struct ha *ha, int64_t now)
{
    if (ha->role.state != ROLE_OFFLINE)
        ha_enter(ha, ROLE_OFFLINE, ROLE_EXPIRED_REASON);
    end_session(ha);
    ha->reopen_boot_ms = now + HA_REOPEN_MS;
}

/* The servers' tickTime. If they do not tell it, a timeout longer than asked is their
 * minSessionTimeout, by default two ticks. 0: nothing is known. */
static int64_t likely_tick_ms(const struct ha *ha)
{
    const struct coordinator *c = ha->context.coordinator;

    if (ha->tick_ms || c->granted_ms <= ha_t(ha))
        return ha->tick_ms;
    return c->granted_ms / 2;
}

/* The shortest session timeout that these servers grant and that is enough ticks. */
static int64_t least_session_ms(const struct ha *ha)
{
    int64_t by_ticks = COORD_TICKS_MIN * likely_tick_ms(ha);
    int64_t granted_ms = ha->context.coordinator->granted_ms;

    return by_ticks > granted_ms ? by_ticks : granted_ms;
}

/* What is known of the servers' tickTime, for people. "": nothing. */
static const char *print_tick(const struct ha *ha, char room[96])
{
    room[0] = '\0';
    if (!ha->tick_ms && likely_tick_ms(ha))
        snprintf(room, 96, " (two ticks where minSessionTimeout is not set: tickTime is %lld)",
                 (long long)likely_tick_ms(ha));
    return room;
}

/* Is the timeout granted to a new session good enough? The tickTime known at the start counts;
 * a tickTime that a server tells later is shown, and ends no node that works. */
static void check_granted(struct ha *ha, int64_t now)
{
    const struct coordinator *c = ha->context.coordinator;
    long long asked_ms = ha_t(ha), least_ms = least_session_ms(ha);
    char tick[96];

    if (c->granted_ms > asked_ms)
        ha_refuse(ha,
                  "ZooKeeper grants a session timeout of %lld ms%s, not ha.session_timeout: "
                  "%lld ms; set the servers' tickTime to %lld or less, and their "
                  "minSessionTimeout to %lld or less; or ha.session_timeout to %lld ms on all "
                  "nodes",
                  (long long)c->granted_ms, print_tick(ha, tick), asked_ms,
                  asked_ms / COORD_TICKS_MIN, asked_ms, least_ms);
    else if (c->granted_ms < asked_ms)
        ha_refuse(ha,
                  "ZooKeeper grants a session timeout of %lld ms, not ha.session_timeout: %lld "
                  "ms; set the servers' maxSessionTimeout to that or more, or "
                  "ha.session_timeout to what is granted",
                  (long long)c->granted_ms, asked_ms);
    else if (COORD_TICKS_MIN * ha->tick_ms > asked_ms)
        ha_refuse(ha,
                  "ZooKeeper's tickTime of %lld ms is more than a quarter of "
                  "ha.session_timeout: %lld ms; set the servers' tickTime to %lld or less, or "
                  "ha.session_timeout to %lld ms or more on all nodes",
                  (long long)ha->tick_ms, asked_ms, asked_ms / COORD_TICKS_MIN, least_ms);
    else
        return;
    reopen_later(ha, now);
}

/* This node leads no more and cannot delete `leader`: its session must end, or nobody can lead.
 */
static void check_giving(struct ha *ha, int64_t now)
{
    if (!ha->election.is_giving_denied)
        return;
    ha_refuse(ha,
              "%s: ZooKeeper does not let this node give the lead away; it ends its session "
              "instead. Mend the access lists, or give all nodes the same ha.auth",
              ha->options.root);
    reopen_later(ha, now);
}

void ha_session_tick(struct ha *ha, int64_t now)
{
    struct coordinator *c = ha->context.coordinator;

    if (c->session == COORD_SESSION_DENIED) {
        ha_refuse(ha, "ZooKeeper refuses the credentials: %s; check ha.auth", c->why);
        reopen_later(ha, now);
    } else if (c->session == COORD_SESSION_EXPIRED) {
        end_session(ha);
        coordinator_open(c);
    } else if (c->session == COORD_SESSION_CONNECTED) {
        check_granted(ha, now);
        check_giving(ha, now);
    } else if (c->session == COORD_SESSION_CLOSED) {
        context_wake_at(&ha->context, ha->reopen_boot_ms);
        if (now >= ha->reopen_boot_ms)
            coordinator_open(c);
    }
}

static void begin_session(struct ha *ha)
{
    struct coordinator *c = ha->context.coordinator;

    ha->session = c->credentials.session;
    ha->tick_ms = c->tick_ms;
    ha->session_count++;
    ha->context.session++;
    write_lease_begin(&ha->context.lease, c->granted_ms);
    view_forget(&ha->view);
    membership_begin(&ha->membership);
    scanners_begin(&ha->scanners);
    election_begin(&ha->election);
    peers_report(ha->peers, &c->credentials);
}

void ha_note_session(struct coordinator *c)
{
    struct ha *ha = c->user;

    LOG_INFO("ha", "ZooKeeper: %s %s%s", coord_session_word(c->session), c->server, c->why);
    if (c->session == COORD_SESSION_CONNECTED) {
        ha->context.connected_boot_ms = context_now(&ha->context);
        if (c->credentials.session != ha->session) {
            begin_session(ha);
        } else {
            ha->reconnects++;
            view_changed(&ha->view, "");
            scanners_changed(&ha->scanners, "");
        }
    }
    context_wake(&ha->context);
}

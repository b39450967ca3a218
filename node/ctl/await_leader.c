/* Asks the node again and again until it knows of a leader with a higher epoch. The node may be
 * away for a moment, or for good when it was the leader: it is asked until the patience is
 * over. Another leader than the wanted one ends the wait only when the request is gone.
 */
#include "node/ctl/await_leader.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "node/ctl/cluster.h"
#include "node/ctl/times.h"
#include "node/ctl/output.h"
#include "node/ctl/text.h"

#define LOOK_EVERY_MS   20
#define PATIENCE_MS     30000 /* and two session timeouts: a lease has to run out first */
#define SETTLED_MS      2000  /* no request and no other leader for so long: given up */
#define HISTORY_MS      1000  /* and one session timeout: it is written when the leader acts */
#define NOT_SEEN_SO_FAR (-1)

/* ---- what a page says ---- */

static int64_t highest_epoch(const json_t *page)
{
    int64_t highest = output_number(page, "leader_epoch", 0);
    const json_t *change;
    size_t i;

    json_array_foreach(json_object_get(page, "history"), i, change)
    {
        int64_t epoch = output_number(change, "epoch", 0);

        highest = epoch > highest ? epoch : highest;
    }
    return highest;
}

/* The change that made the current leader; NULL: not in the history yet. */
static const json_t *change_to(const json_t *page)
{
    int64_t epoch = output_number(page, "leader_epoch", -1);
    const json_t *change;
    size_t i;

    json_array_foreach(json_object_get(page, "history"), i, change)
    {
        if (output_number(change, "epoch", 0) == epoch)
            return change;
    }
    return NULL;
}

/* The session timeout; for a node without a session the one that it asks for. */
static int64_t session_ms(const json_t *page)
{
    const json_t *zookeeper = json_object_get(page, "zookeeper");

    return output_number(zookeeper, "granted_ms", output_number(zookeeper, "asked_ms", 0));
}

static bool is_whom_it_waits_for(const struct await_leader *a, const json_t *page)
{
    const char *leader = output_text(page, "leader").at;

    if (!leader[0] || output_number(page, "leader_epoch", 0) <= a->epoch)
        return false;
    return a->to[0] ? !strcmp(leader, a->to) : strcmp(leader, a->before) != 0;
}

/* ---- the end ---- */

static void print_for_people(const json_t *page, int64_t without_ms)
{
    struct buf text = BUF_INIT;

    text_escape(&text, output_text(page, "leader"));
    buf_printf(&text, ": leads now (epoch %" PRId64 "); ",
               output_number(page, "leader_epoch", 0));
    if (without_ms < 0) {
        buf_add_text(&text, "for how long due jobs stood still was not seen");
    } else {
        buf_add_text(&text, "due jobs stood still for ");
        duration_print(&text, without_ms);
    }
    puts(buf_text(&text));
    buf_fini(&text);
}

static void print_done(const struct ctl *ctl, const json_t *page, const json_t *change)
{
    int64_t without_ms = output_number(change, "without_leader_ms", -1);
    json_t *without = without_ms < 0 ? json_null() : json_integer(without_ms);

    if (ctl->is_json)
        output_json_and_free(json_pack(
            "{s:O, s:O, s:O}", "leader", json_object_get(page, "leader"), "leader_epoch",
            json_object_get(page, "leader_epoch"), "without_leader_ms", without));
    else
        print_for_people(page, without_ms);
    json_decref(without);
}

static enum ctl_exit fail(const struct await_leader *a, struct failure *failure)
{
    cluster_fail(a->ctl, failure, a->what);
    return failure->end;
}

static enum ctl_exit fail_given_up(const struct await_leader *a, const json_t *page)
{
    const char *leader = output_text(page, "leader").at;
    struct failure failure;

    if (output_number(page, "leader_epoch", 0) <= a->epoch)
        failure_set(&failure, CTL_REFUSED, "wrong_state", "it was given up; %s still leads",
                    leader);
    else if (a->to[0])
        failure_set(&failure, CTL_REFUSED, "wrong_state", "%s leads now, not %s", leader,
                    a->to);
    else
        failure_set(&failure, CTL_REFUSED, "wrong_state",
                    "nobody took the lead over; %s leads again", leader);
    return fail(a, &failure);
}

/* A forced failover cannot be cancelled. */
static const char *how_to_cancel(const json_t *page)
{
    if (!output_text(page, "wanted").len || json_is_true(json_object_get(page, "forced")))
        return "";
    return ", unless 'dueqctl switchover --cancel' takes it back";
}

/* `page` is NULL where the node gave no answer in the end. */
static enum ctl_exit end_late(const struct await_leader *a, const json_t *page)
{
    int patience_s = (int)(a->patience_ms / 1000);
    struct failure failure;

    if (page && is_whom_it_waits_for(a, page)) {
        print_done(a->ctl, page, change_to(page));
        return CTL_DONE;
    }
    if (page)
        failure_set(&failure, CTL_UNKNOWN, "unknown",
                    "nobody who was wanted leads after %d s; it may still happen%s", patience_s,
                    how_to_cancel(page));
    else
        failure_set(&failure, CTL_UNKNOWN, "unknown",
                    "the node that was asked gives no answer after %d s; another one may know "
                    "who leads",
                    patience_s);
    return fail(a, &failure);
}

/* ---- waiting ---- */

/* How long it has been like this; begins with the first call. */
static int64_t since(int64_t *mono_ms)
{
    int64_t now = clock_mono_ms();

    if (*mono_ms == NOT_SEEN_SO_FAR)
        *mono_ms = now;
    return now - *mono_ms;
}

/* There is no request, and a leader is known, for so long that the node would have seen a
 * request. */
static bool is_given_up(struct await_leader *a, const json_t *page)
{
    if (!output_text(page, "leader").len || output_text(page, "wanted").len) {
        a->gone_mono_ms = NOT_SEEN_SO_FAR;
        return false;
    }
    return since(&a->gone_mono_ms) >= SETTLED_MS;
}

/* Is there an end to the waiting? */
static bool judge(struct await_leader *a, const json_t *page, enum ctl_exit *end)
{
    const json_t *change;

    if (!is_whom_it_waits_for(a, page)) {
        if (!is_given_up(a, page))
            return false;
        *end = fail_given_up(a, page);
        return true;
    }
    change = change_to(page);
    if (!change && since(&a->new_mono_ms) < session_ms(page) + HISTORY_MS)
        return false;
    print_done(a->ctl, page, change);
    *end = CTL_DONE;
    return true;
}

void await_leader_init(struct await_leader *a, struct ctl *ctl, const char *what,
                       const char *to, const json_t *page)
{
    *a = (struct await_leader){.ctl = ctl,
                               .what = what,
                               .to = to,
                               .epoch = highest_epoch(page),
                               .patience_ms = PATIENCE_MS + 2 * session_ms(page),
                               .new_mono_ms = NOT_SEEN_SO_FAR,
                               .gone_mono_ms = NOT_SEEN_SO_FAR};
    snprintf(a->before, sizeof(a->before), "%s", output_text(page, "leader").at);
}

enum ctl_exit await_leader(struct await_leader *a)
{
    enum ctl_exit end = CTL_DONE;
    json_t *page = NULL;
    bool is_over = false;

    a->begin_mono_ms = clock_mono_ms();
    while (!is_over && clock_mono_ms() - a->begin_mono_ms < a->patience_ms) {
        struct failure failure;

        json_decref(page);
        page = NULL;
        if (cluster_look(a->ctl, &page, &failure) == CTL_DONE)
            is_over = judge(a, page, &end);
        if (!is_over)
            poll(NULL, 0, LOOK_EVERY_MS);
    }
    if (!is_over)
        end = end_late(a, page);
    json_decref(page);
    return end;
}

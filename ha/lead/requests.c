/* Operators' requests, written into ZooKeeper's `control`. Any node can be asked; the leader,
 * or the wanted node, carries a request out (leader.c, standby.c).
 *
 * A request that cannot be carried out, as far as this node knows, is refused at once with the
 * reason. A request for later is judged by the leader when it is due.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "ha/rule/record.h"
#include "ha/state.h"

#define AT_SLACK_MS 5000 /* clocks differ, and a command takes a moment */

static enum status refuse(struct ha_command *c, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum status refuse(struct ha_command *c, enum status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(c->why, sizeof(c->why), format, args);
    va_end(args);
    return status;
}

static int64_t now_wall_ms(const struct ha *ha)
{
    return ha->options.now_wall_ms(ha->options.arg);
}

static const char *leader(const struct ha *ha)
{
    return view_has_leader(&ha->view) ? ha->view.leader.node : "";
}

/* ---- who could lead ---- */

/* Why that known node could not lead now, as words to follow its name; NULL: it could. */
static const char *why_not(const struct ha *ha, const struct ha_node *n, bool is_wanted)
{
    if (!n->is_here)
        return "is not here";
    if (!n->store_up)
        return "has a Redis that does not answer";
    if (n->is_address_away)
        return "cannot have the virtual address: `dueqctl check` there says why";
    if (!view_is_member(&ha->view, n->name))
        return "is no member yet: a leader adds it; forget members that are gone for good";
    if (n->no_failover && !is_wanted)
        return "is set to no_failover";
    return NULL;
}

static enum status check_target(struct ha_command *c, const char *name)
{
    const struct ha *ha = c->ha;
    const struct view_node *n = view_find(&ha->view, name);
    const char *why;

    if (!n && (ha->view.member_count == 0 || !view_is_member(&ha->view, name)))
        return refuse(c, STATUS_NOT_FOUND, "there is no node %s in this cluster", name);
    if (!strcmp(name, leader(ha)))
        return refuse(c, STATUS_WRONG_STATE, "%s leads already", name);
    if (c->at_wall_ms > 0)
        return STATUS_OK;
    why = n ? why_not(ha, &n->node, true) : "is not here";
    return why ? refuse(c, STATUS_WRONG_STATE, "%s %s", name, why) : STATUS_OK;
}

/* Checks that a node other than the leader could lead; else says what is wrong with each. */
static enum status check_any(struct ha_command *c)
{
    const struct ha *ha = c->ha;
    size_t len = (size_t)snprintf(c->why, sizeof(c->why), "no other node could lead now");

    if (c->at_wall_ms > 0)
        return STATUS_OK;
    VIEW_EACH_NODE (n, &ha->view) {
        const char *why;

        if (!strcmp(n->node.name, leader(ha)))
            continue;
        if (!(why = why_not(ha, &n->node, false)))
            return STATUS_OK;
        if (len >= sizeof(c->why))
            continue;
        len +=
            (size_t)snprintf(c->why + len, sizeof(c->why) - len, "; %s %s", n->node.name, why);
    }
    return STATUS_WRONG_STATE;
}

/* A failover by force needs one target: this node if it can lead, else the best. */
static const char *forced_target(const struct ha *ha)
{
    const struct view_node *own = view_find(&ha->view, ha->options.node);
    const struct ha_node *best = membership_best(&ha->membership);

    if (own && strcmp(leader(ha), ha->options.node) != 0 &&
        membership_can_lead(&ha->membership, &own->node, false))
        return ha->options.node;
    if (best && !strcmp(best->name, leader(ha)))
        best = NULL;
    return best ? best->name : "";
}

/* ---- each request ---- */

static enum status take_pause(struct ha_command *c, struct control *control)
{
    if (control->is_paused)
        return STATUS_OK; /* the first request stays */
    control->is_paused = true;
    control->paused_at_wall_ms = now_wall_ms(c->ha);
    snprintf(control->paused_by, sizeof(control->paused_by), "%s", c->ha->options.node);
    return STATUS_OK;
}

static enum status take_resume(struct ha_command *c, struct control *control)
{
    control->is_paused = false;
    return STATUS_OK;
}

static enum status refuse_beside_force(struct ha_command *c, const struct control *control)
{
    return refuse(c, STATUS_WRONG_STATE, "a failover by force to %s is under way",
                  control->wanted);
}

static enum status take_cancel(struct ha_command *c, struct control *control)
{
    if (!control->wanted[0])
        return refuse(c, STATUS_WRONG_STATE, "no switchover is wanted");
    if (control->is_forced)
        return refuse_beside_force(c, control);
    control_clear_request(control);
    return STATUS_OK;
}

static void want(const struct ha_command *c, struct control *control, const char *to)
{
    snprintf(control->wanted, sizeof(control->wanted), "%s", to[0] ? to : CONTROL_ANY);
    snprintf(control->by, sizeof(control->by), "%s", c->ha->options.node);
    control->at_wall_ms = c->request == HA_FAILOVER ? 0 : c->at_wall_ms;
    control->is_forced = c->request == HA_FAILOVER;
}

bool ha_is_leader_fenced(const struct ha *ha)
{
    const struct view_node *n = view_leader_node(&ha->view);

    return n && n->node.is_fenced;
}

static enum status refuse_fenced(struct ha_command *c)
{
    return refuse(c, STATUS_WRONG_STATE,
                  "Redis follows another ZooKeeper ensemble, and would refuse any "
                  "leader of this one");
}

/* Without a leader some node campaigns by itself unless failover is paused; the wanted node
 * goes first. */
static enum status take_switchover(struct ha_command *c, struct control *control)
{
    int64_t late_ms = now_wall_ms(c->ha) - c->at_wall_ms;
    enum status status;

    if (!leader(c->ha)[0] && !control->is_paused && !c->to[0])
        return refuse(c, STATUS_WRONG_STATE, "there is no leader now");
    if (ha_is_leader_fenced(c->ha))
        return refuse_fenced(c);
    if (control->is_forced)
        return refuse_beside_force(c, control);
    if (c->at_wall_ms > 0 && late_ms > AT_SLACK_MS)
        return refuse(c, STATUS_WRONG_STATE, "that time is over, by %lld s on the clock of %s",
                      (long long)(late_ms / 1000), c->ha->options.node);
    status = c->to[0] ? check_target(c, c->to) : check_any(c);
    if (status == STATUS_OK)
        want(c, control, c->to);
    return status;
}

static enum status take_failover(struct ha_command *c, struct control *control)
{
    const char *to = c->to[0] ? c->to : forced_target(c->ha);
    enum status status;

    if (ha_is_leader_fenced(c->ha))
        return refuse_fenced(c);
    status = to[0] ? check_target(c, to) : check_any(c);
    if (status == STATUS_OK && !to[0])
        status = refuse(c, STATUS_WRONG_STATE, "no other node could lead now");
    if (status == STATUS_OK)
        want(c, control, to);
    return status;
}

/* Changes `control` as the command wants, or says why that is not possible now. */
static enum status take(struct ha_command *c, struct control *control)
{
    static enum status (*const takes[])(struct ha_command *, struct control *) = {
        [HA_SWITCHOVER] = take_switchover, [HA_FAILOVER] = take_failover,
        [HA_PAUSE] = take_pause,           [HA_RESUME] = take_resume,
        [HA_CANCEL] = take_cancel,
    };

    return takes[c->request](c, control);
}

/* ---- what everybody has to know ---- */

void ha_request_tick(struct ha *ha)
{
    const struct control *c = &ha->view.control;

    if (!view_is_fresh(&ha->view, VIEW_CONTROL) || c->is_paused == ha->is_pause_logged)
        return;
    ha->is_pause_logged = c->is_paused;
    if (c->is_paused)
        LOG_WARN("ha",
                 "automatic failover is paused (asked of node %s): nobody takes over from a "
                 "leader that dies, until 'dueqctl cluster resume'",
                 c->paused_by[0] ? c->paused_by : "?");
    else
        LOG_INFO("ha", "automatic failover is resumed");
}

/* ---- the commands ---- */

static void end(struct ha_command *c, enum status status)
{
    buf_fini(&c->text);
    c->status = status;
    c->on_done(c);
}

/* ---- writing it ---- */

/* Does the request mean the same whatever has changed meanwhile? Then it is tried again. */
static bool is_repeated(const struct ha_command *c)
{
    return (c->request == HA_PAUSE || c->request == HA_RESUME || c->request == HA_FORGET) &&
           c->call.status == COORD_BAD_VERSION &&
           context_now(&c->ha->context) < c->until_boot_ms;
}

static void on_done(struct coord_call *call)
{
    struct ha_command *c = CONTAINER_OF(call, struct ha_command, call);
    struct ha *ha = c->ha;

    ha->context.in_flight--;
    view_refresh(&ha->view, VIEW_CONTROL);
    view_refresh(&ha->view, VIEW_MEMBERS);
    view_refresh(&ha->view, VIEW_EPOCH);
    context_wake(&ha->context);
    if (is_repeated(c)) {
        list_append(&ha->commands, &c->link);
        return;
    }
    switch (call->status) {
    case COORD_OK:
        end(c, STATUS_OK);
        break;
    case COORD_UNKNOWN:
    case COORD_EXPIRED:
        end(c,
            refuse(c, STATUS_UNKNOWN, "ZooKeeper did not answer; it may have been taken down"));
        break;
    case COORD_UNAVAILABLE:
        end(c, refuse(c, STATUS_UNAVAILABLE, "ZooKeeper is away"));
        break;
    case COORD_BAD_VERSION:
        end(c,
            refuse(c, STATUS_WRONG_STATE, "the cluster has just changed; look and try again"));
        break;
    default:
        end(c, refuse(c, STATUS_UNAVAILABLE, "ZooKeeper refused it: %s",
                      coord_status_word(call->status)));
    }
}

static void write_changes(struct ha_command *c, unsigned count)
{
    list_init(&c->link);
    c->call =
        (struct coord_call){.changes = c->changes, .change_count = count, .on_done = on_done};
    c->ha->context.in_flight++;
    coordinator_write(c->ha->context.coordinator, &c->call);
}

static struct coord_change change_of(const struct ha *ha, enum coord_change_kind kind,
                                     enum view_item item)
{
    return (struct coord_change){.kind = kind,
                                 .path = ha->view.items[item].path,
                                 .version = ha->view.items[item].version};
}

static enum status begin_control(struct ha_command *c)
{
    struct control control = c->ha->view.control;
    enum status status = take(c, &control);

    if (status != STATUS_OK)
        return status;
    buf_clear(&c->text);
    control_print(&control, &c->text);
    c->changes[0] = change_of(c->ha, COORD_SET, VIEW_CONTROL);
    c->changes[0].data = buf_bytes(&c->text);
    write_changes(c, 1);
    return STATUS_OK;
}

static enum status begin_forget(struct ha_command *c)
{
    const struct view *v = &c->ha->view;
    const struct view_node *n = view_find(v, c->to);

    if (v->member_count == 0 || !view_is_member(v, c->to))
        return refuse(c, STATUS_NOT_FOUND, "%s is no member", c->to);
    if (n && n->node.is_here)
        return refuse(c, STATUS_WRONG_STATE, "%s is here; stop it first", c->to);
    buf_clear(&c->text);
    if (v->members_timeout_ms)
        record_add_number(&c->text, "timeout_ms", v->members_timeout_ms);
    for (unsigned i = 0; i < v->member_count; i++) {
        if (strcmp(v->members[i], c->to) != 0)
            record_add(&c->text, "member", v->members[i]);
    }
    c->changes[0] = change_of(c->ha, COORD_CHECK, VIEW_EPOCH);
    c->changes[1] = change_of(c->ha, COORD_SET, VIEW_MEMBERS);
    c->changes[1].data = buf_bytes(&c->text);
    write_changes(c, 2);
    return STATUS_OK;
}

static void begin(struct ha_command *c)
{
    enum status status = c->request == HA_FORGET ? begin_forget(c) : begin_control(c);

    if (status != STATUS_OK)
        end(c, status);
}

/* ---- the front door ---- */

void ha_command(struct ha *ha, struct ha_command *c)
{
    c->ha = ha;
    c->why[0] = '\0';
    c->until_boot_ms = context_now(&ha->context) + ha_t(ha);
    buf_init(&c->text);
    list_append(&ha->commands, &c->link);
    context_wake(&ha->context);
}

static bool is_view_fresh(const struct ha *ha)
{
    return view_is_fresh(&ha->view, VIEW_CONTROL) && view_is_fresh(&ha->view, VIEW_MEMBERS) &&
           view_is_fresh(&ha->view, VIEW_EPOCH) && view_is_fresh(&ha->view, VIEW_LEADER);
}

static void end_all(struct ha *ha, enum status status, const char *why)
{
    struct list *link;

    while ((link = list_pop(&ha->commands))) {
        struct ha_command *c = CONTAINER_OF(link, struct ha_command, link);

        end(c, refuse(c, status, "%s", why));
    }
}

static void end_late(struct ha *ha, int64_t now)
{
    struct list *link;

    while ((link = list_first(&ha->commands))) {
        struct ha_command *c = CONTAINER_OF(link, struct ha_command, link);

        if (now < c->until_boot_ms) {
            context_wake_at(&ha->context, c->until_boot_ms);
            return;
        }
        list_remove(link);
        end(c, refuse(c, STATUS_UNAVAILABLE, "the state of the cluster could not be read"));
    }
}

/* A command waits for items that are being read, or for the connection. */
void ha_commands_tick(struct ha *ha, int64_t now)
{
    struct list *link;

    if (!context_is_connected(&ha->context)) {
        end_all(ha, STATUS_UNAVAILABLE, "ZooKeeper is away");
        return;
    }
    while (is_view_fresh(ha) && (link = list_pop(&ha->commands)))
        begin(CONTAINER_OF(link, struct ha_command, link));
    end_late(ha, now);
}

void ha_commands_end(struct ha *ha)
{
    end_all(ha, STATUS_SHUTTING_DOWN, "this node stops");
}

/* Operators' wishes, taken down in ZooKeeper. Which node is asked does not matter; the leader,
 * or the node that is wanted, carries them out (leader.c, standby.c).
 */
#include <string.h>

#include "ha/state.h"
#include "ha/rule/record.h"

static void end(struct ha_command *c, enum status status)
{
    buf_fini(&c->text);
    c->status = status;
    c->on_done(c);
}

/* ---- writing it ---- */

/* These mean the same whatever has changed meanwhile: they are looked at again. */
static bool is_repeated(const struct ha_command *c)
{
    static const bool of[] = {[HA_PAUSE] = true, [HA_RESUME] = true, [HA_FORGET] = true};

    return c->wish < sizeof(of) / sizeof(*of) && of[c->wish] &&
           c->call.status == COORD_BAD_VERSION && site_now(&c->ha->site) < c->until_boot_ms;
}

static void on_done(struct coord_call *call)
{
    struct ha_command *c = CONTAINER_OF(call, struct ha_command, call);
    struct ha *ha = c->ha;

    ha->site.in_flight--;
    view_refresh(&ha->view, VIEW_CONTROL);
    view_refresh(&ha->view, VIEW_MEMBERS);
    view_refresh(&ha->view, VIEW_EPOCH);
    site_wake(&ha->site);
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
        end(c, ha_wish_refuse(c, STATUS_UNKNOWN,
                              "ZooKeeper did not answer; it may have been taken down"));
        break;
    case COORD_UNAVAILABLE:
        end(c, ha_wish_refuse(c, STATUS_UNAVAILABLE, "ZooKeeper is away"));
        break;
    case COORD_BAD_VERSION:
        end(c, ha_wish_refuse(c, STATUS_WRONG_STATE,
                              "the cluster has just changed; look and try again"));
        break;
    default:
        end(c, ha_wish_refuse(c, STATUS_UNAVAILABLE, "ZooKeeper refused it: %s",
                              coord_status_word(call->status)));
    }
}

static void write_changes(struct ha_command *c, unsigned count)
{
    list_init(&c->link);
    c->call =
        (struct coord_call){.changes = c->changes, .change_count = count, .on_done = on_done};
    c->ha->site.in_flight++;
    coordinator_write(c->ha->site.coordinator, &c->call);
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
    enum status status = ha_wish_take(c, &control);

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
        return ha_wish_refuse(c, STATUS_NOT_FOUND, "%s is no member", c->to);
    if (n && n->node.is_here)
        return ha_wish_refuse(c, STATUS_WRONG_STATE, "%s is here; stop it first", c->to);
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
    enum status status = c->wish == HA_FORGET ? begin_forget(c) : begin_control(c);

    if (status != STATUS_OK)
        end(c, status);
}

/* ---- the front door ---- */

void ha_command(struct ha *ha, struct ha_command *c)
{
    c->ha = ha;
    c->why[0] = '\0';
    c->until_boot_ms = site_now(&ha->site) + ha_t(ha);
    buf_init(&c->text);
    list_append(&ha->commands, &c->link);
    site_wake(&ha->site);
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

        end(c, ha_wish_refuse(c, status, "%s", why));
    }
}

static void end_late(struct ha *ha, int64_t now)
{
    struct list *link;

    while ((link = list_first(&ha->commands))) {
        struct ha_command *c = CONTAINER_OF(link, struct ha_command, link);

        if (now < c->until_boot_ms) {
            site_wake_at(&ha->site, c->until_boot_ms);
            return;
        }
        list_remove(link);
        end(c, ha_wish_refuse(c, STATUS_UNAVAILABLE,
                              "the state of the cluster could not be read"));
    }
}

/* What is being read is awaited: that takes a moment, or the connection. */
void ha_commands_tick(struct ha *ha, int64_t now)
{
    struct list *link;

    if (!site_is_connected(&ha->site)) {
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

#include "ha/lead/scanners.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"

#define LEAVE_MAX_MS 500

/* ---- the own znode ---- */

static void on_created(struct scanners *s, enum coord_status status)
{
    if (status == COORD_OK)
        s->own = SCANNERS_THERE;
    else if (status == COORD_EXISTS)
        s->own = SCANNERS_UNSURE;
    else
        s->own_retry_boot_ms = context_retry_boot_ms(s->context);
    s->membership->lacks_parent |= status == COORD_NO_NODE;
}

/* A node that stops has no time to read the list again, and must know that its topics are other
 * nodes' now: it tells these of the jobs that its last clients push. */
static void drop_own_name(struct scanners *s)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < s->count; i++) {
        if (strcmp(s->names[i], s->context->options->node) != 0)
            memmove(s->names[kept++], s->names[i], sizeof(s->names[0]));
    }
    s->is_news |= kept < s->count;
    s->count = kept;
}

/* No session has the own znode. */
static void is_gone(struct scanners *s)
{
    s->own = SCANNERS_GONE;
    if (s->is_leaving)
        drop_own_name(s);
}

static void on_deleted(struct scanners *s, enum coord_status status)
{
    if (status == COORD_OK || status == COORD_NO_NODE)
        is_gone(s);
    else
        s->own_retry_boot_ms = context_retry_boot_ms(s->context);
}

/* The znode of another session is not ours; most often that is an earlier process of this node,
 * whose session ends soon. */
static void on_read(struct scanners *s, const struct coord_call *call)
{
    bool is_ours = call->owner == s->context->coordinator->credentials.session;

    if (call->status == COORD_OK && is_ours)
        s->own = SCANNERS_THERE;
    else if (call->status == COORD_OK)
        s->own = SCANNERS_GONE;
    else if (call->status == COORD_NO_NODE)
        is_gone(s);
    if (call->status != COORD_NO_NODE)
        s->own_retry_boot_ms = context_retry_boot_ms(s->context);
}

static void on_own(struct coord_request *request)
{
    struct scanners *s = CONTAINER_OF(request, struct scanners, own_request);
    enum coord_status status = request->call.status;

    if (!coord_request_is_answered(request)) {
        s->own = SCANNERS_UNSURE;
        return;
    }
    s->is_own_denied = status == COORD_DENIED;
    switch (s->asked) {
    case SCANNERS_CREATE:
        on_created(s, status);
        break;
    case SCANNERS_DELETE:
        on_deleted(s, status);
        break;
    case SCANNERS_READ:
        on_read(s, &request->call);
        break;
    }
}

static void ask_own(struct scanners *s, enum scanners_call what)
{
    s->asked = what;
    s->change = (struct coord_change){
        .kind = what == SCANNERS_CREATE ? COORD_CREATE_EPHEMERAL : COORD_DELETE,
        .path = s->own_path,
        .data = BYTES(""),
        .version = -1,
    };
    if (what == SCANNERS_READ)
        coord_request_read(&s->own_request, s->own_path, false);
    else
        coord_request_write(&s->own_request, &s->change, 1);
}

static void own_tick(struct scanners *s, int64_t now)
{
    bool should_be = s->is_wanted && !s->is_cut_off && !s->is_leaving;

    if (s->own_request.is_in_flight)
        return;
    if (now < s->own_retry_boot_ms)
        context_wake_at(s->context, s->own_retry_boot_ms);
    else if (s->own == SCANNERS_UNSURE)
        ask_own(s, SCANNERS_READ);
    else if (s->own == SCANNERS_THERE && !should_be)
        ask_own(s, SCANNERS_DELETE);
    else if (s->own == SCANNERS_GONE && should_be && s->membership->is_registered)
        ask_own(s, SCANNERS_CREATE);
    if (s->own == SCANNERS_GONE && !should_be)
        s->is_own_denied = false; /* nothing is asked for any more */
}

/* ---- the list ---- */

bool scanners_have(const struct scanners *s, const char *node)
{
    for (unsigned i = 0; i < s->count; i++) {
        if (!strcmp(s->names[i], node))
            return true;
    }
    return false;
}

/* The names kept of a list, sorted, so that all nodes keep the same ones of too many. Borrowed.
 */
struct kept {
    const char *names[SCANNERS_MAX];
    unsigned count;
};

static void keep(struct kept *k, const char *name)
{
    unsigned at;

    if (strlen(name) > HA_NODE_MAX)
        return;
    for (at = k->count; at > 0 && strcmp(name, k->names[at - 1]) < 0; at--)
        ;
    if (at == SCANNERS_MAX)
        return;
    k->count += k->count < SCANNERS_MAX;
    memmove(&k->names[at + 1], &k->names[at], (k->count - 1 - at) * sizeof(k->names[0]));
    k->names[at] = name;
}

static bool is_same(const struct scanners *s, uint64_t number, const struct kept *k)
{
    if (number != s->number || k->count != s->count)
        return false;
    for (unsigned i = 0; i < k->count; i++) {
        if (strcmp(k->names[i], s->names[i]) != 0)
            return false;
    }
    return true;
}

static void take_list(struct scanners *s, const struct coord_call *call)
{
    struct kept k = {.count = 0};

    for (unsigned i = 0; i < call->name_count; i++)
        keep(&k, call->names[i]);
    if (is_same(s, (uint64_t)call->list_number, &k))
        return;
    s->is_news = true;
    s->number = (uint64_t)call->list_number;
    s->count = k.count;
    for (unsigned i = 0; i < k.count; i++)
        strcpy(s->names[i], k.names[i]);
}

/* Compares the own znode with the list: somebody may have deleted it, or the name is free. */
static void compare_own(struct scanners *s)
{
    if (scanners_have(s, s->context->options->node))
        return;
    s->own_retry_boot_ms = 0;
    if (s->own == SCANNERS_THERE)
        s->own = SCANNERS_UNSURE;
}

static void on_list(struct coord_request *request)
{
    struct scanners *s = CONTAINER_OF(request, struct scanners, list_request);
    const struct coord_call *call = &request->call;

    if (!coord_request_is_answered(request)) {
        s->is_stale = true;
        return;
    }
    s->is_list_denied = call->status == COORD_DENIED;
    if (call->status != COORD_OK) {
        s->is_stale = true;
        s->list_retry_boot_ms = context_retry_boot_ms(s->context);
        s->membership->lacks_parent |= call->status == COORD_NO_NODE;
        return;
    }
    take_list(s, call);
    compare_own(s);
}

static void list_tick(struct scanners *s, int64_t now)
{
    if (!s->is_stale || s->list_request.is_in_flight)
        return;
    if (now < s->list_retry_boot_ms) {
        context_wake_at(s->context, s->list_retry_boot_ms);
        return;
    }
    s->is_stale = false;
    coord_request_list(&s->list_request, s->list_path, true);
}

/* ---- both kinds of nodes in one cluster ---- */

static const char *node_of_the_other_kind(const struct scanners *s)
{
    const struct ha_options *o = s->context->options;

    VIEW_EACH_NODE (n, s->membership->view) {
        if (n->node.is_here && n->node.shares != o->shares &&
            strcmp(n->node.name, o->node) != 0)
            return n->node.name;
    }
    return NULL;
}

/* A mix of both kinds works, and is normal while an operator changes a cluster node by node. If
 * it lasts it is a mistake. */
static void mixed_tick(struct scanners *s)
{
    const char *other = node_of_the_other_kind(s);

    if (!other == !s->is_mixed)
        return;
    s->is_mixed = other;
    if (other)
        LOG_WARN("ha",
                 "node %s has ha.mode: %s, this one %s: together they lose nothing, but "
                 "only with the same on all nodes the work is shared",
                 other, s->context->options->shares ? "standby" : "cluster",
                 s->context->options->shares ? "cluster" : "standby");
    else
        LOG_INFO("ha", "all nodes have the same ha.mode");
}

void scanners_tick(struct scanners *s, int64_t now)
{
    mixed_tick(s);
    if (!s->context->options->shares || !context_is_connected(s->context) ||
        !membership_has_parents(s->membership))
        return;
    own_tick(s, now);
    list_tick(s, now);
}

static void log_list(const struct scanners *s)
{
    struct buf text = BUF_INIT;

    for (unsigned i = 0; i < s->count; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", s->names[i]);
    LOG_INFO("ha", "view %" PRIu64 ": %s", s->number, s->count ? buf_text(&text) : "nobody");
    buf_fini(&text);
}

void scanners_report(struct scanners *s)
{
    const struct ha_options *o = s->context->options;
    const char *nodes[SCANNERS_MAX];

    if (!s->is_news)
        return;
    s->is_news = false;
    log_list(s);
    for (unsigned i = 0; i < s->count; i++)
        nodes[i] = s->names[i];
    if (o->on_scanners)
        o->on_scanners(o->arg, &(struct ha_scanners){s->number, nodes, s->count});
}

void scanners_changed(struct scanners *s, const char *path)
{
    s->is_stale |= !*path || !strcmp(path, s->list_path);
}

void scanners_leave(struct scanners *s, int64_t now)
{
    int64_t wait_ms = context_session_ms(s->context) / 4;

    s->is_leaving = true;
    s->own_retry_boot_ms = 0;
    s->leave_by_boot_ms = now + (wait_ms < LEAVE_MAX_MS ? wait_ms : LEAVE_MAX_MS);
}

bool scanners_has_left(const struct scanners *s, int64_t now)
{
    if (s->own == SCANNERS_GONE && !s->own_request.is_in_flight)
        return true;
    return !context_is_connected(s->context) || now >= s->leave_by_boot_ms;
}

const char *scanners_denied(const struct scanners *s)
{
    if (s->is_list_denied)
        return s->list_path;
    return s->is_own_denied ? s->own_path : NULL;
}

void scanners_begin(struct scanners *s)
{
    s->own = SCANNERS_GONE;
    s->own_retry_boot_ms = s->list_retry_boot_ms = 0;
    s->is_own_denied = s->is_list_denied = false;
    s->is_stale = true;
}

void scanners_init(struct scanners *s, struct context *context, struct membership *m)
{
    *s = (struct scanners){.context = context, .membership = m, .is_stale = true};
    context_path(context, s->list_path, "scanners", NULL);
    context_path(context, s->own_path, "scanners", context->options->node);
    coord_request_init(&s->own_request, context, on_own);
    coord_request_init(&s->list_request, context, on_list);
}

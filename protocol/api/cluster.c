/* /v1/cluster: who leads, and operators' requests. A request is answered once the cluster has
 * recorded it, before it is carried out: GET /v1/cluster shows the outcome.
 */
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "node/queue/queue.h"
#include "protocol/api/call.h"
#include "protocol/api/encode.h"
#include "protocol/api/handlers.h"
#include "protocol/api/api.h"

#define NODE_NAME_MAX 64

static const struct cluster_port *cluster_of(const struct exchange *x)
{
    return api_of(x)->node.cluster;
}

void api_cluster(struct exchange *x)
{
    const char *name = api_of(x)->node.name;
    struct cluster_status room;
    const struct cluster_status *status = api_cluster_read(api_of(x), &room);
    struct store_numbers store = api_read_store(api_of(x));
    struct cluster_report report;
    struct buf json = BUF_INIT;

    if (status)
        cluster_check(status, &report);
    else
        cluster_check_alone(room.refused, &report);
    cluster_check_store(&store, &report);
    cluster_add_page(&json, name ? name : "", &room, !status, &report);
    exchange_reply_buf(x, 200, &json);
}

/* ---- requests ---- */

struct request {
    struct cluster_command command;
    struct exchange *x;
    char to[NODE_NAME_MAX + 1];
};

static const char *text_of(const struct cluster_command *c)
{
    if (c->why && c->why[0])
        return c->why;
    if (c->status == STATUS_UNAVAILABLE)
        return "ZooKeeper cannot be reached; nothing happened";
    if (c->status == STATUS_UNKNOWN)
        return "ZooKeeper did not answer; it may have happened";
    return http_error_row(http_error_of(c->status))->text;
}

static void on_done(struct cluster_command *command)
{
    struct request *request = CONTAINER_OF(command, struct request, command);

    if (command->status == STATUS_OK)
        exchange_reply_status(request->x, 202, "accepted");
    else
        exchange_reply_error_text(request->x, http_error_of(command->status), "%s",
                                  text_of(command));
}

#define AT_AHEAD_MAX_MS (INT64_C(3653) * 24 * 3600 * 1000) /* ten years: further is a slip */

static void submit(struct exchange *x, enum cluster_request kind, struct bytes to,
                   int64_t at_ms)
{
    const struct cluster_port *cluster = cluster_of(x);
    struct request *request;

    if (!cluster) {
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE,
                                  "this node is alone (ha.mode is standalone)");
        return;
    }
    if (at_ms > clock_wall_ms() + AT_AHEAD_MAX_MS) {
        exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST,
                                  "at_ms: is more than ten years ahead");
        return;
    }
    request = exchange_keep(x, sizeof(*request));
    *request = (struct request){
        .x = x,
        .command = {
            .request = kind, .to = request->to, .at_wall_ms = at_ms, .on_done = on_done}};
    if (to.len)
        memcpy(request->to, to.at, to.len);
    cluster->submit(cluster->arg, &request->command);
}

/* ---- what their bodies say ---- */

/* Without a body no member is given. False: the body is wrong, and that was answered. */
static bool read_members(struct exchange *x, const struct object_rule *of, unsigned count,
                         struct object_member *members)
{
    struct api_why why;
    struct bytes object;
    enum status status;

    if (!x->body.len)
        return true;
    if (!api_read_body(x, &object))
        return false;
    status = object_read(object, "", of, count, members, &why);
    for (unsigned i = 0; !status && i < count; i++)
        if (of[i].kind == JSON_KIND_STRING && members[i].is_given &&
            (!members[i].text.len || members[i].text.len > NODE_NAME_MAX))
            status = api_because(&why, STATUS_BAD_REQUEST, "%s: a node's name is 1 to %d bytes",
                                 of[i].name, NODE_NAME_MAX);
    return api_passes(x, status, &why);
}

void api_switchover(struct exchange *x)
{
    static const struct object_rule of[] = {
        {.name = "to", .kind = JSON_KIND_STRING},
        OBJECT_MOMENT("at_ms", QUEUE_AT_MAX_MS),
        {.name = "cancel", .kind = JSON_KIND_BOOL},
    };
    struct object_member members[3] = {{0}};

    if (!read_members(x, of, 3, members))
        return;
    if (!members[2].is_given)
        submit(x, CLUSTER_SWITCHOVER, members[0].text, members[1].number);
    else if (members[2].is_true && !members[0].is_given && !members[1].is_given)
        submit(x, CLUSTER_CANCEL, BYTES(""), 0);
    else
        exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST,
                                  "cancel: must be true, and goes with nothing else");
}

/* "force" must be written out, because a forced failover is not graceful: jobs wait for longer.
 */
void api_failover(struct exchange *x)
{
    static const struct object_rule of[] = {
        {.name = "to", .kind = JSON_KIND_STRING},
        {.name = "force", .kind = JSON_KIND_BOOL},
    };
    struct object_member members[2] = {{0}};

    if (!read_members(x, of, 2, members))
        return;
    if (members[1].is_true)
        submit(x, CLUSTER_FAILOVER, members[0].text, 0);
    else
        exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST,
                                  "force: must be true; without force there is switchover");
}

void api_forget(struct exchange *x)
{
    static const struct object_rule of[] = {{.name = "node", .kind = JSON_KIND_STRING}};
    struct object_member member = {0};

    if (!read_members(x, of, 1, &member))
        return;
    if (member.is_given)
        submit(x, CLUSTER_FORGET, member.text, 0);
    else
        exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "node: missing");
}

void api_cluster_ask(struct exchange *x)
{
    if (api_expect_nothing(x))
        submit(x, (enum cluster_request)x->route->what, BYTES(""), 0);
}

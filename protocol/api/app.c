#include "protocol/api/api.h"

#include "node/store/op.h"
#include "protocol/access/role.h"
#include "protocol/api/encode.h"
#include "protocol/api/handlers.h"

/* clang-format off */
static const struct route routes[] = {
    {"POST", BYTES("/v1/topics/{topic}/jobs"), api_push, .body = ROUTE_JOBS_BODY,
        .operation = "push", .roles = ACCESS_PRODUCE},
    {"GET", BYTES("/v1/topics/{topic}/jobs"), api_list, .body = ROUTE_NO_BODY,
        .query = {"state", "limit", "cursor"},
        .operation = "listJobs", .roles = ACCESS_INSPECT},
    {"POST", BYTES("/v1/topics/{topics}/pop"), api_pop, .body = ROUTE_SMALL_BODY,
        .query = {"count", "wait_ms", "ttr_ms"},
        .operation = "pop", .roles = ACCESS_CONSUME},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/ack"), api_lease, .body = ROUTE_SMALL_BODY,
        .what = OP_ACK,
        .operation = "ack", .roles = ACCESS_CONSUME},
    {"POST", BYTES("/v1/topics/{topic}/ack"), api_ack_all, .body = ROUTE_JOBS_BODY,
        .operation = "ackAll", .roles = ACCESS_CONSUME},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/release"), api_lease, .body = ROUTE_SMALL_BODY,
        .what = OP_RELEASE,
        .operation = "release", .roles = ACCESS_CONSUME},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/touch"), api_lease, .body = ROUTE_SMALL_BODY,
        .what = OP_TOUCH,
        .operation = "touch", .roles = ACCESS_CONSUME},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/bury"), api_lease, .body = ROUTE_SMALL_BODY,
        .what = OP_BURY,
        .operation = "bury", .roles = ACCESS_CONSUME},
    {"GET", BYTES("/v1/topics/{topic}/jobs/{id}"), api_get, .body = ROUTE_NO_BODY,
        .operation = "getJob", .roles = ACCESS_PRODUCE | ACCESS_CONSUME | ACCESS_INSPECT},
    {"DELETE", BYTES("/v1/topics/{topic}/jobs/{id}"), api_cancel, .body = ROUTE_SMALL_BODY,
        .operation = "cancel", .roles = ACCESS_PRODUCE},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/run"), api_run, .body = ROUTE_SMALL_BODY,
        .operation = "run", .roles = ACCESS_PRODUCE},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/kick"), api_kick_one,
        .body = ROUTE_SMALL_BODY,
        .operation = "kickOne", .roles = ACCESS_PRODUCE},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/reschedule"), api_reschedule,
        .body = ROUTE_SMALL_BODY,
        .operation = "reschedule", .roles = ACCESS_PRODUCE},
    {"GET", BYTES("/v1/topics/{topic}/jobs/{id}/history"), api_history, .body = ROUTE_NO_BODY,
        .query = {"limit"},
        .operation = "getHistory", .roles = ACCESS_INSPECT},

    {"GET", BYTES("/v1/topics/{topic}"), api_stats, .body = ROUTE_NO_BODY,
        .operation = "getTopic", .roles = ACCESS_INSPECT},
    {"POST", BYTES("/v1/topics/{topic}/kick"), api_sweep, .body = ROUTE_SMALL_BODY,
        .what = OP_KICK,
        .operation = "kick", .roles = ACCESS_OPERATE},
    {"POST", BYTES("/v1/topics/{topic}/purge"), api_sweep, .body = ROUTE_SMALL_BODY,
        .what = OP_PURGE,
        .operation = "purge", .roles = ACCESS_OPERATE},
    {"POST", BYTES("/v1/topics/{topic}/pause"), api_pause, .body = ROUTE_SMALL_BODY,
        .operation = "pause", .roles = ACCESS_OPERATE},
    {"POST", BYTES("/v1/topics/{topic}/resume"), api_resume, .body = ROUTE_SMALL_BODY,
        .operation = "resume", .roles = ACCESS_OPERATE},
    {"GET", BYTES("/v1/topics/{topic}/settings"), api_get_settings, .body = ROUTE_NO_BODY,
        .operation = "getSettings", .roles = ACCESS_INSPECT},
    {"PATCH", BYTES("/v1/topics/{topic}/settings"), api_set_settings,
        .body = ROUTE_SMALL_BODY,
        .operation = "setSettings", .roles = ACCESS_OPERATE},
    {"GET", BYTES("/v1/topics"), api_topics, .body = ROUTE_NO_BODY,
        .query = {"limit", "cursor", "owners"},
        .operation = "listTopics", .roles = ACCESS_INSPECT},
    {"GET", BYTES("/v1/settings"), api_list_settings, .body = ROUTE_NO_BODY,
        .query = {"limit", "cursor"},
        .operation = "listSettings", .roles = ACCESS_INSPECT},
    {"GET", BYTES("/v1/deliveries"), api_deliveries, .body = ROUTE_NO_BODY,
        .query = {"after", "wait_ms", "topic"},
        .operation = "listDeliveries", .roles = ACCESS_INSPECT},

    {"GET", BYTES("/v1/cluster"), api_cluster, .body = ROUTE_NO_BODY,
        .operation = "getCluster", .roles = ACCESS_INSPECT},
    {"POST", BYTES("/v1/cluster/switchover"), api_switchover, .body = ROUTE_SMALL_BODY,
        .operation = "switchOver", .roles = ACCESS_ADMIN},
    {"POST", BYTES("/v1/cluster/failover"), api_failover, .body = ROUTE_SMALL_BODY,
        .operation = "failOver", .roles = ACCESS_ADMIN},
    {"POST", BYTES("/v1/cluster/pause"), api_cluster_ask, .body = ROUTE_SMALL_BODY,
        .what = CLUSTER_PAUSE,
        .operation = "pauseFailover", .roles = ACCESS_ADMIN},
    {"POST", BYTES("/v1/cluster/resume"), api_cluster_ask, .body = ROUTE_SMALL_BODY,
        .what = CLUSTER_RESUME,
        .operation = "resumeFailover", .roles = ACCESS_ADMIN},
    {"POST", BYTES("/v1/cluster/forget"), api_forget, .body = ROUTE_SMALL_BODY,
        .operation = "forgetNode", .roles = ACCESS_ADMIN},
    {"POST", BYTES("/v1/cluster/fence/adopt"), api_cluster_ask, .body = ROUTE_SMALL_BODY,
        .what = CLUSTER_ADOPT,
        .operation = "adoptFence", .roles = ACCESS_ADMIN},

    {"GET", BYTES("/v1/status"), status_get, .body = ROUTE_NO_BODY, .is_for_monitors = true,
        .operation = "getStatus", .roles = ACCESS_INSPECT},
    {"GET", BYTES("/v1/access"), access_get, .body = ROUTE_NO_BODY,
        .operation = "getAccess", .roles = ACCESS_ALL},
    {"GET", BYTES("/v1/identities"), api_list_identities, .body = ROUTE_NO_BODY,
        .operation = "listIdentities", .roles = ACCESS_ADMIN},
    {"PUT", BYTES("/v1/identities/{identity}"), api_put_identity, .body = ROUTE_SMALL_BODY,
        .operation = "putIdentity", .roles = ACCESS_ADMIN},
    {"DELETE", BYTES("/v1/identities/{identity}"), api_delete_identity,
        .body = ROUTE_SMALL_BODY, .query = {"version"},
        .operation = "deleteIdentity", .roles = ACCESS_ADMIN},
    {"GET", BYTES("/v1/openapi.yaml"), openapi_get, .body = ROUTE_NO_BODY,
        .roles = ACCESS_EVERYBODY},
    {"GET", BYTES("/"), openapi_redirect, .body = ROUTE_NO_BODY,
        .roles = ACCESS_EVERYBODY},
    {"GET", BYTES("/v1"), openapi_redirect, .body = ROUTE_NO_BODY,
        .roles = ACCESS_EVERYBODY},
    {"GET", BYTES("/v1/"), openapi_redirect, .body = ROUTE_NO_BODY,
        .roles = ACCESS_EVERYBODY},

    {"GET", BYTES("/health/live"), health_live, .is_for_monitors = true,
        .roles = ACCESS_EVERYBODY},
    {"GET", BYTES("/health/ready"), health_ready, .is_for_monitors = true,
        .roles = ACCESS_EVERYBODY},
    {"GET", BYTES("/health/leader"), health_leader, .is_for_monitors = true,
        .roles = ACCESS_EVERYBODY},
    {"GET", BYTES("/health/standby"), health_standby, .is_for_monitors = true,
        .roles = ACCESS_EVERYBODY},
    {"GET", BYTES("/metrics"), metrics_get, .is_for_monitors = true,
        .operation = "getMetrics", .roles = ACCESS_INSPECT},
};
/* clang-format on */

static int write_error(struct exchange *x, struct buf *out, enum http_error error,
                       struct bytes message, int64_t count)
{
    api_add_error(out, error, message, count);
    return http_error_row(error)->code;
}

#define APP(word)                                                                        \
    {                                                                                    \
        .name = word, .routes = routes, .route_count = sizeof(routes) / sizeof(*routes), \
        .write_error = write_error,                                                      \
    }

const struct http_app api_app = APP("http");
const struct http_app api_admin_app = APP("admin");
const struct http_app api_socket_app = APP("socket");

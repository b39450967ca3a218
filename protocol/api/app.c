#include "protocol/api/api.h"

#include "node/store/op.h"
#include "protocol/api/encode.h"
#include "protocol/api/handlers.h"

/* clang-format off */
static const struct route routes[] = {
    {"POST", BYTES("/v1/topics/{topic}/jobs"), api_push, .body = ROUTE_JOBS_BODY},
    {"GET", BYTES("/v1/topics/{topic}/jobs"), api_list, .body = ROUTE_NO_BODY,
        .query = {"state", "limit", "cursor"}},
    {"POST", BYTES("/v1/topics/{topics}/pop"), api_pop, .body = ROUTE_SMALL_BODY,
        .query = {"count", "wait_ms", "ttr_ms"}},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/ack"), api_lease, .body = ROUTE_SMALL_BODY,
        .what = OP_ACK},
    {"POST", BYTES("/v1/topics/{topic}/ack"), api_ack_all, .body = ROUTE_JOBS_BODY},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/release"), api_lease, .body = ROUTE_SMALL_BODY,
        .what = OP_RELEASE},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/touch"), api_lease, .body = ROUTE_SMALL_BODY,
        .what = OP_TOUCH},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/bury"), api_lease, .body = ROUTE_SMALL_BODY,
        .what = OP_BURY},
    {"GET", BYTES("/v1/topics/{topic}/jobs/{id}"), api_get, .body = ROUTE_NO_BODY},
    {"DELETE", BYTES("/v1/topics/{topic}/jobs/{id}"), api_cancel, .body = ROUTE_SMALL_BODY},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/run"), api_run, .body = ROUTE_SMALL_BODY},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/kick"), api_kick_one,
        .body = ROUTE_SMALL_BODY},
    {"POST", BYTES("/v1/topics/{topic}/jobs/{id}/reschedule"), api_reschedule,
        .body = ROUTE_SMALL_BODY},
    {"GET", BYTES("/v1/topics/{topic}/jobs/{id}/history"), api_history, .body = ROUTE_NO_BODY,
        .query = {"limit"}},

    {"GET", BYTES("/v1/topics/{topic}"), api_stats, .body = ROUTE_NO_BODY},
    {"POST", BYTES("/v1/topics/{topic}/kick"), api_sweep, .body = ROUTE_SMALL_BODY,
        .what = OP_KICK},
    {"POST", BYTES("/v1/topics/{topic}/purge"), api_sweep, .body = ROUTE_SMALL_BODY,
        .what = OP_PURGE},
    {"POST", BYTES("/v1/topics/{topic}/pause"), api_pause, .body = ROUTE_SMALL_BODY},
    {"POST", BYTES("/v1/topics/{topic}/resume"), api_resume, .body = ROUTE_SMALL_BODY},
    {"GET", BYTES("/v1/topics/{topic}/settings"), api_get_settings, .body = ROUTE_NO_BODY},
    {"PATCH", BYTES("/v1/topics/{topic}/settings"), api_set_settings,
        .body = ROUTE_SMALL_BODY},
    {"GET", BYTES("/v1/topics"), api_topics, .body = ROUTE_NO_BODY,
        .query = {"limit", "cursor", "owners"}},
    {"GET", BYTES("/v1/settings"), api_list_settings, .body = ROUTE_NO_BODY,
        .query = {"limit", "cursor"}},
    {"GET", BYTES("/v1/deliveries"), api_deliveries, .body = ROUTE_NO_BODY,
        .query = {"after", "wait_ms", "topic"}},

    {"GET", BYTES("/v1/cluster"), api_cluster, .body = ROUTE_NO_BODY},
    {"POST", BYTES("/v1/cluster/switchover"), api_switchover, .body = ROUTE_SMALL_BODY},
    {"POST", BYTES("/v1/cluster/failover"), api_failover, .body = ROUTE_SMALL_BODY},
    {"POST", BYTES("/v1/cluster/pause"), api_cluster_ask, .body = ROUTE_SMALL_BODY,
        .what = CLUSTER_PAUSE},
    {"POST", BYTES("/v1/cluster/resume"), api_cluster_ask, .body = ROUTE_SMALL_BODY,
        .what = CLUSTER_RESUME},
    {"POST", BYTES("/v1/cluster/forget"), api_forget, .body = ROUTE_SMALL_BODY},
    {"POST", BYTES("/v1/cluster/fence/adopt"), api_cluster_ask, .body = ROUTE_SMALL_BODY,
        .what = CLUSTER_ADOPT},

    {"GET", BYTES("/v1/status"), status_get, .body = ROUTE_NO_BODY},
    {"GET", BYTES("/v1/openapi.yaml"), openapi_get, .body = ROUTE_NO_BODY},
    {"GET", BYTES("/"), openapi_redirect, .body = ROUTE_NO_BODY},
    {"GET", BYTES("/v1"), openapi_redirect, .body = ROUTE_NO_BODY},
    {"GET", BYTES("/v1/"), openapi_redirect, .body = ROUTE_NO_BODY},

    {"GET", BYTES("/health/live"), health_live, .is_for_monitors = true},
    {"GET", BYTES("/health/ready"), health_ready, .is_for_monitors = true},
    {"GET", BYTES("/health/leader"), health_leader, .is_for_monitors = true},
    {"GET", BYTES("/health/standby"), health_standby, .is_for_monitors = true},
    {"GET", BYTES("/metrics"), metrics_get, .is_for_monitors = true},
};
/* clang-format on */

const struct http_app api_app = {
    .name = "http",
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(*routes),
    .write_error = api_add_error,
};

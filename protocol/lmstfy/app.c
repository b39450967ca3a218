#include "protocol/lmstfy/lmstfy.h"

#include <string.h>

#include "node/queue/queue.h"
#include "protocol/access/identity.h"
#include "protocol/access/role.h"
#include "protocol/json/write.h"
#include "protocol/lmstfy/codec.h"
#include "protocol/lmstfy/handlers.h"

/* clang-format off */
static const struct route routes[] = {
    {"PUT", BYTES("/api/{namespace}/{topic}"), lmstfy_publish, .body = ROUTE_JOBS_BODY,
        .query = {"delay", "ttl", "tries"},
        .operation = "publish", .roles = ACCESS_PRODUCE},
    {"PUT", BYTES("/api/{namespace}/{topic}/bulk"), lmstfy_publish_bulk,
        .body = ROUTE_JOBS_BODY, .what = LMSTFY_BULK, .query = {"delay", "ttl", "tries"},
        .operation = "publishBulk", .roles = ACCESS_PRODUCE},
    {"PUT", BYTES("/api/{namespace}/{topic}/job/{id}"), lmstfy_publish,
        .body = ROUTE_JOBS_BODY, .what = LMSTFY_REPLACES, .query = {"delay", "ttl", "tries"},
        .operation = "republish", .roles = ACCESS_PRODUCE},
    {"GET", BYTES("/api/{namespace}/{topics}"), lmstfy_consume, .body = ROUTE_NO_BODY,
        .query = {"ttr", "timeout", "count", "freeze_tries"},
        .operation = "consume", .roles = ACCESS_CONSUME},
    {"GET", BYTES("/api/{namespace}/{topic}/peek"), lmstfy_peek_queue, .body = ROUTE_NO_BODY,
        .operation = "peek", .roles = ACCESS_PRODUCE | ACCESS_CONSUME},
    {"GET", BYTES("/api/{namespace}/{topic}/job/{id}"), lmstfy_peek_job,
        .body = ROUTE_NO_BODY,
        .operation = "peekJob", .roles = ACCESS_PRODUCE | ACCESS_CONSUME},
    {"DELETE", BYTES("/api/{namespace}/{topic}/job/{id}"), lmstfy_delete,
        .body = ROUTE_NO_BODY,
        .operation = "deleteJob", .roles = ACCESS_CONSUME | ACCESS_PRODUCE},
    {"GET", BYTES("/api/{namespace}/{topic}/size"), lmstfy_size, .body = ROUTE_NO_BODY,
        .what = JOB_READY,
        .operation = "size", .roles = ACCESS_PRODUCE | ACCESS_CONSUME | ACCESS_INSPECT},
    {"DELETE", BYTES("/api/{namespace}/{topic}"), lmstfy_destroy, .body = ROUTE_NO_BODY,
        .operation = "destroy", .roles = ACCESS_OPERATE},
    {"GET", BYTES("/api/{namespace}/{topic}/deadletter"), lmstfy_peek_dead,
        .body = ROUTE_NO_BODY,
        .operation = "peekDeadLetter",
        .roles = ACCESS_PRODUCE | ACCESS_CONSUME | ACCESS_INSPECT},
    {"GET", BYTES("/api/{namespace}/{topic}/deadletter/size"), lmstfy_size,
        .body = ROUTE_NO_BODY, .what = JOB_DEAD,
        .operation = "deadLetterSize",
        .roles = ACCESS_PRODUCE | ACCESS_CONSUME | ACCESS_INSPECT},
    {"PUT", BYTES("/api/{namespace}/{topic}/deadletter"), lmstfy_respawn,
        .body = ROUTE_NO_BODY, .query = {"limit", "ttl"},
        .operation = "respawn", .roles = ACCESS_OPERATE},
    {"DELETE", BYTES("/api/{namespace}/{topic}/deadletter"), lmstfy_delete_dead,
        .body = ROUTE_NO_BODY, .query = {"limit"},
        .operation = "deleteDeadLetter", .roles = ACCESS_OPERATE},
};
/* clang-format on */

/* ---- tokens: X-Token, or `token` in the query, each "[pool:]token" ---- */

/* The first `token` of a query, unescaped into `room`; `at` is NULL: there is none. One that no
 * token can be stays as it is, and is a wrong one: it must not count as none. */
static struct bytes token_in_query(struct bytes query, char room[HTTP_TOKEN_MAX])
{
    struct bytes name, value, token;

    while (url_query_next(&query, &name, &value)) {
        if (!bytes_equal(name, BYTES("token")))
            continue;
        if (value.len > HTTP_TOKEN_MAX)
            return value;
        memcpy(room, value.at, value.len);
        token = bytes_of(room, value.len);
        return url_unescape(&token) ? token : value;
    }
    return bytes_of(NULL, 0);
}

/* With its pool. Empty: there is none. */
static struct bytes given_token(const struct head *head, char room[HTTP_TOKEN_MAX])
{
    struct bytes token = head_field(head, "X-Token");

    return token.len ? token : token_in_query(head->query, room);
}

bool lmstfy_is_our_pool(struct bytes token)
{
    struct bytes pool =
        token.len && memchr(token.at, ':', token.len) ? bytes_cut(&token, ':') : BYTES("");

    return !pool.len || bytes_equal(pool, BYTES("default"));
}

struct bytes lmstfy_token_behind_pool(struct bytes token)
{
    const char *colon = token.len ? memchr(token.at, ':', token.len) : NULL;

    return colon ? bytes_of(colon + 1, (size_t)(token.at + token.len - colon - 1)) : token;
}

static struct bytes token_of(const struct head *head, char room[HTTP_TOKEN_MAX])
{
    struct bytes token = lmstfy_token_behind_pool(given_token(head, room));

    return token.len ? token : bytes_of(NULL, 0);
}

/* The query's `token` is the one to be made. */
static struct bytes
token_of_operator(const struct head *head,
                  char room[HTTP_TOKEN_MAX]) /* NOLINT(readability-non-const-parameter) */
{
    struct bytes token = lmstfy_token_behind_pool(head_field(head, "X-Token"));

    return token.len ? token : bytes_of(NULL, 0);
}

static bool is_our_pool(const struct exchange *x)
{
    char room[HTTP_TOKEN_MAX];

    return lmstfy_is_our_pool(given_token(&x->head, room));
}

static bool has_token(const struct exchange *x)
{
    char room[HTTP_TOKEN_MAX];

    return token_of(&x->head, room).len || x->head.authorization.at;
}

/* ---- errors ---- */

/* The identity has a role that is enough: it is the namespace that is not for it. */
static bool is_of_another_namespace(const struct exchange *x)
{
    return x->who && x->topic.len && x->route && exchange_may(x, x->route->roles);
}

static void add_limited(struct buf *out, const struct exchange *x)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "token(%.*s) %s reach the limit rate, please retry later",
               BYTES_ARG(x->who ? x->who->name : BYTES("")),
               x->route && x->route->roles & ACCESS_PRODUCE ? "produce" : "consume");
    json_put_text(out, "{\"msg\":", buf_bytes(&text));
    buf_add_char(out, '}');
    buf_fini(&text);
}

static int write_error(struct exchange *x, struct buf *out, enum http_error error,
                       struct bytes message, int64_t count)
{
    int code = http_error_row(error)->code;

    switch (error) {
    case HTTP_ERROR_IDENTITY_RATE:
        add_limited(out, x);
        return code;
    case HTTP_ERROR_NO_PATH:
    case HTTP_ERROR_METHOD:
        message = BYTES("api not found");
        code = 404;
        break;
    case HTTP_ERROR_UNAUTHORIZED:
        message = has_token(x) ? BYTES("invalid token") : BYTES("token not found");
        if (!is_our_pool(x)) {
            message = BYTES("pool not found");
            code = 404;
        }
        break;
    case HTTP_ERROR_FORBIDDEN:
        if (is_of_another_namespace(x)) {
            message = BYTES("invalid token");
            code = 401;
        }
        break;
    case HTTP_ERROR_TOO_LARGE:
    case HTTP_ERROR_JOB_TOO_LARGE:
        message = BYTES("body too large");
        break;
    default:
        break;
    }
    lmstfy_add_error(out, message);
    return code;
}

const struct http_app lmstfy_app = {
    .name = "lmstfy",
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(*routes),
    .write_error = write_error,
    .ignores_unknown_query = true,
    .reads_change = true,
    .joint = '/',
    .token_of = token_of,
};

/* ---- the admin port ---- */

/* clang-format off */
static const struct route admin_routes[] = {
    {"POST", BYTES("/token/{namespace}"), lmstfy_make_token, .body = ROUTE_SMALL_BODY,
        .query = {"description", "token", "pool"},
        .operation = "makeToken", .has_secrets = true, .roles = ACCESS_ADMIN},
    {"GET", BYTES("/token/{namespace}"), lmstfy_list_tokens, .body = ROUTE_NO_BODY,
        .operation = "listTokens", .roles = ACCESS_ADMIN},
    {"DELETE", BYTES("/token/{namespace}/{id}"), lmstfy_revoke_token, .body = ROUTE_NO_BODY,
        .operation = "revokeToken", .has_secrets = true, .roles = ACCESS_ADMIN},
    {"POST", BYTES("/token/{namespace}/{id}/limit"), lmstfy_set_limit,
        .body = ROUTE_SMALL_BODY,
        .operation = "addLimit", .has_secrets = true, .roles = ACCESS_ADMIN},
    {"PUT", BYTES("/token/{namespace}/{id}/limit"), lmstfy_set_limit,
        .body = ROUTE_SMALL_BODY,
        .operation = "setLimit", .has_secrets = true, .roles = ACCESS_ADMIN},
    {"GET", BYTES("/token/{namespace}/{id}/limit"), lmstfy_get_limit, .body = ROUTE_NO_BODY,
        .operation = "getLimit", .has_secrets = true, .roles = ACCESS_ADMIN},
    {"DELETE", BYTES("/token/{namespace}/{id}/limit"), lmstfy_drop_limit,
        .body = ROUTE_NO_BODY,
        .operation = "dropLimit", .has_secrets = true, .roles = ACCESS_ADMIN},
    {"GET", BYTES("/limits"), lmstfy_list_limits, .body = ROUTE_NO_BODY,
        .operation = "listLimits", .roles = ACCESS_ADMIN},
    {"GET", BYTES("/info"), lmstfy_info, .body = ROUTE_NO_BODY,
        .operation = "info", .roles = ACCESS_INSPECT},
    {"GET", BYTES("/version"), lmstfy_version, .body = ROUTE_NO_BODY,
        .operation = "version", .roles = ACCESS_INSPECT},
    {"GET", BYTES("/pools"), lmstfy_pools, .body = ROUTE_NO_BODY,
        .operation = "pools", .roles = ACCESS_INSPECT},
    {"GET", BYTES("/metrics"), lmstfy_metrics, .is_for_monitors = true,
        .operation = "metrics", .roles = ACCESS_INSPECT},
};
/* clang-format on */

const struct http_app lmstfy_admin_app = {
    .name = "lmstfy_admin",
    .routes = admin_routes,
    .route_count = sizeof(admin_routes) / sizeof(*admin_routes),
    .write_error = write_error,
    .ignores_unknown_query = true,
    .joint = '/',
    .token_of = token_of_operator,
};

/* ---- what handlers have in common ---- */

void lmstfy_refuse(struct exchange *x, const char *why)
{
    exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "%s", why);
}

static bool take_names(struct exchange *x, bool is_list)
{
    const char *why = lmstfy_check_names(x->namespace, x->topic, is_list);
    struct buf text = BUF_INIT;

    if (why) {
        lmstfy_refuse(x, why);
        return false;
    }
    if (is_our_pool(x))
        return true;
    lmstfy_add_error(&text, BYTES("pool not found"));
    exchange_reply_buf(x, 404, &text);
    return false;
}

bool lmstfy_take_queues(struct exchange *x)
{
    return take_names(x, true);
}

/* Namespace, '/' and queue stand one behind the other in the path, unless they had escapes, and
 * are closer then. */
static void join(struct exchange *x)
{
    char *at = (char *)x->namespace.at + x->namespace.len;

    *at = '/';
    memmove(at + 1, x->topic.at, x->topic.len);
    x->topic = bytes_of(x->namespace.at, x->namespace.len + 1 + x->topic.len);
}

/* A number has fewer digits than its ULID. */
static void take_id(struct exchange *x)
{
    char room[LMSTFY_ID_ROOM];
    struct bytes id = lmstfy_read_id(x->id, queue_buckets(exchange_queue(x)), room);

    if (id.at != room)
        return;
    memcpy((char *)x->id.at, room, id.len);
    x->id.len = id.len;
}

bool lmstfy_take_path(struct exchange *x)
{
    if (!take_names(x, false))
        return false;
    join(x);
    if (!topic_name_is_valid(x->topic)) {
        lmstfy_refuse(x, x->topic.len > NAME_MAX_BYTES
                             ? "namespace and queue name together have more than 199 characters"
                             : "namespace name begins with '-'");
        return false;
    }
    take_id(x);
    return true;
}

void lmstfy_tell_job(struct exchange *x, struct buf *json, struct bytes topic,
                     const struct job *job, int64_t now_ms, bool is_new)
{
    lmstfy_add_job(json, &(struct lmstfy_job){.topic = topic,
                                              .job = job,
                                              .now_ms = now_ms,
                                              .buckets = queue_buckets(exchange_queue(x)),
                                              .is_new = is_new});
}

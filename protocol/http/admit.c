#include "protocol/http/admit.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "protocol/access/access.h"
#include "protocol/access/role.h"
#include "protocol/http/exchange.h"
#include "protocol/http/server.h"

#define SCHEME "Bearer "

static bool is_access_on(const struct http *h)
{
    return h->options.access && access_is_on(h->options.access);
}

/* ---- the identity ---- */

/* Empty: it is no such header. `at` is not NULL. */
static struct bytes token_in(struct bytes authorization)
{
    size_t front = sizeof(SCHEME) - 1;

    if (authorization.len <= front || strncasecmp(authorization.at, SCHEME, front) != 0)
        return BYTES("");
    while (front < authorization.len && authorization.at[front] == ' ')
        front++;
    return bytes_of(authorization.at + front, authorization.len - front);
}

/* The token that the request brings, right or wrong; `at` is NULL: none. */
static struct bytes token_of(const struct http_request *r, char room[HTTP_TOKEN_MAX])
{
    const struct http_app *app = r->client->http->app;
    const struct head *head = &r->exchange.head;
    struct bytes token = bytes_of(NULL, 0);

    if (app->token_of)
        token = app->token_of(head, room);
    if (!token.at && head->authorization.at)
        token = token_in(head->authorization);
    return token;
}

static bool has_token(const struct http_request *r)
{
    char room[HTTP_TOKEN_MAX];

    return token_of(r, room).at;
}

/* May the client be somebody who is not known so far? Without a token, a certificate and a name
 * of the port's it is nobody. */
static bool is_on_its_way(const struct http_request *r)
{
    struct http_client *client = r->client;
    const struct http_options *options = &client->http->options;

    return access_is_incomplete(options->access) &&
           (has_token(r) || *options->as || connection_names(&client->base.connection).len);
}

/* Also where there is no token: each refusal may be a line of the audit log. */
static enum http_error refuse(struct http_request *r)
{
    struct http *h = r->client->http;

    if (is_on_its_way(r))
        return HTTP_ERROR_IDENTITIES;
    if (!access_is_attempt_too_many(h->options.access, exchange_address(&r->exchange),
                                    timers_now(&h->port.loop->timers)))
        return HTTP_ERROR_UNAUTHORIZED;
    h->port.stats.slowed++;
    return HTTP_ERROR_ATTEMPTS;
}

/* A wrong token does not fall back to the identity of those without one: it is a mistake. */
static struct identity *find(struct http_request *r, enum exchange_proof *proof)
{
    struct http *h = r->client->http;
    const struct http_options *options = &h->options;
    char room[HTTP_TOKEN_MAX];
    struct bytes given = token_of(r, room);
    int64_t now_ms = clock_wall_ms();
    struct identity *who;
    bool is_ports;

    *proof = EXCHANGE_TOKEN;
    if (given.at)
        return access_of_token(options->access, given, now_ms);
    who = access_of_client(options->access, connection_names(&r->client->base.connection),
                           bytes_of_text(options->as), now_ms, &is_ports);
    *proof = is_ports ? EXCHANGE_PORT : EXCHANGE_CERTIFICATE;
    return who;
}

static enum http_error identify(struct http_request *r)
{
    enum exchange_proof proof;
    struct identity *who = find(r, &proof);

    r->exchange.who = identity_use(who);
    r->exchange.proof = who ? proof : EXCHANGE_NOTHING;
    r->client->http->port.stats.tokenless += who && proof == EXCHANGE_PORT;
    return who ? HTTP_ERROR_NONE : refuse(r);
}

/* What needs no identity: at the node's socket, for its mode says who may connect; and where
 * the node knows none. A token that is given counts all the same. */
static unsigned granted(const struct http_request *r)
{
    const struct http_options *options = &r->client->http->options;

    if (options->is_for_operators && !has_token(r))
        return ACCESS_ALL;
    return is_access_on(r->client->http) ? 0 : options->open_roles;
}

/* What is wrong with a head is told at once, by the request; so is what needs no identity. */
bool admit_holds(struct http_client *client, struct bytes head)
{
    struct http_request r = {.client = client, .exchange.http = client->http};
    const struct access *access = client->http->options.access;
    enum exchange_proof proof;

    if (!access || !access_is_awaited(access) || client->excess)
        return false;
    if (head_parse(head, &r.exchange.head) || route_find(&r.exchange) ||
        r.exchange.route->roles & ACCESS_EVERYBODY || granted(&r) || find(&r, &proof))
        return false;
    return is_on_its_way(&r) && port_hold_for_identities(&client->base, access);
}

/* ---- its limits ---- */

static enum http_error judge_limits(struct http_request *r)
{
    const struct identity *who = r->exchange.who;
    struct http *h = r->client->http;

    if (!port_act_as(&r->client->base, who))
        return HTTP_ERROR_IDENTITY_CONNECTIONS;
    if (allowance_take_at_once(&who->account->requests, &who->account->line, who->rate,
                               timers_now(&h->port.loop->timers)))
        return HTTP_ERROR_NONE;
    h->port.stats.slowed++;
    return HTTP_ERROR_IDENTITY_RATE;
}

/* ---- roles and topics ---- */

/* A copy of a part of the path, unescaped: the handler unescapes the part itself, in place. */
static bool copy_unescaped(struct bytes part, char *room, struct bytes *copy)
{
    *copy = bytes_of(room, part.len);
    if (part.len)
        memcpy(room, part.at, part.len);
    return url_unescape(copy);
}

/* The topics in the path: one, or several with commas between; with what stands in front of
 * them, where it has a namespace. */
static enum http_error judge_topics(const struct exchange *x)
{
    char room[HEAD_MAX_BYTES], topic_room[EXCHANGE_TOPIC_MAX];
    struct exchange with = {.http = x->http};
    struct bytes names, topic;

    if (!x->topic.len || !x->who || !x->who->topic_count)
        return HTTP_ERROR_NONE;
    if (!copy_unescaped(x->topic, room, &names) ||
        !copy_unescaped(x->namespace, room + x->topic.len, &with.namespace))
        return HTTP_ERROR_ESCAPE;
    while (names.len) {
        topic = bytes_cut(&names, ',');
        if (x->namespace.len)
            topic = exchange_topic(&with, topic, topic_room);
        if (!identity_has_topic(x->who, topic))
            return HTTP_ERROR_FORBIDDEN;
    }
    return HTTP_ERROR_NONE;
}

enum http_error admit(struct http_request *r)
{
    struct exchange *x = &r->exchange;
    enum http_error error = HTTP_ERROR_NONE;

    x->granted = granted(r);
    if (x->route->roles & ACCESS_EVERYBODY)
        return HTTP_ERROR_NONE;
    if (!x->granted)
        error = identify(r);
    if (!error && x->who)
        error = judge_limits(r);
    if (!error && !exchange_may(x, x->route->roles))
        error = HTTP_ERROR_FORBIDDEN;
    return error ? error : judge_topics(x);
}

bool admit_is_by_token(const struct http_request *r)
{
    return is_access_on(r->client->http) && has_token(r);
}

/* On a port that others reach, and the node knows nobody. */
static void reply_closed(struct exchange *x, const char *roles)
{
    exchange_reply_error_text(
        x, HTTP_ERROR_FORBIDDEN,
        "this takes the role %s, which nobody has here: the port is open to other machines, "
        "and the node knows no identities (access.file, access.in_redis); on its own machine "
        "dueqctl reaches its socket (admin.socket)",
        roles);
}

static void reply_without_role(struct exchange *x, const char *roles)
{
    bool is_one = !(x->route->roles & (x->route->roles - 1));
    struct buf own = BUF_INIT;

    access_roles_print(&own, x->who->roles);
    exchange_reply_error_text(x, HTTP_ERROR_FORBIDDEN, "this takes %s %s, %.*s has %s",
                              is_one ? "the role" : "one of the roles", roles,
                              BYTES_ARG(x->who->name), buf_text(&own));
    buf_fini(&own);
}

static void reply_without_topic(struct exchange *x)
{
    exchange_reply_error_text(x, HTTP_ERROR_FORBIDDEN, "%.*s is not for this topic",
                              BYTES_ARG(x->who->name));
}

void admit_reply_forbidden(struct http_request *r)
{
    struct exchange *x = &r->exchange;
    struct buf roles = BUF_INIT;

    access_roles_print(&roles, x->route->roles);
    if (!x->who)
        reply_closed(x, buf_text(&roles));
    else if (exchange_may(x, x->route->roles))
        reply_without_topic(x);
    else
        reply_without_role(x, buf_text(&roles));
    buf_fini(&roles);
}

/* ---- for handlers ---- */

/* Does the port still give this identity to clients without one? */
static bool is_ports(const struct exchange *x)
{
    return bytes_equal(x->who->name, bytes_of_text(x->http->options.as));
}

bool exchange_may_go_on(const struct exchange *x)
{
    if (x->route->roles & ACCESS_EVERYBODY)
        return true;
    if (x->granted)
        return granted(CONTAINER_OF(x, struct http_request, exchange)) & x->route->roles;
    return x->who && !x->who->is_gone && clock_wall_ms() < x->who->until_ms &&
           (x->proof != EXCHANGE_PORT || is_ports(x));
}

bool exchange_may(const struct exchange *x, unsigned roles)
{
    return (x->granted | (x->who ? x->who->roles : 0)) & roles;
}

bool exchange_has_topic(const struct exchange *x, struct bytes topic)
{
    return x->granted || (x->who && identity_has_topic(x->who, topic));
}

bool exchange_is_for_topics(struct exchange *x, struct bytes topics)
{
    while (topics.len) {
        if (exchange_has_topic(x, bytes_cut(&topics, ',')))
            continue;
        reply_without_topic(x);
        return false;
    }
    return true;
}

/* HEAD goes where GET goes; the reply leaves the body away.
 *
 * What is escaped in a path or a query is unescaped after it was cut into its parts, so that
 * any byte can be in any part. A name in the query that the route does not know is refused:
 * nobody's typing error is to be taken for a default.
 */
#include "protocol/http/router.h"

#include "base/nearest.h"
#include "protocol/http/server.h"
#include "protocol/http/message.h"

#define QUOTED_MAX_BYTES 60 /* of what the client wrote */

/* ---- the path ---- */

/* What stands in front of the first `c`, or all of it. */
static struct bytes up_to(struct bytes text, char c)
{
    const char *at = text.len ? memchr(text.at, c, text.len) : NULL;

    return bytes_of(text.at, at ? (size_t)(at - text.at) : text.len);
}

static void skip(struct bytes *text, struct bytes front)
{
    *text = bytes_of(text->at + front.len, text->len - front.len);
}

static bool begins_with(struct bytes text, struct bytes front)
{
    return text.len >= front.len && memcmp(text.at, front.at, front.len) == 0;
}

/* A look at the last byte spares most of the comparing. No path is empty. */
static bool may_match(struct bytes form, struct bytes path)
{
    char last = form.at[form.len - 1];

    return last == '}' || last == path.at[path.len - 1];
}

/* `topic` and `id` are touched without a match, too. */
static bool is_match(const struct route *route, struct bytes path, struct bytes *topic,
                     struct bytes *id)
{
    struct bytes form = route->path;

    if (!may_match(form, path))
        return false;
    for (;;) {
        struct bytes plain = up_to(form, '{'), name, segment;

        if (!begins_with(path, plain))
            return false;
        skip(&path, plain);
        skip(&form, plain);
        if (!form.len)
            return path.len == 0;
        name = up_to(form, '/');
        segment = up_to(path, '/');
        if (!segment.len)
            return false;
        *(name.at[1] == 'i' ? id : topic) = segment;
        skip(&path, segment);
        skip(&form, name);
    }
}

static bool has_method(const struct route *route, struct bytes method)
{
    if (bytes_equal(method, BYTES("HEAD")))
        method = BYTES("GET");
    return bytes_equal(bytes_of_text(route->method), method);
}

enum http_error route_find(struct exchange *x)
{
    const struct http_app *app = x->http->app;
    enum http_error error = HTTP_ERROR_NO_PATH;

    for (size_t i = 0; i < app->route_count; i++) {
        struct bytes topic = BYTES(""), id = BYTES("");

        if (!is_match(&app->routes[i], x->head.path, &topic, &id))
            continue;
        error = HTTP_ERROR_METHOD;
        if (!has_method(&app->routes[i], x->head.method))
            continue;
        x->route = &app->routes[i];
        x->topic = topic;
        x->id = id;
        return HTTP_ERROR_NONE;
    }
    return error;
}

/* What stands in front of a '/' at the end. It is not simply cut off: often it stands in front
 * of an id that somebody has left empty, and the list is not what was meant. */
bool route_is_there_without_slash(const struct http_app *app, struct bytes path)
{
    struct bytes front = bytes_of(path.at, path.len - 1), topic, id;

    for (size_t i = 0; path.len > 1 && path.at[front.len] == '/' && i < app->route_count; i++)
        if (is_match(&app->routes[i], front, &topic, &id))
            return true;
    return false;
}

void route_print_allowed(const struct http_app *app, struct bytes path, struct buf *to)
{
    struct bytes topic, id;

    for (size_t i = 0; i < app->route_count; i++) {
        if (!is_match(&app->routes[i], path, &topic, &id))
            continue;
        if (to->len)
            buf_add_text(to, ", ");
        buf_add_text(to, app->routes[i].method);
        if (has_method(&app->routes[i], BYTES("HEAD")))
            buf_add_text(to, ", HEAD");
    }
}

/* ---- the query ---- */

/* Its place in the route's list; EXCHANGE_QUERY_MAX: it is not there. */
static unsigned index_of(const struct route *route, struct bytes name)
{
    unsigned i = 0;

    while (i < EXCHANGE_QUERY_MAX && route->query[i] &&
           !bytes_equal(bytes_of_text(route->query[i]), name))
        i++;
    return i < EXCHANGE_QUERY_MAX && route->query[i] ? i : EXCHANGE_QUERY_MAX;
}

static const char *meant_by(const struct route *route, struct bytes name)
{
    struct nearest nearest = nearest_to(name);

    for (unsigned i = 0; i < EXCHANGE_QUERY_MAX && route->query[i]; i++)
        nearest_offer(&nearest, route->query[i]);
    return nearest.found;
}

/* NULL, or what is wrong with the parameter; then perhaps what is `meant`. */
static const char *take_parameter(struct exchange *x, struct bytes *name, struct bytes value,
                                  const char **meant)
{
    struct bytes sent = *name;
    unsigned i;

    if (!url_unescape(name) || !url_unescape(&value)) {
        *name = sent;
        return "a '%' is not followed by two hexadecimal digits";
    }
    i = index_of(x->route, *name);
    if (i == EXCHANGE_QUERY_MAX) {
        *meant = meant_by(x->route, *name);
        return "this path does not know such a parameter";
    }
    if (x->query[i].at)
        return "it is given twice";
    x->query[i] = value;
    return NULL;
}

static bool take_query(struct exchange *x)
{
    struct bytes rest = x->head.query, name, value;
    const char *wrong = NULL, *meant = NULL;

    if (x->route->is_for_monitors)
        return true;
    while (!wrong && url_query_next(&rest, &name, &value))
        wrong = take_parameter(x, &name, value, &meant);
    if (!wrong)
        return true;
    exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "query parameter %.*s: %s%s%s%s",
                              name.len < QUOTED_MAX_BYTES ? (int)name.len : QUOTED_MAX_BYTES,
                              name.at, wrong, meant ? "; did you mean " : "",
                              meant ? meant : "", meant ? "?" : "");
    return false;
}

/* ---- the handler ---- */

static bool take_path(struct exchange *x)
{
    bool is_fine = url_unescape(&x->topic) && url_unescape(&x->id);

    if (!is_fine)
        exchange_reply_error(x, HTTP_ERROR_ESCAPE);
    return is_fine;
}

void route_take(struct exchange *x)
{
    struct http *h = x->http;

    if (take_path(x) && take_query(x))
        x->route->handle(x);
    else
        h->port.stats.refused++;
}

#include "protocol/http/asked.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "protocol/access/audit.h"
#include "protocol/access/identity.h"
#include "protocol/access/role.h"
#include "protocol/http/exchange.h"
#include "protocol/http/server.h"

#define NAME_MAX_BYTES 200 /* no topic and no id is longer, */
#define PATH_MAX_BYTES 600 /* escaped as it may be */
#define BODY_MAX_BYTES 500

struct asked {
    struct bytes topic, id, body; /* in `room` */
    char room[3 * PATH_MAX_BYTES + BODY_MAX_BYTES];
};

/* The first `most` bytes of it, at `to`. */
static struct bytes copy(char *to, struct bytes from, size_t most)
{
    size_t len = from.len < most ? from.len : most;

    if (len)
        memcpy(to, from.at, len);
    return bytes_of(to, len);
}

/* Of the path, still escaped. One that is malformed names nothing. */
static struct bytes copy_name(char *to, struct bytes from)
{
    struct bytes name = copy(to, from, PATH_MAX_BYTES);

    if (!url_unescape(&name))
        return BYTES("");
    return name.len > NAME_MAX_BYTES ? bytes_of(name.at, NAME_MAX_BYTES) : name;
}

/* With its namespace, where the path has one; that alone, where it has nothing else. */
static struct bytes copy_topic(const struct exchange *x, char *to)
{
    struct bytes space = copy_name(to, x->namespace), name;

    if (!x->namespace.len || !x->topic.len)
        return x->namespace.len ? space : copy_name(to, x->topic);
    to[space.len] = x->http->app->joint;
    name = copy_name(to + space.len + 1, x->topic);
    return bytes_of(to, space.len + 1 + name.len);
}

bool asked_is_audited(const struct http_request *r)
{
    const struct audit *audit = r->client->http->options.audit;
    const struct route *route = r->exchange.route;

    return audit && audit_is_wanted(audit) && route && access_is_audited(route->roles);
}

void asked_note(struct http_request *r)
{
    struct exchange *x = &r->exchange;
    struct asked *asked;

    if (!asked_is_audited(r))
        return;
    asked = must(calloc(1, sizeof(*asked)));
    asked->topic = copy_topic(x, asked->room);
    if (!x->route->has_secrets) {
        asked->id = copy_name(asked->room + 2 * PATH_MAX_BYTES, x->id);
        asked->body =
            copy(asked->room + 3 * PATH_MAX_BYTES, buf_bytes(&r->content), BODY_MAX_BYTES);
    }
    r->asked = asked;
}

void asked_tell(struct http_request *r)
{
    struct exchange *x = &r->exchange;
    const struct asked *asked = r->asked;
    struct http *h = r->client->http;

    if (!asked || http_error_row(r->error)->code == http_error_row(HTTP_ERROR_ATTEMPTS)->code ||
        r->error == HTTP_ERROR_IDENTITIES)
        return; /* a flood of these would fill the disk; the errors are counted */
    if (!audit_write(
            h->options.audit,
            &(struct audit_entry){.who = x->who ? x->who->name : BYTES(""),
                                  .from = exchange_client(x),
                                  .operation = bytes_of_text(x->route->operation),
                                  .role = bytes_of_text(access_role_word(x->route->roles)),
                                  .topic = asked->topic,
                                  .id = asked->id,
                                  .body = asked->body,
                                  .request = bytes_of_text(x->request_id),
                                  .status = x->code,
                                  .error = bytes_of_text(x->error ? x->error : ""),
                                  .count = x->count}))
        h->port.stats.unaudited++;
}

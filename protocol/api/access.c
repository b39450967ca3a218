/* Who may do what: GET /v1/access, as whom a request acts; and the identities that are in
 * Redis, GET /v1/identities, PUT and DELETE /v1/identities/{identity}.
 *
 * Those are for administrators of all topics: whoever can change identities can have any right.
 * The list is read from Redis each time, so that it has what was changed a moment ago at
 * another node.
 */
#include "protocol/access/role.h"
#include "protocol/api/api.h"
#include "protocol/api/call.h"
#include "protocol/api/handlers.h"
#include "protocol/http/identities.h"
#include "protocol/json/write.h"

/* ---- an identity ---- */

static void add_words(struct buf *json, unsigned roles)
{
    for (unsigned role = 1; role <= ACCESS_ALL; role <<= 1)
        if (roles & role) {
            json_next(json);
            json_put_text(json, "", bytes_of_text(access_role_word(role)));
        }
}

/* Members, behind a first one. NULL: one that may do what `roles` say, whose name nobody
 * knows. */
static void add_rights(struct buf *json, const struct identity *who, unsigned roles)
{
    buf_add_text(json, ",\"roles\":[");
    add_words(json, roles);
    buf_add_text(json, "],\"topics\":[");
    if (!who || !who->topic_count)
        json_put_text(json, "", BYTES("*"));
    for (unsigned i = 0; who && i < who->topic_count; i++) {
        json_next(json);
        json_put_text(json, "", who->topics[i]);
    }
    json_put_number_or_null(
        json, "],\"until_ms\":", who && who->until_ms != INT64_MAX ? who->until_ms : -1);
}

/* ---- as whom ---- */

void access_get(struct exchange *x)
{
    static const char *const proofs[] = {[EXCHANGE_NOTHING] = "null",
                                         [EXCHANGE_TOKEN] = "\"token\"",
                                         [EXCHANGE_CERTIFICATE] = "\"certificate\"",
                                         [EXCHANGE_PORT] = "\"port\""};
    const struct identity *who = x->who;
    struct buf json = BUF_INIT;

    if (who)
        json_put_text(&json, "{\"name\":", who->name);
    else
        buf_add_text(&json, "{\"name\":null");
    add_rights(&json, who, who ? who->roles : x->granted);
    buf_printf(&json, ",\"known_by\":%s}", proofs[x->proof]);
    exchange_reply_buf(x, 200, &json);
}

/* ---- the list ---- */

/* Of a line that cannot be read nothing but itself: nobody acts by it. */
static void add_row(struct buf *json, const struct identity_row *row)
{
    struct identity *identity = http_identity_of(row);

    json_next(json);
    json_put_text(json, "{\"name\":", row->name);
    if (identity) {
        add_rights(json, identity, identity->roles);
        json_put_number(json, ",\"tokens\":", identity->token_count);
    }
    if (identity && identity->cert.len)
        json_put_text(json, ",\"cert\":", identity->cert);
    json_put_number(json, ",\"version\":", row->version);
    json_put_text(json, ",\"line\":", row->line);
    buf_add_char(json, '}');
    identity_drop(identity);
}

static void on_read(struct op *op)
{
    struct exchange *x = api_done(op);
    struct buf json = BUF_INIT;

    if (!x)
        return;
    buf_add_text(&json, "{\"identities\":[");
    for (unsigned i = 0; i < op->out.identities.count; i++)
        if (op->out.identities.rows[i].line.len)
            add_row(&json, &op->out.identities.rows[i]);
    buf_add_text(&json, "]}");
    exchange_reply_buf(x, 200, &json);
}

void api_list_identities(struct exchange *x)
{
    if (http_is_for_all_topics(x))
        http_read_identities(x, api_of(x)->registry, on_read);
}

/* ---- a change ---- */

static void on_changed(struct http_change *change)
{
    const struct op *op = &change->op;
    struct buf json = BUF_INIT;

    if (change->why) {
        exchange_reply_error_text(change->x, http_error_of(op->status), "%s", change->why);
        return;
    }
    if (op->status) {
        api_reply_failure(change->x, op);
        return;
    }
    json_put_text(&json, "{\"name\":", op->id);
    json_put_number(&json, ",\"version\":", op->out.identify.version);
    buf_add_char(&json, '}');
    exchange_reply_buf(change->x, 200, &json);
}

/* `line`: "" revokes. */
static void change(struct exchange *x, struct bytes line, int64_t expected)
{
    http_change_identity(
        x, api_of(x)->registry,
        &(struct http_change){
            .name = x->id, .line = line, .expected = expected, .on_done = on_changed});
}

void api_put_identity(struct exchange *x)
{
    static const struct object_rule rules[] = {
        {.name = "line", .kind = JSON_KIND_STRING},
        OBJECT_NUMBER("version", 0, OP_IDENTITY_VERSION_MAX),
    };
    struct object_member members[2] = {{0}};
    struct bytes object;
    struct api_why why;

    if (!http_is_for_all_topics(x) || !api_read_body(x, &object) ||
        !api_passes(x, object_read(object, "", rules, 2, members, &why), &why))
        return;
    if (members[0].text.len)
        change(x, members[0].text, members[1].is_given ? members[1].number : -1);
    else
        exchange_reply_error_text(x, HTTP_ERROR_BAD_REQUEST, "line: missing");
}

void api_delete_identity(struct exchange *x)
{
    int64_t expected;

    if (http_is_for_all_topics(x) && api_expect_nothing(x) &&
        exchange_query_int(x, "version", 0, OP_IDENTITY_VERSION_MAX, -1, &expected))
        change(x, BYTES(""), expected);
}

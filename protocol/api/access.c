/* Who may do what: GET /v1/access, as whom a request acts; and the identities that are in
 * Redis, GET /v1/identities, PUT and DELETE /v1/identities/{identity}.
 *
 * Those are for administrators of all topics: whoever can change identities can have any right.
 * The list is read from Redis each time, so that it has what was changed a moment ago at
 * another node.
 */
#include "node/queue/queue.h"
#include "protocol/access/registry.h"
#include "protocol/access/role.h"
#include "protocol/api/api.h"
#include "protocol/api/call.h"
#include "protocol/api/handlers.h"
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

/* False: it was answered. */
static bool is_for_all_topics(struct exchange *x)
{
    if (!x->who || identity_has_all_topics(x->who))
        return true;
    exchange_reply_error_text(x, HTTP_ERROR_FORBIDDEN,
                              "who has topics of its own may not see or change identities: "
                              "%.*s has some",
                              BYTES_ARG(x->who->name));
    return false;
}

/* Of a line that cannot be read nothing but itself: nobody acts by it. */
static void add_row(struct buf *json, const struct identity_row *row)
{
    const char *why;
    struct identity *identity = copy_is_good(row->name, row->line, row->version)
                                    ? identity_parse(row->line, &why)
                                    : NULL;

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
    struct op op = {.verb = OP_IDENTITIES, .in.identities.known = BYTES("")};
    const char *why = registry_why_not(api_of(x)->registry);

    if (!is_for_all_topics(x))
        return;
    if (why)
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE, "%s", why);
    else
        api_call(x, &op, on_read);
}

/* ---- a change ---- */

struct changing {
    struct exchange *x;
    struct op op;
    struct registry_change change;
};

/* How the errors of other operations read does not fit here. */
static void reply_failure(struct exchange *x, const struct op *op, const char *why)
{
    static const struct {
        enum status status;
        const char *text;
    } texts[] = {
        {STATUS_DUPLICATE, "another identity has this token, or this name of a certificate"},
        {STATUS_WRONG_STATE,
         "the identity is not of this version: somebody else has changed it; "
         "read it again"},
    };

    for (size_t i = 0; !why && i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i].status == op->status)
            why = texts[i].text;
    if (why)
        exchange_reply_error_text(x, http_error_of(op->status), "%s", why);
    else
        api_reply_failure(x, op);
}

static void on_changed(struct op *op)
{
    struct changing *changing = CONTAINER_OF(op, struct changing, op);
    struct exchange *x = changing->x;
    struct buf json = BUF_INIT;

    if (op->status == STATUS_OK)
        registry_note(api_of(x)->registry, op);
    registry_change_fini(&changing->change);
    if (op->status != STATUS_OK) {
        reply_failure(x, op, NULL);
        return;
    }
    json_put_text(&json, "{\"name\":", op->id);
    json_put_number(&json, ",\"version\":", op->out.identify.version);
    buf_add_char(&json, '}');
    exchange_reply_buf(x, 200, &json);
}

static void on_cancel_wait(struct exchange *x)
{
    struct changing *changing = x->handler;

    if (!exchange_is_stopping(x))
        queue_abandon(api_of(x)->queue, &changing->op);
}

/* `line`: "" revokes. */
static void change(struct exchange *x, struct bytes line, int64_t expected)
{
    struct changing *changing = exchange_keep(x, sizeof(*changing));
    struct buf why = BUF_INIT;

    *changing = (struct changing){.x = x, .op.client = exchange_client(x)};
    changing->op.on_done = on_changed;
    changing->op.status = registry_prepare(api_of(x)->registry, x->id, line, expected,
                                           &changing->change, &changing->op, &why);
    if (changing->op.status == STATUS_OK) {
        x->on_cancel_wait = on_cancel_wait;
        queue_submit(api_of(x)->queue, &changing->op);
    } else {
        registry_change_fini(&changing->change);
        reply_failure(x, &changing->op, buf_text(&why));
    }
    buf_fini(&why);
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

    if (!is_for_all_topics(x) || !api_read_body(x, &object) ||
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

    if (is_for_all_topics(x) && api_expect_nothing(x) &&
        exchange_query_int(x, "version", 0, OP_IDENTITY_VERSION_MAX, -1, &expected))
        change(x, BYTES(""), expected);
}

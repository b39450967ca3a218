/* The admin port: the tokens of a namespace, which are identities in Redis, and what lmstfy
 * tells of itself.
 *
 * A token is an identity of its own, for the topics of its namespace and for all that lmstfy's
 * clients do. No node keeps a token, only its hash: so a list has names where lmstfy's has
 * tokens, and a name is as good as its token in a path here. An identity has no other place for
 * a description than its name: "lmstfy.NAMESPACE.DESCRIPTION.HASH", what is too long cut off.
 */
#include <string.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "node/queue/queue.h"
#include "protocol/access/access.h"
#include "protocol/access/identity.h"
#include "protocol/http/identities.h"
#include "protocol/http/jobs.h"
#include "protocol/json/read.h"
#include "protocol/json/write.h"
#include "protocol/lmstfy/codec.h"
#include "protocol/lmstfy/handlers.h"
#include "protocol/lmstfy/lmstfy.h"

#define ROLES         "produce,consume,inspect,operate"
#define TOKEN_MIN     20 /* characters of one that somebody chooses */
#define NAME_PREFIX   "lmstfy."
#define SPACE_IN_NAME 20
#define TEXT_IN_NAME  24
#define HASH_IN_NAME  4 /* bytes */

_Static_assert(sizeof(NAME_PREFIX) + SPACE_IN_NAME + 1 + TEXT_IN_NAME + 1 + 2 * HASH_IN_NAME <=
                   IDENTITY_NAME_MAX,
               "a name has room for all of it");

static const struct lmstfy *lmstfy_of(const struct exchange *x)
{
    return x->arg;
}

/* ---- what lmstfy tells of itself ---- */

void lmstfy_version(struct exchange *x)
{
    const struct build *build = build_info();
    struct buf json = BUF_INIT;

    json_put_text(&json, "{\"build_commit\":", bytes_of_text(build->commit));
    json_put_text(&json, ",\"build_date\":\"\",\"version\":", bytes_of_text(build->version));
    buf_add_char(&json, '}');
    exchange_reply_buf(x, 200, &json);
}

void lmstfy_pools(struct exchange *x)
{
    exchange_reply_body(x, 200, BYTES("[\"default\"]"));
}

/* Those of the whole node, which another app writes, with an argument of its own. */
void lmstfy_metrics(struct exchange *x)
{
    const struct lmstfy *own = lmstfy_of(x);

    x->arg = own->metrics_arg;
    own->metrics(x);
}

/* ---- namespaces and their queues ---- */

#define INFO_MAX 10000 /* queues, and one more is too many */

struct listing {
    struct exchange *x;
    struct op op;
    unsigned bucket;
    unsigned count;
    struct buf topics; /* each with a newline */
    struct buf after;
};

static void end_listing(struct listing *l)
{
    buf_fini(&l->topics);
    buf_fini(&l->after);
}

static int compare(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

/* Those of a namespace come one behind the other. */
static void add_sorted(struct buf *json, const struct bytes *topics, unsigned count)
{
    buf_add_char(json, '{');
    for (unsigned i = 0; i < count; i++) {
        struct bytes space = lmstfy_space_of(topics[i]);

        if (i == 0 || !bytes_equal(space, lmstfy_space_of(topics[i - 1]))) {
            buf_add_text(json, i ? "]," : "");
            json_put_text(json, "", space);
            buf_add_text(json, ":[");
        }
        json_next(json);
        json_put_text(json, "", lmstfy_queue_of(topics[i]));
    }
    buf_add_text(json, count ? "]}" : "}");
}

static void reply_listed(struct listing *l)
{
    struct bytes *topics = must(calloc(l->count + 1, sizeof(*topics)));
    struct bytes rest = buf_bytes(&l->topics);
    struct exchange *x = l->x;
    struct buf json = BUF_INIT;

    for (unsigned i = 0; i < l->count; i++)
        topics[i] = bytes_cut(&rest, '\n');
    qsort(topics, l->count, sizeof(*topics), compare);
    add_sorted(&json, topics, l->count);
    free(topics);
    end_listing(l);
    exchange_reply_buf(x, 200, &json);
}

static void ask_page(struct listing *l);

static void take_page(struct listing *l)
{
    for (unsigned i = 0; i < l->op.out.topics.count && l->count <= INFO_MAX; i++) {
        struct bytes topic = l->op.out.topics.rows[i].topic;

        if (!lmstfy_space_of(topic).len || !exchange_has_topic(l->x, topic))
            continue;
        buf_add_bytes(&l->topics, topic);
        buf_add_char(&l->topics, '\n');
        l->count++;
    }
    buf_clear(&l->after);
    buf_add_bytes(&l->after, l->op.out.topics.next);
    l->bucket += !l->after.len;
}

static void on_page(struct op *op)
{
    struct listing *l = CONTAINER_OF(op, struct listing, op);
    enum status status = op->status;

    if (status) {
        end_listing(l);
        exchange_reply_status_error(l->x, status);
        return;
    }
    take_page(l);
    if (l->count > INFO_MAX) {
        end_listing(l);
        exchange_reply_error_text(l->x, HTTP_ERROR_WRONG_STATE,
                                  "there are more than %d queues: the native API lists them "
                                  "page by page (GET /v1/topics)",
                                  INFO_MAX);
    } else if (l->bucket < queue_buckets(exchange_queue(l->x))) {
        ask_page(l);
    } else {
        reply_listed(l);
    }
}

static void ask_page(struct listing *l)
{
    l->op = (struct op){
        .verb = OP_TOPICS,
        .bucket = l->bucket,
        .in.topics = {.after = buf_bytes(&l->after), .limit = OP_TOPICS_MAX},
        .on_done = on_page,
        .is_alone = true,
    };
    queue_submit(exchange_queue(l->x), &l->op);
}

static void abandon_listing(struct exchange *x)
{
    struct listing *l = x->handler;

    queue_abandon(exchange_queue(x), &l->op);
}

void lmstfy_info(struct exchange *x)
{
    struct listing *l = exchange_keep(x, sizeof(*l));

    *l = (struct listing){.x = x};
    x->on_cancel_wait = abandon_listing;
    ask_page(l);
}

/* ---- the identities of a namespace ---- */

/* Is it for all queues of this namespace, and for nothing else? */
static bool is_of_space(const struct identity *who, struct bytes space)
{
    struct bytes pattern = who->topic_count == 1 ? who->topics[0] : BYTES("");

    return pattern.len == space.len + 2 && memcmp(pattern.at, space.at, space.len) == 0 &&
           memcmp(pattern.at + space.len, "/*", 2) == 0;
}

/* The one of the path's namespace that has this token, or this name; NULL: there is none. */
static struct identity *find(const struct exchange *x, struct bytes token)
{
    const struct access *access = lmstfy_of(x)->registry->access;
    int64_t now_ms = clock_wall_ms();
    struct identity *who = access_of_token(access, token, now_ms);

    if (!who)
        who = access_of_name(access, token, now_ms);
    return who && is_of_space(who, x->namespace) ? who : NULL;
}

/* The one of the path, which can be changed. NULL: there is none, or it is of a file, which was
 * answered then: `*is_answered`. */
static struct identity *find_in_redis(struct exchange *x, bool *is_answered)
{
    const struct registry *registry = lmstfy_of(x)->registry;
    struct bytes token = lmstfy_token_behind_pool(x->id);
    struct identity *who = find(x, token);
    const struct copy_row *row = who ? copy_find(&registry->copy, who->name) : NULL;

    *is_answered =
        who && !registry_why_not(registry) && (!row || !bytes_equal(row->line, who->line));
    if (*is_answered)
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE,
                                  "%.*s is an identity of access.file: change it there",
                                  BYTES_ARG(who->name));
    return *is_answered ? NULL : who;
}

/* As it is in a name. */
static char name_char(char c)
{
    bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                    (c >= 'A' && c <= 'Z') || c == '-' || c == '_';

    return is_plain ? c : '_';
}

static void add_to_name(struct buf *name, struct bytes text, size_t most)
{
    for (size_t i = 0; i < text.len && i < most; i++)
        buf_add_char(name, name_char(text.at[i]));
    buf_add_char(name, '.');
}

static void make_name(struct buf *name, struct bytes space, struct bytes description,
                      const unsigned char *hash)
{
    buf_add_text(name, NAME_PREFIX);
    add_to_name(name, space, SPACE_IN_NAME);
    add_to_name(name, description, TEXT_IN_NAME);
    hex_add(name, hash, HASH_IN_NAME);
}

/* What of it was the description; "" where somebody else made the name. */
static struct bytes description_in(struct bytes name)
{
    struct bytes rest = name;

    if (name.len <= sizeof(NAME_PREFIX) - 1 ||
        memcmp(name.at, NAME_PREFIX, sizeof(NAME_PREFIX) - 1) != 0)
        return BYTES("");
    (void)bytes_cut(&rest, '.');
    (void)bytes_cut(&rest, '.');
    return bytes_cut(&rest, '.');
}

/* What was wrong with a change is answered. */
static void reply_not_changed(struct http_change *change)
{
    enum status status = change->op.status;

    if (status == STATUS_DUPLICATE)
        lmstfy_refuse(change->x, "the token exists already");
    else if (change->why)
        exchange_reply_error_text(change->x, http_error_of(status), "%s", change->why);
    else
        exchange_reply_status_error(change->x, status);
}

/* ---- tokens: made ---- */

struct asked {
    struct bytes description, token, pool;
};

/* A field of a form goes before the query's. False: an escape is malformed. */
static bool read_asked(struct exchange *x, struct asked *asked)
{
    struct bytes rest = x->body, name, value;
    int found;

    *asked = (struct asked){.description = exchange_query_text(x, "description"),
                            .token = exchange_query_text(x, "token"),
                            .pool = exchange_query_text(x, "pool")};
    while ((found = form_next(&rest, &name, &value)) > 0) {
        if (bytes_equal(name, BYTES("description")))
            asked->description = value;
        if (bytes_equal(name, BYTES("token")))
            asked->token = value;
    }
    return found == 0;
}

static const char *why_not(const struct exchange *x, const struct asked *asked)
{
    struct buf topic = BUF_INIT;
    const char *why;

    if (!asked->description.len)
        return "invalid description";
    if (asked->token.len && asked->token.len < TOKEN_MIN)
        return "the user token was too short";
    if (asked->token.len > HTTP_TOKEN_MAX)
        return "the user token was too long";
    if (!lmstfy_is_printable(asked->token))
        return "the user token has characters that no header may have";
    why = lmstfy_check_names(x->namespace, BYTES("q"), false);
    if (!why && !lmstfy_add_topic(&topic, x->namespace, BYTES("q")))
        why = "a namespace has at most 198 characters, and does not begin with '-'";
    if (!why && (!lmstfy_is_our_pool(asked->token) ||
                 (asked->pool.len && !bytes_equal(asked->pool, BYTES("default")))))
        why = "pool not found";
    buf_fini(&topic);
    return why;
}

/* `text` is the token, with its pool where one was named. */
static void on_made(struct http_change *change)
{
    struct buf json = BUF_INIT;

    if (change->op.status == STATUS_OK) {
        json_put_text(&json, "{\"token\":", buf_bytes(&change->text));
        buf_add_char(&json, '}');
    }
    buf_fini(&change->text);
    if (change->op.status == STATUS_OK)
        exchange_reply_buf(change->x, 201, &json);
    else
        reply_not_changed(change);
}

static void make(struct exchange *x, const struct asked *asked)
{
    struct http_change change = {.expected = 0, .on_done = on_made};
    struct buf name = BUF_INIT, line = BUF_INIT;
    unsigned char hash[TOKEN_HASH_BYTES];

    if (asked->token.len)
        buf_add_bytes(&change.text, asked->token);
    else if (asked->pool.len)
        buf_add_text(&change.text, "default:");
    if (!asked->token.len)
        access_make_token(&change.text);
    access_hash(lmstfy_token_behind_pool(buf_bytes(&change.text)), hash);
    make_name(&name, x->namespace, asked->description, hash);
    buf_printf(&line, "%s " ROLES " topics=%.*s/* token=", buf_text(&name),
               BYTES_ARG(x->namespace));
    hex_add(&line, hash, sizeof(hash));
    change.name = buf_bytes(&name);
    change.line = buf_bytes(&line);
    http_change_identity(x, lmstfy_of(x)->registry, &change);
    buf_fini(&name);
    buf_fini(&line);
}

void lmstfy_make_token(struct exchange *x)
{
    struct asked asked;
    const char *why;

    if (!http_is_for_all_topics(x))
        return;
    why = read_asked(x, &asked) ? why_not(x, &asked) : "the form has a malformed escape";
    if (why)
        lmstfy_refuse(x, why);
    else
        make(x, &asked);
}

/* ---- tokens: listed and revoked ---- */

static void add_listed(struct buf *json, const struct exchange *x,
                       const struct identity_row *row)
{
    struct identity *who = http_identity_of(row);

    if (who && is_of_space(who, x->namespace)) {
        json_next(json);
        json_put_text(json, "", row->name);
        json_put_text(json, ":", description_in(row->name));
    }
    identity_drop(who);
}

static void on_tokens_read(struct op *op)
{
    struct exchange *x = http_call_of(op)->x;
    struct buf json = BUF_INIT;

    if (op->status) {
        exchange_reply_status_error(x, op->status);
        return;
    }
    buf_add_text(&json, "{\"tokens\":{");
    for (unsigned i = 0; i < op->out.identities.count; i++)
        add_listed(&json, x, &op->out.identities.rows[i]);
    buf_add_text(&json, "}}");
    exchange_reply_buf(x, 200, &json);
}

void lmstfy_list_tokens(struct exchange *x)
{
    if (http_is_for_all_topics(x))
        http_read_identities(x, lmstfy_of(x)->registry, on_tokens_read);
}

static void on_revoked(struct http_change *change)
{
    if (change->op.status == STATUS_OK)
        exchange_reply_nothing(change->x);
    else
        reply_not_changed(change);
}

void lmstfy_revoke_token(struct exchange *x)
{
    const char *why = registry_why_not(lmstfy_of(x)->registry);
    const struct identity *who;
    bool is_answered;

    if (!http_is_for_all_topics(x))
        return;
    who = find_in_redis(x, &is_answered);
    if (is_answered)
        return;
    if (why)
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE, "%s", why);
    else if (!who)
        exchange_reply_nothing(x);
    else if (who->token_count > 1)
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE,
                                  "%.*s has another token, too: 'dueqctl token revoke' takes "
                                  "one of them",
                                  BYTES_ARG(who->name));
    else
        http_change_identity(
            x, lmstfy_of(x)->registry,
            &(struct http_change){
                .name = who->name, .line = BYTES(""), .expected = -1, .on_done = on_revoked});
}

/* ---- limits ----
 *
 * lmstfy counts reads and writes by themselves, in an interval of some seconds; an identity has
 * one rate a second. So many of each in an interval are twice as many of both. */

static void add_limit(struct buf *json, const char *before, unsigned rate)
{
    unsigned interval = rate % 2 ? 2 : 1;
    unsigned each = rate * interval / 2;

    buf_printf(json, "%s{\"read\":%u,\"write\":%u,\"interval\":%u}", before, each, each,
               interval);
}

static void reply_limit(struct exchange *x, int code, const char *before, unsigned rate,
                        const char *behind)
{
    struct buf json = BUF_INIT;

    add_limit(&json, before, rate);
    buf_add_text(&json, behind);
    exchange_reply_buf(x, code, &json);
}

static void on_limited(struct http_change *change)
{
    struct exchange *x = change->x;
    int64_t rate = 0;

    (void)digits_read(buf_bytes(&change->text), &rate);
    buf_fini(&change->text);
    if (change->op.status)
        reply_not_changed(change);
    else if (rate)
        reply_limit(x, bytes_equal(x->head.method, BYTES("POST")) ? 201 : 200,
                    "{\"limiter\":", (unsigned)rate, "}");
    else
        exchange_reply_body(x, 200, BYTES("{\"msg\":\"success\"}"));
}

/* `rate`: 0 is none. */
static void limit(struct exchange *x, const struct identity *who, unsigned rate)
{
    struct http_change change = {.name = who->name, .expected = -1, .on_done = on_limited};
    struct identity limited = *who;
    struct buf line = BUF_INIT;

    limited.rate = rate;
    identity_print(&line, &limited);
    buf_add_number(&change.text, rate);
    change.line = buf_bytes(&line);
    http_change_identity(x, lmstfy_of(x)->registry, &change);
    buf_fini(&line);
}

/* The identity of the path; NULL: there is none, and that was answered. */
static struct identity *find_limited(struct exchange *x)
{
    const char *why = registry_why_not(lmstfy_of(x)->registry);
    struct identity *who;
    bool is_answered;

    if (!http_is_for_all_topics(x))
        return NULL;
    who = find_in_redis(x, &is_answered);
    if (is_answered)
        return NULL;
    if (why)
        exchange_reply_error_text(x, HTTP_ERROR_WRONG_STATE, "%s", why);
    else if (!who)
        exchange_reply_error_text(x, HTTP_ERROR_NOT_FOUND, "token not found");
    return why ? NULL : who;
}

void lmstfy_get_limit(struct exchange *x)
{
    const struct identity *who = find_limited(x);

    if (who && who->rate)
        reply_limit(x, 200, "", who->rate, "");
    else if (who)
        exchange_reply_body(x, 404, BYTES("null"));
}

void lmstfy_set_limit(struct exchange *x)
{
    const struct identity *who = find_limited(x);
    unsigned rate;
    const char *why;

    if (!who)
        return;
    why = lmstfy_read_limit(x->body, &rate);
    if (why)
        lmstfy_refuse(x, why);
    else
        limit(x, who, rate);
}

void lmstfy_drop_limit(struct exchange *x)
{
    const struct identity *who = find_limited(x);

    if (who)
        limit(x, who, 0);
}

static void on_limits_read(struct op *op)
{
    struct exchange *x = http_call_of(op)->x;
    struct buf json = BUF_INIT;

    if (op->status) {
        exchange_reply_status_error(x, op->status);
        return;
    }
    buf_add_char(&json, '{');
    for (unsigned i = 0; i < op->out.identities.count; i++) {
        struct identity *who = http_identity_of(&op->out.identities.rows[i]);

        if (who && who->rate) {
            json_next(&json);
            json_put_text(&json, "", who->name);
            add_limit(&json, ":", who->rate);
        }
        identity_drop(who);
    }
    buf_add_char(&json, '}');
    exchange_reply_buf(x, 200, &json);
}

void lmstfy_list_limits(struct exchange *x)
{
    if (http_is_for_all_topics(x))
        http_read_identities(x, lmstfy_of(x)->registry, on_limits_read);
}

/* The admin port: tokens made, listed and revoked, limits, and what lmstfy tells of itself. */
#include "base/tests/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/encoding.h"
#include "protocol/access/access.h"
#include "protocol/http/exchange.h"
#include "protocol/lmstfy/lmstfy.h"
#include "protocol/lmstfy/tests/fixture.h"

#define NOTHING "{\"tokens\":{}}"

static struct lmstfy own;
static char numbers[] = "numbers";

static void tell_metrics(struct exchange *x)
{
    exchange_reply(x, 200, "text/plain", bytes_of_text(x->arg));
}

static int set_up_closed(void **state)
{
    struct fixture *f;

    if (fixture_up_app(state, &lmstfy_admin_app, &own))
        return -1;
    f = *state;
    own = (struct lmstfy){
        .registry = &f->registry, .metrics = tell_metrics, .metrics_arg = numbers};
    return 0;
}

/* The clients of the port need no identity, so that the tests are about what they ask. */
static int set_up(void **state)
{
    struct fixture *f;

    if (set_up_closed(state))
        return -1;
    f = *state;
    registry_use_redis(&f->registry, true);
    fixture_turn(f);
    fixture_pass(f, REGISTRY_SETTLE_MS + REGISTRY_READ_MS);
    AWAIT(f, !access_is_incomplete(f->access));
    return 0;
}

/* Who has this token now; "" nobody. */
static const char *who_has(struct fixture *f, const char *token)
{
    static char name[80];
    const struct identity *who = access_of_token(f->access, bytes_of_text(token), 0);

    snprintf(name, sizeof(name), "%.*s", BYTES_ARG(who ? who->name : BYTES("")));
    return name;
}

static const char *line_of(struct fixture *f, const char *token)
{
    static char line[400];
    const struct identity *who = access_of_token(f->access, bytes_of_text(token), 0);

    assert_non_null(who);
    snprintf(line, sizeof(line), "%.*s", BYTES_ARG(who->line));
    return line;
}

static const char *make_token(struct fixture *f, const char *line)
{
    static char token[80];
    const char *reply = request(f, line, NULL);

    assert_starts(reply, "HTTP/1.1 201 ");
    snprintf(token, sizeof(token), "%s", member_of(reply, "token"));
    return token;
}

/* ---- tokens ---- */

static void a_token_is_made_listed_and_revoked(void **state)
{
    struct fixture *f = *state;
    const char *token = make_token(f, "POST /token/ns?description=my+worker");
    char path[160], json[200], name[80];

    assert_starts(token, "dq_");
    snprintf(name, sizeof(name), "%s", who_has(f, token));
    assert_starts(name, "lmstfy.ns.my_worker.");
    assert_has(line_of(f, token), " produce,consume,inspect,operate topics=ns/* token=");
    snprintf(json, sizeof(json), "{\"tokens\":{\"%s\":\"my_worker\"}}", name);
    assert_reply(request(f, "GET /token/ns", NULL), 200, json);
    assert_reply(request(f, "GET /token/other", NULL), 200, NOTHING);
    snprintf(path, sizeof(path), "DELETE /token/other/%s", token);
    assert_nothing(request(f, path, NULL));
    assert_string_equal(who_has(f, token), name);
    snprintf(path, sizeof(path), "DELETE /token/ns/%s", token);
    assert_nothing(request(f, path, NULL));
    assert_string_equal(who_has(f, token), "");
    assert_nothing(request(f, path, NULL));
    assert_reply(request(f, "GET /token/ns", NULL), 200, NOTHING);
}

static void a_token_is_revoked_by_its_name_too(void **state)
{
    struct fixture *f = *state;
    char path[160];

    snprintf(path, sizeof(path), "DELETE /token/ns/%s",
             who_has(f, make_token(f, "POST /token/ns?description=a")));
    assert_nothing(request(f, path, NULL));
    assert_reply(request(f, "GET /token/ns", NULL), 200, NOTHING);
}

static void a_token_of_ones_own_may_have_its_pool(void **state)
{
    struct fixture *f = *state;

    assert_reply(request(f, "POST /token/ns?token=default%3Aabcdefghijklmnop%2Brst",
                         "description=from%20a+form"),
                 201, "{\"token\":\"default:abcdefghijklmnop+rst\"}");
    assert_starts(who_has(f, "abcdefghijklmnop+rst"), "lmstfy.ns.from_a_form.");
    assert_reply(
        request(f, "POST /token/ns?description=again&token=abcdefghijklmnop%2Brst", NULL), 400,
        "{\"error\":\"the token exists already\"}");
    assert_reply(
        request(f, "POST /token/ns?description=from-a-form", "token=abcdefghijklmnop%2Brst"),
        400, "{\"error\":\"the token exists already\"}");
    assert_nothing(request(f, "DELETE /token/ns/default:abcdefghijklmnop+rst", NULL));
    assert_starts(make_token(f, "POST /token/ns?description=a&pool=default"), "default:dq_");
}

static void what_is_wrong_with_a_token_is_told(void **state)
{
    static const struct {
        const char *line, *body, *error;
    } rows[] = {
        {"POST /token/ns", NULL, "invalid description"},
        {"POST /token/ns?description=", "description=", "invalid description"},
        {"POST /token/ns?description=a&token=abcdefghijklmnopqrs", NULL,
         "the user token was too short"},
        {"POST /token/ns?description=d&token=a%20token-with-white-space", NULL,
         "the user token has characters that no header may have"},
        {"POST /token/n.s?description=a", NULL, "namespace name contains forbidden characters"},
        {"POST /token/-s?description=a", NULL,
         "a namespace has at most 198 characters, and does not begin with '-'"},
        {"POST /token/ns?description=a&pool=other", NULL, "pool not found"},
        {"POST /token/ns?description=a&token=other:abcdefghijklmnopqrst", NULL,
         "pool not found"},
        {"POST /token/ns", "description=%zz", "the form has a malformed escape"},
    };
    struct fixture *f = *state;
    char json[128], line[700], name[300], token[HTTP_TOKEN_MAX + 2];

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(json, sizeof(json), "{\"error\":\"%s\"}", rows[i].error);
        assert_reply(request(f, rows[i].line, rows[i].body), 400, json);
    }
    memset(name, 'n', 256);
    name[256] = '\0';
    snprintf(line, sizeof(line), "POST /token/%s?description=a", name);
    assert_reply(request(f, line, NULL), 400,
                 "{\"error\":\"namespace or queue name too long\"}");
    memset(token, 't', sizeof(token) - 1);
    token[sizeof(token) - 1] = '\0';
    snprintf(line, sizeof(line), "POST /token/ns?description=a&token=%s", token);
    assert_reply(request(f, line, NULL), 400, "{\"error\":\"the user token was too long\"}");
    assert_reply(request(f, "GET /token/ns", NULL), 200, NOTHING);
}

static void a_long_description_is_cut_off(void **state)
{
    struct fixture *f = *state;
    const char *token = make_token(f, "POST /token/a-namespace-with-a-very-long-name"
                                      "?description=a.description%20of%20what%20it%20is%20for");

    assert_starts(who_has(f, token), "lmstfy.a-namespace-with-a-v.a_description_of_what_it.");
}

static void where_redis_has_no_identities_it_says_what_to_set(void **state)
{
    static const char *const lines[] = {"POST /token/ns?description=a", "GET /token/ns",
                                        "DELETE /token/ns/x",           "GET /token/ns/x/limit",
                                        "DELETE /token/ns/x/limit",     "GET /limits"};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        const char *reply = request(f, lines[i], NULL);

        assert_starts(reply, "HTTP/1.1 409 ");
        assert_has(reply, "{\"error\":\"");
        assert_has(reply, "access.in_redis");
    }
}

static void an_identity_of_the_file_is_changed_there(void **state)
{
    struct fixture *f = *state;
    struct buf text = BUF_INIT, why = BUF_INIT;
    unsigned char hash[TOKEN_HASH_BYTES];
    const char *reply;

    access_hash(BYTES("of-a-file"), hash);
    buf_add_text(&text, "shop produce topics=ns/* token=");
    hex_add(&text, hash, sizeof(hash));
    buf_add_char(&text, '\n');
    assert_int_equal(registry_take_file(&f->registry, buf_bytes(&text), &why), STATUS_OK);
    buf_fini(&text);
    reply = request(f, "DELETE /token/ns/of-a-file", NULL);
    assert_starts(reply, "HTTP/1.1 409 ");
    assert_has(reply, "shop is an identity of access.file: change it there");
    assert_string_equal(who_has(f, "of-a-file"), "shop");
}

static void a_change_that_the_store_does_not_take_is_told(void **state)
{
    struct fixture *f = *state;
    char path[160];

    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    assert_starts(request(f, "POST /token/ns?description=a", NULL), "HTTP/1.1 504 ");
    snprintf(path, sizeof(path), "DELETE /token/ns/%s",
             make_token(f, "POST /token/ns?description=a"));
    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_starts(request(f, path, NULL), "HTTP/1.1 502 ");
    assert_string_not_equal(who_has(f, strrchr(path, '/') + 1), "");
}

/* Whoever reads it is no administrator. */
static void no_token_is_in_the_audit_log(void **state)
{
    struct fixture *f = *state;

    audit_begin(f);
    assert_starts(request(f, "POST /token/ns?description=a", "token=abcdefghijklmnopqrst"),
                  "HTTP/1.1 201 ");
    assert_starts(request(f, "PUT /token/ns/abcdefghijklmnopqrst/limit",
                          "{\"read\":1,\"write\":1,\"interval\":1}"),
                  "HTTP/1.1 200 ");
    assert_starts(request(f, "GET /token/ns/abcdefghijklmnopqrst/limit", NULL),
                  "HTTP/1.1 200 ");
    assert_nothing(request(f, "DELETE /token/ns/abcdefghijklmnopqrst", NULL));
    assert_has(audit_lines(), "\"operation\":\"makeToken\",\"role\":\"admin\",\"topic\":\"ns\","
                              "\"id\":null,\"body\":null,");
    assert_has(audit_lines(), "\"operation\":\"setLimit\"");
    assert_has(audit_lines(), "\"operation\":\"getLimit\"");
    assert_has(audit_lines(), "\"operation\":\"revokeToken\"");
    assert_null(strstr(audit_lines(), "abcdefghijklmnopqrst"));
}

static int tear_down_audit(void **state)
{
    int result = fixture_down(state);

    audit_end();
    return result;
}

/* ---- limits ---- */

static void a_limit_is_the_rate_of_the_identity(void **state)
{
    struct fixture *f = *state;
    const char *token = make_token(f, "POST /token/ns?description=a");
    char path[160], line[200], name[80], json[200];

    snprintf(path, sizeof(path), "/token/ns/%s/limit", token);
    snprintf(name, sizeof(name), "%s", who_has(f, token));
    snprintf(line, sizeof(line), "GET %s", path);
    assert_reply(request(f, line, NULL), 404, "null");
    snprintf(line, sizeof(line), "POST %s", path);
    assert_reply(request(f, line, "{\"read\": 200, \"write\": 200, \"interval\": 100}"), 201,
                 "{\"limiter\":{\"read\":2,\"write\":2,\"interval\":1}}");
    assert_has(line_of(f, token), " rate=4");
    assert_has(line_of(f, token), " topics=ns/* ");
    snprintf(line, sizeof(line), "PUT %s", path);
    assert_reply(request(f, line, "{\"read\": 3, \"write\": 3, \"interval\": 2}"), 200,
                 "{\"limiter\":{\"read\":3,\"write\":3,\"interval\":2}}");
    snprintf(line, sizeof(line), "GET %s", path);
    assert_reply(request(f, line, NULL), 200, "{\"read\":3,\"write\":3,\"interval\":2}");
    snprintf(json, sizeof(json), "{\"%s\":{\"read\":3,\"write\":3,\"interval\":2}}", name);
    assert_reply(request(f, "GET /limits", NULL), 200, json);
    snprintf(line, sizeof(line), "DELETE %s", path);
    assert_reply(request(f, line, NULL), 200, "{\"msg\":\"success\"}");
    assert_reply(request(f, "GET /limits", NULL), 200, "{}");
    assert_string_equal(who_has(f, token), name);
}

static void a_limit_that_cannot_be_kept_is_refused(void **state)
{
    static const char *const bodies[] = {"{\"read\":1,\"write\":2,\"interval\":1}",
                                         "{\"read\":1,\"write\":0,\"interval\":1}",
                                         "{\"read\":1,\"write\":1,\"interval\":3}"};
    struct fixture *f = *state;
    char line[160];

    snprintf(line, sizeof(line), "POST /token/ns/%s/limit",
             make_token(f, "POST /token/ns?description=a"));
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        const char *reply = request(f, line, bodies[i]);

        assert_starts(reply, "HTTP/1.1 400 ");
        assert_has(reply, "a token has one rate here, for reads and writes together");
    }
    assert_reply(request(f, line, "{\"read\":0,\"write\":0,\"interval\":1}"), 400,
                 "{\"error\":\"read and write are 0\"}");
    assert_reply(request(f, line, "{\"read\":1,\"write\":1,\"interval\":0}"), 400,
                 "{\"error\":\"interval should be > 0\"}");
    assert_starts(request(f, line, "{\"read\":-1}"), "HTTP/1.1 400 ");
    assert_starts(request(f, line, "{\"read\":1.5}"), "HTTP/1.1 400 ");
    assert_starts(request(f, line, "[]"), "HTTP/1.1 400 ");
    assert_starts(request(f, line, NULL), "HTTP/1.1 400 ");
    assert_reply(request(f, "PUT /token/ns/unknown/limit", "{}"), 404,
                 "{\"error\":\"token not found\"}");
    assert_reply(request(f, "GET /limits", NULL), 200, "{}");
}

/* ---- of itself ---- */

static void on_pushed(struct op *op)
{
    assert_int_equal(op->status, STATUS_OK);
}

static void push(struct fixture *f, const char *topic)
{
    struct op op = {.verb = OP_PUSH,
                    .topic = bytes_of_text(topic),
                    .in.push.rules = rules_default,
                    .on_done = on_pushed};

    queue_submit(f->queue, &op);
    AWAIT(f, queue_stats(f->queue)->in_flight == 0);
    fixture_turn(f);
}

static void it_tells_of_itself(void **state)
{
    struct fixture *f = *state;
    const char *reply = request(f, "GET /version", NULL);

    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "\"build_date\":\"\",\"version\":\"");
    assert_reply(request(f, "GET /pools?kind=redis", NULL), 200, "[\"default\"]");
    assert_reply(request(f, "GET /info", NULL), 200, "{}");
    assert_reply(request(f, "GET /metrics", NULL), 200, "numbers");
    assert_reply(request(f, "GET /accesslog", NULL), 404, "{\"error\":\"api not found\"}");
    push(f, "ns/q");
    push(f, "other/a");
    push(f, "ns/b");
    push(f, "no-namespace");
    push(f, "ns/c/d");
    assert_reply(request(f, "GET /info", NULL), 200,
                 "{\"ns\":[\"b\",\"c/d\",\"q\"],\"other\":[\"a\"]}");
}

/* ---- roles ---- */

static void it_takes_the_role_admin_for_all_topics(void **state)
{
    static const char *const lines[] = {
        "POST /token/ns?description=a", "GET /token/ns",         "DELETE /token/ns/x",
        "POST /token/ns/x/limit",       "GET /token/ns/x/limit", "GET /limits"};
    struct fixture *f = *state;
    struct buf text = BUF_INIT, why = BUF_INIT;
    unsigned char hash[TOKEN_HASH_BYTES];
    static const char *const tokens[] = {"root", "one", "ops"};
    static const char *const rights[] = {"admin", "admin topics=ns/*",
                                         "produce,consume,inspect,operate"};

    for (unsigned i = 0; i < 3; i++) {
        access_hash(bytes_of_text(tokens[i]), hash);
        buf_printf(&text, "%s %s token=", tokens[i], rights[i]);
        hex_add(&text, hash, sizeof(hash));
        buf_add_char(&text, '\n');
    }
    assert_int_equal(registry_take_file(&f->registry, buf_bytes(&text), &why), STATUS_OK);
    buf_fini(&text);
    f->options.access = f->access;
    f->options.as = "";
    http_reload(http_port(f->http), &f->options);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        assert_reply(request(f, lines[i], NULL), 401, "{\"error\":\"token not found\"}");
        assert_starts(request_with(f, lines[i], "X-Token: ops\r\n", NULL), "HTTP/1.1 403 ");
        assert_has(request_with(f, lines[i], "X-Token: one\r\n", NULL),
                   "who has topics of its own may not see or change identities");
    }
    assert_reply(request_with(f, "GET /token/ns", "X-Token: root\r\n", NULL), 200, NOTHING);
    assert_reply(request_with(f, "GET /token/ns", "Authorization: Bearer root\r\n", NULL), 200,
                 NOTHING);
    assert_starts(request_with(f, "POST /token/ns?description=a&token=abcdefghijklmnopqrst",
                               "X-Token: root\r\n", NULL),
                  "HTTP/1.1 201 ");
    assert_starts(request_with(f, "GET /version", "X-Token: ops\r\n", NULL), "HTTP/1.1 200 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_token_is_made_listed_and_revoked),
        TEST(a_token_is_revoked_by_its_name_too),
        TEST(a_token_of_ones_own_may_have_its_pool),
        TEST(what_is_wrong_with_a_token_is_told),
        TEST(a_long_description_is_cut_off),
        cmocka_unit_test_setup_teardown(where_redis_has_no_identities_it_says_what_to_set,
                                        set_up_closed, fixture_down),
        TEST(an_identity_of_the_file_is_changed_there),
        TEST(a_change_that_the_store_does_not_take_is_told),
        cmocka_unit_test_setup_teardown(no_token_is_in_the_audit_log, set_up, tear_down_audit),
        TEST(a_limit_is_the_rate_of_the_identity),
        TEST(a_limit_that_cannot_be_kept_is_refused),
        TEST(it_tells_of_itself),
        TEST(it_takes_the_role_admin_for_all_topics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

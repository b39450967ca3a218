/* A line of text becomes an identity, and the other way round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "protocol/access/identity.h"
#include "protocol/access/role.h"

#define HASH_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define HASH_B "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct identity *parse(const char *line)
{
    const char *why = NULL;
    struct identity *identity = identity_parse(bytes_of_text(line), &why);

    if (!identity)
        fail_msg("%s: %s", line, why);
    assert_null(why);
    return identity;
}

static void says_what_it_was_told(void **state)
{
    static const char *const lines[] = {
        "shop produce",
        "shop produce,consume,inspect,operate,admin",
        "a.b_c-9 inspect topics=orders",
        "shop consume topics=orders,mail.*,* until=2027-01-31T09:30:59Z token=" HASH_A,
        "shop consume token=" HASH_A "," HASH_B,
        "shop consume token=" HASH_A " cert=DNS:shop.example.com",
        "shop consume cert=URI:spiffe://acme/a,b",
        "shop consume token=" HASH_A " cert=DNS:a rate=100 connections=5 bytes=16MiB",
        "shop consume rate=1000000 connections=1000000 bytes=64GiB",
        "shop consume bytes=1",
        "shop consume bytes=3KiB",
        "shop consume bytes=1025",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct identity *identity = parse(lines[i]);
        struct buf line = BUF_INIT;

        identity_print(&line, identity);
        assert_string_equal(buf_text(&line), lines[i]);
        buf_fini(&line);
        identity_drop(identity);
    }
}

static void takes_blanks_any_order_and_all(void **state)
{
    struct identity *identity =
        parse("  shop \t all\ttoken=" HASH_A "   until=1970-01-01T00:00:01Z  topics=a ");

    assert_int_equal(identity->roles, ACCESS_ALL);
    assert_int_equal(identity->until_ms, 1000);
    assert_int_equal(identity->token_count, 1);
    assert_int_equal(identity->tokens[0][0], 0);
    assert_int_equal(identity->tokens[0][31], 0xff);
    assert_int_equal(identity->topic_count, 1);
    identity_drop(identity);
}

static void a_name_of_dns_is_in_lower_case(void **state)
{
    struct identity *dns = parse("shop all cert=DNS:Shop.EXAMPLE.com"),
                    *uri = parse("shop all cert=URI:Spiffe://ACME");

    assert_true(bytes_equal(dns->cert, BYTES("DNS:shop.example.com")));
    assert_true(bytes_equal(uri->cert, BYTES("URI:Spiffe://ACME")));
    identity_drop(dns);
    identity_drop(uri);
}

static void refuses_what_it_does_not_understand(void **state)
{
    static const struct {
        const char *line, *why;
    } cases[] = {
        {"", "a name is"},
        {"sh\xc3\xb6p produce", "a name is"},
        {"a123456789b123456789c123456789d123456789e123456789f123456789g1234 produce",
         "a name is"},
        {"shop", "roles are"},
        {"shop produce,", "roles are"},
        {"shop ,produce", "roles are"},
        {"shop Produce", "roles are"},
        {"shop produce, consume", "roles are"},
        {"shop produce topics=", "topics: each"},
        {"shop produce topics=a,,b", "topics: each"},
        {"shop produce topics=a,", "topics: each"},
        {"shop produce token=" HASH_A ",", "token: the SHA-256"},
        {"shop produce topics=a\nb", "topics: each"},
        {"shop produce topics=\xc3\xb6", "topics: each"},
        {"shop produce topics=*a", "topics: each"},
        {"shop produce topics=a*b*", "topics: each"},
        {"shop produce until=", "until: a time"},
        {"shop produce until=2027-01-31", "until: a time"},
        {"shop produce until=2027-02-30T00:00:00Z", "until: a time"},
        {"shop produce until=2027-01-31T00:00:00+", "until: a time"},
        {"shop produce token=", "token: the SHA-256"},
        {"shop produce token=" HASH_A "0", "token: the SHA-256"},
        {"shop produce token=FF112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
         "token: the SHA-256"},
        {"shop produce token=" HASH_A "," HASH_B "," HASH_A, "token: more than two"},
        {"shop produce topics=a topics=b", "a member is given twice"},
        {"shop produce rate=", "rate: requests"},
        {"shop produce rate=0", "rate: requests"},
        {"shop produce rate=-1", "rate: requests"},
        {"shop produce rate=010", "rate: requests"},
        {"shop produce rate=1000001", "rate: requests"},
        {"shop produce rate=99999999999999999999", "rate: requests"},
        {"shop produce rate=1.5", "rate: requests"},
        {"shop produce connections=0", "connections: from"},
        {"shop produce connections=x", "connections: from"},
        {"shop produce bytes=MiB", "bytes: such"},
        {"shop produce bytes=1mib", "bytes: such"},
        {"shop produce bytes=65GiB", "bytes: such"},
        {"shop produce bytes=68719476737", "bytes: such"},
        {"shop produce bytes=0KiB", "bytes: such"},
        {"shop produce cert=", "cert: a name"},
        {"shop produce cert=shop.example.com", "cert: a name"},
        {"shop produce cert=DNS:", "cert: a name"},
        {"shop produce cert=DNS:*.example.com", "cert: a name"},
        {"shop produce cert=DNS:a,DNS:b", "cert: a name"},
        {"shop produce cert=dns:a", "cert: a name"},
        {"shop produce cert=CN=shop", "cert: a name"},
        {"shop produce cert=URI:", "cert: a name"},
        {"shop produce cert=URI:sp\xc3\xb6", "cert: a name"},
        {"shop produce whatever=1", "behind name and roles"},
        {"shop produce topics", "topics: each"},
        {"shop produce consume", "behind name and roles"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *why = "";

        if (identity_parse(bytes_of_text(cases[i].line), &why))
            fail_msg("%s is taken", cases[i].line);
        if (!strstr(why, cases[i].why))
            fail_msg("%s: %s", cases[i].line, why);
    }
}

static void bounds_what_an_operator_may_write(void **state)
{
    struct buf line = BUF_INIT;
    const char *why = "";

    buf_add_text(&line, "shop produce topics=a");
    for (unsigned i = 1; i < IDENTITY_TOPICS_MAX; i++)
        buf_add_text(&line, ",a");
    identity_drop(parse(buf_text(&line)));
    buf_add_text(&line, ",a");
    assert_null(identity_parse(buf_bytes(&line), &why));
    assert_string_equal(why, "topics: more than 64");
    while (line.len <= IDENTITY_LINE_MAX)
        buf_add_char(&line, ' ');
    assert_null(identity_parse(buf_bytes(&line), &why));
    assert_string_equal(why, "the line is longer than 16 KiB");
    buf_fini(&line);
}

static void has_the_topics_of_its_patterns_and_no_others(void **state)
{
    static const struct {
        const char *topic;
        bool is_in;
    } cases[] = {{"orders", true},  {"orders2", false}, {"order", false},
                 {"Orders", false}, {"mail/", true},    {"mail/eu/1", true},
                 {"mail", false},   {"xmail/a", false}, {"", false}};
    struct identity *some = parse("shop produce topics=orders,mail/*"),
                    *all = parse("shop produce"), *star = parse("shop produce topics=*");

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct bytes topic = bytes_of_text(cases[i].topic);

        assert_int_equal(identity_has_topic(some, topic), cases[i].is_in);
        assert_true(identity_has_topic(all, topic));
        assert_true(identity_has_topic(star, topic));
    }
    assert_false(identity_has_all_topics(some));
    assert_true(identity_has_all_topics(all));
    assert_true(identity_has_all_topics(star));
    identity_drop(some);
    identity_drop(all);
    identity_drop(star);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_it_was_told),
        cmocka_unit_test(takes_blanks_any_order_and_all),
        cmocka_unit_test(a_name_of_dns_is_in_lower_case),
        cmocka_unit_test(refuses_what_it_does_not_understand),
        cmocka_unit_test(bounds_what_an_operator_may_write),
        cmocka_unit_test(has_the_topics_of_its_patterns_and_no_others),
    };

    return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}

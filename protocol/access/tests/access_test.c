/* The identities that a node knows, and whose token is whose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "protocol/access/access.h"

#define NOW_MS INT64_C(1800000000000)

static int set_up(void **state)
{
    *state = access_new();
    return 0;
}

static int tear_down(void **state)
{
    access_free(*state);
    return 0;
}

static void add_token(struct buf *line, const char *before, const char *token)
{
    unsigned char hash[TOKEN_HASH_BYTES];

    access_hash(bytes_of_text(token), hash);
    buf_add_text(line, before);
    for (unsigned i = 0; i < sizeof(hash); i++)
        buf_printf(line, "%02x", hash[i]);
}

/* Adds the end of the last line, too. */
static void take(struct access *a, struct buf *text)
{
    struct buf why = BUF_INIT;

    if (text->len)
        buf_add_char(text, '\n');
    assert_int_equal(access_take(a, buf_bytes(text), &why), STATUS_OK);
    assert_int_equal(why.len, 0);
    buf_fini(&why);
}

static void assert_refused(struct access *a, const char *text, const char *expected)
{
    struct buf why = BUF_INIT;

    assert_int_equal(access_take(a, bytes_of_text(text), &why), STATUS_BAD_CONFIG);
    assert_string_equal(buf_text(&why), expected);
    buf_fini(&why);
}

static const char *name_of(struct identity *identity)
{
    static char name[IDENTITY_NAME_MAX + 1];

    if (!identity)
        return "";
    memcpy(name, identity->name.at, identity->name.len);
    name[identity->name.len] = '\0';
    return name;
}

static const char *whose(struct access *a, const char *token)
{
    return name_of(access_of_token(a, bytes_of_text(token), NOW_MS));
}

/* SHA-256 of "abc", FIPS 180-4's example. */
static void a_token_is_known_by_its_sha_256(void **state)
{
    struct buf text = BUF_INIT;

    buf_add_text(&text, "x all token="
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    take(*state, &text);
    assert_string_equal(whose(*state, "abc"), "x");
    assert_string_equal(whose(*state, "abd"), "");
    assert_string_equal(whose(*state, ""), "");
    buf_fini(&text);
}

static void each_token_is_of_one_identity(void **state)
{
    struct buf text = BUF_INIT;

    buf_add_text(&text, "# who may do what\n\n  \t\nshop produce");
    add_token(&text, " token=", "old");
    add_token(&text, ",", "new");
    buf_add_text(&text, "\r\nops all");
    add_token(&text, " token=", "secret");
    buf_add_text(&text, "\nguest inspect");
    take(*state, &text);
    assert_true(access_is_on(*state));
    assert_string_equal(whose(*state, "old"), "shop");
    assert_string_equal(whose(*state, "new"), "shop");
    assert_string_equal(whose(*state, "secret"), "ops");
    assert_string_equal(whose(*state, "Secret"), "");
    assert_string_equal(name_of(access_of_name(*state, BYTES("guest"), NOW_MS)), "guest");
    assert_string_equal(name_of(access_of_name(*state, BYTES("gues"), NOW_MS)), "");
    assert_string_equal(name_of(access_of_name(*state, BYTES(""), NOW_MS)), "");
    buf_fini(&text);
}

static const char *whose_certificate(struct access *a, const char *names)
{
    return name_of(access_of_certificate(a, bytes_of_text(names), NOW_MS));
}

static void a_certificate_is_known_by_its_names(void **state)
{
    struct buf text = BUF_INIT;

    buf_add_text(&text,
                 "shop produce cert=DNS:Shop.example.com\nmill all cert=URI:spiffe://mill\n"
                 "past all until=2001-01-01T00:00:00Z cert=DNS:past");
    take(*state, &text);
    assert_string_equal(whose_certificate(*state, "DNS:shop.example.com\n"), "shop");
    assert_string_equal(whose_certificate(*state, "DNS:a\nURI:spiffe://mill\nDNS:b\n"), "mill");
    assert_string_equal(whose_certificate(*state, "URI:spiffe://mill\nDNS:shop.example.com\n"),
                        "mill");
    assert_string_equal(whose_certificate(*state, ""), "");
    assert_string_equal(whose_certificate(*state, "DNS:mill\n"), "");
    assert_string_equal(whose_certificate(*state, "DNS:past\n"), "");
    assert_string_equal(whose_certificate(*state, "DNS:past\nURI:spiffe://mill\n"), "mill");
    /* No token stands for a certificate, whatever it says. */
    assert_string_equal(whose(*state, "DNS:shop.example.com"), "");
    buf_fini(&text);
}

static void a_certificate_is_of_one_identity(void **state)
{
    struct buf why = BUF_INIT;

    assert_int_equal(access_take(*state, BYTES("a all cert=DNS:x\nb all cert=DNS:X\n"), &why),
                     STATUS_BAD_CONFIG);
    assert_non_null(strstr(buf_text(&why), " has a token twice, or a token or cert of "));
    buf_fini(&why);
}

static struct identity *named(struct access *a, const char *name)
{
    return access_of_name(a, bytes_of_text(name), NOW_MS);
}

static void an_identity_whose_line_is_the_same_stays(void **state)
{
    struct buf why = BUF_INIT;
    struct identity *shop, *mill;

    assert_int_equal(access_take(*state, BYTES("mill all\nshop produce rate=5\n"), &why), 0);
    shop = identity_use(named(*state, "shop"));
    mill = identity_use(named(*state, "mill"));
    assert_int_equal(access_take(*state, BYTES(" shop  produce rate=5\nmill inspect\n"), &why),
                     0);
    assert_ptr_equal(named(*state, "shop"), shop);
    assert_false(shop->is_gone);
    assert_ptr_not_equal(named(*state, "mill"), mill);
    assert_true(mill->is_gone);
    assert_int_equal(access_take(*state, BYTES("mistake\n"), &why), STATUS_BAD_CONFIG);
    assert_false(shop->is_gone);
    access_turn_off(*state);
    assert_true(shop->is_gone);
    identity_drop(shop);
    identity_drop(mill);
    buf_fini(&why);
}

static void what_was_counted_goes_on_where_a_line_changes(void **state)
{
    struct buf why = BUF_INIT;

    assert_int_equal(access_take(*state, BYTES("shop produce\n"), &why), 0);
    named(*state, "shop")->account->bytes = 7;
    assert_int_equal(access_take(*state, BYTES("shop consume\n"), &why), 0);
    assert_int_equal(named(*state, "shop")->account->bytes, 7);
    assert_int_equal(access_take(*state, BYTES("other consume\n"), &why), 0);
    assert_int_equal(named(*state, "other")->account->bytes, 0);
    buf_fini(&why);
}

static void finds_each_of_many(void **state)
{
    struct buf text = BUF_INIT;
    char token[16], name[16];

    for (unsigned i = 0; i < ACCESS_IDENTITIES_MAX; i++) {
        buf_printf(&text, "n%u all", i);
        snprintf(token, sizeof(token), "token%u", i);
        add_token(&text, " token=", token);
        buf_add_char(&text, '\n');
    }
    take(*state, &text);
    for (unsigned i = 0; i < ACCESS_IDENTITIES_MAX; i++) {
        snprintf(token, sizeof(token), "token%u", i);
        snprintf(name, sizeof(name), "n%u", i);
        assert_string_equal(whose(*state, token), name);
        assert_string_equal(name_of(access_of_name(*state, bytes_of_text(name), NOW_MS)), name);
    }
    buf_add_text(&text, "more all\n");
    assert_refused(*state, buf_text(&text), "line 4002: more than 4000 identities");
    buf_fini(&text);
}

static void is_nobody_from_its_last_second_on(void **state)
{
    struct buf text = BUF_INIT;

    buf_add_text(&text, "shop all until=2027-01-15T08:00:00Z"); /* NOW_MS */
    add_token(&text, " token=", "t");
    take(*state, &text);
    assert_non_null(access_of_token(*state, BYTES("t"), NOW_MS - 1));
    assert_null(access_of_token(*state, BYTES("t"), NOW_MS));
    assert_non_null(access_of_name(*state, BYTES("shop"), NOW_MS - 1));
    assert_null(access_of_name(*state, BYTES("shop"), NOW_MS));
    assert_true(access_is_on(*state)); /* else the last one's end would open the node */
    buf_fini(&text);
}

static void a_bad_file_changes_nothing(void **state)
{
    struct buf text = BUF_INIT, twice = BUF_INIT;

    buf_add_text(&text, "shop all");
    add_token(&text, " token=", "t");
    take(*state, &text);
    assert_refused(*state, "a all\n\nb nothing\n",
                   "line 3: roles are produce, consume, inspect, operate, admin, with commas "
                   "between, or all");
    assert_refused(*state, "a all\nb all\na inspect topics=",
                   "line 3: it does not end: was the file cut short?");
    assert_refused(*state, "a all", "line 1: it does not end: was the file cut short?");
    assert_refused(*state, "a all\nb all\na inspect\n", "there are two identities a");
    buf_add_text(&twice, "a all");
    add_token(&twice, " token=", "same");
    buf_add_text(&twice, "\nb all");
    add_token(&twice, " token=", "same");
    buf_add_char(&twice, '\n');
    assert_int_equal(access_take(*state, buf_bytes(&twice), &text), STATUS_BAD_CONFIG);
    assert_non_null(strstr(buf_text(&text), " has a token twice, or a token or cert of "));
    assert_string_equal(whose(*state, "t"), "shop");
    assert_string_equal(whose(*state, "same"), "");
    buf_fini(&text);
    buf_fini(&twice);
}

static void is_off_until_it_is_told_of_identities_were_it_none(void **state)
{
    struct buf text = BUF_INIT;

    assert_false(access_is_on(*state));
    buf_add_text(&text, "# nobody\n");
    take(*state, &text);
    assert_true(access_is_on(*state));
    assert_int_equal(access_count(*state), 0);
    assert_string_equal(whose(*state, "t"), "");
    buf_add_text(&text, "a all\nb all");
    take(*state, &text);
    assert_int_equal(access_count(*state), 2);
    access_turn_off(*state);
    assert_false(access_is_on(*state));
    assert_int_equal(access_count(*state), 0);
    buf_fini(&text);
}

static void knows_whether_all_are_known(void **state)
{
    struct buf text = BUF_INIT;

    access_complete(*state);
    access_give_up(*state);
    assert_false(access_is_on(*state));
    access_await(*state);
    assert_true(access_is_on(*state) && access_is_awaited(*state));
    take(*state, &text); /* those of a file */
    assert_true(access_is_awaited(*state));
    access_give_up(*state);
    assert_true(access_is_on(*state) && access_is_incomplete(*state));
    assert_false(access_is_awaited(*state));
    take(*state, &text);
    assert_true(access_is_incomplete(*state));
    access_complete(*state);
    access_give_up(*state);
    assert_true(access_is_on(*state));
    assert_false(access_is_incomplete(*state));
    access_await(*state);
    access_turn_off(*state);
    assert_false(access_is_on(*state) || access_is_awaited(*state));
    take(*state, &text);
    assert_true(access_is_on(*state));
    assert_false(access_is_incomplete(*state));
}

static const char *of_client(struct access *a, const char *names)
{
    bool is_ports;
    struct identity *who =
        access_of_client(a, bytes_of_text(names), BYTES("guest"), NOW_MS, &is_ports);

    assert_int_equal(is_ports, who && bytes_equal(who->name, BYTES("guest")));
    return name_of(who);
}

static void a_certificate_may_be_for_tls_alone_once_all_are_known(void **state)
{
    struct buf text = BUF_INIT;

    buf_add_text(&text, "mill produce cert=DNS:mill\nguest produce");
    take(*state, &text);
    assert_string_equal(of_client(*state, "DNS:mill\n"), "mill");
    assert_string_equal(of_client(*state, "DNS:other\n"), "guest");
    assert_string_equal(of_client(*state, ""), "guest");
    access_await(*state);
    assert_string_equal(of_client(*state, "DNS:mill\n"), "mill");
    assert_string_equal(of_client(*state, "DNS:other\n"), "");
    assert_string_equal(of_client(*state, ""), "guest");
    access_give_up(*state);
    assert_string_equal(of_client(*state, "DNS:other\n"), "");
    access_complete(*state);
    assert_string_equal(of_client(*state, "DNS:other\n"), "guest");
    buf_fini(&text);
}

static void an_identity_in_use_outlives_the_file(void **state)
{
    struct buf text = BUF_INIT;
    struct identity *used;

    buf_add_text(&text, "shop all\n");
    take(*state, &text);
    used = identity_use(access_of_name(*state, BYTES("shop"), NOW_MS));
    buf_clear(&text);
    take(*state, &text);
    assert_string_equal(name_of(used), "shop");
    identity_drop(used);
    buf_fini(&text);
}

static void wrong_tokens_are_counted_by_address(void **state)
{
    struct bytes one = BYTES("address 1"), other = BYTES("address 2");

    for (unsigned i = 0; i < ACCESS_ATTEMPTS; i++)
        assert_false(access_is_attempt_too_many(*state, one, 5000));
    assert_true(access_is_attempt_too_many(*state, one, 5000));
    assert_true(access_is_attempt_too_many(*state, one, 5999));
    assert_false(access_is_attempt_too_many(*state, other, 5999));
    assert_false(access_is_attempt_too_many(*state, one, 6000)); /* one a second */
    assert_true(access_is_attempt_too_many(*state, one, 6000));
    for (unsigned i = 0; i < ACCESS_ATTEMPTS; i++)
        assert_false(access_is_attempt_too_many(*state, one, 100000));
    assert_true(access_is_attempt_too_many(*state, one, 100000));
}

static void a_new_token_is_long_and_like_no_other(void **state)
{
    struct buf a = BUF_INIT, b = BUF_INIT;

    buf_add_text(&a, "+/=");
    access_make_token(&a);
    access_make_token(&b);
    assert_int_equal(b.len, 3 + 43); /* 32 bytes in base64 */
    assert_memory_equal(a.at, "+/=dq_", 6);
    assert_int_equal(strspn(buf_text(&b), "abcdefghijklmnopqrstuvwxyz0123456789_-"
                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
                     b.len);
    assert_memory_not_equal(a.at + 6, b.at + 3, 40);
    buf_fini(&a);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_token_is_known_by_its_sha_256, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_token_is_of_one_identity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_certificate_is_known_by_its_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_certificate_is_of_one_identity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_identity_whose_line_is_the_same_stays, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_was_counted_goes_on_where_a_line_changes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(finds_each_of_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_nobody_from_its_last_second_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_file_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_off_until_it_is_told_of_identities_were_it_none,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(knows_whether_all_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_certificate_may_be_for_tls_alone_once_all_are_known,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_identity_in_use_outlives_the_file, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(wrong_tokens_are_counted_by_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_token_is_long_and_like_no_other, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}

/* Identities in a Redis to which others write, too, or that is full, or has a key of a wrong
 * type.
 */
#include "node/store/contract/identities.h"
#include "node/store/contract/redis/plant.h"

/* Each row is told by itself; a change of it heals it. */
static void what_others_have_written_is_told_as_it_is(void **state)
{
    static const char *const values[] = {"x",  "7x", "7 ",   "-7 x", "1234567890123456 x",
                                         " x", "",   "7\nx", "x 7"};

    identify("shop", "shop a");
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        redis_fixture_command(contract_redis_fixture(), "HSET %s %s %s", contract_key('i'),
                              numbered((unsigned)i), values[i]);
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        assert_identity(numbered((unsigned)i), 0, values[i]);
        assert_int_equal(heal(numbered((unsigned)i), "b", 1), 1);
        assert_identity(numbered((unsigned)i), 1, "b");
    }
    assert_identity("shop", 1, "shop a");
    redis_fixture_command(contract_redis_fixture(), "HSET %s wrong x", contract_key('i'));
    assert_int_equal(identify("wrong", "x"), 2); /* it has a version now */
    redis_fixture_command(contract_redis_fixture(), "HSET %s high %s", contract_key('i'),
                          "999999999999999 x");
    assert_status(run(identify_op("shop", "shop b")), OUT_OF_RANGE);
    assert_identity("high", OP_IDENTITY_VERSION_MAX, "x");
}

static void a_state_that_others_have_written_is_none(void **state)
{
    static const char *const states[] = {"x",
                                         "9",
                                         "9 0123456789abcde 1",
                                         "9 0123456789abcdex 1",
                                         "1234567890123456 0123456789abcdef 1",
                                         "9 0123456789abcdef 1234567890123456"};

    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        struct op op;

        identify("shop", i % 2 ? "a" : "b");
        redis_fixture_command(contract_redis_fixture(), "HSET %s %b %s", contract_key('i'), " ",
                              (size_t)1, states[i]);
        op = identities();
        assert_int_equal(op.out.identities.version, i + 1); /* the rows' */
        assert_int_equal(op.out.identities.horizon, 0);
        assert_int_equal(op.out.identities.id.len, 0);
    }
}

static void a_full_redis_lets_identities_be_revoked(void **state)
{
    identify("shop", "shop a");
    contract_fill();
    assert_status(run(identify_op("mill", "mill a")), STORE_ERROR);
    assert_int_equal(identify("shop", ""), 2);
    assert_int_equal(identify("mill", ""), 3);
    contract_make_room();
    assert_identity("shop", 2, "");
}

static void no_identity_changes_when_a_key_is_wrong(void **state)
{
    identify("shop", "shop a");
    contract_all_or_nothing(identify_op("shop", ""), "it");
    contract_all_or_nothing(identify_op("shop", "shop b"), "i");
    contract_all_or_nothing((struct op){.verb = OP_IDENTITIES, .bucket = bucket_of(TOPIC)},
                            "i");
    contract_refused_unheard(identify_op("shop", "shop b"));
}

static const struct CMUnitTest tests[] = {
    TEST(what_others_have_written_is_told_as_it_is),
    TEST(a_state_that_others_have_written_is_none),
    TEST(a_full_redis_lets_identities_be_revoked),
    TEST(no_identity_changes_when_a_key_is_wrong),
};

const struct contract_part contract_identities_redis = {tests, sizeof(tests) / sizeof(*tests)};

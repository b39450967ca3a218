/* The checks of requests: both sides of each limit. */
#include "node/queue/tests/fixtures/queue_fixture.h"

#define BUCKETS 4

static const struct queue_options options = {.body_max_bytes = 10};

struct asked {
    struct op op;
    enum status status;
};

/* Topic and id are right where the row has none. */
static void expect(const struct asked *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct op op = rows[i].op;

        op.topic = BYTES("t");
        op.id = BYTES("1");
        if (check_op(&op, &options, BUCKETS) != rows[i].status)
            fail_msg("row %zu: %s", i, status_word(check_op(&op, &options, BUCKETS)));
    }
}

#define EXPECT(rows) expect(rows, sizeof(rows) / sizeof(*(rows)))
#define ASK(verb_, ...)                     \
    {                                       \
        .verb = OP_##verb_, .in.__VA_ARGS__ \
    }
#define OUT_OF_RANGE STATUS_OUT_OF_RANGE
#define OK           STATUS_OK
#define BAD_REQUEST  STATUS_BAD_REQUEST
#define CURSOR(bytes) \
    {                 \
        cursor, bytes \
    }
#define GIVEN(name, ...)                        \
    {                                           \
        .given = SETTING_BIT(name), __VA_ARGS__ \
    }

static const char cursor[OP_CURSOR_MAX + 1];

static void a_push_has_limits(void **state)
{
    const struct asked rows[] = {
        {ASK(PUSH, push = {.delay_ms = -1}), OUT_OF_RANGE},
        {ASK(PUSH, push = {.delay_ms = JOB_DELAY_MAX_MS}), OK},
        {ASK(PUSH, push = {.delay_ms = JOB_DELAY_MAX_MS + 1}), OUT_OF_RANGE},
        {ASK(PUSH, push = {.at_ms = QUEUE_AT_MAX_MS}), OK},
        {ASK(PUSH, push = {.at_ms = QUEUE_AT_MAX_MS + 1}), OUT_OF_RANGE},
        {ASK(PUSH, push = {.mode = PUSH_IGNORE}), OK},
        {ASK(PUSH, push = {.by_id = true, .attributes = BYTES("\1a\0\1b")}), OK},
        {ASK(PUSH, push = {.attributes = BYTES("\1a\0\2b")}), OUT_OF_RANGE},
        {ASK(PUSH, push = {.mode = (enum push_mode)(PUSH_IGNORE + 1)}), OUT_OF_RANGE},
        {ASK(PUSH, push = GIVEN(TTR, .ttr_ms = -1)), OUT_OF_RANGE},
        {ASK(PUSH, push = GIVEN(TTR, .ttr_ms = QUEUE_TTR_MAX_MS)), OK},
        {ASK(PUSH, push = GIVEN(TTR, .ttr_ms = QUEUE_TTR_MAX_MS + 1)), OUT_OF_RANGE},
        {ASK(PUSH, push = GIVEN(TTL, .ttl_ms = QUEUE_DELAY_MAX_MS)), OK},
        {ASK(PUSH, push = GIVEN(TTL, .ttl_ms = QUEUE_DELAY_MAX_MS + 1)), OUT_OF_RANGE},
        {ASK(PUSH, push = GIVEN(TTL, .ttl_ms = -1)), OUT_OF_RANGE},
        {ASK(PUSH, push = GIVEN(PRIORITY, .rules.priority = UINT32_MAX)), OK},
        {ASK(PUSH, push = GIVEN(MAX_TRIES, .rules.max_tries = RULES_TRIES_MAX)), OK},
        {ASK(PUSH, push = GIVEN(MAX_TRIES, .rules.max_tries = RULES_TRIES_MAX + 1)),
         OUT_OF_RANGE},
    };

    EXPECT(rows);
}

static void what_a_push_does_not_give_may_be_anything(void **state)
{
    const struct asked rows[] = {
        {ASK(PUSH, push = {.ttr_ms = -1, .ttl_ms = -1, .rules.max_tries = UINT32_MAX}), OK},
        {ASK(PUSH, push = {.rules.backoff = {.kind = (enum backoff_kind)9}}), OK},
    };

    EXPECT(rows);
}

#define BACKOFF(...) ASK(PUSH, push = GIVEN(BACKOFF, .rules.backoff = {__VA_ARGS__}))

static void a_backoff_is_whole_or_none(void **state)
{
    const struct asked rows[] = {
        {BACKOFF(BACKOFF_NONE, 0, 0, 0), OK},
        {BACKOFF(BACKOFF_NONE, 0, 1, 0), OUT_OF_RANGE},
        {BACKOFF(BACKOFF_FIXED, 0, 1, 0), OK},
        {BACKOFF(BACKOFF_FIXED, 0, 0, 0), OUT_OF_RANGE},
        {BACKOFF(BACKOFF_FIXED, 0, -1, 0), OUT_OF_RANGE},
        {BACKOFF(BACKOFF_EXPONENTIAL, 100, RULES_BACKOFF_MAX_MS, RULES_BACKOFF_MAX_MS), OK},
        {BACKOFF(BACKOFF_EXPONENTIAL, 101, 1, 0), OUT_OF_RANGE},
        {BACKOFF(BACKOFF_EXPONENTIAL, 0, RULES_BACKOFF_MAX_MS + 1, 0), OUT_OF_RANGE},
        {BACKOFF(BACKOFF_EXPONENTIAL, 0, 1, RULES_BACKOFF_MAX_MS + 1), OUT_OF_RANGE},
        {BACKOFF(BACKOFF_EXPONENTIAL, 0, 5, 5), OK},
        {BACKOFF(BACKOFF_EXPONENTIAL, 0, 5, 4), OUT_OF_RANGE}, /* a cap below the base */
        {BACKOFF(BACKOFF_EXPONENTIAL, 0, 5, -1), OUT_OF_RANGE},
        {BACKOFF(BACKOFF_FIXED, 0, 5, 6), OUT_OF_RANGE}, /* nothing grows */
        {BACKOFF((enum backoff_kind)3, 0, 1, 0), OUT_OF_RANGE},
    };

    EXPECT(rows);
}

static void a_lease_has_limits_and_a_release_may_leave_its_delay_open(void **state)
{
    const struct asked rows[] = {
        {ASK(BURY, lease = {.stamp = JOB_STAMP_MAX}), OK},
        {ASK(BURY, lease = {.stamp = JOB_STAMP_MAX + 1}), OUT_OF_RANGE},
        {ASK(RELEASE, lease = {.delay_ms = -1}), OK}, /* as the job's backoff says */
        {ASK(RELEASE, lease = {.delay_ms = -2}), OUT_OF_RANGE},
        {ASK(RELEASE, lease = {.stamp = -1, .delay_ms = -1}), OUT_OF_RANGE},
        {ASK(RELEASE, lease = {.delay_ms = JOB_DELAY_MAX_MS + 1}), OUT_OF_RANGE},
        {ASK(RELEASE, lease = {.is_end = true, .has_priority = true}), OK},
        {ASK(RELEASE, lease = {.is_end = true, .delay_ms = 1}), OUT_OF_RANGE},
        {ASK(RELEASE, lease = {.is_end = true, .delay_ms = -1}), OUT_OF_RANGE},
        {ASK(BURY, lease = {.has_priority = true, .priority = UINT32_MAX}), OK},
        {ASK(BURY, lease = {.is_end = true}), OUT_OF_RANGE},
        {ASK(TOUCH, lease = {.has_priority = true}), OUT_OF_RANGE},
        {ASK(TOUCH, lease = {.ttr_ms = QUEUE_TTR_MAX_MS}), OK},
        {ASK(TOUCH, lease = {.ttr_ms = QUEUE_TTR_MAX_MS + 1}), OUT_OF_RANGE},
    };

    EXPECT(rows);
}

static void a_move_is_from_states_that_exist(void **state)
{
    const struct asked rows[] = {
        {ASK(MOVE, move = {.states = 1u << JOB_DEAD | 1u << JOB_READY}), OK},
        {ASK(MOVE, move = {.states = 1u << (JOB_DEAD + 1)}), OUT_OF_RANGE},
        {ASK(MOVE, move = {.states = 1u}), OUT_OF_RANGE},
        {ASK(MOVE, move = {.delay_ms = JOB_DELAY_MAX_MS + 1}), OUT_OF_RANGE},
        {ASK(MOVE, move = {.at_ms = QUEUE_AT_MAX_MS + 1}), OUT_OF_RANGE},
    };

    EXPECT(rows);
}

static void chunks_and_lists_are_of_a_state_and_of_a_size(void **state)
{
    const struct asked rows[] = {
        {ASK(PURGE, chunk = {.state = JOB_DEAD, .limit = OP_CHUNK_MAX}), OK},
        {ASK(PURGE, chunk = {.state = JOB_DEAD, .limit = OP_CHUNK_MAX + 1}), OUT_OF_RANGE},
        {ASK(PURGE, chunk = {.state = JOB_DEAD}), OUT_OF_RANGE},
        {ASK(PURGE, chunk = {.limit = 1}), OUT_OF_RANGE},
        {ASK(KICK, chunk = {.limit = 1}), OK},
        {ASK(KICK, chunk = {.limit = 1, .state = JOB_DELAYED}), OK},
        {ASK(KICK, chunk = {.limit = 1, .ttl_ms = 1, .tries = RULES_TRIES_MAX}), OK},
        {ASK(KICK, chunk = {.limit = 1, .ttl_ms = -1}), OUT_OF_RANGE},
        {ASK(KICK, chunk = {.limit = 1, .tries = RULES_TRIES_MAX + 1}), OUT_OF_RANGE},
        {ASK(KICK, chunk = {.limit = 1, .since_ms = -1}), OUT_OF_RANGE},
        {ASK(KICK, chunk = {.limit = 1, .before_ms = QUEUE_AT_MAX_MS + 1}), OUT_OF_RANGE},
        {ASK(LIST, list = {.state = JOB_READY, .limit = OP_LIST_MAX}), OK},
        {ASK(LIST, list = {.state = JOB_READY, .limit = OP_LIST_MAX + 1}), OUT_OF_RANGE},
        {ASK(LIST, list = {.state = JOB_READY}), OUT_OF_RANGE},
        {ASK(LIST, list = {.limit = 1}), OUT_OF_RANGE},
        {ASK(LIST, list = {JOB_READY, CURSOR(OP_CURSOR_MAX), 1}), OK},
        {ASK(LIST, list = {JOB_READY, CURSOR(OP_CURSOR_MAX + 1), 1}), OUT_OF_RANGE},
    };

    EXPECT(rows);
}

static void a_change_of_settings_is_of_settings_that_exist(void **state)
{
    const struct asked rows[] = {
        {ASK(CONFIGURE, configure = {.mask = SETTINGS_ALL}), OK},
        {ASK(CONFIGURE, configure = {.mask = SETTINGS_ALL + 1}), OUT_OF_RANGE},
        {ASK(CONFIGURE,
             configure = {.has_pause = true, .settings.paused_until_ms = SETTINGS_FOREVER}),
         OK},
        {ASK(CONFIGURE,
             configure = {.has_pause = true, .settings.paused_until_ms = SETTINGS_FOREVER + 1}),
         OUT_OF_RANGE},
        {ASK(CONFIGURE, configure = {.has_pause = true, .pause_ms = -1}), OUT_OF_RANGE},
    };

    EXPECT(rows);
}

static void settings_of_a_bucket_are_asked_of_one_that_exists(void **state)
{
    struct op op = {.verb = OP_SETTINGS, .bucket = BUCKETS - 1};

    assert_false(op_is_of_a_topic(&op));
    assert_int_equal(check_op(&op, &options, BUCKETS), STATUS_OK);
    op.bucket = BUCKETS;
    assert_int_equal(check_op(&op, &options, BUCKETS), STATUS_OUT_OF_RANGE);
    op.topic = BYTES("t");
    assert_true(op_is_of_a_topic(&op));
    assert_int_equal(check_op(&op, &options, BUCKETS), STATUS_OK);
    op.topic = BYTES("-t");
    assert_int_equal(check_op(&op, &options, BUCKETS), STATUS_BAD_TOPIC);
}

static const struct bytes marks[] = {BYTES("a"), BYTES("b"), BYTES("c"), BYTES("d")};

#define CHANGE_ID     BYTES("0123456789abcdef")
#define IDENTIFY(...) ASK(IDENTIFY, identify = {.id = CHANGE_ID, __VA_ARGS__})

static void a_change_of_an_identity_has_limits(void **state)
{
    static char line[OP_IDENTITY_LINE_MAX + 1], mark[OP_IDENTITY_MARK_MAX + 1];
    const struct bytes long_mark = bytes_of(mark, sizeof(mark)), no_mark = BYTES("");
    const struct asked rows[] = {
        {IDENTIFY(.expected = -1), OK},
        {IDENTIFY(.expected = -2), OUT_OF_RANGE},
        {IDENTIFY(.expected = OP_IDENTITY_VERSION_MAX), OUT_OF_RANGE},
        {IDENTIFY(.as = -1), OUT_OF_RANGE},
        {IDENTIFY(.as = OP_IDENTITY_VERSION_MAX), OK},
        {IDENTIFY(.as = OP_IDENTITY_VERSION_MAX + 1), OUT_OF_RANGE},
        {IDENTIFY(.floor = -1), OUT_OF_RANGE},
        {IDENTIFY(.floor = OP_IDENTITY_VERSION_MAX + 1), OUT_OF_RANGE},
        {IDENTIFY(.line = bytes_of(line, OP_IDENTITY_LINE_MAX)), OK},
        {IDENTIFY(.line = bytes_of(line, OP_IDENTITY_LINE_MAX + 1)), OUT_OF_RANGE},
        {IDENTIFY(.marks = marks, .mark_count = OP_IDENTITY_MARKS_MAX), OK},
        {IDENTIFY(.marks = marks, .mark_count = OP_IDENTITY_MARKS_MAX + 1), OUT_OF_RANGE},
        {IDENTIFY(.marks = &long_mark, .mark_count = 1), OUT_OF_RANGE},
        {IDENTIFY(.marks = &no_mark, .mark_count = 1), OUT_OF_RANGE},
        {ASK(IDENTIFY, identify = {.id = BYTES("0123456789abcde")}), BAD_REQUEST},
        {ASK(IDENTIFY, identify = {.id = BYTES("0123456789abcdeF")}), BAD_REQUEST},
        {ASK(IDENTITIES, identities = {.known = CHANGE_ID}), OK},
        {ASK(IDENTITIES, identities = {.known = BYTES("0123456789abcdef0")}), OUT_OF_RANGE},
    };

    EXPECT(rows);
}

static void an_identity_has_a_name(void **state)
{
    static char name[OP_IDENTITY_NAME_MAX + 1];
    struct op op = {.verb = OP_IDENTIFY, .in.identify.id = CHANGE_ID};
    const struct bytes wrong[] = {BYTES(""),
                                  BYTES("a b"),
                                  BYTES(" "),
                                  BYTES("\xe9"),
                                  bytes_of(name, sizeof(name)),
                                  bytes_of("a\0", 2)};

    memset(name, 'n', sizeof(name));
    op.id = bytes_of(name, OP_IDENTITY_NAME_MAX);
    assert_false(op_is_of_a_topic(&op));
    assert_int_equal(check_op(&op, &options, BUCKETS), STATUS_OK);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        op.id = wrong[i];
        assert_int_equal(check_op(&op, &options, BUCKETS), STATUS_BAD_REQUEST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_push_has_limits),
        cmocka_unit_test(a_change_of_an_identity_has_limits),
        cmocka_unit_test(an_identity_has_a_name),
        cmocka_unit_test(what_a_push_does_not_give_may_be_anything),
        cmocka_unit_test(a_backoff_is_whole_or_none),
        cmocka_unit_test(a_lease_has_limits_and_a_release_may_leave_its_delay_open),
        cmocka_unit_test(a_move_is_from_states_that_exist),
        cmocka_unit_test(chunks_and_lists_are_of_a_state_and_of_a_size),
        cmocka_unit_test(a_change_of_settings_is_of_settings_that_exist),
        cmocka_unit_test(settings_of_a_bucket_are_asked_of_one_that_exists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

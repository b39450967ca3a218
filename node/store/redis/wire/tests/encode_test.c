#include "node/store/redis/wire/encode.h"
#include "base/tests/unit.h"

#include <stdio.h>
#include <string.h>

static const struct script_keys keys = {"dq", 64, 0x1234567890abcdef};
static const char sha[] = "0123456789012345678901234567890123456789";

static struct script_call call;

static struct bytes arg(int i)
{
    assert_true(i < call.argc);
    return bytes_of(call.argv[i], call.lens[i]);
}

static void assert_arg(int i, const char *expected)
{
    if (!bytes_equal(arg(i), bytes_of_text(expected)))
        fail_msg("argument %d is '%.*s', not '%s'", i, BYTES_ARG(arg(i)), expected);
}

static void assert_number(int i, int64_t expected)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)expected);
    assert_arg(i, text);
}

static bool is_plain(enum op_verb verb)
{
    return verb == OP_OWNER || verb == OP_PLACES;
}

/* An op of that verb that asks for as much as it may, with the longest texts. */
static struct op largest(enum op_verb verb)
{
    static char text[SCRIPT_TOPIC_MAX], cursor[OP_CURSOR_MAX];
    static struct lease leases[OP_ITEMS_MAX];
    static struct settings_rule rules[OP_RULES_MAX];
    static struct history_item items[OP_RECORDS_MAX];
    static struct op pops[OP_SCAN_POPS_MAX], *pop_list[OP_SCAN_POPS_MAX];
    struct bytes name, node;
    struct op op = {.verb = verb, .bucket = 127};

    memset(text, 't', sizeof(text));
    memset(cursor, 'c', sizeof(cursor));
    name = bytes_of(text, sizeof(text));
    node = bytes_of(text, OP_NODE_MAX);
    op.topic = op.id = name;
    for (unsigned i = 0; i < OP_ITEMS_MAX; i++)
        leases[i] = (struct lease){.id = name,
                                   .stamp = JOB_STAMP_MAX,
                                   .has_ttr = true,
                                   .ttr_ms = UINT32_MAX,
                                   .holder = bytes_of(text, JOB_HOLDER_MAX)};
    for (unsigned i = 0; i < OP_RULES_MAX; i++)
        rules[i].pattern = name;
    for (unsigned i = 0; i < OP_RECORDS_MAX; i++)
        items[i] = (struct history_item){
            .topic = name, .id = name, .node = node, .client = leases[0].holder};
    if (verb == OP_PUSH) { /* those with attributes do not travel together */
        op.in.push = (typeof(op.in.push)){.rules = rules_default, .by_id = true};
        op.in.push.rules.priority = RULES_PRIORITY_MAX;
    } else if (verb == OP_POP) {
        op.in.pop.count = OP_ITEMS_MAX;
    } else if (verb == OP_TAKE) {
        op.in.pop.count = 1;
    } else if (op_has(verb, TRAIT_OF_LEASES)) {
        op.in.leases.items = leases;
        op.in.leases.count = OP_ITEMS_MAX;
    } else if (verb == OP_TOPICS) {
        op.in.topics.after = name;
        op.in.topics.limit = OP_TOPICS_MAX;
    } else if (verb == OP_SCAN) {
        op.in.scan.rules = rules;
        op.in.scan.rule_count = OP_RULES_MAX;
        op.in.scan.node = node;
        op.in.scan.history_bytes = INT64_MAX;
        for (unsigned i = 0; i < OP_SCAN_POPS_MAX; i++) {
            pops[i] = (struct op){
                .verb = OP_POP, .topic = name, .in.pop = {.count = 2, .id_only = true}};
            pop_list[i] = &pops[i];
        }
        op.in.scan.pops = pop_list;
        op.in.scan.pop_count = OP_SCAN_POPS_MAX;
    } else if (verb == OP_KICK || verb == OP_PURGE) {
        op.in.chunk.limit = OP_CHUNK_MAX;
        op.in.chunk.since_ms = op.in.chunk.before_ms = INT64_MAX;
    } else if (verb == OP_LIST) {
        op.in.list.after = bytes_of(cursor, sizeof(cursor));
        op.in.list.limit = OP_LIST_MAX;
    } else if (verb == OP_RECORD) {
        op.in.record.items = items;
        op.in.record.count = OP_RECORDS_MAX;
        op.in.record.bytes_max = INT64_MAX;
    } else if (verb == OP_TRACE) {
        op.in.trace.before = bytes_of(cursor, sizeof(cursor));
        op.in.trace.limit = OP_RECORDS_MAX;
    } else if (verb == OP_NOTES) {
        op.in.notes.worker = 0xab;
        op.in.notes.limit = OP_NOTES_MAX;
    } else if (verb == OP_BEAT) {
        op.in.beat.age_ms = op.in.beat.forget.last_ms = INT64_MAX;
        op.in.beat.forget.worker = UINT64_MAX;
    } else if (verb == OP_IDENTIFY) {
        static const struct bytes marks[OP_IDENTITY_MARKS_MAX];

        op.topic = BYTES("");
        op.in.identify.as = op.in.identify.floor = op.in.identify.expected =
            OP_IDENTITY_VERSION_MAX;
        op.in.identify.marks = marks;
        op.in.identify.mark_count = OP_IDENTITY_MARKS_MAX;
    } else if (verb == OP_CONFIGURE) {
        op.in.configure.mask = SETTINGS_ALL;
        op.in.configure.settings.paused_until_ms = SETTINGS_FOREVER;
    }
    if (op_has(verb, TRAIT_FENCED))
        op.token = bytes_of(text, OP_TOKEN_MAX);
    return op;
}

static void has_a_text_for_every_verb_but_the_plain_ones(void **state)
{
    for (enum op_verb verb = 0; verb < OP_COUNT; verb++)
        assert_true((script_text(verb) == NULL) == is_plain(verb));
    assert_non_null(script_text_by_name("meta"));
    assert_null(script_text_by_name("common"));
}

/* "-- KEYS   j p d r t n" at its top; a topic's key has its name behind it, the ledger's ring,
 * u, the number of its worker. */
static void assert_keys(unsigned script)
{
    const char *at = strstr(script_text(script), "-- KEYS   ");
    int i = 3;

    assert_non_null(at);
    for (at += 10; at[0] != '\n' && at[0] != ','; at += at[1] == ' ' ? 2 : 1, i++) {
        char expected[32];

        snprintf(expected, sizeof(expected), "dq:{7}:%c%s", at[0],
                 at[0] == 'u'                 ? ":0000000000000000"
                 : at[0] == 'z'               ? ":00000000000000ab"
                 : strchr("tnoachfim", at[0]) ? ""
                                              : ":t");
        assert_arg(i, expected);
    }
    assert_number(2, i - 3);
}

static void sends_the_keys_that_each_script_says_it_takes(void **state)
{
    struct push_note note = {.number = 1};

    for (enum op_verb verb = 0; verb < OP_COUNT; verb++) {
        struct op op = largest(verb);
        const struct op *ops[] = {&op, &op};

        op.bucket = 7;
        op.topic = BYTES("t");
        if (script_text(verb)) {
            script_encode(&call, &keys, &op, sha);
            assert_keys(verb);
        }
        if (script_of_many(verb) < SCRIPT_COUNT) {
            script_encode_many(&call, &keys, ops, 2, &note, sha);
            assert_keys(script_of_many(verb));
        }
    }
}

static void calls_a_script_by_its_sum_or_its_text(void **state)
{
    struct op op = {.verb = OP_STATS, .bucket = 3, .topic = BYTES("t")};

    script_encode(&call, &keys, &op, sha);
    assert_arg(0, "EVALSHA");
    assert_arg(1, sha);
    script_encode(&call, &keys, &op, NULL);
    assert_arg(0, "EVAL");
    assert_arg(1, script_text(OP_STATS));
    assert_int_equal(call.argc, 3 + 6);
}

static void packs_the_numbers_of_a_push(void **state)
{
    struct op op = {.verb = OP_PUSH, .bucket = 63, .topic = BYTES("t"), .id = BYTES("")};

    op.in.push.body = BYTES("a\0b");
    op.in.push.delay_ms = 0x0102030405;
    op.in.push.ttr_ms = 0x01020304;
    op.in.push.rules = rules_default;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 7 + 6);
    assert_arg(10, "t");
    assert_true(bytes_equal(arg(12), BYTES("a\0b")));
    assert_true(bytes_equal(arg(13), BYTES("\0\1\2\3\4\5\0\0\0\0\0\0\1\2\3\4\x40\x3F\0"
                                           "\0\0\0\0\0\0\0")));
    op.in.push.at_ms = 1;
    op.in.push.mode = PUSH_IGNORE;
    script_encode(&call, &keys, &op, sha);
    assert_true(bytes_equal(arg(13), BYTES("\0\0\0\0\0\0\0\0\0\0\0\1\1\2\3\4\x40\x3F\2"
                                           "\0\0\0\0\0\0\0")));
}

/* The ring has 4096 places of 20 bytes. */
static void says_where_a_push_is_to_be_noted(void **state)
{
    struct op op = {.verb = OP_PUSH, .bucket = 63, .topic = BYTES("t"), .id = BYTES("id")};
    struct push_note note = {
        .worker = 0x0123456789abcdef, .number = 4096 + 258, .renews = true};

    op.in.push.rules = rules_default;
    script_encode_push(&call, &keys, &op, &note, sha);
    assert_int_equal(call.argc, 3 + 8 + 6);
    assert_number(2, 8);
    assert_arg(3, "dq:{63}:j:t");
    assert_arg(10, "dq:{63}:u:0123456789abcdef");
    assert_arg(11, "t");
    assert_true(bytes_equal(bytes_of(arg(14).at + 19, 7), BYTES("\1\0\0\0\0\x11\2")));
    assert_arg(15, "5160");
    assert_arg(16, "5179");
    note.is_retry = note.was_there = true;
    note.renews = false;
    script_encode_push(&call, &keys, &op, &note, NULL);
    assert_arg(1, script_text(OP_PUSH));
    assert_int_equal(arg(14).at[19], 6);
}

static void packs_pushes_that_travel_together(void **state)
{
    struct op a = {.verb = OP_PUSH, .bucket = 63, .topic = BYTES("t"), .id = BYTES("id")};
    struct op b = a;
    const struct op *ops[] = {&a, &b};
    struct push_note note = {
        .worker = 0x0123456789abcdef, .number = 4096 + 258, .renews = true};

    a.in.push.body = BYTES("body");
    a.in.push.ttr_ms = 0x01020304;
    a.in.push.rules = rules_default;
    b.id = BYTES("");
    b.in.push.at_ms = 0x010203040506;
    b.in.push.rules = rules_default;
    b.in.push.rules.max_tries = 3;
    b.in.push.rules.expires_ms = 77;
    script_encode_many(&call, &keys, ops, 2, &note, sha);
    assert_int_equal(call.argc, 3 + 8 + 4 + 2 * 3);
    assert_arg(3, "dq:{63}:j:t");
    assert_arg(10, "dq:{63}:u:0123456789abcdef");
    assert_arg(11, "t");
    assert_true(bytes_equal(arg(12), BYTES("\x40\x3F\1\0\0\0\0\x11\2")));
    assert_arg(13, "5160");
    assert_arg(14, "5199");
    assert_arg(15, "id");
    assert_arg(16, "body");
    assert_true(bytes_equal(arg(17), BYTES("\0\0\0\0\0\0\0\0\0\0\0\0\1\2\3\4")));
    assert_arg(18, "");
    assert_int_equal(arg(20).len, 16 + RULES_BYTES);
    assert_true(bytes_equal(bytes_of(arg(20).at + 6, 6), BYTES("\1\2\3\4\5\6")));
    assert_true(bytes_equal(bytes_of(arg(20).at + 16 + 16, 6), BYTES("\0\0\0\0\0\0")));
    script_encode_many(&call, &keys, ops, 2, &note, NULL);
    assert_arg(1, script_text(SCRIPT_PUSH_MANY));
}

/* Most pushes bring none. */
static void puts_what_its_topic_may_have_behind_a_pushs_numbers(void **state)
{
    struct op op = {.verb = OP_PUSH, .bucket = 63, .topic = BYTES("t")};
    const struct op *ops[] = {&op, &op};
    struct push_note note = {.number = 4096};

    op.in.push.rules = rules_default;
    op.in.push.jobs_max = 0x01020304;
    script_encode_push(&call, &keys, &op, &note, sha);
    assert_true(bytes_equal(bytes_of(arg(14).at + 26, arg(14).len - 26),
                            BYTES("\1\2\3\4\0\0\0\0\0\0")));
    op.in.push.jobs_max = 0;
    op.in.push.bytes_max = 0x010203040506;
    script_encode_many(&call, &keys, ops, 2, &note, sha);
    assert_true(
        bytes_equal(bytes_of(arg(12).at + 9, arg(12).len - 9), BYTES("\0\0\0\0\1\2\3\4\5\6")));
}

static void packs_acknowledgements_that_travel_together(void **state)
{
    struct op a = {.verb = OP_ACK, .bucket = 63, .topic = BYTES("t"), .id = BYTES("a")};
    struct op b = a;
    const struct op *ops[] = {&a, &b};

    b.id = BYTES("b");
    b.in.lease.stamp = 258;
    script_encode_many(&call, &keys, ops, 2, NULL, sha);
    assert_int_equal(call.argc, 3 + 4 + 1 + 2 * 2);
    assert_arg(6, "dq:{63}:o");
    assert_arg(7, "t");
    assert_arg(8, "a");
    assert_arg(10, "b");
    assert_true(bytes_equal(arg(11), BYTES("\0\0\0\0\1\2")));
}

static void packs_releases_that_travel_together(void **state)
{
    struct op a = {.verb = OP_RELEASE, .bucket = 63, .topic = BYTES("t"), .id = BYTES("a")};
    struct op b = a;
    const struct op *ops[] = {&a, &b};

    a.in.lease.stamp = 258;
    a.in.lease.delay_ms = 0x01020304FF;
    a.in.lease.has_priority = true;
    a.in.lease.priority = 258;
    b.in.lease.delay_ms = -1;
    b.in.lease.is_end = true;
    script_encode_many(&call, &keys, ops, 2, NULL, sha);
    assert_int_equal(call.argc, 3 + 8 + 1 + 2 * 2);
    assert_arg(10, "dq:{63}:x:t");
    assert_arg(11, "t");
    assert_arg(12, "a");
    assert_true(bytes_equal(arg(13), BYTES("\0\0\0\0\1\2\0\1\2\3\5\0\1\0\0\1\2")));
    assert_true(bytes_equal(arg(15), BYTES("\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0")));
}

/* What it expires at is the script's to say: by its own clock. */
static void sends_rules_only_with_a_push_that_has_some(void **state)
{
    struct op op = {.verb = OP_PUSH, .topic = BYTES("t"), .id = BYTES("id")};

    op.in.push.rules = rules_default;
    op.in.push.rules.expires_ms = 77;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 7 + 6);
    op.in.push.ttl_ms = 258;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 7 + 7);
    assert_true(bytes_equal(arg(16), BYTES("\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                           "\0\0\0\0\1\2")));
    op.in.push.ttl_ms = 0;
    op.in.push.rules.priority = 1;
    script_encode(&call, &keys, &op, sha);
    assert_true(bytes_equal(arg(16), BYTES("\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0"
                                           "\0\0\0\0\0\0")));
}

/* The script fills in the key and the time. */
static void sends_what_a_job_has_beside_its_rules(void **state)
{
    struct op op = {.verb = OP_PUSH, .topic = BYTES("t"), .id = BYTES("id")};

    op.in.push.rules = rules_default;
    op.in.push.has_extra = true;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 7 + 7);
    assert_int_equal(arg(16).len, RULES_BYTES + EXTRA_BYTES);
    assert_int_equal((uint8_t)arg(16).at[RULES_KIND_AT], RULES_EXTRA);
    assert_int_equal(arg(16).at[RULES_BYTES + 2], 0);
    op.in.push.by_id = true;
    op.in.push.attributes = BYTES("\1a\0\1b");
    op.in.push.rules.backoff = (struct backoff){.kind = BACKOFF_FIXED, .base_ms = 1};
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(arg(16).len, RULES_BYTES + EXTRA_BYTES + 5);
    assert_int_equal((uint8_t)arg(16).at[RULES_KIND_AT], RULES_EXTRA + BACKOFF_FIXED);
    assert_int_equal(arg(16).at[RULES_BYTES + 1], EXTRA_BYTES + 5);
    assert_int_equal((uint8_t)arg(16).at[RULES_BYTES + 2], 0x80);
    assert_memory_equal(arg(16).at + RULES_BYTES + EXTRA_BYTES, "\1a\0\1b", 5);
}

static void says_beside_the_mode_from_when_a_ttl_counts_and_what_is_indexed(void **state)
{
    struct op op = {.verb = OP_PUSH, .topic = BYTES("t"), .id = BYTES("id")};

    op.in.push.rules = rules_default;
    op.in.push.mode = PUSH_IGNORE;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(arg(13).at[18], 2);
    op.in.push.ttl_from_due = true;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(arg(13).at[18], 6);
    op.in.push.is_indexed = true;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(arg(13).at[18], 14);
}

/* Where none is overridden, the command is what it was without. */
static void puts_ttr_and_holder_behind_the_stamp(void **state)
{
    struct lease leases[] = {
        {.id = BYTES("a"), .stamp = 5, .ttr_ms = 9},
        {.id = BYTES("b"), .stamp = 6, .has_ttr = true, .ttr_ms = 258},
        {.id = BYTES("c"), .stamp = 7, .ttr_ms = 9, .holder = BYTES("bob")},
    };
    struct op op = {
        .verb = OP_DELIVERED, .topic = BYTES("t"), .in.leases = {.items = leases, .count = 3}};

    script_encode(&call, &keys, &op, sha);
    assert_true(bytes_equal(arg(10), BYTES("\0\0\0\0\0\5")));
    assert_true(bytes_equal(arg(12), BYTES("\0\0\0\0\0\6\1\0\0\1\2")));
    assert_true(bytes_equal(arg(14), BYTES("\0\0\0\0\0\7\0\0\0\0\0bob")));
    op.verb = OP_RETURN;
    script_encode(&call, &keys, &op, sha);
    assert_true(bytes_equal(arg(12), BYTES("\0\0\0\0\0\6")));
}

static void releases_at_once_later_or_as_the_backoff_says(void **state)
{
    static const char packed[] = {0, 1, 2};
    static const int64_t delays_ms[] = {-1, 0, 1};

    for (unsigned i = 0; i < 3; i++) {
        struct op op = {.verb = OP_RELEASE, .topic = BYTES("t"), .id = BYTES("id")};

        op.in.lease.delay_ms = delays_ms[i];
        script_encode(&call, &keys, &op, sha);
        assert_int_equal(call.argc, 3 + 8 + 3);
        assert_int_equal(arg(13).len, 6 + 6 + 5);
        assert_int_equal(arg(13).at[11], packed[i]);
    }
}

static void packs_the_numbers_of_a_move(void **state)
{
    struct op op = {.verb = OP_MOVE, .topic = BYTES("t"), .id = BYTES("id")};

    op.in.move.delay_ms = 258;
    op.in.move.states = 1 << JOB_DELAYED | 1 << JOB_DEAD;
    script_encode(&call, &keys, &op, sha);
    assert_arg(11, "t");
    assert_arg(12, "id");
    assert_true(bytes_equal(arg(13), BYTES("\0\0\0\0\1\2\0\0\0\0\0\0\x12")));
    op.in.move.at_ms = 3;
    script_encode(&call, &keys, &op, sha);
    assert_true(bytes_equal(arg(13), BYTES("\0\0\0\0\0\0\0\0\0\0\0\3\x12")));
}

static void names_the_state_and_the_time_of_a_chunk(void **state)
{
    struct op op = {.verb = OP_PURGE, .topic = BYTES("t")};

    op.in.chunk.state = JOB_DEAD;
    op.in.chunk.since_ms = 11;
    op.in.chunk.before_ms = 22;
    op.in.chunk.limit = 33;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 10 + 5);
    assert_arg(13, "t");
    assert_number(14, JOB_DEAD);
    assert_number(15, 11);
    assert_number(16, 22);
    assert_number(17, 33);
    op.verb = OP_KICK;
    op.in.chunk.ttl_ms = 44;
    op.in.chunk.tries = 55;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 6 + 7);
    assert_number(10, 11);
    assert_number(13, JOB_DEAD);
    assert_number(14, 44);
    assert_number(15, 55);
}

static void tells_how_long_a_topic_is_paused(void **state)
{
    static const struct {
        bool has_pause;
        int64_t pause_ms;
        const char *mode;
    } pauses[] = {{false, 0, "0"}, {true, 0, "1"}, {true, 5000, "2"}};

    for (unsigned i = 0; i < 3; i++) {
        struct op op = {.verb = OP_CONFIGURE, .topic = BYTES("t")};
        struct topic_settings sent;

        op.in.configure.mask = SETTING_BIT(TTL);
        op.in.configure.settings.set = SETTING_BIT(TTL);
        op.in.configure.settings.ttl_ms = 9;
        op.in.configure.settings.paused_until_ms = SETTINGS_FOREVER;
        op.in.configure.has_pause = pauses[i].has_pause;
        op.in.configure.pause_ms = pauses[i].pause_ms;
        script_encode(&call, &keys, &op, sha);
        assert_arg(8, "t");
        assert_number(9, SETTING_BIT(TTL));
        assert_true(settings_unpack(arg(10), &sent));
        assert_int_equal(sent.ttl_ms, 9);
        assert_int_equal(sent.paused_until_ms, SETTINGS_FOREVER);
        assert_arg(11, pauses[i].mode);
        assert_number(12, pauses[i].pause_ms);
    }
}

/* And a scan without a share is as it always was. */
static void brings_a_share_in_place_of_the_token(void **state)
{
    char marks[SHARES] = {0}, packed[SHARE_BYTES];
    struct scan_share share = {.view = 7,
                               .owner = BYTES("00000000000000aa"),
                               .marks = bytes_of(marks, SHARES),
                               .lock_ms = 5000,
                               .late_ms = 1000};
    struct op op = {.verb = OP_SCAN, .token = BYTES("token"), .in.scan.limit = 200};
    size_t bytes = script_bytes(&op);

    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 6 + 4 + 1);
    assert_arg(12, "");
    assert_arg(13, "token");
    op.in.scan.share = &share;
    share_pack(&share, packed);
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 6 + 4 + 1);
    assert_true(bytes_equal(arg(13), bytes_of(packed, SHARE_BYTES)));
    assert_int_equal(script_bytes(&op), bytes + SHARE_BYTES);
}

static void asks_for_owners_with_one_argument_more(void **state)
{
    struct op op = {.verb = OP_TOPICS, .in.topics.limit = 9};

    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 1 + 2);
    op.in.topics.owners = true;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 1 + 3);
    assert_number(6, 1);
}

static void brings_the_rules_of_the_configuration_to_a_scan(void **state)
{
    struct settings_rule rules[] = {
        {BYTES("mail.*"), {.set = SETTING_BIT(DEAD_MAX), .dead_max = 5}}, {BYTES("*"), {0}}};
    struct op op = {.verb = OP_SCAN, .in.scan = {.limit = 200, .rules = rules}};
    struct topic_settings sent;

    op.in.scan.rule_count = 2;
    op.in.scan.node = BYTES("one");
    op.in.scan.history_bytes = 4096;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 6 + 4 + 4 + 1);
    assert_number(9, 200);
    assert_arg(10, "one");
    assert_number(11, 4096);
    assert_arg(13, "mail.*");
    assert_true(settings_unpack(arg(14), &sent));
    assert_int_equal(sent.dead_max, 5);
    assert_arg(15, "*");
    assert_int_equal(arg(16).len, SETTINGS_BYTES);
}

static void brings_pops_with_a_scan(void **state)
{
    struct op first = {
        .verb = OP_POP, .topic = BYTES("mail"), .in.pop = {.count = 3, .id_only = true}};
    struct op second = {
        .verb = OP_POP, .topic = BYTES("t"), .in.pop = {.count = 64, .id_only = false}};
    struct op *pops[] = {&first, &second};
    struct op op = {.verb = OP_SCAN, .in.scan = {.limit = 200, .pops = pops, .pop_count = 2}};

    script_encode(&call, &keys, &op, sha);
    assert_true(bytes_equal(arg(12), BYTES("\4mail\3\1\1t\100\0")));
}

static void packs_each_line_of_the_history(void **state)
{
    struct history_item items[] = {
        {.event = EVENT_ACKED, .topic = BYTES("t"), .id = BYTES("a")},
        {.event = EVENT_DIED, .topic = BYTES("t"), .id = BYTES("b")}};
    struct op op = {.verb = OP_RECORD, .in.record = {items, 2, 4096}};
    struct history_item sent;

    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 1 + 3);
    assert_number(4, 4096);
    assert_true(history_unpack(arg(5), &sent));
    assert_true(bytes_equal(sent.id, BYTES("a")));
    assert_true(history_unpack(arg(6), &sent));
    assert_int_equal(sent.event, EVENT_DIED);
}

static void asks_for_pages_from_where_the_last_one_ended(void **state)
{
    struct op list = {.verb = OP_LIST, .topic = BYTES("t")};
    struct op trace = {.verb = OP_TRACE, .topic = BYTES("t"), .id = BYTES("id")};
    struct op settings = {.verb = OP_SETTINGS}, audit = {.verb = OP_AUDIT, .topic = BYTES("t")};

    list.in.list.state = JOB_READY;
    list.in.list.after = BYTES("cursor");
    list.in.list.limit = 7;
    script_encode(&call, &keys, &list, sha);
    assert_number(10, JOB_READY);
    assert_arg(11, "cursor");
    assert_number(12, 7);

    trace.in.trace.before = BYTES("cursor");
    trace.in.trace.limit = 8;
    script_encode(&call, &keys, &trace, sha);
    assert_arg(4, "t");
    assert_arg(5, "id");
    assert_arg(6, "cursor");
    assert_number(7, 8);

    settings.in.settings.after = BYTES("cursor");
    script_encode(&call, &keys, &settings, sha);
    assert_arg(4, "");
    assert_arg(5, "cursor");

    audit.in.places.after = BYTES("cursor");
    script_encode(&call, &keys, &audit, sha);
    assert_arg(5, "t");
    assert_arg(6, "cursor");
    assert_number(7, OP_LIST_MAX);
}

/* Behind all else, so that one part of a script finds it in each. */
static void brings_the_leaders_token_last(void **state)
{
    static const enum op_verb verbs[] = {OP_SCAN, OP_AUDIT, OP_REPAIR, OP_FENCE};

    for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        struct op op = largest(verbs[i]);

        op.bucket = 7;
        op.token = BYTES("");
        script_encode(&call, &keys, &op, sha);
        assert_arg(call.argc - 1, "");
        op.token = BYTES("token");
        script_encode(&call, &keys, &op, sha);
        assert_arg(call.argc - 1, "token");
        assert_arg(2 + call.argv[2][0] - '0', "dq:{7}:f"); /* the last of the keys */
    }
}

static void assert_has_room(void)
{
    assert_true(call.argc <= SCRIPT_ARGS_MAX);
    assert_true(call.used <= sizeof(call.room));
}

static void has_room_for_the_longest_names_and_the_most_items(void **state)
{
    static char prefix[SCRIPT_PREFIX_MAX + 1];
    struct script_keys longest = {prefix, 128, 1};
    struct push_note note = {.number = 1, .renews = true};
    const struct op *ops[SCRIPT_MANY_MAX];

    memset(prefix, 'p', SCRIPT_PREFIX_MAX);
    for (enum op_verb verb = 0; verb < OP_COUNT; verb++) {
        struct op op = largest(verb);

        script_encode(&call, &longest, &op, sha);
        assert_has_room();
        if (script_of_many(verb) == SCRIPT_COUNT)
            continue;
        for (unsigned i = 0; i < SCRIPT_MANY_MAX; i++)
            ops[i] = &op;
        script_encode_many(&call, &longest, ops, SCRIPT_MANY_MAX, &note, sha);
        assert_has_room();
    }
}

static void has_room_for_the_most_attributes(void **state)
{
    static const char packed[ATTRIBUTES_MAX_BYTES];
    struct op op = largest(OP_PUSH);

    op.bucket = 1;
    op.in.push.attributes = bytes_of(packed, sizeof(packed));
    script_encode(&call, &keys, &op, sha);
    assert_has_room();
    assert_int_equal(arg(call.argc - 1).len, RULES_BYTES + EXTRA_BYTES_MAX);
}

/* What is left of an earlier, longer one is not sent. */
static void is_put_together_anew_for_each_command(void **state)
{
    struct op scan = largest(OP_SCAN), ack = {.verb = OP_ACK, .topic = BYTES("t")};

    script_encode(&call, &keys, (scan.bucket = 1, &scan), sha);
    script_encode(&call, &keys, &ack, sha);
    assert_int_equal(call.argc, 3 + 4 + 3);
    assert_arg(3, "dq:{0}:j:t");
}

static void names_the_notes_of_a_reservation_behind_the_other_keys(void **state)
{
    struct op op = {.verb = OP_ACK, .bucket = 5, .topic = BYTES("t"), .id = BYTES("id")};
    struct op pop = {.verb = OP_POP, .bucket = 5, .topic = BYTES("t"), .in.pop.count = 1};
    const struct op *ops[] = {&op, &op};

    op.in.lease.is_owned = pop.in.pop.is_owned = true;
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 5 + 3);
    assert_arg(2, "5");
    assert_arg(7, "dq:{5}:z:1234567890abcdef");
    op.in.lease.worker = 0xfe;
    script_encode_many(&call, &keys, ops, 2, NULL, sha);
    assert_arg(2, "5");
    assert_arg(7, "dq:{5}:z:00000000000000fe");
    script_encode(&call, &keys, &pop, sha);
    assert_arg(2, "10");
    assert_arg(12, "dq:{5}:z:1234567890abcdef");
}

static void says_what_a_process_says_of_itself_and_of_another(void **state)
{
    struct op op = {.verb = OP_BEAT, .in.beat = {.is_there = true}};

    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 1 + 4);
    assert_arg(3, "dq:{0}:m");
    assert_arg(4, "1");
    assert_arg(5, "1234567890abcdef");
    assert_arg(6, "0");
    assert_arg(7, "");
    op.in.beat.is_there = false;
    op.in.beat.leaves = true;
    op.in.beat.age_ms = 9;
    op.in.beat.forget = (struct worker_beat){0xab, 77};
    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3 + 1 + 5);
    assert_arg(4, "2");
    assert_arg(6, "9");
    assert_arg(7, "00000000000000ab");
    assert_arg(8, "77");
}

static void asks_for_an_owner_without_a_script(void **state)
{
    struct op op = {.verb = OP_OWNER, .bucket = 5, .id = BYTES("id")};

    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 3);
    assert_arg(0, "HGET");
    assert_arg(1, "dq:{5}:o");
    assert_arg(2, "id");
}

static void walks_over_all_keys_without_a_script(void **state)
{
    struct op op = {.verb = OP_PLACES};

    script_encode(&call, &keys, &op, sha);
    assert_int_equal(call.argc, 6);
    assert_arg(0, "SCAN");
    assert_arg(1, "0");
    assert_arg(2, "MATCH");
    assert_arg(3, "dq:{*}:*");
    assert_arg(4, "COUNT");
    assert_arg(5, "500");
    op.in.places.after = BYTES("177");
    script_encode(&call, &keys, &op, sha);
    assert_arg(1, "177");
}

/* What the store's limits are counted in. */
static void counts_what_an_op_borrows(void **state)
{
    struct op push = {.verb = OP_PUSH, .topic = BYTES("t"), .id = BYTES("id")};

    push.in.push.body = BYTES("body");
    assert_int_equal(script_bytes(&push), 7);
    for (enum op_verb verb = 0; verb < OP_COUNT; verb++) {
        struct op op = largest(verb);

        assert_true(script_bytes(&op) >= op.topic.len + op.id.len);
    }
    push = largest(OP_RECORD);
    assert_true(script_bytes(&push) >= OP_RECORDS_MAX * 2 * SCRIPT_TOPIC_MAX);
}

static void names_the_keys_of_the_handshake(void **state)
{
    const struct script_raise raise = {.seen = JOB_STAMP_MAX,
                                       .last = {.worker = 0xdeadbeef, .number = 4097},
                                       .incarnation = "a:b",
                                       .goes_on = "a:",
                                       .is_known = true};

    script_encode_meta(&call, &keys, BYTES("a key"), true);
    assert_arg(3, "dq:meta");
    assert_arg(5, "64");
    assert_arg(6, "a key");
    assert_arg(7, "1");
    script_encode_raise(&call, &keys, 63, &raise);
    assert_int_equal(call.argc, 3 + 3 + 8);
    assert_arg(3, "dq:{63}:n");
    assert_arg(4, "dq:{63}:u:00000000deadbeef");
    assert_arg(5, "dq:{63}:l");
    assert_arg(6, "140737488355327");
    assert_arg(7, "4097");
    assert_arg(8, "20");
    assert_arg(9, "39");
    assert_arg(10, "3600000");
    assert_arg(11, "a:b");
    assert_arg(12, "1");
    assert_arg(13, "a:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_a_text_for_every_verb_but_the_plain_ones),
        cmocka_unit_test(sends_the_keys_that_each_script_says_it_takes),
        cmocka_unit_test(calls_a_script_by_its_sum_or_its_text),
        cmocka_unit_test(packs_the_numbers_of_a_push),
        cmocka_unit_test(says_where_a_push_is_to_be_noted),
        cmocka_unit_test(packs_pushes_that_travel_together),
        cmocka_unit_test(puts_what_its_topic_may_have_behind_a_pushs_numbers),
        cmocka_unit_test(packs_acknowledgements_that_travel_together),
        cmocka_unit_test(packs_releases_that_travel_together),
        cmocka_unit_test(sends_rules_only_with_a_push_that_has_some),
        cmocka_unit_test(sends_what_a_job_has_beside_its_rules),
        cmocka_unit_test(says_beside_the_mode_from_when_a_ttl_counts_and_what_is_indexed),
        cmocka_unit_test(puts_ttr_and_holder_behind_the_stamp),
        cmocka_unit_test(releases_at_once_later_or_as_the_backoff_says),
        cmocka_unit_test(packs_the_numbers_of_a_move),
        cmocka_unit_test(names_the_state_and_the_time_of_a_chunk),
        cmocka_unit_test(tells_how_long_a_topic_is_paused),
        cmocka_unit_test(brings_the_rules_of_the_configuration_to_a_scan),
        cmocka_unit_test(brings_pops_with_a_scan),
        cmocka_unit_test(brings_a_share_in_place_of_the_token),
        cmocka_unit_test(asks_for_owners_with_one_argument_more),
        cmocka_unit_test(packs_each_line_of_the_history),
        cmocka_unit_test(asks_for_pages_from_where_the_last_one_ended),
        cmocka_unit_test(brings_the_leaders_token_last),
        cmocka_unit_test(has_room_for_the_longest_names_and_the_most_items),
        cmocka_unit_test(has_room_for_the_most_attributes),
        cmocka_unit_test(is_put_together_anew_for_each_command),
        cmocka_unit_test(names_the_notes_of_a_reservation_behind_the_other_keys),
        cmocka_unit_test(says_what_a_process_says_of_itself_and_of_another),
        cmocka_unit_test(asks_for_an_owner_without_a_script),
        cmocka_unit_test(walks_over_all_keys_without_a_script),
        cmocka_unit_test(counts_what_an_op_borrows),
        cmocka_unit_test(names_the_keys_of_the_handshake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

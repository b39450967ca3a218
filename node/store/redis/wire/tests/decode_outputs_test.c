/* The outputs of the verbs that change, list, look and mend. */
#include "node/store/history.h"
#include "node/store/redis/wire/tests/reply_fixture.h"
#include "node/store/redis/wire/decode.h"
#include "node/store/redis/wire/encode.h"

#include <string.h>

#define READY_HEADER                 \
    "\2\0\2\0\0\xEA\x60\0\0\0\0\0\7" \
    "\x80\0\0\0\2\1\0\0\0\0\x09"

/* ---- one job ---- */

static void reads_a_job_that_is_looked_at(void **state)
{
    struct op op = op_of(OP_GET);

    build();
    build_number(77);
    build_bytes(BYTES(HEADER "body"));
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.row.place_ms, 77);
    assert_int_equal(op.out.row.body_bytes, 4);
    assert_true(bytes_equal(op.out.row.job.id, BYTES("id")));
    assert_true(bytes_equal(op.out.row.job.body, BYTES("body")));
    assert_int_equal(op.out.row.job.state, JOB_RESERVED);
}

static void reads_rules_holder_and_a_big_body(void **state)
{
    struct op op = op_of(OP_GET);
    struct job_rules rules = {.priority = 5, .max_tries = 3};
    char value[JOB_HEADER_BYTES + RULES_BYTES + 4] = HEADER;

    value[0] = (char)(JOB_RESERVED | JOB_FLAG_BIG | JOB_FLAG_RULES | JOB_FLAG_HOLDER);
    rules_pack(&rules, value + JOB_HEADER_BYTES);
    memcpy(value + JOB_HEADER_BYTES + RULES_BYTES, "\3bob", 4);
    build();
    build_number(77);
    build_bytes(bytes_of(value, sizeof(value)));
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    build_bytes(BYTES("large"));
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.row.job.rules.priority, 5);
    assert_int_equal(op.out.row.job.rules.max_tries, 3);
    assert_true(bytes_equal(op.out.row.job.holder, BYTES("bob")));
    assert_true(bytes_equal(op.out.row.job.body, BYTES("large")));
    assert_int_equal(op.out.row.body_bytes, 5);
}

/* ---- several of a call ---- */

static int end_of_parts(void **state)
{
    decode_part_of(0, 1);
    return 0;
}

static void reads_each_part_of_an_answer_to_pushes(void **state)
{
    static const char answer[] = "*9\n:0\n:" NOW "\n:70\n:0\n:99\n$2\n17\n:1\n:99\n$0\n\n";
    struct op made = op_of(OP_PUSH), named = op_of(OP_PUSH);

    made.id = BYTES("");
    decode_part_of(0, 2);
    assert_int_equal(DECODE(&made, answer), REPLY_DONE);
    assert_int_equal(made.status, STATUS_OK);
    assert_int_equal(made.out.push.due_ms, 99);
    assert_true(bytes_equal(made.out.push.id, BYTES("17")));
    assert_int_equal(made.wait_ms, 70);
    decode_part_of(1, 2);
    assert_int_equal(DECODE(&named, answer), REPLY_DONE);
    assert_int_equal(named.status, STATUS_DUPLICATE);
    assert_int_equal(named.wait_ms, -1); /* the first one has told it */
}

static void reads_each_part_of_an_answer_to_acknowledgements(void **state)
{
    struct op op = op_of(OP_ACK);

    decode_part_of(1, 2);
    assert_int_equal(DECODE(&op, "*5\n:0\n:0\n:-1\n:0\n:4\n"), REPLY_DONE);
    assert_int_equal(op.status, STATUS_NOT_OWNER);
}

static void reads_each_part_of_an_answer_to_releases(void **state)
{
    static const char answer[] = "*11\n:0\n:" NOW "\n:70\n:0\n:99\n:2\n:0\n:0\n:0\n:3\n:1\n";
    struct op rests = op_of(OP_RELEASE), dies = op_of(OP_RELEASE);

    decode_part_of(0, 2);
    assert_int_equal(DECODE(&rests, answer), REPLY_DONE);
    assert_int_equal(rests.out.change.due_ms, 99);
    assert_int_equal(rests.out.change.tries, 2);
    assert_int_equal(rests.out.change.death, DEATH_NONE);
    assert_int_equal(rests.wait_ms, 70);
    decode_part_of(1, 2);
    assert_int_equal(DECODE(&dies, answer), REPLY_DONE);
    assert_int_equal(dies.out.change.due_ms, 0);
    assert_int_equal(dies.out.change.tries, 3);
    assert_int_equal(dies.out.change.death, DEATH_TRIES);
    assert_int_equal(
        DECODE(&dies, "*11\n:0\n:" NOW "\n:-1\n:0\n:99\n:2\n:0\n:0\n:99\n:3\n:1\n"),
        REPLY_MALFORMED); /* it died, and has a due time */
    assert_int_equal(dies.status, STATUS_UNKNOWN);
}

static void an_answer_that_has_not_a_part_for_each_is_malformed(void **state)
{
    static const char *const answers[] = {
        "*8\n:0\n:" NOW "\n:-1\n:0\n:99\n$1\n1\n:0\n:99\n",
        "*10\n:0\n:" NOW "\n:-1\n:0\n:99\n$1\n1\n:0\n:99\n$1\n2\n:0\n",
        "*9\n:0\n:" NOW "\n:-1\n:0\n:99\n$1\n1\n:0\n:99\n$0\n\n",   /* no id */
        "*9\n:0\n:" NOW "\n:-1\n:0\n:99\n$1\n1\n:90\n:99\n$1\n2\n", /* no code */
        "*9\n:1\n:" NOW "\n:-1\n:0\n:99\n$1\n1\n:0\n:99\n$1\n2\n",  /* of the call */
        "*9\n:0\n:" NOW "\n:-1\n:0\n:99\n$1\n1\n:0\n:-2\n$1\n2\n",
        ":1\n",
    };

    decode_part_of(1, 2);
    for (unsigned i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        struct op op = op_of(OP_PUSH);

        op.id = BYTES("");
        assert_int_equal(decode_bytes(&op, answers[i], strlen(answers[i])), REPLY_MALFORMED);
        assert_int_equal(op.status, STATUS_UNKNOWN);
    }
}

static void a_code_that_no_part_can_have_is_malformed(void **state)
{
    struct op op = op_of(OP_ACK);

    decode_part_of(1, 2);
    assert_int_equal(DECODE(&op, "*5\n:0\n:0\n:-1\n:0\n:7\n"), REPLY_MALFORMED); /* FENCED */
    assert_int_equal(DECODE(&op, "*5\n:0\n:0\n:-1\n:0\n:8\n"), REPLY_MALFORMED);
}

static void knows_whether_a_released_job_died(void **state)
{
    struct op op = op_of(OP_RELEASE);

    assert_int_equal(DECODE(&op, "*7\n:0\n:1\n:-1\n:0\n:99\n:2\n:0\n"), REPLY_DONE);
    assert_int_equal(op.out.change.due_ms, 99);
    assert_int_equal(op.out.change.tries, 2);
    assert_int_equal(op.out.change.death, DEATH_NONE);
    assert_int_equal(DECODE(&op, "*7\n:0\n:1\n:-1\n:0\n:0\n:3\n:1\n"), REPLY_DONE);
    assert_int_equal(op.out.change.due_ms, 0);
    assert_int_equal(op.out.change.death, DEATH_TRIES);
}

static void refuses_a_release_that_cannot_be(void **state)
{
    static const char *const texts[] = {
        "*7\n:0\n:1\n:-1\n:0\n:0\n:3\n:0\n",      /* neither due nor dead */
        "*7\n:0\n:1\n:-1\n:0\n:99\n:3\n:1\n",     /* both */
        "*7\n:0\n:1\n:-1\n:0\n:0\n:3\n:5\n",      /* a death it does not know */
        "*7\n:0\n:1\n:-1\n:0\n:99\n:65536\n:0\n", /* tries that no header holds */
        "*6\n:0\n:1\n:-1\n:0\n:99\n:3\n",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct op op = op_of(OP_RELEASE);

        assert_int_equal(decode_bytes(&op, texts[i], strlen(texts[i])), REPLY_MALFORMED);
        assert_int_equal(op.status, STATUS_UNKNOWN);
    }
}

static void reads_what_touch_bury_and_move_changed(void **state)
{
    struct op touch = op_of(OP_TOUCH), bury = op_of(OP_BURY), move = op_of(OP_MOVE);

    assert_int_equal(DECODE(&touch, "*4\n:0\n:1\n:-1\n:88\n"), REPLY_DONE);
    assert_int_equal(touch.out.change.deadline_ms, 88);
    assert_int_equal(DECODE(&bury, "*4\n:0\n:1\n:1000\n:2\n"), REPLY_DONE);
    assert_int_equal(bury.out.change.tries, 2);
    assert_int_equal(bury.out.change.death, DEATH_BURIED);
    assert_int_equal(DECODE(&move, "*5\n:0\n:1\n:-1\n:99\n:0\n"), REPLY_DONE);
    assert_int_equal(move.out.change.due_ms, 99);
    assert_false(move.out.change.stays);
    assert_int_equal(DECODE(&move, "*5\n:0\n:1\n:-1\n:99\n:1\n"), REPLY_DONE);
    assert_true(move.out.change.stays);
    assert_int_equal(DECODE(&touch, "*3\n:0\n:1\n:-1\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&bury, "*4\n:0\n:1\n:-1\n:65536\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&move, "*5\n:0\n:1\n:-1\n:-1\n:0\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&move, "*5\n:0\n:1\n:-1\n:99\n:2\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&move, "*4\n:0\n:1\n:-1\n:99\n"), REPLY_MALFORMED);
}

/* Only what is OK has outputs. */
static void needs_no_outputs_with_another_code(void **state)
{
    static const enum op_verb verbs[] = {OP_PUSH, OP_MOVE, OP_BURY, OP_GET};
    struct op release = op_of(OP_RELEASE);

    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        struct op op = op_of(verbs[i]);

        assert_int_equal(DECODE(&op, "*3\n:6\n:1\n:-1\n"), REPLY_DONE);
        assert_int_equal(op.status, STATUS_WRONG_STATE);
    }
    assert_int_equal(DECODE(&release, "*7\n:0\n:1\n:-1\n:3\n:0\n:0\n:0\n"), REPLY_DONE);
    assert_int_equal(release.status, STATUS_NOT_RESERVED);
}

/* ---- many jobs ---- */

static void counts_the_jobs_of_a_chunk(void **state)
{
    static const enum op_verb verbs[] = {OP_KICK, OP_PURGE};

    for (size_t i = 0; i < 2; i++) {
        struct op op = op_of(verbs[i]);

        assert_int_equal(DECODE(&op, "*5\n:0\n:1\n:-1\n:3\n:1\n"), REPLY_DONE);
        assert_int_equal(op.out.chunk.count, 3);
        assert_true(op.out.chunk.has_more);
        assert_int_equal(DECODE(&op, "*5\n:0\n:1\n:-1\n:0\n:0\n"), REPLY_DONE);
        assert_false(op.out.chunk.has_more);
        assert_int_equal(DECODE(&op, "*5\n:0\n:1\n:-1\n:4\n:1\n"), REPLY_MALFORMED);
        assert_int_equal(DECODE(&op, "*5\n:0\n:1\n:-1\n:3\n:2\n"), REPLY_MALFORMED);
    }
}

static void build_row(struct bytes id, struct bytes value, int64_t body_bytes)
{
    build_bytes(id);
    build_bytes(value);
    build_number(body_bytes);
    build_number(99);
}

static void reads_a_list_of_jobs(void **state)
{
    struct op op = op_of(OP_LIST);

    build();
    build_bytes(BYTES("cursor"));
    build_row(BYTES("a"), BYTES(READY_HEADER), 100);
    build_row(BYTES("b"),
              BYTES("\x0A" /* big, without its body too */
                    "\0\2\0\0\xEA\x60\0\0\0\0\0\7\x80\0\0\0\2\1\0\0\0\0\x09"),
              5000);
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_true(bytes_equal(op.out.list.next, BYTES("cursor")));
    assert_int_equal(op.out.list.count, 2);
    assert_true(bytes_equal(op.out.list.rows[0].job.id, BYTES("a")));
    assert_int_equal(op.out.list.rows[0].body_bytes, 100);
    assert_int_equal(op.out.list.rows[0].place_ms, 99);
    assert_int_equal(op.out.list.rows[0].job.stamp, JOB_KEY_MIDDLE + 513);
    assert_true(bytes_equal(op.out.list.rows[1].job.id, BYTES("b")));
    assert_int_equal(op.out.list.rows[1].job.state, JOB_READY);
}

static void reads_an_empty_page_of_a_list(void **state)
{
    struct op op = op_of(OP_LIST);

    build();
    build_bytes(BYTES(""));
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.list.count, 0);
    assert_int_equal(op.out.list.next.len, 0);
}

static void refuses_lists_that_cannot_be(void **state)
{
    struct op op = op_of(OP_LIST);

    build();
    build_bytes(BYTES(""));
    for (unsigned i = 0; i < 3; i++)
        build_row(BYTES("a"), BYTES(READY_HEADER), 1);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED); /* two were asked for */
    assert_int_equal(op.status, STATUS_STORE_ERROR);

    build();
    build_bytes(BYTES(""));
    build_row(BYTES("a"), BYTES(READY_HEADER "body"), 4);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);

    build();
    build_bytes(BYTES(""));
    build_row(BYTES("a"), BYTES(READY_HEADER), -1);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);

    build();
    build_bytes(BYTES(""));
    build_bytes(BYTES("a"));
    build_bytes(BYTES(READY_HEADER));
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
}

/* Whoever asks for the next page has room for so much. */
static void refuses_a_cursor_that_is_too_long(void **state)
{
    static const enum op_verb verbs[] = {OP_LIST, OP_SETTINGS, OP_TRACE, OP_TOPICS, OP_AUDIT};
    static char cursor[OP_CURSOR_MAX + 1];

    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        for (size_t more = 0; more < 2; more++) {
            struct op op = op_of(verbs[i]);

            build();
            if (verbs[i] == OP_TOPICS)
                build_number(0);
            build_bytes(bytes_of(cursor, OP_CURSOR_MAX + more));
            if (verbs[i] == OP_AUDIT)
                build_number(0);
            assert_int_equal(decode_built(&op), more ? REPLY_MALFORMED : REPLY_DONE);
        }
    }
}

/* ---- settings ---- */

static struct bytes packed_settings(void)
{
    static char packed[SETTINGS_BYTES];
    struct topic_settings settings = {.set = SETTING_BIT(TTL), .ttl_ms = 9};

    settings_pack(&settings, packed);
    return bytes_of(packed, sizeof(packed));
}

static void reads_the_settings_as_they_are_now(void **state)
{
    struct op op = op_of(OP_CONFIGURE);

    op.topic = BYTES("t");
    build();
    build_bytes(packed_settings());
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.settings.count, 1);
    assert_true(bytes_equal(op.out.settings.rows[0].topic, BYTES("t")));
    assert_int_equal(op.out.settings.rows[0].settings.ttl_ms, 9);

    build();
    build_bytes(BYTES(""));
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.settings.rows[0].settings.set, 0);
    assert_int_equal(op.out.settings.rows[0].settings.ttl_ms, 0);

    build();
    build_bytes(BYTES("packed"));
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    assert_int_equal(op.status, STATUS_UNKNOWN);
}

static void reads_the_settings_of_one_topic(void **state)
{
    struct op op = op_of(OP_SETTINGS);

    op.topic = BYTES("t");
    build();
    build_bytes(BYTES(""));
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.settings.count, 1);
    assert_true(bytes_equal(op.out.settings.rows[0].topic, BYTES("t")));
    assert_int_equal(op.out.settings.rows[0].settings.set, 0);
    build_bytes(BYTES("t"));
    build_bytes(packed_settings());
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.settings.rows[0].settings.ttl_ms, 9);
    build_bytes(BYTES("u"));
    build_bytes(packed_settings());
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
}

static void settings_that_are_damaged_are_none(void **state)
{
    struct op of_topic = op_of(OP_SETTINGS), page = op_of(OP_SETTINGS);

    of_topic.topic = BYTES("t");
    build();
    build_bytes(BYTES(""));
    build_bytes(BYTES("t"));
    build_bytes(BYTES("damaged"));
    assert_int_equal(decode_built(&of_topic), REPLY_DONE);
    assert_int_equal(of_topic.out.settings.rows[0].settings.set, 0);
    build_bytes(BYTES("u"));
    build_bytes(packed_settings());
    assert_int_equal(decode_built(&page), REPLY_DONE);
    assert_int_equal(page.out.settings.count, 2);
    assert_int_equal(page.out.settings.rows[0].settings.set, 0);
    assert_int_equal(page.out.settings.rows[1].settings.ttl_ms, 9);
}

static void build_settings(unsigned count)
{
    build();
    build_bytes(BYTES("17"));
    for (unsigned i = 0; i < count; i++) {
        build_bytes(BYTES("t"));
        build_bytes(packed_settings());
    }
}

static void reads_a_page_of_settings(void **state)
{
    struct op op = op_of(OP_SETTINGS);

    build_settings(OP_ROWS_MAX);
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.settings.count, OP_ROWS_MAX);
    assert_true(bytes_equal(op.out.settings.next, BYTES("17")));
    assert_int_equal(op.out.settings.rows[OP_ROWS_MAX - 1].settings.ttl_ms, 9);
    build_settings(OP_ROWS_MAX + 1);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    assert_int_equal(op.status, STATUS_STORE_ERROR);
    build_settings(1);
    build_bytes(BYTES("u"));
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
}

/* ---- identities ---- */

static void build_identities(unsigned count, int64_t version)
{
    build();
    build_number(0);
    build_number(9);
    build_number(7);
    build_bytes(BYTES("0123456789abcdef"));
    for (unsigned i = 0; i < count; i++) {
        build_bytes(BYTES("shop"));
        build_number(version);
        build_bytes(BYTES("shop produce"));
    }
}

static void reads_identities(void **state)
{
    struct op op = op_of(OP_IDENTITIES);

    build_identities(OP_IDENTITY_ROWS_MAX, OP_IDENTITY_VERSION_MAX);
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_false(op.out.identities.is_same);
    assert_int_equal(op.out.identities.version, 9);
    assert_int_equal(op.out.identities.horizon, 7);
    assert_true(bytes_equal(op.out.identities.id, BYTES("0123456789abcdef")));
    assert_int_equal(op.out.identities.count, OP_IDENTITY_ROWS_MAX);
    assert_int_equal(op.out.identities.rows[0].version, OP_IDENTITY_VERSION_MAX);
    assert_true(bytes_equal(op.out.identities.rows[0].line, BYTES("shop produce")));
    build();
    build_number(1);
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_true(op.out.identities.is_same);
    assert_int_equal(op.out.identities.count, 0);
}

static void identities_of_another_form_are_malformed(void **state)
{
    struct op op = op_of(OP_IDENTITIES);

    build_identities(OP_IDENTITY_ROWS_MAX + 1, 1);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    assert_int_equal(op.status, STATUS_STORE_ERROR);
    build_identities(1, OP_IDENTITY_VERSION_MAX + 1);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    build_identities(1, -1);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    build_identities(1, 1);
    build_bytes(BYTES("mill"));
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    build();
    build_number(1);
    build_number(1);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    build();
    build_number(0);
    build_number(9);
    build_number(7);
    build_bytes(BYTES("012345678"));
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    op = op_of(OP_IDENTIFY);
    build();
    build_number(-1);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    assert_int_equal(op.status, STATUS_UNKNOWN);
}

/* ---- history ---- */

static void build_trace(unsigned count)
{
    struct history_item item = {.event = EVENT_TOUCHED, .topic = BYTES("t"), .id = BYTES("id")};
    char packed[HISTORY_BYTES_MAX];

    build();
    build_bytes(BYTES("1-2"));
    for (unsigned i = 0; i < count; i++) {
        item.time_ms = 10 - i;
        build_bytes(bytes_of(packed, history_pack(&item, packed)));
    }
}

static void reads_what_a_job_went_through(void **state)
{
    struct op op = op_of(OP_TRACE);

    build_trace(2);
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_true(bytes_equal(op.out.trace.next, BYTES("1-2")));
    assert_int_equal(op.out.trace.count, 2);
    assert_int_equal(op.out.trace.items[0].event, EVENT_TOUCHED);
    assert_int_equal(op.out.trace.items[1].time_ms, 9);
    assert_true(bytes_equal(op.out.trace.items[1].id, BYTES("id")));
    build_trace(3);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    build_trace(1);
    build_number(7);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    assert_int_equal(op.status, STATUS_STORE_ERROR);
}

static void passes_over_a_line_that_is_not_ours(void **state)
{
    struct op op = op_of(OP_TRACE);

    build_trace(1);
    build_bytes(BYTES("no line of ours"));
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.trace.count, 1);
    assert_true(bytes_equal(op.out.trace.items[0].id, BYTES("id")));
}

/* ---- repair ---- */

static void build_audit(unsigned count, int64_t damage)
{
    build();
    build_bytes(BYTES(""));
    build_number(1000);
    for (unsigned i = 0; i < count; i++) {
        build_bytes(BYTES("id"));
        build_number(damage);
    }
}

static void reads_the_suspects_of_an_audit(void **state)
{
    struct op op = op_of(OP_AUDIT);

    build_audit(OP_LIST_MAX, DAMAGE_NO_EVENT);
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.audit.looked_at, 1000);
    assert_int_equal(op.out.audit.count, OP_LIST_MAX);
    assert_int_equal(op.out.audit.items[OP_LIST_MAX - 1].damage, DAMAGE_NO_EVENT);
    assert_true(bytes_equal(op.out.audit.items[0].id, BYTES("id")));
    build_audit(OP_LIST_MAX + 1, DAMAGE_NO_EVENT);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    build_audit(1, DAMAGE_NONE); /* then it is no suspect */
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    build_audit(1, DAMAGE_COUNT);
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    assert_int_equal(op.status, STATUS_STORE_ERROR);
}

static void knows_what_a_repair_mended(void **state)
{
    struct op op = op_of(OP_REPAIR);

    for (int64_t damage = 0; damage <= DAMAGE_COUNT; damage++) {
        build();
        build_number(damage);
        if (damage == DAMAGE_COUNT) {
            assert_int_equal(decode_built(&op), REPLY_MALFORMED);
            assert_int_equal(op.status, STATUS_UNKNOWN);
        } else {
            assert_int_equal(decode_built(&op), REPLY_DONE);
            assert_int_equal(op.out.repair.damage, damage);
        }
    }
}

/* ---- many nodes that scan ---- */

static void reads_what_a_scan_says_of_locks(void **state)
{
    struct scan_share share = {0};
    struct op op = op_of(OP_SCAN);
    const char text[] = "*17\n:0\n:1\n:-1\n:2\n:0\n:0\n:0\n:0\n:25\n:0\n$0\n\n"
                        ":3\n:1\n:2\n:4\n:10\n:20\n";

    op.in.scan.share = &share;
    assert_int_equal(DECODE(&op, text), REPLY_DONE);
    assert_int_equal(op.out.scan.moved, 2);
    assert_int_equal(op.out.scan.next_ms, 25);
    assert_int_equal(op.out.scan.taken, 3);
    assert_int_equal(op.out.scan.taken_over, 1);
    assert_int_equal(op.out.scan.stolen, 2);
    assert_int_equal(op.out.scan.conflicts, 4);
    assert_int_equal(op.out.scan.lateness_count, 2);
    assert_int_equal(op.out.scan.lateness_ms[0], 10);
    assert_int_equal(op.out.scan.lateness_ms[1], 20);
    op.in.scan.share = NULL; /* nobody has asked for so much */
    assert_int_equal(DECODE(&op, text), REPLY_MALFORMED);
}

static void refuses_locks_that_cannot_be(void **state)
{
    struct scan_share share = {0};
    struct op op = op_of(OP_SCAN);

#define SCANNED ":0\n:1\n:-1\n:0\n:0\n:0\n:0\n:0\n:25\n:0\n$0\n\n"
    op.in.scan.share = &share;
    assert_int_equal(DECODE(&op, "*15\n" SCANNED ":0\n:0\n:0\n:0\n"), REPLY_DONE);
    assert_int_equal(DECODE(&op, "*11\n" SCANNED), REPLY_MALFORMED);
    assert_int_equal(DECODE(&op, "*14\n" SCANNED ":0\n:0\n:0\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&op, "*15\n" SCANNED ":1\n:0\n:2\n:0\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&op, "*15\n" SCANNED ":-1\n:0\n:0\n:0\n"), REPLY_MALFORMED);
}

static void build_topic(struct bytes topic, struct bytes lock)
{
    build_bytes(topic);
    for (unsigned i = 0; i < 6; i++)
        build_number(i);
    build_number(1); /* urgent */
    build_bytes(lock);
}

/* NOW is 0x1A3185C5000. */
static void reads_the_locks_of_topics(void **state)
{
    struct op op = op_of(OP_TOPICS);

    op.in.topics.owners = true;
    build();
    build_number(2);
    build_bytes(BYTES(""));
    build_topic(BYTES("a"), BYTES("000000000000000700000000000000aa"
                                  "\x01\xA3\x18\x5C\x50\x09\0\0\0\0\0\2\1node-a"));
    build_topic(BYTES("b"), BYTES(""));
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.topics.count, 2);
    assert_int_equal(op.out.topics.rows[0].stats.next_due_ms, 5);
    assert_true(bytes_equal(op.out.topics.rows[0].lock.node, BYTES("node-a")));
    assert_int_equal(op.out.topics.rows[0].lock.view, 7);
    assert_int_equal(op.out.topics.rows[0].lock.token, 513);
    assert_int_equal(op.out.topics.rows[0].lock.left_ms, 9);
    assert_int_equal(op.out.topics.rows[1].lock.node.len, 0);
    op.in.topics.owners = false;
    assert_int_equal(decode_built(&op), REPLY_MALFORMED);
}

/* ---- places ---- */

static void finds_the_topics_in_the_names_of_keys(void **state)
{
    struct op op = op_of(OP_PLACES);

    assert_int_equal(DECODE(&op, "*2\n$2\n17\n*6\n"
                                 "$11\ndq:{7}:j:ab\n"
                                 "$12\ndq:{63}:x:cd\n"
                                 "$8\ndq:{7}:t\n"     /* of the bucket */
                                 "$11\ndq:{7}:z:ab\n" /* nobody's */
                                 "$11\ndq:{7}:l:ef\n" /* a lock */
                                 "$9\ndq:{7}:d:\n"),
                     REPLY_DONE);
    assert_int_equal(op.status, STATUS_OK);
    assert_int_equal(op.now_ms, 0);
    assert_int_equal(op.wait_ms, -1);
    assert_true(bytes_equal(op.out.places.next, BYTES("17")));
    assert_int_equal(op.out.places.count, 2);
    assert_true(bytes_equal(op.out.places.rows[0].topic, BYTES("ab")));
    assert_true(bytes_equal(op.out.places.rows[1].topic, BYTES("cd")));
}

static void ends_where_the_cursor_is_0(void **state)
{
    struct op op = op_of(OP_PLACES);

    assert_int_equal(DECODE(&op, "*2\n$1\n0\n*0\n"), REPLY_DONE);
    assert_int_equal(op.out.places.next.len, 0);
    assert_int_equal(op.out.places.count, 0);
}

static void refuses_keys_that_cannot_be(void **state)
{
    static const char *const texts[] = {
        "*0\n",
        "*1\n$1\n0\n",
        "*2\n:0\n*0\n",
        "*2\n$1\n0\n$1\na\n",
        "*2\n$1\n0\n*1\n:5\n",
        "*3\n$1\n0\n*0\n*0\n",
        "$1\n0\n",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct op op = op_of(OP_PLACES);

        assert_int_equal(decode_bytes(&op, texts[i], strlen(texts[i])), REPLY_MALFORMED);
        assert_int_equal(op.status, STATUS_STORE_ERROR);
    }
}

static void a_topic_of_more_bytes_than_any_is_not_told(void **state)
{
    struct op op = op_of(OP_PLACES);
    char text[300] = "*2\n$1\n0\n*1\n$210\ndq:{7}:j:";
    size_t len = strlen(text);

    memset(text + len, 't', 201);
    text[len + 201] = '\n';
    assert_int_equal(decode_bytes(&op, text, len + 202), REPLY_DONE);
    assert_int_equal(op.out.places.count, 0);
}

/* ---- shares and locks ---- */

#define OWNER "00000000000000aa"
#define LOCK                                                            \
    "00000000000a0001" OWNER "\x01\xA3\x18\x5C\x50\x00" /* until */     \
    "\0\0\0\0\0\2\1"                                    /* token 513 */ \
    "node-a"
#define UNTIL_MS INT64_C(0x01A3185C5000)

static void packs_a_share_at_fixed_offsets(void **state)
{
    char marks[SHARES], packed[SHARE_BYTES];
    struct scan_share share = {.view = 0xa0001,
                               .owner = BYTES(OWNER),
                               .marks = bytes_of(marks, SHARES),
                               .lock_ms = 5000,
                               .late_ms = 1000};

    for (unsigned i = 0; i < SHARES; i++)
        marks[i] = "+~-"[i % 3];
    share_pack(&share, packed);
    assert_memory_equal(packed, "00000000000a0001" OWNER, 32);
    assert_memory_equal(packed + 32, "\0\0\0\0\x13\x88\0\0\0\0\x03\xE8", 12);
    assert_memory_equal(packed + 44, marks, SHARES);
    assert_int_equal(sizeof(packed), 300); /* scan.lua */
    share.view = UINT64_MAX;
    share_pack(&share, packed);
    assert_memory_equal(packed, "ffffffffffffffff", 16);
}

static void reads_a_lock(void **state)
{
    struct topic_lock lock = lock_unpack(BYTES(LOCK), UNTIL_MS - 1234);

    assert_int_equal(lock.view, 0xa0001);
    assert_int_equal(lock.token, 513);
    assert_int_equal(lock.left_ms, 1234);
    assert_true(bytes_equal(lock.node, BYTES("node-a")));
}

static void assert_nobody(struct topic_lock lock)
{
    assert_int_equal(lock.node.len, 0);
    assert_int_equal(lock.view, 0);
    assert_int_equal(lock.token, 0);
    assert_int_equal(lock.left_ms, 0);
}

static void a_lock_that_is_over_is_nobodys(void **state)
{
    assert_int_equal(lock_unpack(BYTES(LOCK), UNTIL_MS - 1).left_ms, 1);
    assert_nobody(lock_unpack(BYTES(LOCK), UNTIL_MS));
    assert_nobody(lock_unpack(BYTES(""), 0));
}

static void what_is_no_lock_is_nobodys(void **state)
{
    char text[sizeof(LOCK) + OP_NODE_MAX];

    memcpy(text, LOCK, sizeof(LOCK) - 1);
    memset(text + sizeof(LOCK) - 1, 'n', OP_NODE_MAX);
    assert_int_equal(lock_unpack(bytes_of(text, 45 + OP_NODE_MAX), 0).node.len, OP_NODE_MAX);
    assert_nobody(lock_unpack(bytes_of(text, 45 + OP_NODE_MAX + 1), 0));
    assert_nobody(lock_unpack(bytes_of(text, 44), 0));
    text[15] = 'g';
    assert_nobody(lock_unpack(bytes_of(text, sizeof(LOCK) - 1), 0));
    text[15] = 'A'; /* a script would order it elsewhere */
    assert_nobody(lock_unpack(bytes_of(text, sizeof(LOCK) - 1), 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_job_that_is_looked_at),
        cmocka_unit_test(reads_rules_holder_and_a_big_body),
        cmocka_unit_test_teardown(reads_each_part_of_an_answer_to_pushes, end_of_parts),
        cmocka_unit_test_teardown(reads_each_part_of_an_answer_to_acknowledgements,
                                  end_of_parts),
        cmocka_unit_test_teardown(reads_each_part_of_an_answer_to_releases, end_of_parts),
        cmocka_unit_test_teardown(an_answer_that_has_not_a_part_for_each_is_malformed,
                                  end_of_parts),
        cmocka_unit_test_teardown(a_code_that_no_part_can_have_is_malformed, end_of_parts),
        cmocka_unit_test(knows_whether_a_released_job_died),
        cmocka_unit_test(refuses_a_release_that_cannot_be),
        cmocka_unit_test(reads_what_touch_bury_and_move_changed),
        cmocka_unit_test(needs_no_outputs_with_another_code),
        cmocka_unit_test(counts_the_jobs_of_a_chunk),
        cmocka_unit_test(reads_a_list_of_jobs),
        cmocka_unit_test(reads_an_empty_page_of_a_list),
        cmocka_unit_test(refuses_lists_that_cannot_be),
        cmocka_unit_test(refuses_a_cursor_that_is_too_long),
        cmocka_unit_test(reads_the_settings_as_they_are_now),
        cmocka_unit_test(reads_the_settings_of_one_topic),
        cmocka_unit_test(settings_that_are_damaged_are_none),
        cmocka_unit_test(reads_a_page_of_settings),
        cmocka_unit_test(reads_identities),
        cmocka_unit_test(identities_of_another_form_are_malformed),
        cmocka_unit_test(reads_what_a_job_went_through),
        cmocka_unit_test(passes_over_a_line_that_is_not_ours),
        cmocka_unit_test(reads_the_suspects_of_an_audit),
        cmocka_unit_test(knows_what_a_repair_mended),
        cmocka_unit_test(finds_the_topics_in_the_names_of_keys),
        cmocka_unit_test(reads_what_a_scan_says_of_locks),
        cmocka_unit_test(refuses_locks_that_cannot_be),
        cmocka_unit_test(reads_the_locks_of_topics),
        cmocka_unit_test(ends_where_the_cursor_is_0),
        cmocka_unit_test(refuses_keys_that_cannot_be),
        cmocka_unit_test(a_topic_of_more_bytes_than_any_is_not_told),
        cmocka_unit_test(packs_a_share_at_fixed_offsets),
        cmocka_unit_test(reads_a_lock),
        cmocka_unit_test(a_lock_that_is_over_is_nobodys),
        cmocka_unit_test(what_is_no_lock_is_nobodys),
    };

    return cmocka_run_group_tests_name("decode_outputs", tests, NULL, reply_fini);
}

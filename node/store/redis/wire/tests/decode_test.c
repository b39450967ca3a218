/* The form of every answer, and the outputs of the verbs that move jobs. */
#include "node/store/redis/wire/tests/reply_fixture.h"

#include <string.h>

static void reads_code_clock_and_wait_of_every_script(void **state)
{
    static const enum status expected[] = {
        STATUS_OK,        STATUS_DUPLICATE,    STATUS_NOT_FOUND,   STATUS_NOT_RESERVED,
        STATUS_NOT_OWNER, STATUS_OUT_OF_RANGE, STATUS_WRONG_STATE,
    };
    char text[64] = "*3\n:0\n:" NOW "\n:25\n";

    for (int code = 0; code < 7; code++) {
        struct op op = op_of(OP_ACK);

        text[4] = (char)('0' + code);
        assert_int_equal(decode_bytes(&op, text, strlen(text)), REPLY_DONE);
        assert_int_equal(op.status, expected[code]);
        assert_int_equal(op.now_ms, 1800000000000);
        assert_int_equal(op.wait_ms, 25);
    }
}

static void a_push_may_be_lost_to_the_ledger(void **state)
{
    struct op op = op_of(OP_PUSH), look = op_of(OP_STATS);

    assert_int_equal(DECODE(&op, "*3\n:8\n:" NOW "\n:-1\n"), REPLY_DONE);
    assert_int_equal(op.status, STATUS_UNKNOWN);
    assert_int_equal(DECODE(&look, "*3\n:8\n:" NOW "\n:-1\n"), REPLY_MALFORMED);
}

static void gives_back_the_id_of_the_caller_or_the_one_that_was_made(void **state)
{
    struct op given = op_of(OP_PUSH), made = op_of(OP_PUSH);

    assert_int_equal(DECODE(&given, "*5\n:0\n:" NOW "\n:-1\n:17\n:0\n"), REPLY_DONE);
    assert_true(bytes_equal(given.out.push.id, BYTES("id")));
    assert_int_equal(given.out.push.due_ms, 17);

    made.id = BYTES("");
    assert_int_equal(DECODE(&made, "*5\n:0\n:" NOW "\n:-1\n:17\n:0\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&made, "*6\n:0\n:" NOW "\n:-1\n:17\n:0\n$0\n\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&made, "*6\n:0\n:" NOW "\n:-1\n:17\n:0\n$4\n1234\n"), REPLY_DONE);
    assert_true(bytes_equal(made.out.push.id, BYTES("1234")));
}

static void knows_whether_a_job_with_the_id_lived(void **state)
{
    struct op op = op_of(OP_PUSH);

    assert_int_equal(DECODE(&op, "*5\n:0\n:" NOW "\n:-1\n:17\n:1\n"), REPLY_DONE);
    assert_true(op.out.push.existed);
    assert_int_equal(DECODE(&op, "*5\n:0\n:" NOW "\n:-1\n:17\n:0\n"), REPLY_DONE);
    assert_false(op.out.push.existed);
    assert_int_equal(DECODE(&op, "*5\n:0\n:" NOW "\n:-1\n:17\n:2\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&op, "*4\n:0\n:" NOW "\n:-1\n:17\n"), REPLY_MALFORMED);
    op.id = BYTES("");
    assert_int_equal(
        DECODE(&op, "*6\n:0\n:" NOW "\n:-1\n:17\n:0\n$25\n1234567890123456789012345\n"),
        REPLY_MALFORMED);
}

static void reads_jobs_with_small_and_big_bodies(void **state)
{
    struct op op = op_of(OP_POP);

    assert_int_equal(DECODE(&op, "*9\n:0\n:" NOW "\n:1000\n:0\n"
                                 "$1\na\n$28\n" HEADER "body\n"
                                 "$1\nb\n$24\n\x0B" /* the same, big */
                                 "\0\2\0\0\xEA\x60\0\0\0\0\0\7\0\0\0\0\2\1\0\0\0\0\x09\n"
                                 "$3\nBIG\n"),
                     REPLY_DONE);
    assert_int_equal(op.out.pop.count, 2);
    assert_int_equal(op.out.pop.jobs[0].body.len, 4);
    assert_int_equal(op.out.pop.jobs[0].stamp, 513);
    assert_int_equal(op.out.pop.jobs[0].tries, 2);
    assert_int_equal(op.out.pop.jobs[1].body.len, 3);
    assert_int_equal(reply_counter(&op, 64), 513);
}

static void takes_no_more_jobs_than_were_asked_for(void **state)
{
    struct op op = op_of(OP_POP);

    op.in.pop.count = 1;
    assert_int_equal(DECODE(&op, "*8\n:0\n:" NOW "\n:1000\n:0\n$1\na\n$24\n" HEADER
                                 "\n$1\nb\n$24\n" HEADER "\n"),
                     REPLY_MALFORMED);
}

/* Else the sum of two of them might be too large for a number. */
static void refuses_times_that_no_clock_shows(void **state)
{
    struct op op = op_of(OP_TOUCH);

    assert_int_equal(DECODE(&op, "*4\n:0\n:281474976710655\n:281474976710655\n"
                                 ":281474976710655\n"),
                     REPLY_DONE);
    assert_int_equal(DECODE(&op, "*4\n:0\n:281474976710656\n:-1\n:17\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&op, "*4\n:0\n:" NOW "\n:9223372036854775807\n:17\n"),
                     REPLY_MALFORMED);
    assert_int_equal(DECODE(&op, "*4\n:0\n:" NOW "\n:-1\n:281474976710656\n"), REPLY_MALFORMED);
}

static void knows_whether_a_pop_left_something(void **state)
{
    struct op op = op_of(OP_POP);

    assert_int_equal(DECODE(&op, "*6\n:0\n:" NOW "\n:1000\n:1\n$1\na\n$24\n" HEADER "\n"),
                     REPLY_DONE);
    assert_int_equal(op.out.pop.count, 1);
    assert_true(op.out.pop.has_more);
    assert_int_equal(DECODE(&op, "*6\n:0\n:" NOW "\n:1000\n:0\n$1\na\n$24\n" HEADER "\n"),
                     REPLY_DONE);
    assert_false(op.out.pop.has_more);
    assert_int_equal(DECODE(&op, "*6\n:0\n:" NOW "\n:1000\n:2\n$1\na\n$24\n" HEADER "\n"),
                     REPLY_MALFORMED);
}

static void knows_how_large_the_bodies_are_that_were_not_brought(void **state)
{
    struct op pop = op_of(OP_POP), get = op_of(OP_GET);

    assert_int_equal(DECODE(&pop, "*4\n:0\n:" NOW "\n:-1\n:1048576\n"), REPLY_LARGE);
    assert_int_equal(large_bytes(), 1048576);
    assert_int_equal(DECODE(&get, "*4\n:0\n:" NOW "\n:-1\n:40000\n"), REPLY_LARGE);
    assert_int_equal(large_bytes(), 40000);
    assert_int_equal(DECODE(&get, "*4\n:0\n:" NOW "\n:-1\n:-40000\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&get, "*4\n:0\n:" NOW "\n:-1\n$2\n10\n"), REPLY_MALFORMED);
}

static void sends_a_pop_again_that_met_tombstones_only(void **state)
{
    struct op op = op_of(OP_POP);

    assert_int_equal(DECODE(&op, "*4\n:0\n:" NOW "\n:1000\n:1\n"), REPLY_AGAIN);
    assert_int_equal(op.wait_ms, 1000);
    assert_int_equal(DECODE(&op, "*4\n:0\n:" NOW "\n:-1\n:1\n"), REPLY_AGAIN);
    assert_int_equal(op.wait_ms, -1);
    assert_int_equal(DECODE(&op, "*4\n:0\n:" NOW "\n:-1\n:0\n"), REPLY_DONE);
    assert_int_equal(op.out.pop.count, 0);
}

/* moved, timed out, of them by tries, by ttl, pruned, next, stuck, wrong; then lateness */
static void build_scan(unsigned moved, unsigned timed_out, unsigned tries, unsigned expired,
                       unsigned pruned, unsigned late)
{
    build();
    build_number(moved);
    build_number(timed_out);
    build_number(tries);
    build_number(expired);
    build_number(pruned);
    build_number(40);
    build_number(2);
    build_bytes(BYTES("bad"));
    for (unsigned i = 0; i < late; i++)
        build_number(5 + i);
}

static void counts_what_a_scan_moved(void **state)
{
    struct op op = op_of(OP_SCAN);

    build_scan(10, 3, 2, 1, 4, 2);
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.scan.moved, 10);
    assert_int_equal(op.out.scan.expired, 3);
    assert_int_equal(op.out.scan.died[DEATH_TRIES], 2);
    assert_int_equal(op.out.scan.died[DEATH_EXPIRED], 1);
    assert_int_equal(op.out.scan.died[DEATH_BURIED], 0);
    assert_int_equal(op.out.scan.pruned, 4);
    assert_int_equal(op.out.scan.next_ms, 40);
    assert_int_equal(op.out.scan.lateness_count, 2);
    assert_int_equal(op.out.scan.lateness_ms[1], 6);
    assert_int_equal(op.out.scan.stuck, 2);
    assert_true(bytes_equal(op.out.scan.wrong, BYTES("bad")));
}

static void takes_as_much_as_one_scan_may_move(void **state)
{
    struct op op = op_of(OP_SCAN);

    build_scan(REPLY_ITEMS_MAX, 0, 0, 0, 0, REPLY_ITEMS_MAX);
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.scan.lateness_ms[REPLY_ITEMS_MAX - 1], REPLY_ITEMS_MAX + 4);
    build_scan(REPLY_ITEMS_MAX, REPLY_ITEMS_MAX, REPLY_ITEMS_MAX, 0, 0, 0);
    assert_int_equal(decode_built(&op), REPLY_DONE);
}

static void refuses_a_scan_that_does_not_add_up(void **state)
{
    static const unsigned wrong[][6] = {
        {REPLY_ITEMS_MAX + 1, REPLY_ITEMS_MAX + 1, 0, 0, 0, 0},
        {1, 2, 0, 0, 0, 0}, /* more timed out than moved */
        {2, 1, 2, 0, 0, 1}, /* more died of it than timed out */
        {2, 1, 0, 2, 0, 0}, /* more expired than moved otherwise */
        {4, 1, 0, 2, 2, 0}, /* more went */
        {4, 1, 0, 1, 1, 0}, /* one was late, how late is not told */
        {4, 1, 0, 1, 1, 2},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct op op = op_of(OP_SCAN);

        build_scan(wrong[i][0], wrong[i][1], wrong[i][2], wrong[i][3], wrong[i][4],
                   wrong[i][5]);
        assert_int_equal(decode_built(&op), REPLY_MALFORMED);
        assert_int_equal(op.status, STATUS_UNKNOWN);
    }
}

/* ---- the pops that a scan brings ---- */

static void build_job(const char *id)
{
    build_bytes(bytes_of_text(id));
    build_bytes(bytes_of(HEADER "body", sizeof(HEADER "body") - 1));
}

static struct op pops[2], *const pop_list[] = {&pops[0], &pops[1]};

static struct op scan_with_pops(void)
{
    struct op op = op_of(OP_SCAN);

    pops[0] = pops[1] = op_of(OP_POP);
    op.in.scan.pops = pop_list;
    op.in.scan.pop_count = 2;
    return op;
}

static void reads_the_pops_of_a_scan(void **state)
{
    struct op op = scan_with_pops();

    build_scan(2, 0, 0, 0, 0, 2);
    build_number(2);
    build_number(1);
    build_number(4);
    build_job("a");
    build_job("b");
    assert_int_equal(decode_built(&op), REPLY_DONE);
    assert_int_equal(op.out.scan.lateness_ms[1], 6);
    assert_int_equal(pops[0].status, STATUS_OK);
    assert_int_equal(pops[0].out.pop.count, 0);
    assert_false(pops[0].out.pop.has_more);
    assert_int_equal(pops[1].now_ms, op.now_ms);
    assert_int_equal(pops[1].out.pop.count, 2);
    assert_true(pops[1].out.pop.has_more);
    assert_true(bytes_equal(pops[1].out.pop.jobs[1].id, BYTES("b")));
    assert_true(bytes_equal(pops[1].out.pop.jobs[1].body, BYTES("body")));
    assert_int_equal(reply_counter(&op, 64), 513);
}

static void refuses_pops_that_the_scan_did_not_bring(void **state)
{
    static const int64_t wrong[][3] = {
        {0, 0, 2},  {3, 0, 2}, /* no such pop */
        {1, 2, 2},             /* neither more nor none */
        {1, 0, 1},  {1, 0, 3}, /* half a job; more than there is */
        {1, 0, -1},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct op op = scan_with_pops();

        build_scan(0, 0, 0, 0, 0, 0);
        for (unsigned k = 0; k < 3; k++)
            build_number(wrong[i][k]);
        build_job("a");
        assert_int_equal(decode_built(&op), REPLY_MALFORMED);
    }
}

#define COUNTS ":1\n:2\n:3\n:0\n:40\n:-1\n:1\n"

static void reads_a_page_of_topics(void **state)
{
    struct op op = op_of(OP_TOPICS);

    assert_int_equal(DECODE(&op, "*13\n:0\n:" NOW "\n:-1\n:7\n$1\nb\n$1\na\n" COUNTS),
                     REPLY_DONE);
    assert_int_equal(op.status, STATUS_OK);
    assert_int_equal(op.out.topics.total, 7);
    assert_int_equal(op.out.topics.next.len, 1);
    assert_int_equal(op.out.topics.count, 1);
    assert_int_equal(op.out.topics.rows[0].stats.reserved, 3);
    assert_int_equal(op.out.topics.rows[0].stats.oldest_ready_ms, 40);
    assert_int_equal(op.out.topics.rows[0].stats.next_due_ms, -1);
    assert_int_equal(op.out.topics.rows[0].stats.urgent, 1);
}

static void takes_no_more_topics_than_were_asked_for(void **state)
{
    struct op op = op_of(OP_TOPICS);

    assert_int_equal(DECODE(&op, "*29\n:0\n:1\n:-1\n:7\n$0\n\n$1\na\n" COUNTS "$1\nb\n" COUNTS
                                 "$1\nc\n" COUNTS),
                     REPLY_MALFORMED);
    assert_int_equal(DECODE(&op, "*11\n:0\n:1\n:-1\n:7\n$0\n\n$1\na\n:1\n:2\n:3\n:0\n:4\n"),
                     REPLY_MALFORMED);
}

static void reads_an_owner(void **state)
{
    struct op op = op_of(OP_OWNER);

    assert_int_equal(DECODE(&op, "$7\n\0\0\0\0\1\2t\n"), REPLY_DONE);
    assert_int_equal(op.status, STATUS_OK);
    assert_int_equal(op.out.owner.stamp, 0);
    assert_int_equal(op.out.owner.topic.len, 1);
    assert_int_equal(DECODE(&op, "$-1\n"), REPLY_DONE);
    assert_int_equal(op.status, STATUS_NOT_FOUND);
    assert_int_equal(DECODE(&op, "$6\n\0\0\0\0\1\2\n"), REPLY_MALFORMED);
    assert_int_equal(op.status, STATUS_STORE_ERROR);
}

static void reads_who_has_reserved_a_job(void **state)
{
    struct op op = op_of(OP_OWNER);

    op.topic = BYTES("t");
    assert_int_equal(DECODE(&op, "$25\n\3\0\0\0\0\0\5\0\0\0\0\0\0"
                                 "\0\0\0\0\1\2\0\0\0\0\0b\n"),
                     REPLY_DONE);
    assert_int_equal(op.status, STATUS_OK);
    assert_int_equal(op.out.owner.stamp, 258);
    assert_true(bytes_equal(op.out.owner.topic, op.topic));
    assert_int_equal(DECODE(&op, "$24\n\2\0\0\0\0\0\5\0\0\0\0\0\0"
                                 "\0\0\0\0\1\2\0\0\0\0\0\n"),
                     REPLY_DONE);
    assert_int_equal(op.out.owner.stamp, 0);
    assert_int_equal(DECODE(&op, "$5\nshort\n"), REPLY_MALFORMED);
    assert_int_equal(op.status, STATUS_STORE_ERROR);
}

static void tells_errors_apart(void **state)
{
    struct op op = op_of(OP_PUSH);

    assert_int_equal(DECODE(&op, "-NOSCRIPT No matching script.\n"), REPLY_NO_SCRIPT);
    assert_int_equal(op.status, STATUS_COUNT);
    assert_int_equal(DECODE(&op, "-OOM command not allowed\n"), REPLY_REFUSED);
    assert_int_equal(op.status, STATUS_STORE_ERROR);
}

/* What the store cannot read may have happened, if it was a write. */
static void calls_a_malformed_answer_unknown_for_writes_only(void **state)
{
    static const char *const texts[] = {
        "+OK\n",
        "$-1\n",
        ":1\n",
        "*0\n",
        "*2\n:0\n:" NOW "\n",
        "*3\n$1\n0\n:" NOW "\n:-1\n",
        "*3\n:90\n:" NOW "\n:-1\n",
        "*3\n:7\n:" NOW "\n:-1\n", /* FENCED, but not by what */
        "*3\n:-1\n:" NOW "\n:-1\n",
        "*3\n:0\n:-5\n:-1\n",
        "*3\n:0\n:" NOW "\n:-2\n",
        "*3\n:0\n:" NOW "\n*0\n",
    };

    for (enum op_verb verb = 0; verb < OP_COUNT; verb++) {
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
            struct op op = op_of(verb);

            if (verb == OP_OWNER && i == 1)
                continue; /* nil: there is no owner */
            assert_int_equal(decode_bytes(&op, texts[i], strlen(texts[i])), REPLY_MALFORMED);
            assert_int_equal(op.status,
                             op_has(verb, TRAIT_READS) ? STATUS_STORE_ERROR : STATUS_UNKNOWN);
        }
    }
}

static void refuses_outputs_that_cannot_be(void **state)
{
    struct op stats = op_of(OP_STATS), stale = op_of(OP_RETURN), get = op_of(OP_GET);

    assert_int_equal(DECODE(&stats, "*7\n:0\n:1\n:-1\n:0\n:-1\n:0\n:0\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&stale, "*4\n:0\n:1\n:-1\n:4\n"), REPLY_MALFORMED);
    assert_int_equal(DECODE(&get, "*5\n:0\n:1\n:-1\n:5\n$3\nabc\n"), REPLY_MALFORMED);
}

static void finds_the_counter_in_the_ids_the_store_made(void **state)
{
    struct op op = op_of(OP_PUSH);

    op.status = STATUS_OK;
    op.out.push.id = BYTES("640005");
    assert_int_equal(reply_counter(&op, 64), 0); /* the caller's id says nothing */
    op.id = BYTES("");
    assert_int_equal(reply_counter(&op, 64), 10000);
    op.out.push.id = BYTES("99999999999999999999999999");
    assert_int_equal(reply_counter(&op, 64), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_code_clock_and_wait_of_every_script),
        cmocka_unit_test(a_push_may_be_lost_to_the_ledger),
        cmocka_unit_test(gives_back_the_id_of_the_caller_or_the_one_that_was_made),
        cmocka_unit_test(knows_whether_a_job_with_the_id_lived),
        cmocka_unit_test(reads_jobs_with_small_and_big_bodies),
        cmocka_unit_test(takes_no_more_jobs_than_were_asked_for),
        cmocka_unit_test(refuses_times_that_no_clock_shows),
        cmocka_unit_test(knows_whether_a_pop_left_something),
        cmocka_unit_test(knows_how_large_the_bodies_are_that_were_not_brought),
        cmocka_unit_test(sends_a_pop_again_that_met_tombstones_only),
        cmocka_unit_test(counts_what_a_scan_moved),
        cmocka_unit_test(takes_as_much_as_one_scan_may_move),
        cmocka_unit_test(refuses_a_scan_that_does_not_add_up),
        cmocka_unit_test(reads_the_pops_of_a_scan),
        cmocka_unit_test(refuses_pops_that_the_scan_did_not_bring),
        cmocka_unit_test(reads_a_page_of_topics),
        cmocka_unit_test(takes_no_more_topics_than_were_asked_for),
        cmocka_unit_test(reads_an_owner),
        cmocka_unit_test(reads_who_has_reserved_a_job),
        cmocka_unit_test(tells_errors_apart),
        cmocka_unit_test(calls_a_malformed_answer_unknown_for_writes_only),
        cmocka_unit_test(refuses_outputs_that_cannot_be),
        cmocka_unit_test(finds_the_counter_in_the_ids_the_store_made),
    };

    return cmocka_run_group_tests_name("decode", tests, NULL, reply_fini);
}

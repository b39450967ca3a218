/* All nodes scan, each its own topics: the rule of doc/cluster.md, row by row.
 *
 * What a test needs to last, lasts FAR_MS; what it needs to be over, is waited for. Where half
 * of a lock's time matters, it is the next scan's lock_ms that changes, not the clock.
 */
#include "node/store/contract/locks.h"

#include <stdio.h>

void sharer_init(struct sharer *s, const char *name, const char *owner, char mark,
                 uint64_t view)
{
    s->name = name;
    memset(s->marks, mark, SHARES);
    s->share = (struct scan_share){.view = view,
                                   .owner = bytes_of_text(owner),
                                   .marks = bytes_of(s->marks, SHARES),
                                   .lock_ms = FAR_MS,
                                   .late_ms = LATE_MS};
}

void sharer_mark(struct sharer *s, struct bytes topic, char mark)
{
    s->marks[share_of(topic)] = mark;
}

struct op sharer_scan_op(const struct sharer *s)
{
    struct op op = {.verb = OP_SCAN, .bucket = bucket_of(TOPIC)};

    op.in.scan.limit = 1000;
    op.in.scan.node = bytes_of_text(s->name);
    op.in.scan.share = &s->share;
    return op;
}

static struct sharer a, b;

static void be_two(char mark_of_a, uint64_t view_of_a, char mark_of_b, uint64_t view_of_b)
{
    sharer_init(&a, "node-a", "00000000000000aa", mark_of_a, view_of_a);
    sharer_init(&b, "node-b", "00000000000000bb", mark_of_b, view_of_b);
}

static struct op scan_by_at_most(struct sharer *s, unsigned limit)
{
    struct op op = sharer_scan_op(s);

    op.in.scan.limit = limit;
    op = run_well(op);
    assert_int_equal(op.wait_ms, -1);
    return op;
}

static struct op scan_by(struct sharer *s)
{
    return scan_by_at_most(s, 1000);
}

void let_due(struct bytes topic, const char *id)
{
    struct op op = push_op(topic, id);

    op.in.push.delay_ms = 1;
    wait_until(run_well(op).out.push.due_ms);
}

/* Does it move a job of TOPIC that is due? */
static bool moves(struct sharer *s)
{
    static unsigned number;
    char id[16];

    snprintf(id, sizeof(id), "job-%u", number++);
    let_due(TOPIC, id);
    return scan_by(s).out.scan.moved > 0;
}

struct topic_lock lock_of(struct bytes topic)
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(topic)};

    op.in.topics.limit = OP_TOPICS_MAX;
    op.in.topics.owners = true;
    do {
        op = run_well(op);
        for (unsigned i = 0; i < op.out.topics.count; i++)
            if (bytes_equal(op.out.topics.rows[i].topic, topic))
                return op.out.topics.rows[i].lock;
        op.in.topics.after = op.out.topics.next;
    } while (op.out.topics.next.len);
    fail_msg("no such topic");
    return (struct topic_lock){0};
}

static void assert_locked(struct bytes topic, const struct sharer *s, uint64_t view)
{
    struct topic_lock lock = lock_of(topic);

    assert_bytes(lock.node, bytes_of_text(s->name));
    assert_int_equal(lock.view, view);
    assert_in_range(lock.left_ms, 1, s->share.lock_ms);
    assert_true(lock.token > 0);
}

static void assert_unlocked(struct bytes topic)
{
    struct topic_lock lock = lock_of(topic);

    assert_int_equal(lock.node.len, 0);
    assert_int_equal(lock.view, 0);
    assert_int_equal(lock.token, 0);
    assert_int_equal(lock.left_ms, 0);
}

static void assert_taken(struct op op, unsigned taken, unsigned over, unsigned late)
{
    assert_int_equal(op.out.scan.taken, taken);
    assert_int_equal(op.out.scan.taken_over, over);
    assert_int_equal(op.out.scan.taken_late, late);
}

/* ---- own ---- */

static void an_own_topic_that_is_due_is_locked_and_moves(void **state)
{
    struct op op;

    be_two('+', 7, '-', 7);
    let_due(TOPIC, "a");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.lateness_count, 1);
    assert_int_equal(op.out.scan.barred, 0);
    assert_taken(op, 1, 0, 0);
    assert_locked(TOPIC, &a, 7);
    ASSERT_READY("a");
}

/* A name of so many bytes, in TOPIC's bucket, none like another. */
static struct bytes name_of_bytes(char *room, size_t len)
{
    for (unsigned i = 0; i < len; i++)
        room[i] = (char)('a' + (i * 7 + len) % 26);
    while (bucket_of(bytes_of(room, len)) != bucket_of(TOPIC))
        room[len / 2]++;
    return bytes_of(room, len);
}

/* The node and the store must not differ on whose a topic is, however short its name. */
static void a_topic_is_of_the_share_that_its_name_says(void **state)
{
    static const size_t lens[] = {1, 2, 3, 4, 5, 6, 7, 31, 199, 200};
    char room[200];

    be_two('-', 7, '-', 7);
    for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
        struct bytes topic = name_of_bytes(room, lens[i]);

        memset(a.marks, '-', SHARES);
        memset(b.marks, '+', SHARES);
        sharer_mark(&a, topic, '+');
        sharer_mark(&b, topic, '-');
        let_due(topic, "a");
        assert_int_equal(scan_by(&b).out.scan.moved, 0);
        assert_int_equal(scan_by(&a).out.scan.moved, 1);
    }
}

static void a_topic_with_nothing_due_is_not_locked(void **state)
{
    struct op op;

    be_two('+', 7, '-', 7);
    push_delayed("later", FAR_MS);
    push("now");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 0);
    assert_taken(op, 0, 0, 0);
    assert_in_range(op.out.scan.next_ms, 1, FAR_MS);
    assert_unlocked(TOPIC);
}

static void the_lock_is_told_only_where_it_is_asked_for(void **state)
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(TOPIC), .in.topics.limit = 9};

    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    op = run_well(op);
    assert_int_equal(op.out.topics.count, 1);
    assert_int_equal(op.out.topics.rows[0].lock.node.len, 0);
    assert_int_equal(op.out.topics.rows[0].lock.token, 0);
}

static void a_lock_of_its_own_is_gone_on_with(void **state)
{
    struct topic_lock first, second;
    struct op op;

    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    first = lock_of(TOPIC);
    wait_until(store_now() + 2);
    let_due(TOPIC, "a");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 1);
    assert_taken(op, 0, 0, 0);
    second = lock_of(TOPIC);
    assert_int_equal(second.token, first.token);
    assert_true(second.left_ms < first.left_ms);
}

static void after_half_of_its_time_it_is_renewed(void **state)
{
    struct topic_lock first, second;

    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    first = lock_of(TOPIC);
    a.share.lock_ms = 3 * FAR_MS;
    let_due(TOPIC, "a");
    assert_taken(scan_by(&a), 0, 0, 0);
    second = lock_of(TOPIC);
    assert_int_equal(second.token, first.token);
    assert_true(second.left_ms > 2 * FAR_MS);
    assert_locked(TOPIC, &a, 7);
}

static void in_another_view_it_is_renewed(void **state)
{
    struct topic_lock first;

    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    first = lock_of(TOPIC);
    for (uint64_t view = 8; view >= 6; view -= 2) {
        a.share.view = view;
        assert_true(moves(&a));
        assert_locked(TOPIC, &a, view);
        assert_int_equal(lock_of(TOPIC).token, first.token);
    }
}

static void a_lock_ends_by_the_clock_of_the_store(void **state)
{
    int64_t token;

    be_two('+', 7, '+', 7);
    assert_true(moves(&a));
    token = lock_of(TOPIC).token;
    a.share.lock_ms = 2;
    a.share.view = 8;
    assert_true(moves(&a)); /* it is written anew, for 2 ms */
    wait_until(store_now() + 3);
    assert_unlocked(TOPIC);
    assert_true(moves(&b));
    assert_locked(TOPIC, &b, 7);
    assert_true(lock_of(TOPIC).token > token);
}

/* ---- two nodes ---- */

static void a_newer_view_takes_over_and_bars_the_older(void **state)
{
    struct topic_lock first;
    struct op op;

    be_two('+', 7, '+', 8);
    assert_true(moves(&a));
    first = lock_of(TOPIC);
    let_due(TOPIC, "a");
    op = scan_by(&b);
    assert_int_equal(op.out.scan.moved, 1);
    assert_taken(op, 0, 1, 0);
    assert_locked(TOPIC, &b, 8);
    assert_true(lock_of(TOPIC).token > first.token);
    let_due(TOPIC, "b");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 0);
    assert_int_equal(op.out.scan.barred, 1);
    assert_int_equal(op.out.scan.next_ms, 1000);
    assert_locked(TOPIC, &b, 8);
}

/* Digits and letters, in the order of numbers. */
static void views_are_compared_as_numbers(void **state)
{
    static const uint64_t views[] = {1,         9, 10, 16, 0x99, 0xa0, 0xf9, UINT64_MAX - 1,
                                     UINT64_MAX};
    struct sharer *who[] = {&a, &b};

    be_two('+', 0, '+', 0);
    for (unsigned i = 0; i < sizeof(views) / sizeof(*views); i++) {
        struct sharer *now = who[i % 2];

        now->share.view = views[i];
        assert_true(moves(now));
        assert_locked(TOPIC, now, views[i]);
        assert_false(moves(who[(i + 1) % 2]));
    }
}

static void in_the_same_view_the_first_one_keeps_it(void **state)
{
    be_two('+', 7, '+', 7);
    assert_true(moves(&b));
    assert_false(moves(&a));
    assert_true(moves(&b));
    assert_locked(TOPIC, &b, 7);
}

static void who_is_barred_comes_back_when_the_lock_ends(void **state)
{
    struct op op;

    be_two('+', 7, '+', 7);
    b.share.lock_ms = ROOM_MS;
    assert_true(moves(&b));
    let_due(TOPIC, "a");
    for (op = scan_by(&a); op.out.scan.barred; op = scan_by(&a)) {
        assert_int_equal(op.out.scan.moved, 0);
        assert_in_range(op.out.scan.next_ms, 1, 1000);
        wait_until(op.now_ms + op.out.scan.next_ms);
    }
    assert_int_equal(op.out.scan.moved, 1);
    assert_locked(TOPIC, &a, 7);
}

static void each_topic_has_a_lock_of_its_own(void **state)
{
    be_two('+', 7, '-', 7);
    sharer_mark(&a, OTHER, '-');
    sharer_mark(&b, OTHER, '+');
    let_due(TOPIC, "a");
    let_due(OTHER, "b");
    assert_int_equal(scan_by(&a).out.scan.moved, 1);
    assert_int_equal(scan_by(&b).out.scan.moved, 1);
    assert_locked(TOPIC, &a, 7);
    assert_locked(OTHER, &b, 7);
    assert_true(lock_of(TOPIC).token != lock_of(OTHER).token);
}

/* ---- kept, and the others' ---- */

static void what_is_kept_goes_on_and_is_not_renewed(void **state)
{
    struct op op;

    be_two('+', 7, '+', 8);
    assert_true(moves(&a));
    be_two('~', 8, '+', 8);
    a.share.lock_ms = 3 * FAR_MS;
    let_due(TOPIC, "a");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 1);
    assert_taken(op, 0, 0, 0);
    a.share.lock_ms = FAR_MS;
    assert_locked(TOPIC, &a, 7);
    assert_true(moves(&b));
    assert_false(moves(&a));
    assert_locked(TOPIC, &b, 8);
}

static void what_was_kept_and_not_had_is_left_alone(void **state)
{
    struct op op;

    be_two('~', 8, '+', 8);
    let_due(TOPIC, "a");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 0);
    assert_int_equal(op.out.scan.barred, 0);
    assert_int_equal(op.out.scan.next_ms, -1);
    assert_unlocked(TOPIC);
}

static void the_events_of_what_is_kept_are_waited_for(void **state)
{
    be_two('~', 8, '-', 8);
    push_delayed("a", FAR_MS);
    assert_in_range(scan_by(&a).out.scan.next_ms, 1, FAR_MS);
    assert_int_equal(scan_by(&b).out.scan.next_ms, -1);
}

static void the_topics_of_others_are_left_alone(void **state)
{
    struct op op;

    be_two('-', 7, '+', 7);
    let_due(TOPIC, "a");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 0);
    assert_int_equal(op.out.scan.barred, 0);
    assert_int_equal(op.out.scan.next_ms, -1);
    assert_unlocked(TOPIC);
    assert_counts(TOPIC, 1, 0, 0);
}

static void what_is_late_is_taken_by_anyone(void **state)
{
    static const char marks[] = "-~";

    for (unsigned i = 0; i < 2; i++) {
        struct op op;

        be_two(marks[i], 7, '+', 7 - i);
        a.share.late_ms = 1;
        a.share.lock_ms = 1;
        let_due(TOPIC, i ? "a" : "b");
        wait_until(store_now() + 1);
        op = scan_by(&a);
        assert_int_equal(op.out.scan.moved, 1);
        assert_taken(op, 1, 0, 1);
        wait_until(store_now() + 1);
    }
}

static void what_is_late_and_locked_is_left_to_the_lock(void **state)
{
    struct op op;

    be_two('-', 9, '+', 7);
    a.share.late_ms = 0;
    assert_true(moves(&b));
    assert_false(moves(&a)); /* though its view is newer: it is not the one to take over */
    op = scan_by(&a);
    assert_int_equal(op.out.scan.barred, 0);
    assert_int_equal(op.out.scan.next_ms, -1);
    assert_locked(TOPIC, &b, 7);
}

static void what_was_taken_late_is_gone_on_with_while_it_is_late(void **state)
{
    struct topic_lock first;

    be_two('-', 7, '+', 7);
    a.share.late_ms = 0;
    assert_true(moves(&a));
    first = lock_of(TOPIC);
    assert_true(moves(&a));
    assert_int_equal(lock_of(TOPIC).token, first.token);
    a.share.late_ms = LATE_MS;
    assert_false(moves(&a));
}

/* Else all topics would stay with the first one that comes back after an outage. */
static void whose_it_is_takes_over_what_was_taken_late(void **state)
{
    struct topic_lock late;
    struct op op;

    be_two('-', 7, '+', 7);
    a.share.late_ms = 0;
    assert_true(moves(&a));
    assert_locked(TOPIC, &a, 0);
    late = lock_of(TOPIC);
    let_due(TOPIC, "a");
    op = scan_by(&b);
    assert_int_equal(op.out.scan.moved, 1);
    assert_taken(op, 0, 1, 0);
    assert_locked(TOPIC, &b, 7);
    assert_true(lock_of(TOPIC).token > late.token);
    assert_false(moves(&a));
}

static void a_late_topic_is_done_to_its_end(void **state)
{
    be_two('-', 7, '+', 7);
    a.share.late_ms = 0;
    let_due(TOPIC, "a");
    let_due(TOPIC, "b");
    assert_int_equal(scan_by_at_most(&a, 1).out.scan.next_ms, 0);
    assert_int_equal(scan_by_at_most(&a, 1).out.scan.moved, 1);
}

/* ---- what comes next ---- */

static void the_next_event_is_that_of_its_own_topics(void **state)
{
    struct op sooner = push_op(OTHER, "sooner"), op;

    be_two('+', 7, '-', 7);
    sharer_mark(&a, OTHER, '-');
    sooner.in.push.delay_ms = FAR_MS;
    run_well(sooner);
    push_delayed("later", 2 * FAR_MS);
    op = scan_by(&a);
    assert_in_range(op.out.scan.next_ms, FAR_MS + 1, 2 * FAR_MS);
    let_due(OTHER, "now");
    assert_in_range(scan_by(&a).out.scan.next_ms, FAR_MS + 1, 2 * FAR_MS);
}

static void while_its_own_work_is_left_it_comes_back_at_once(void **state)
{
    struct op op;

    be_two('+', 7, '-', 7);
    let_due(TOPIC, "a");
    let_due(OTHER, "b");
    op = scan_by_at_most(&a, 1);
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.next_ms, 0);
    assert_taken(op, 1, 0, 0); /* who is not reached is not locked */
    assert_unlocked(OTHER);
    op = scan_by_at_most(&a, 1);
    assert_int_equal(op.out.scan.moved, 1);
    assert_taken(op, 1, 0, 0);
    assert_int_equal(scan_by_at_most(&a, 1).out.scan.next_ms, -1);
}

struct bytes crowd_name(unsigned *number)
{
    static char names[CROWD_MAX * CONTRACT_BUCKETS * 2][16];
    struct bytes name;

    do {
        assert_in_range(*number, 0, CROWD_MAX * CONTRACT_BUCKETS * 2 - 1);
        snprintf(names[*number], sizeof(names[0]), "crowd-%u", *number);
        name = bytes_of_text(names[(*number)++]);
    } while (bucket_of(name) != bucket_of(TOPIC));
    return name;
}

int64_t crowd(unsigned count, unsigned number, int64_t delay_ms)
{
    struct op ops[100];
    int64_t due_ms = 0;

    for (; count > 0; count -= 100) {
        for (unsigned i = 0; i < 100; i++) {
            ops[i] = push_op(crowd_name(&number), "a");
            ops[i].in.push.delay_ms = delay_ms;
        }
        run_all(ops, 100);
        for (unsigned i = 0; i < 100; i++)
            assert_status(ops[i], OK);
        due_ms = ops[99].out.push.due_ms;
    }
    return due_ms;
}

/* TOPIC is a's, whatever the crowd; some of it may be of the same share. */
static void crowd_before_topic(unsigned count)
{
    be_two('-', 7, '-', 7);
    wait_until(crowd(count, 0, 1));
    let_due(TOPIC, "own");
    sharer_mark(&a, TOPIC, '+');
}

static void it_looks_past_the_topics_of_others(void **state)
{
    struct op op;

    crowd_before_topic(900);
    op = scan_by(&a);
    assert_true(op.out.scan.moved > 0);
    assert_int_equal(op.out.scan.next_ms, -1);
    assert_counts(TOPIC, 0, 1, 0);
    assert_locked(TOPIC, &a, 7);
}

static void a_scan_takes_a_hundred_topics_and_the_next_goes_on(void **state)
{
    struct op op;

    be_two('+', 7, '-', 7);
    wait_until(crowd(200, 0, 1));
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 100);
    assert_taken(op, 100, 0, 0);
    assert_int_equal(op.out.scan.next_ms, 0);
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 100);
    assert_taken(op, 100, 0, 0);
    assert_int_equal(op.out.scan.next_ms, -1);
}

/* It answers the time of the last one that it has looked at. */
static void far_ahead_it_does_not_look_for_its_own(void **state)
{
    be_two('-', 7, '-', 7);
    crowd(200, 0, FAR_MS);
    assert_int_equal(scan_by(&a).out.scan.next_ms, -1);
    crowd(100, CROWD_MAX * CONTRACT_BUCKETS, FAR_MS);
    assert_in_range(scan_by(&a).out.scan.next_ms, 1, FAR_MS);
    push_delayed("own", FAR_MS / 2);
    sharer_mark(&a, TOPIC, '+');
    assert_in_range(scan_by(&a).out.scan.next_ms, 1, FAR_MS / 2);
}

/* ---- as without a share ---- */

static void the_fence_does_not_matter(void **state)
{
    struct bytes token = BYTES("11111111111111111111111111111111:0020000000000009");
    struct op op = {.verb = OP_FENCE, .bucket = bucket_of(TOPIC), .token = token};

    be_two('+', 7, '-', 7);
    run_well(op);
    let_due(TOPIC, "a");
    assert_int_equal(scan_by(&a).out.scan.moved, 1);
    op.verb = OP_SCAN;
    op.in.scan = (typeof(op.in.scan)){.limit = 9};
    op.token = BYTES("");
    assert_status(run(op), FENCED);
}

static void who_scans_without_a_share_scans_all(void **state)
{
    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    let_due(TOPIC, "a");
    assert_int_equal(scan(1000).out.scan.moved, 1);
    assert_locked(TOPIC, &a, 7);
}

static void a_topic_that_is_stuck_is_left_alone_for_a_second(void **state)
{
    struct op op;

    be_two('+', 7, '-', 7);
    push_delayed("lost", 1);
    lose("lost");
    let_due(OTHER, "a");
    op = scan_by(&a);
    assert_int_equal(op.out.scan.moved, 1);
    assert_int_equal(op.out.scan.stuck, 1);
    assert_true(op.out.scan.wrong.len > 0);
    assert_in_range(op.out.scan.next_ms, 1, 1000);
    repair("lost");
}

/* TOPIC's only job is acknowledged, and a scan is called. */
static void end_the_topic(void)
{
    struct op popped = pop(1), call = id_op(OP_REPAIR, "");

    call.in.repair.calls_scan = true;
    assert_int_equal(run_well(call).wait_ms, 0);
    assert_status(ack(popped.out.pop.jobs), OK);
}

static void a_topic_that_ends_leaves_no_lock(void **state)
{
    be_two('+', 7, '-', 7);
    assert_true(moves(&a));
    assert_locked(TOPIC, &a, 7);
    end_the_topic();
    assert_int_equal(scan_by(&a).out.scan.next_ms, -1);
    push("again");
    assert_unlocked(TOPIC);
}

static void a_topic_that_ends_takes_no_lock(void **state)
{
    be_two('+', 7, '-', 7);
    push("a");
    end_the_topic();
    assert_taken(scan_by(&a), 0, 0, 0);
    push("again");
    assert_unlocked(TOPIC);
}

#define TEST(name) cmocka_unit_test(name)
static const struct CMUnitTest tests[] = {
    TEST(an_own_topic_that_is_due_is_locked_and_moves),
    TEST(a_topic_is_of_the_share_that_its_name_says),
    TEST(a_topic_with_nothing_due_is_not_locked),
    TEST(the_lock_is_told_only_where_it_is_asked_for),
    TEST(a_lock_of_its_own_is_gone_on_with),
    TEST(after_half_of_its_time_it_is_renewed),
    TEST(in_another_view_it_is_renewed),
    TEST(a_lock_ends_by_the_clock_of_the_store),
    TEST(a_newer_view_takes_over_and_bars_the_older),
    TEST(views_are_compared_as_numbers),
    TEST(in_the_same_view_the_first_one_keeps_it),
    TEST(who_is_barred_comes_back_when_the_lock_ends),
    TEST(each_topic_has_a_lock_of_its_own),
    TEST(what_is_kept_goes_on_and_is_not_renewed),
    TEST(what_was_kept_and_not_had_is_left_alone),
    TEST(the_events_of_what_is_kept_are_waited_for),
    TEST(the_topics_of_others_are_left_alone),
    TEST(what_is_late_is_taken_by_anyone),
    TEST(what_is_late_and_locked_is_left_to_the_lock),
    TEST(what_was_taken_late_is_gone_on_with_while_it_is_late),
    TEST(whose_it_is_takes_over_what_was_taken_late),
    TEST(a_late_topic_is_done_to_its_end),
    TEST(the_next_event_is_that_of_its_own_topics),
    TEST(while_its_own_work_is_left_it_comes_back_at_once),
    TEST(it_looks_past_the_topics_of_others),
    TEST(a_scan_takes_a_hundred_topics_and_the_next_goes_on),
    TEST(far_ahead_it_does_not_look_for_its_own),
    TEST(the_fence_does_not_matter),
    TEST(who_scans_without_a_share_scans_all),
    TEST(a_topic_that_is_stuck_is_left_alone_for_a_second),
    TEST(a_topic_that_ends_leaves_no_lock),
    TEST(a_topic_that_ends_takes_no_lock),
};

const struct contract_part contract_locks = {tests, sizeof(tests) / sizeof(*tests)};

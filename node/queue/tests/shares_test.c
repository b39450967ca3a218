/* The shares of nodes: fair, the same on all nodes, and none moves that need not. */
#include "base/tests/unit.h"
#include "base/crc16.h"
#include "node/queue/shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 64
#define ALL     (BUCKETS * SHARES)
#define LOCK_MS 5000

static char texts[80][16];
static struct bytes names[80];

static int set_up(void **state)
{
    for (unsigned i = 0; i < 80; i++) {
        snprintf(texts[i], sizeof(texts[i]), "dueq-%u", i);
        names[i] = bytes_of_text(texts[i]);
    }
    return 0;
}

static void see(struct shares *s, uint64_t number, unsigned count, int64_t now_mono_ms)
{
    const struct shares_view view = {.number = number, .nodes = names, .count = count};

    shares_see(s, &view, now_mono_ms);
}

static struct shares *of_node(unsigned node, unsigned count)
{
    struct shares *s = shares_new(BUCKETS, names[node], LOCK_MS);

    see(s, 1, count, 0);
    return s;
}

static unsigned count_marks(struct shares *s, char mark, int64_t now_mono_ms)
{
    unsigned count = 0;

    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        struct bytes marks = shares_marks(s, bucket, now_mono_ms);

        assert_int_equal(marks.len, SHARES);
        for (unsigned i = 0; i < SHARES; i++)
            count += marks.at[i] == mark;
    }
    return count;
}

/* ---- who ---- */

static void scores_are_the_same_in_all_versions(void **state)
{
    assert_int_equal(shares_score(BYTES(""), 0, 0), UINT64_C(0xe587d3dff9e92ed0));
    assert_int_equal(shares_score(BYTES("node1"), 0, 0), UINT64_C(0xfd46868d112f996a));
    assert_int_equal(shares_score(BYTES("node1"), 63, 255), UINT64_C(0x2696834862955538));
    assert_int_equal(shares_score(BYTES("node2"), 7, 42), UINT64_C(0x71cd9dc6b150aa26));
}

static void the_highest_score_is_preferred(void **state)
{
    struct shares *s = of_node(0, 5);

    for (unsigned share = 0; share < SHARES; share++) {
        struct bytes preferred = shares_preferred(s, 9, share);
        uint64_t score = shares_score(preferred, 9, share);

        assert_true(shares_have(s, preferred));
        for (unsigned i = 0; i < 5; i++)
            assert_true(shares_score(names[i], 9, share) <= score);
    }
    shares_free(s);
}

static unsigned number_of(struct bytes node)
{
    return (unsigned)strtoul(node.at + strlen("dueq-"), NULL, 10);
}

/* 16,384 balls in up to 64 boxes: five standard deviations. */
static void every_node_has_its_fair_share(void **state)
{
    for (unsigned nodes = 2; nodes <= 64; nodes++) {
        struct shares *s = of_node(0, nodes);
        int fair = ALL / (int)nodes, has[64] = {0};

        for (unsigned i = 0; i < ALL; i++)
            has[number_of(shares_preferred(s, i / SHARES, i % SHARES))]++;
        assert_int_equal(shares_own_count(s), has[0]);
        for (unsigned i = 0; i < nodes; i++)
            assert_true((has[i] - fair) * (has[i] - fair) <= 25 * fair);
        shares_free(s);
    }
}

static void all_nodes_agree_whose_a_share_is(void **state)
{
    struct shares *nodes[7];

    for (unsigned i = 0; i < 7; i++)
        nodes[i] = of_node(i, 7);
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        for (unsigned share = 0; share < SHARES; share++) {
            struct bytes preferred = shares_preferred(nodes[0], bucket, share);

            for (unsigned i = 0; i < 7; i++) {
                char mark = shares_mark(nodes[i], bucket, share, 0);

                assert_int_equal(mark == SHARE_OWN, bytes_equal(names[i], preferred));
                assert_true(mark == SHARE_OWN || mark == SHARE_OTHERS);
                assert_true(bytes_equal(shares_preferred(nodes[i], bucket, share), preferred));
            }
        }
    }
    for (unsigned i = 0; i < 7; i++)
        shares_free(nodes[i]);
}

static void the_order_of_the_names_does_not_matter(void **state)
{
    struct bytes backwards[7];
    const struct shares_view view = {.number = 1, .nodes = backwards, .count = 7};
    struct shares *s = of_node(3, 7), *other = shares_new(BUCKETS, names[3], LOCK_MS);

    for (unsigned i = 0; i < 7; i++)
        backwards[i] = names[6 - i];
    shares_see(other, &view, 0);
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        assert_memory_equal(shares_marks(s, bucket, 0).at, shares_marks(other, bucket, 0).at,
                            SHARES);
    shares_free(s);
    shares_free(other);
}

static void of_too_many_nodes_all_leave_the_same_ones_out(void **state)
{
    struct bytes backwards[80];
    const struct shares_view view = {.number = 1, .nodes = backwards, .count = 80};
    struct shares *s = of_node(3, 80), *other = shares_new(BUCKETS, names[3], LOCK_MS);

    for (unsigned i = 0; i < 80; i++)
        backwards[i] = names[79 - i];
    shares_see(other, &view, 0);
    for (unsigned share = 0; share < SHARES; share++)
        assert_true(
            bytes_equal(shares_preferred(s, 1, share), shares_preferred(other, 1, share)));
    assert_true(shares_have(s, BYTES("dueq-0")));
    assert_false(shares_have(s, BYTES("dueq-9"))); /* the last by name */
    shares_free(s);
    shares_free(other);
}

/* ---- what moves ---- */

static void a_node_that_comes_takes_from_all_and_nothing_else_moves(void **state)
{
    struct shares *before = of_node(0, 4), *after = of_node(0, 5);
    unsigned lost[4] = {0};

    for (unsigned i = 0; i < ALL; i++) {
        struct bytes had = shares_preferred(before, i / SHARES, i % SHARES);
        struct bytes has = shares_preferred(after, i / SHARES, i % SHARES);

        if (bytes_equal(had, has))
            continue;
        assert_true(bytes_equal(has, names[4]));
        for (unsigned node = 0; node < 4; node++)
            lost[node] += bytes_equal(had, names[node]);
    }
    for (unsigned node = 0; node < 4; node++)
        assert_in_range(lost[node], ALL / 20 - 140, ALL / 20 + 140);
    shares_free(before);
    shares_free(after);
}

static void a_node_that_goes_leaves_its_shares_to_all(void **state)
{
    struct shares *s = of_node(0, 5);
    unsigned own = shares_own_count(s);

    see(s, 2, 4, 100);
    assert_in_range(shares_own_count(s) - own, ALL / 20 - 140, ALL / 20 + 140);
    assert_int_equal(count_marks(s, SHARE_KEPT, 100), 0);
    shares_free(s);
}

/* ---- kept ---- */

static void what_was_given_away_is_kept_for_as_long_as_a_lock_lasts(void **state)
{
    struct shares *s = of_node(0, 1);

    assert_int_equal(count_marks(s, SHARE_OWN, 0), ALL);
    see(s, 2, 2, 1000);
    assert_in_range(count_marks(s, SHARE_KEPT, 1000), ALL / 2 - 500, ALL / 2 + 500);
    assert_int_equal(count_marks(s, SHARE_OTHERS, 1000 + LOCK_MS - 1), 0);
    assert_int_equal(count_marks(s, SHARE_KEPT, 1000 + LOCK_MS), 0);
    assert_in_range(count_marks(s, SHARE_OTHERS, 1000 + LOCK_MS), ALL / 2 - 500, ALL / 2 + 500);
    shares_free(s);
}

static void each_share_is_kept_from_when_it_was_given_away(void **state)
{
    struct shares *s = of_node(0, 1);
    unsigned first;

    count_marks(s, SHARE_OWN, 0);
    see(s, 2, 2, 1000);
    first = count_marks(s, SHARE_KEPT, 1000);
    see(s, 3, 3, 2000);
    assert_true(count_marks(s, SHARE_KEPT, 2000) > first);
    assert_int_equal(count_marks(s, SHARE_OTHERS, 1000 + LOCK_MS), first);
    assert_int_equal(count_marks(s, SHARE_KEPT, 2000 + LOCK_MS), 0);
    shares_free(s);
}

static void what_comes_back_is_own_at_once(void **state)
{
    struct shares *s = of_node(0, 1);

    count_marks(s, SHARE_OWN, 0);
    see(s, 2, 2, 1000);
    count_marks(s, SHARE_KEPT, 1000);
    see(s, 3, 1, 2000);
    assert_int_equal(count_marks(s, SHARE_OWN, 2000), ALL);
    assert_int_equal(count_marks(s, SHARE_OWN, 1000 + LOCK_MS), ALL);
    shares_free(s);
}

/* Who is not in the view has left, and scans on for a moment. */
static void who_has_left_keeps_all(void **state)
{
    struct shares *s = of_node(2, 3);
    unsigned own = count_marks(s, SHARE_OWN, 0);

    see(s, 2, 2, 1000);
    assert_false(shares_have(s, names[2]));
    assert_int_equal(shares_own_count(s), 0);
    assert_int_equal(count_marks(s, SHARE_KEPT, 1000), own);
    shares_free(s);
}

/* It took no locks there. */
static void what_was_never_marked_as_own_is_not_kept(void **state)
{
    struct shares *s = of_node(0, 1);

    see(s, 2, 2, 1000);
    assert_int_equal(count_marks(s, SHARE_KEPT, 1000), 0);
    shares_free(s);
}

/* ---- views ---- */

static void nobody_scans_before_the_first_view(void **state)
{
    struct shares *s = shares_new(BUCKETS, names[0], LOCK_MS);

    assert_int_equal(shares_number(s), 0);
    assert_int_equal(count_marks(s, SHARE_OTHERS, 0), ALL);
    assert_int_equal(shares_own_count(s), 0);
    assert_int_equal(shares_preferred(s, 0, 0).len, 0);
    assert_false(shares_have(s, names[0]));
    see(s, 0, 0, 10);
    assert_int_equal(count_marks(s, SHARE_OTHERS, 10), ALL);
    see(s, 5, 1, 20);
    assert_int_equal(count_marks(s, SHARE_OWN, 20), ALL);
    shares_free(s);
}

static void an_older_view_is_taken_too(void **state)
{
    struct shares *s = of_node(0, 2);

    see(s, 900, 2, 10);
    assert_int_equal(shares_number(s), 900);
    see(s, 3, 1, 20);
    assert_int_equal(shares_number(s), 3);
    assert_int_equal(count_marks(s, SHARE_OWN, 20), ALL);
    shares_free(s);
}

/* ---- a topic's share ---- */

/* Eight nodes; the busiest has at most a quarter more than its fair share. */
static void topics_that_are_counted_are_spread(void **state)
{
    static const char *const befores[] = {"orders:", "user:", "user:", "a", "customer/", ""};
    static const char *const behinds[] = {
        "", ":reminders", ":notifications:push", ".b", "/mailbox/inbox/delayed", "/x"};
    struct shares *s = of_node(0, 8);
    char name[64];

    for (unsigned form = 0; form < sizeof(befores) / sizeof(*befores); form++) {
        unsigned has[8] = {0};

        for (unsigned i = 0; i < 8000; i++) {
            int len = sprintf(name, "%s%u%s", befores[form], i, behinds[form]);
            struct bytes topic = bytes_of(name, (size_t)len);

            has[number_of(shares_preferred(s, crc16(topic) % BUCKETS, share_of(topic)))]++;
        }
        for (unsigned i = 0; i < 8; i++)
            assert_in_range(has[i], 750, 1250);
    }
    shares_free(s);
}

/* A node of another version must not differ on whose a topic is. */
static void a_topic_has_the_same_share_in_all_versions(void **state)
{
    static const struct {
        struct bytes topic;
        unsigned share;
    } known[] = {
        {BYTES("orders"), 190},
        {BYTES("twelve-bytes"), 100},
        {BYTES("of-15-bytes-all"), 200},
        {BYTES("of-16-bytes-long"), 35},
        {BYTES("user:1234:reminders"), 35},
        {BYTES("tenant-77/e-mail/outgoing/\xff\xfe\xfd"), 231},
    };

    for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
        assert_int_equal(share_of(known[i].topic), known[i].share);
}

static void a_short_name_has_a_share_too(void **state)
{
    assert_int_equal(share_of(BYTES("")), 0);
    assert_int_equal(share_of(BYTES("t")), ('t' * 31 * 31 * 31 + 't') % SHARES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_the_same_in_all_versions),
        cmocka_unit_test(the_highest_score_is_preferred),
        cmocka_unit_test(every_node_has_its_fair_share),
        cmocka_unit_test(all_nodes_agree_whose_a_share_is),
        cmocka_unit_test(the_order_of_the_names_does_not_matter),
        cmocka_unit_test(of_too_many_nodes_all_leave_the_same_ones_out),
        cmocka_unit_test(a_node_that_comes_takes_from_all_and_nothing_else_moves),
        cmocka_unit_test(a_node_that_goes_leaves_its_shares_to_all),
        cmocka_unit_test(what_was_given_away_is_kept_for_as_long_as_a_lock_lasts),
        cmocka_unit_test(each_share_is_kept_from_when_it_was_given_away),
        cmocka_unit_test(what_comes_back_is_own_at_once),
        cmocka_unit_test(who_has_left_keeps_all),
        cmocka_unit_test(what_was_never_marked_as_own_is_not_kept),
        cmocka_unit_test(nobody_scans_before_the_first_view),
        cmocka_unit_test(an_older_view_is_taken_too),
        cmocka_unit_test(topics_that_are_counted_are_spread),
        cmocka_unit_test(a_topic_has_the_same_share_in_all_versions),
        cmocka_unit_test(a_short_name_has_a_share_too),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}

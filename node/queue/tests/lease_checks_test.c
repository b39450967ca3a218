/* Leases with a check: the check itself, and which leases are nobody's. */
#include "node/queue/lease_checks.h"
#include "node/queue/tests/fixtures/queue_fixture.h"

static struct fixture f, other;

/* ---- the check itself ---- */

static struct lease_mac mac_of_key(unsigned char first)
{
    unsigned char key[STORE_LEASE_KEY_BYTES];
    struct lease_mac m = {0};

    for (unsigned i = 0; i < sizeof(key); i++)
        key[i] = (unsigned char)(first + i);
    lease_mac_set_key(&m, key);
    return m;
}

/* Computed by Python's hmac module. */
static void a_check_is_that_of_hmac_sha256(void **state)
{
    struct lease_mac m = mac_of_key(0);
    char t[NAME_MAX_BYTES], i[NAME_MAX_BYTES];

    memset(t, 't', sizeof(t));
    memset(i, 'i', sizeof(i));
    assert_true(lease_mac_check(&m, BYTES("orders"), BYTES("order-8"), 896773478401) ==
                0x1fade9dcb93c9e74);
    assert_true(lease_mac_check(&m, BYTES(""), BYTES(""), 0) == 0xff921230177d146e);
    assert_true(lease_mac_check(&m, bytes_of(t, sizeof(t)), bytes_of(i, sizeof(i)),
                                JOB_STAMP_MAX) == 0x95e73a94928f1ce9);
    lease_mac_fini(&m);
}

/* Also where topic and id written behind each other are the same. */
static void a_check_is_of_one_number_one_topic_and_one_id(void **state)
{
    struct lease_mac m = mac_of_key(0);

    assert_true(lease_mac_check(&m, BYTES("ab"), BYTES("c"), 1) == 0xb4189a86cb9b415b);
    assert_true(lease_mac_check(&m, BYTES("a"), BYTES("bc"), 1) == 0x93a5ec1fc2c5cc9a);
    assert_true(lease_mac_check(&m, BYTES("ab"), BYTES("c"), 2) != 0xb4189a86cb9b415b);
    lease_mac_fini(&m);
}

static void another_key_makes_other_checks(void **state)
{
    struct lease_mac a = mac_of_key(0), b = mac_of_key(1);
    uint64_t of_a = lease_mac_check(&a, BYTES("t"), BYTES("1"), 1);

    assert_true(of_a != lease_mac_check(&b, BYTES("t"), BYTES("1"), 1));
    lease_mac_set_key(&b, a.key);
    assert_true(of_a == lease_mac_check(&b, BYTES("t"), BYTES("1"), 1));
    lease_mac_set_key(&b, a.key);
    assert_true(of_a == lease_mac_check(&b, BYTES("t"), BYTES("1"), 1));
    lease_mac_fini(&a);
    lease_mac_fini(&b);
}

/* ---- which leases are nobody's ---- */

/* A client that pops, and what it holds then. */
struct client {
    struct pop pop;
    struct fixture *at;
    int64_t stamp;
    bool has_check;
    uint64_t check;
};

static void on_popped(struct pop *pop)
{
    struct client *c = CONTAINER_OF(pop, struct client, pop);

    assert_int_equal(pop->status, STATUS_OK);
    c->stamp = pop->jobs[0].stamp;
    c->has_check = queue_lease_checks(c->at->q, pop, &c->check);
    queue_delivered(c->at->q, pop->delivery);
}

static struct client take(struct fixture *at, const char *id)
{
    static const struct bytes topic = {"t", 1};
    struct client c = {
        .at = at,
        .pop = {.topics = &topic, .topic_count = 1, .count = 1, .on_done = on_popped}};

    assert_int_equal(push(at, "t", id, 0, 60000), STATUS_OK);
    queue_pop(at->q, &c.pop);
    fixture_turn(at);
    assert_true(c.stamp > 0);
    return c;
}

/* The operation with the client's lease, of a job with that id. */
static enum status use(struct fixture *at, const struct client *c, enum op_verb verb,
                       const char *id)
{
    struct call call = {.op.in.lease = {.has_check = c->has_check, .check = c->check}};

    return submit(at, &call, verb, "t", id, c->stamp);
}

static void set_rule(struct fixture *at, enum queue_lease_check rule)
{
    struct queue_options options = fixture_options();

    options.lease_check = rule;
    queue_reload(at->q, &options);
}

static int set_up(void **state)
{
    fixture_start_active(&f, 4);
    set_rule(&f, QUEUE_LEASE_CHECK_AUTO);
    return 0;
}

static int tear_down(void **state)
{
    fixture_end(&f);
    return 0;
}

static void a_lease_with_its_check_is_taken(void **state)
{
    struct client c = take(&f, "1");

    assert_true(c.has_check);
    assert_int_equal(use(&f, &c, OP_TOUCH, "1"), STATUS_OK);
    assert_int_equal(use(&f, &c, OP_ACK, "1"), STATUS_OK);
    c = take(&f, "2");
    assert_int_equal(use(&f, &c, OP_RELEASE, "2"), STATUS_OK);
    c = take(&f, "3"); /* is given "2", which is first in line */
    assert_int_equal(use(&f, &c, OP_BURY, "2"), STATUS_OK);
}

/* Every answer is that of a lease that was valid once. */
static void a_wrong_check_is_answered_like_a_stale_lease(void **state)
{
    static const enum op_verb verbs[] = {OP_ACK, OP_RELEASE, OP_TOUCH, OP_BURY};
    struct client right = take(&f, "1"), wrong = right;

    for (unsigned bit = 0; bit < 64; bit++) {
        wrong.check = right.check ^ UINT64_C(1) << bit;
        assert_int_equal(use(&f, &wrong, verbs[bit % 4], "1"), STATUS_NOT_OWNER);
    }
    assert_int_equal(use(&f, &wrong, OP_ACK, "2"), STATUS_NOT_FOUND);
    assert_int_equal(push(&f, "t", "2", 0, 60000), STATUS_OK);
    assert_int_equal(use(&f, &wrong, OP_ACK, "2"), STATUS_NOT_RESERVED);
    assert_int_equal(use(&f, &right, OP_ACK, "1"), STATUS_OK);
}

static void a_check_is_no_good_for_another_lease(void **state)
{
    struct client a = take(&f, "1"), b = take(&f, "2"), guess = a;

    guess.stamp = b.stamp;
    assert_int_equal(use(&f, &guess, OP_ACK, "2"), STATUS_NOT_OWNER);
    assert_int_equal(use(&f, &a, OP_ACK, "2"), STATUS_NOT_OWNER);
    assert_int_equal(use(&f, &b, OP_ACK, "2"), STATUS_OK);
}

/* A guess must not end the wait for the reader's acknowledgement either. */
static void a_guess_confirms_no_delivery(void **state)
{
    struct consumer c = {0};
    struct call guess = {0};

    assert_int_equal(push(&f, "t", "1", 0, 60000), STATUS_OK);
    consume(&f, &c, "t", 1, 0);
    assert_int_equal(submit(&f, &guess, OP_TOUCH, "t", "1", c.stamps[0]), STATUS_NOT_OWNER);
    assert_int_equal(queue_stats(f.q)->unconfirmed, 1);
    returned(&f, &c);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void a_number_alone_is_refused_in_a_new_store(void **state)
{
    struct client c = take(&f, "1");

    c.has_check = false;
    assert_int_equal(use(&f, &c, OP_ACK, "1"), STATUS_NOT_OWNER);
}

static void a_number_alone_is_taken_where_such_leases_may_be_out(void **state)
{
    struct client c = take(&f, "1");

    memory_store_port(f.ms)->lease_key.has_bare = true;
    c.has_check = false;
    assert_int_equal(use(&f, &c, OP_TOUCH, "1"), STATUS_OK);
    set_rule(&f, QUEUE_LEASE_CHECK_REQUIRE);
    assert_int_equal(use(&f, &c, OP_TOUCH, "1"), STATUS_NOT_OWNER);
    set_rule(&f, QUEUE_LEASE_CHECK_OFF);
    assert_int_equal(use(&f, &c, OP_ACK, "1"), STATUS_OK);
}

static enum lease_readers readers;

static enum lease_readers read_readers(void *arg)
{
    return readers;
}

static bool asked_by_the_store(void)
{
    const struct store_events *events = &memory_store_port(f.ms)->events;

    return events->has_bare(events->arg);
}

/* By rule, by what others can read, and by the store's age: are checks handed out, and is a
 * number alone taken? */
static void follows_the_rules_of_the_upgrade(void **state)
{
    static const struct {
        enum queue_lease_check rule;
        enum lease_readers readers;
        bool has_bare, hands_out, takes_bare;
    } rows[] = {
        {QUEUE_LEASE_CHECK_AUTO, LEASE_READERS_ALL, false, true, false},
        {QUEUE_LEASE_CHECK_AUTO, LEASE_READERS_ALL, true, true, true},
        {QUEUE_LEASE_CHECK_AUTO, LEASE_READERS_UNKNOWN, false, true, false},
        {QUEUE_LEASE_CHECK_AUTO, LEASE_READERS_UNKNOWN, true, false, true},
        {QUEUE_LEASE_CHECK_AUTO, LEASE_READERS_SOME, false, false, true},
        {QUEUE_LEASE_CHECK_AUTO, LEASE_READERS_SOME, true, false, true},
        {QUEUE_LEASE_CHECK_REQUIRE, LEASE_READERS_SOME, true, true, false},
        {QUEUE_LEASE_CHECK_OFF, LEASE_READERS_ALL, false, false, true},
    };

    queue_ask_lease_readers(f.q, read_readers, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;

        set_rule(&f, rows[i].rule);
        readers = rows[i].readers;
        memory_store_port(f.ms)->lease_key.has_bare = rows[i].has_bare;
        c = take(&f, "1");
        if (c.has_check != rows[i].hands_out)
            fail_msg("row %zu: hands out", i);
        c.has_check = false;
        if ((use(&f, &c, OP_TOUCH, "1") == STATUS_OK) != rows[i].takes_bare)
            fail_msg("row %zu: takes a number alone", i);
        if (asked_by_the_store() != rows[i].takes_bare)
            fail_msg("row %zu: what the store keeps", i);
        submit(&f, &(struct call){0}, OP_CANCEL, "t", "1", 0);
    }
}

static void a_lease_that_the_node_holds_needs_no_check(void **state)
{
    struct client c = take(&f, "1");
    struct call call = {.op.in.lease = {.is_nodes = true}};

    set_rule(&f, QUEUE_LEASE_CHECK_REQUIRE);
    assert_int_equal(submit(&f, &call, OP_ACK, "t", "1", c.stamp), STATUS_OK);
    assert_false(memory_store_port(f.ms)->lease_key.has_bare);
}

static void leases_of_an_older_node_outlive_it_in_a_new_store(void **state)
{
    struct client c;

    queue_ask_lease_readers(f.q, read_readers, NULL);
    readers = LEASE_READERS_SOME;
    c = take(&f, "1");
    assert_false(c.has_check);
    assert_true(memory_store_port(f.ms)->lease_key.has_bare);
    readers = LEASE_READERS_UNKNOWN;
    assert_int_equal(use(&f, &c, OP_TOUCH, "1"), STATUS_OK);
    readers = LEASE_READERS_ALL;
    assert_int_equal(use(&f, &c, OP_ACK, "1"), STATUS_OK);
}

static void nodes_of_a_store_take_each_others_leases(void **state)
{
    struct client c = take(&f, "1");

    fixture_join(&other, &f);
    set_rule(&other, QUEUE_LEASE_CHECK_REQUIRE);
    assert_int_equal(use(&other, &c, OP_ACK, "1"), STATUS_OK);
    fixture_end(&other);
}

static void a_node_that_has_no_key_yet_waits_for_it(void **state)
{
    struct call right = {0}, wrong = {0};
    struct client c = take(&f, "1"), d = take(&f, "2");

    memory_store_let_wait(f.ms);
    fixture_take_down(&f);
    memory_store_port(f.ms)->lease_key = (struct store_lease_key){.is_known = false};
    right.op.in.lease.has_check = wrong.op.in.lease.has_check = true;
    right.op.in.lease.check = c.check;
    wrong.op.in.lease.check = d.check + 1;
    submit(&f, &right, OP_ACK, "t", "1", c.stamp);
    submit(&f, &wrong, OP_ACK, "t", "2", d.stamp);
    assert_false(right.is_done || wrong.is_done);
    fixture_bring_up(&f);
    assert_int_equal(right.status, STATUS_OK);
    assert_int_equal(wrong.status, STATUS_NOT_OWNER);
}

static void a_lease_of_a_key_that_is_gone_is_stale(void **state)
{
    struct client c = take(&f, "1");

    memory_store_port(f.ms)->lease_key.bytes[0] ^= 1;
    assert_int_equal(use(&f, &c, OP_ACK, "1"), STATUS_NOT_OWNER);
    memory_store_port(f.ms)->lease_key.bytes[0] ^= 1;
    assert_int_equal(use(&f, &c, OP_ACK, "1"), STATUS_OK);
}

static void on_acked(struct id_ack *ack)
{
    assert_int_equal(ack->status, STATUS_OK);
}

static void an_acknowledgement_by_id_needs_no_lease(void **state)
{
    struct id_ack ack = {.id = BYTES("1"), .holder = 7, .on_done = on_acked};
    struct consumer c = {0};

    set_rule(&f, QUEUE_LEASE_CHECK_REQUIRE);
    assert_int_equal(push(&f, "t", "1", 0, 60000), STATUS_OK);
    consume_by_id(&f, &c, "t", 7);
    delivered(&f, &c);
    queue_ack_by_id(f.q, &ack);
    fixture_turn(&f);
    assert_int_equal(state_of(&f, "t", "1"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_check_is_that_of_hmac_sha256),
        cmocka_unit_test(a_check_is_of_one_number_one_topic_and_one_id),
        cmocka_unit_test(another_key_makes_other_checks),
        TEST(a_lease_with_its_check_is_taken),
        TEST(a_wrong_check_is_answered_like_a_stale_lease),
        TEST(a_check_is_no_good_for_another_lease),
        TEST(a_guess_confirms_no_delivery),
        TEST(a_number_alone_is_refused_in_a_new_store),
        TEST(a_number_alone_is_taken_where_such_leases_may_be_out),
        TEST(follows_the_rules_of_the_upgrade),
        TEST(a_lease_that_the_node_holds_needs_no_check),
        TEST(leases_of_an_older_node_outlive_it_in_a_new_store),
        TEST(nodes_of_a_store_take_each_others_leases),
        TEST(a_node_that_has_no_key_yet_waits_for_it),
        TEST(a_lease_of_a_key_that_is_gone_is_stale),
        TEST(an_acknowledgement_by_id_needs_no_lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

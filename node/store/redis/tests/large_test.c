/* A small request with a large reply: a few are asked for at a time, whatever else waits; those
 * that nobody waits for are not made; and whatever was asked for, nothing is left behind.
 */
#include "node/store/redis/tests/store_fixture.h"

#include <stdlib.h>

#include <event2/event.h>
#include <hiredis/hiredis.h>

#include "base/crc16.h"
#include "node/store/attributes.h"
#include "node/store/redis/parts.h"

#define LARGE       1000000
#define LARGE_READS 100

static char large_body[LARGE];
static struct job_op reads[LARGE_READS]; /* a test that fails leaves them on their way */

static void push_body(struct node *n, const char *topic, const char *id, size_t bytes)
{
    struct job_op a = {.op.id = bytes_of_text(id),
                       .op.in.push = {.body = bytes_of(large_body, bytes),
                                      .ttr_ms = 60000,
                                      .rules = rules_default}};

    submit_op(n, &a, OP_PUSH, topic);
    assert_int_equal(await(n, &a), STATUS_OK);
}

static void push_large(struct node *n, const char *id)
{
    push_body(n, "t", id, LARGE);
}

static long memory_of(struct redis_fixture *redis)
{
    redisReply *reply;
    long bytes;

    redis_fixture_command(redis, "PING"); /* makes the connection */
    reply = redisCommand(redis->control, "INFO memory");
    assert_non_null(reply);
    bytes = atol(strstr(reply->str, "used_memory:") + strlen("used_memory:"));
    freeReplyObject(reply);
    return bytes;
}

/* While the node does not read: Redis has answered what it has been sent before it answers
 * this. */
static long most_memory_of(struct redis_fixture *redis)
{
    long most = 0;

    for (unsigned i = 0; i < 50; i++) {
        long bytes = memory_of(redis);

        most = bytes > most ? bytes : most;
    }
    return most;
}

static void assert_all_got(void)
{
    for (unsigned i = 0; i < LARGE_READS; i++)
        assert_int_equal(reads[i].op.status, STATUS_OK);
}

/* When the first of many has been answered; `base`: Redis's memory before them. */
static void assert_answered_within_bounds(struct node *n, const struct job_op *first, long base)
{
    run_until(n->loop, &first->is_done);
    assert_in_range(most_memory_of(n->redis), 0,
                    base + (long)n->options.replies_max + 4 * LARGE);
}

static void large_replies_are_asked_for_a_few_at_a_time(void **state)
{
    struct node *n = *state;
    static struct job_op small, page;
    unsigned before = 0;
    long base;

    memset(reads, 0, sizeof(reads));
    node_start_up(n);
    push_large(n, "a");
    base = memory_of(n->redis);
    for (unsigned i = 0; i < LARGE_READS; i++) {
        reads[i].op.id = BYTES("a");
        submit_op(n, &reads[i], OP_GET, "t");
    }
    assert_answered_within_bounds(n, &reads[0], base);

    /* What is small does not wait for them, nor do they wait for ever. */
    submit_push(n, &small, "t");
    page = (struct job_op){.op.in.list = {.state = JOB_READY, .limit = OP_LIST_MAX}};
    submit_op(n, &page, OP_LIST, "t");
    run_until(n->loop, &small.is_done);
    for (unsigned i = 0; i < LARGE_READS; i++)
        before += reads[i].is_done;
    assert_in_range(before, 1, LARGE_READS / 2);
    run_until(n->loop, &page.is_done);
    run_until(n->loop, &reads[LARGE_READS - 1].is_done);
    assert_all_got();
    assert_int_equal(stats(n)->held, 0);
}

static int scripts_of_a_pop(struct node *n, const char *topic, unsigned count)
{
    static struct job_op pop;
    redisReply *reply;
    int calls;

    redis_fixture_command(n->redis, "CONFIG RESETSTAT");
    pop = (struct job_op){.op.in.pop.count = count};
    submit_op(n, &pop, OP_POP, topic);
    assert_int_equal(await(n, &pop), STATUS_OK);
    assert_int_equal(pop.op.out.pop.count, count);
    reply = redisCommand(n->redis->control, "INFO commandstats");
    assert_non_null(reply);
    calls =
        atoi(strstr(reply->str, "cmdstat_evalsha:calls=") + strlen("cmdstat_evalsha:calls="));
    freeReplyObject(reply);
    return calls;
}

static void large_jobs_are_popped_a_few_at_a_time(void **state)
{
    struct node *n = *state;
    char id[16];
    long base;

    memset(reads, 0, sizeof(reads));
    node_start_up(n);
    for (unsigned i = 0; i < LARGE_READS; i++) {
        snprintf(id, sizeof(id), "%u", i);
        push_large(n, id);
    }
    base = memory_of(n->redis);
    for (unsigned i = 0; i < LARGE_READS; i++) {
        reads[i].op.in.pop.count = 1;
        submit_op(n, &reads[i], OP_POP, "t");
    }
    assert_answered_within_bounds(n, &reads[0], base);
    run_until(n->loop, &reads[LARGE_READS - 1].is_done);
    assert_all_got();
    assert_int_equal(redis_fixture_command(n->redis, "ZCARD dq:{%u}:v:t", reads[0].op.bucket),
                     LARGE_READS);

    /* What is known to be large is not asked for twice; what is small again waits for nobody.
     */
    push_large(n, "b");
    assert_int_equal(scripts_of_a_pop(n, "t", 1), 1);
    push(n, &reads[0], "t");
    assert_int_equal(scripts_of_a_pop(n, "t", 1), 1);
    push_large(n, "c");
    assert_int_equal(scripts_of_a_pop(n, "t", 1), 2);

    /* What counts is all that it brings. */
    push_body(n, "u", "a", 20000);
    push_body(n, "u", "b", 20000);
    assert_int_equal(scripts_of_a_pop(n, "u", 2), 2);
    push_body(n, "v", "a", 20000);
    assert_int_equal(scripts_of_a_pop(n, "v", 1), 1);
}

static void push_with_attributes(struct node *n, const char *id)
{
    static char value[ATTRIBUTES_MAX_BYTES - 10];
    struct attributes attributes = {0};
    struct job_op a = {.op.id = bytes_of_text(id)};

    memset(value, 'v', sizeof(value));
    assert_true(attributes_add(&attributes, BYTES("name"), bytes_of(value, sizeof(value))));
    a.op.in.push = (typeof(a.op.in.push)){.ttr_ms = 60000,
                                          .rules = rules_default,
                                          .has_extra = true,
                                          .attributes = attributes_packed(&attributes)};
    submit_op(n, &a, OP_PUSH, "t");
    assert_int_equal(await(n, &a), STATUS_OK);
}

/* Each job of a page may bring as much as its attributes may have. */
static void pages_are_asked_for_a_few_at_a_time(void **state)
{
    struct node *n = *state;
    char id[16];
    long base;

    memset(reads, 0, sizeof(reads));
    node_start_up(n);
    for (unsigned i = 0; i < OP_LIST_MAX; i++) {
        snprintf(id, sizeof(id), "%u", i);
        push_with_attributes(n, id);
    }
    base = memory_of(n->redis);
    for (unsigned i = 0; i < LARGE_READS; i++) {
        reads[i].op.in.list = (typeof(reads[i].op.in.list)){JOB_READY, .limit = OP_LIST_MAX};
        submit_op(n, &reads[i], OP_LIST, "t");
    }
    assert_answered_within_bounds(n, &reads[0], base);
    run_until(n->loop, &reads[LARGE_READS - 1].is_done);
    assert_all_got();
}

/* Somebody who asks for one page after the other, until `pages_left` is 0. */
struct page_reader {
    struct op op;
    struct store *store;
};

static unsigned pages_left, pages_on_their_way;

static void on_page(struct op *op)
{
    struct page_reader *p = CONTAINER_OF(op, struct page_reader, op);

    if (pages_left == 0) {
        pages_on_their_way--;
        return;
    }
    pages_left--;
    store_submit(p->store, op);
}

static void read_pages(struct node *n, struct page_reader *p, const char *topic)
{
    *p = (struct page_reader){.op = {.verb = OP_LIST, .on_done = on_page},
                              .store = redis_store_port(n->store)};
    p->op.topic = bytes_of_text(topic);
    p->op.bucket = crc16(p->op.topic) % n->options.buckets;
    p->op.in.list.state = JOB_READY;
    p->op.in.list.limit = OP_LIST_MAX;
    pages_on_their_way++;
    store_submit(p->store, &p->op);
}

/* Those of other buckets would have room all the time, and leave it none. */
static void a_large_read_is_not_passed_by_smaller_ones_of_other_buckets(void **state)
{
    struct node *n = *state;
    static struct page_reader readers[2];
    static struct job_op get;

    n->options.replies_max = LARGE + OP_LIST_MAX * 5000;
    node_start_up(n);
    push_large(n, "a");
    pages_left = 1000;
    for (unsigned i = 0; i < 2; i++)
        read_pages(n, &readers[i], "u");
    get = (struct job_op){.op.id = BYTES("a")};
    submit_op(n, &get, OP_GET, "t");
    assert_int_not_equal(get.op.bucket, readers[0].op.bucket);
    assert_int_equal(await(n, &get), STATUS_OK);
    assert_in_range(pages_left, 900, 1000);
    pages_left = 0;
    while (pages_on_their_way > 0)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
}

/* One that is larger than all of them may be comes alone; in a stop they end like the others.
 */
static void large_reads_end_with_the_store(void **state)
{
    struct node *n = *state;

    n->options.replies_max = 1000;
    memset(reads, 0, sizeof(reads));
    node_start_up(n);
    push_large(n, "a");
    for (unsigned i = 0; i < 3; i++) {
        reads[i].op.id = BYTES("a");
        submit_op(n, &reads[i], OP_GET, "t");
    }
    assert_int_equal(await(n, &reads[0]), STATUS_OK);
    node_stop(n);
    run_until(n->loop, &n->is_stopped);
    for (unsigned i = 1; i < 3; i++)
        assert_true(reads[i].op.status == STATUS_OK ||
                    reads[i].op.status == STATUS_SHUTTING_DOWN);
    assert_int_equal(reads[2].op.status, STATUS_SHUTTING_DOWN);

    redis_store_free(n->store); /* for tear_down */
    n->is_stopped = false;
    node_start(n);
}

/* Not large, as far as is known: each may bring 32 KiB that nobody was told of before. */
static void replies_of_unknown_size_are_bounded_too(void **state)
{
    static struct job_op many[2000];
    struct node *n = *state;
    struct job_op small = {0};
    const unsigned count = sizeof(many) / sizeof(*many);
    unsigned before = 0;
    long base;

    memset(many, 0, sizeof(many));
    node_start_up(n);
    push_body(n, "t", "a", 32000);
    base = memory_of(n->redis);
    for (unsigned i = 0; i < count; i++) {
        many[i].op.id = BYTES("a");
        submit_op(n, &many[i], OP_GET, "t");
    }
    assert_answered_within_bounds(n, &many[0], base);

    /* What brings nothing waits for none of them. */
    submit_push(n, &small, "t");
    run_until(n->loop, &small.is_done);
    for (unsigned i = 0; i < count; i++)
        before += many[i].is_done;
    assert_in_range(before, 1, count / 2);
    run_until(n->loop, &many[count - 1].is_done);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(many[i].op.status, STATUS_OK);
}

/* ---- nobody waits for it any more ---- */

static void abandon(struct node *n, struct job_op *j)
{
    store_abandon(redis_store_port(n->store), &j->op);
}

static unsigned abandoned_reads_that_were_answered(struct node *n, bool at_once)
{
    unsigned answered = 0;

    memset(reads, 0, sizeof(reads));
    for (unsigned i = 0; i < LARGE_READS; i++) {
        reads[i].op.id = BYTES("a");
        submit_op(n, &reads[i], OP_GET, "t");
    }
    if (!at_once)
        run_until(n->loop, &reads[0].is_done);
    for (unsigned i = 0; i < LARGE_READS; i++)
        abandon(n, &reads[i]);
    for (unsigned i = 0; i < LARGE_READS; i++) {
        run_until(n->loop, &reads[i].is_done);
        answered += reads[i].op.status == STATUS_OK;
        assert_true(reads[i].op.status == STATUS_OK ||
                    reads[i].op.status == STATUS_UNAVAILABLE);
    }
    return answered;
}

/* Whether the clients leave while the reads wait for room, or while their sizes are asked for.
 */
static void a_large_read_that_nobody_waits_for_is_not_made(void **state)
{
    struct node *n = *state;

    node_start_up(n);
    push_large(n, "a");
    assert_in_range(abandoned_reads_that_were_answered(n, false), 1, 20);
    assert_int_equal(abandoned_reads_that_were_answered(n, true), 0);
    assert_int_equal(stats(n)->held, 0);
    assert_int_equal(stats(n)->held_bytes, 0);
}

static void a_read_that_waits_for_room_is_dropped_and_a_write_is_not(void **state)
{
    struct node *n = *state;
    struct job_op first = {0}, write = {0}, read = {0}, pop = {.op.in.pop.count = 1};
    struct job_op ahead = {.op.is_ahead = true};

    n->options.flight_max = 1;
    node_start_up(n);
    submit_push(n, &first, "t");
    submit_push(n, &write, "t");
    submit_stats(n, &read, "t");
    submit_op(n, &pop, OP_POP, "t");
    submit_op(n, &ahead, OP_SETTINGS, "t");
    abandon(n, &first);
    abandon(n, &write);
    abandon(n, &read);
    abandon(n, &pop);
    abandon(n, &ahead);
    assert_false(read.is_done); /* not from inside the call */
    assert_int_equal(await(n, &read), STATUS_UNAVAILABLE);
    assert_false(first.is_done);
    run_until(n->loop, &ahead.is_done);
    run_until(n->loop, &pop.is_done);
    assert_int_equal(first.op.status, STATUS_OK);
    assert_int_equal(write.op.status, STATUS_OK);
    assert_int_equal(pop.op.status, STATUS_OK);
    assert_int_equal(ahead.op.status, STATUS_OK);
    assert_int_equal(stats(n)->dropped, 1);
    assert_int_equal(stats(n)->held, 0);
}

/* ---- by chance ---- */

#define CHANCE_OPS   60
#define CHANCE_STEPS 6000

static struct job_op chance[CHANCE_OPS];

static void submit_by_chance(struct node *n, struct job_op *j)
{
    static const enum op_verb verbs[] = {OP_GET, OP_GET,  OP_GET,   OP_PUSH,
                                         OP_POP, OP_LIST, OP_STATS, OP_SETTINGS};
    static const char *const ids[] = {"a", "b", "c", "d"}, *const topics[] = {"t", "u", "v"};
    static const size_t sizes[] = {10, 2000, 30000, 40000, 200000};
    enum op_verb verb = verbs[rand() % 8];

    *j = (struct job_op){.op.id = bytes_of_text(ids[rand() % 4])};
    if (verb == OP_PUSH)
        j->op.in.push = (typeof(j->op.in.push)){.body = bytes_of(large_body, sizes[rand() % 5]),
                                                .ttr_ms = 60000,
                                                .mode = PUSH_REPLACE,
                                                .rules = rules_default};
    else if (verb == OP_POP)
        j->op.in.pop.count = 1 + (unsigned)rand() % 4;
    else if (verb == OP_LIST)
        j->op.in.list = (typeof(j->op.in.list)){.state = JOB_READY, .limit = 50};
    j->op.is_ahead = verb == OP_SETTINGS;
    submit_op(n, j, verb, topics[rand() % 3]);
}

static void check_lane(struct node *n)
{
    const struct redis_lane *lane = n->store->route.buckets[0].lane;
    const struct redis_store_stats *stats = redis_store_stats(n->store);

    if (!lane)
        return;
    assert_int_equal(lane->in_flight, stats->in_flight);
    assert_int_equal(lane->reply_bytes[REDIS_REPLY_SMALL], 0);
    assert_in_range(stats->in_flight + stats->held, 0, CHANCE_OPS);
    if (stats->in_flight == 0)
        assert_int_equal(
            lane->reply_bytes[REDIS_REPLY_UNKNOWN] + lane->reply_bytes[REDIS_REPLY_LARGE], 0);
}

/* Whatever is read, pushed, popped, abandoned and lost: each ends, and the counts are zero. */
static void operations_by_chance_leave_nothing_behind(void **state)
{
    struct node *n = *state;
    unsigned ended = 0;

    srand(1);
    memset(chance, 0, sizeof(chance));
    n->options.flight_max = 5;
    n->options.replies_max = 100000;
    node_start_up(n);
    for (unsigned i = 0; i < CHANCE_OPS; i++)
        chance[i].is_done = true;
    for (unsigned step = 0; step < CHANCE_STEPS; step++) {
        struct job_op *j = &chance[rand() % CHANCE_OPS];

        if (j->is_done) {
            ended++;
            submit_by_chance(n, j);
        } else if (rand() % 2) {
            abandon(n, j);
        }
        if (step % 1000 == 999)
            redis_fixture_command(n->redis, "CLIENT KILL TYPE normal SKIPME yes");
        if (rand() % 8 == 0)
            event_base_loop(n->loop->base, EVLOOP_NONBLOCK);
        check_lane(n);
    }
    for (unsigned i = 0; i < CHANCE_OPS; i++)
        run_until(n->loop, &chance[i].is_done);
    check_lane(n);
    assert_int_equal(stats(n)->in_flight, 0);
    assert_int_equal(stats(n)->held, 0);
    assert_int_equal(stats(n)->held_bytes, 0);
    assert_true(ended > CHANCE_OPS && stats(n)->dropped > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(large_replies_are_asked_for_a_few_at_a_time),
        WITH_REDIS(large_jobs_are_popped_a_few_at_a_time),
        WITH_REDIS(pages_are_asked_for_a_few_at_a_time),
        WITH_REDIS(a_large_read_is_not_passed_by_smaller_ones_of_other_buckets),
        WITH_REDIS(large_reads_end_with_the_store),
        WITH_REDIS(replies_of_unknown_size_are_bounded_too),
        WITH_REDIS(a_large_read_that_nobody_waits_for_is_not_made),
        WITH_REDIS(a_read_that_waits_for_room_is_dropped_and_a_write_is_not),
        WITH_REDIS(operations_by_chance_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Slots of keys, answers to CLUSTER SLOTS as Redis 6.2 and 7.0 write them, and redirections. */
#include "base/tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "node/store/redis/topology/cluster_map.h"
#include "node/store/redis/topology/slots.h"

#define BUCKETS 128
#define META    BYTES("dq:meta") /* slot 4213 */

static const struct redis_address asked = {.host = "10.9.9.9", .port = 7000};

/* ---- keys; the numbers are those that CLUSTER KEYSLOT of Redis 7.0 says ---- */

static void a_key_has_the_slot_that_redis_says(void **state)
{
    static const struct {
        const char *key;
        unsigned slot;
    } keys[] = {
        {"", 0},
        {"foo", 12182},
        {"dq:meta", 4213},
        {"dq:{7}:a", 1716},
        {"7", 1716},
        {"{7}", 1716},
        {"x{7}y{8}z", 1716},
        {"foo{}{bar}", 8363},
        {"foo{bar", 15278},
        {"foo}{bar", 7624},
        {"{", 4092},
        {"a{}", 6082},
        {"{{bar}}", 4015},
        {"foo{{bar}}z", 4015},
    };

    for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (redis_slot_of(bytes_of_text(keys[i].key)) != keys[i].slot)
            fail_msg("'%s': %u", keys[i].key, redis_slot_of(bytes_of_text(keys[i].key)));
    }
}

static void a_bucket_has_the_slot_of_its_keys(void **state)
{
    char key[32];

    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        snprintf(key, sizeof(key), "dq:{%u}:t", bucket);
        assert_int_equal(redis_slot_of_bucket(bucket), redis_slot_of(bytes_of_text(key)));
    }
}

/* ---- answers ---- */

/* `text` with "\n" for "\r\n". */
static redisReply *answer(const char *text)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    for (; *text; text++) {
        if (*text == '\n')
            redisReaderFeed(reader, "\r", 1);
        redisReaderFeed(reader, text, 1);
    }
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static enum status read_text(struct redis_map *map, const char *text)
{
    redisReply *reply = answer(text);
    enum status status = redis_map_read(map, reply, &asked, BUCKETS, META);

    freeReplyObject(reply);
    return status;
}

static struct redis_map map_of(const char *text)
{
    struct redis_map map;

    assert_int_equal(read_text(&map, text), STATUS_OK);
    return map;
}

static void assert_at(const struct redis_map *map, unsigned char who, const char *address)
{
    char text[REDIS_ADDRESS_CHARS];

    assert_in_range(who, 0, map->master_count - 1);
    redis_address_print(&map->masters[who], text);
    assert_string_equal(text, address);
}

#define ID  "$40\ne785e5d9741f9563d7ecf10cd23203eacc967f88\n"
#define ID2 "$40\n26b87cb835175a13b0642f0a58822fa36827c597\n"

static void reads_what_redis_7_writes(void **state)
{
    struct redis_map map = map_of("*2\n*4\n:0\n:8191\n*4\n$9\n127.0.0.1\n:7001\n" ID "*0\n"
                                  "*4\n$9\n127.0.0.1\n:7004\n" ID2 "*2\n$8\nhostname\n$1\nx\n"
                                  "*3\n:8192\n:16383\n*4\n$9\n127.0.0.1\n:7002\n" ID2 "*0\n");

    assert_int_equal(map.master_count, 2);
    assert_int_equal(map.covered, REDIS_SLOTS);
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        assert_at(&map, map.of_bucket[bucket],
                  redis_slot_of_bucket(bucket) < 8192 ? "127.0.0.1:7001" : "127.0.0.1:7002");
    assert_at(&map, map.of_meta, "127.0.0.1:7001");
}

/* Without the array of more; a master's ranges need not stand together. */
static void reads_what_redis_6_writes(void **state)
{
    struct redis_map map = map_of("*3\n*3\n:0\n:4213\n*3\n$8\n10.0.0.1\n:7001\n" ID
                                  "*3\n:4214\n:16000\n*3\n$2\n::\n:7002\n" ID2
                                  "*3\n:16001\n:16383\n*3\n$8\n10.0.0.1\n:7001\n" ID);

    assert_int_equal(map.master_count, 2);
    assert_at(&map, map.of_meta, "10.0.0.1:7001");
    assert_at(&map, map.of_bucket[7], "10.0.0.1:7001");
    assert_at(&map, map.of_bucket[0], "[::]:7002"); /* slot 13907 */
}

static bool are_equal(const struct redis_map *a, const struct redis_map *b)
{
    return a->master_count == b->master_count && a->of_meta == b->of_meta &&
           a->covered == b->covered &&
           !memcmp(a->of_bucket, b->of_bucket, sizeof(a->of_bucket)) &&
           !memcmp(a->masters, b->masters, sizeof(a->masters));
}

static void the_order_of_the_ranges_is_no_matter(void **state)
{
    struct redis_map a = map_of("*2\n*3\n:0\n:8191\n*3\n$1\nh\n:2\n" ID
                                "*3\n:8192\n:16383\n*3\n$1\nh\n:1\n" ID2);
    struct redis_map b = map_of("*2\n*3\n:8192\n:16383\n*3\n$1\nh\n:1\n" ID2
                                "*3\n:0\n:8191\n*3\n$1\nh\n:2\n" ID);

    assert_true(are_equal(&a, &b));
    assert_at(&a, a.of_bucket[7], "h:2"); /* slot 1716 */
    assert_at(&a, a.of_bucket[0], "h:1"); /* slot 13907 */
    assert_at(&a, a.of_meta, "h:2");
}

static void slots_that_are_nowhere_are_nobodys(void **state)
{
    struct redis_map none = map_of("*0\n");
    struct redis_map some = map_of("*1\n*3\n:1716\n:1716\n*3\n$1\nh\n:1\n" ID);

    assert_true(are_equal(&none, &none) && are_equal(&some, &some));
    assert_false(are_equal(&none, &some));
    assert_int_equal(none.master_count, 0);
    assert_int_equal(none.covered, 0);
    assert_int_equal(none.of_meta, REDIS_NO_MASTER);
    assert_int_equal(none.of_bucket[BUCKETS - 1], REDIS_NO_MASTER);
    assert_int_equal(some.covered, 1);
    assert_at(&some, some.of_bucket[7], "h:1");
    assert_int_equal(some.of_bucket[0], REDIS_NO_MASTER);
    assert_int_equal(some.of_meta, REDIS_NO_MASTER);
}

/* It has nothing of ours: it is not asked, and has no lane. */
static void a_master_without_a_bucket_is_not_listed(void **state)
{
    assert_int_equal(map_of("*1\n*3\n:3\n:3\n*3\n$1\nh\n:1\n" ID).master_count, 0);
}

/* Nil: "unknown-endpoint". "": a node that has met no other. "?": preferred is a hostname, and
 * it has none. */
static void an_odd_host_is_understood(void **state)
{
    struct redis_map nil =
        map_of("*1\n*3\n:0\n:16383\n*4\n$-1\n:7001\n" ID "*2\n$2\nip\n$8\n10.0.0.1\n");
    struct redis_map empty = map_of("*1\n*3\n:0\n:16383\n*4\n$0\n\n:7001\n" ID "*0\n");
    struct redis_map named =
        map_of("*1\n*3\n:0\n:16383\n*4\n$3\na.b\n:7001\n" ID "*2\n$2\nip\n$8\n10.0.0.1\n");
    struct redis_map unnamed =
        map_of("*1\n*3\n:0\n:16383\n*4\n$1\n?\n:7001\n" ID "*2\n$2\nip\n$8\n10.0.0.1\n");

    assert_at(&nil, nil.of_meta, "10.9.9.9:7001");
    assert_at(&empty, empty.of_meta, "10.9.9.9:7001");
    assert_at(&named, named.of_meta, "a.b:7001");
    assert_at(&unnamed, unnamed.of_meta, "10.0.0.1:7001");
}

static void a_master_without_an_address_is_nobody(void **state)
{
    static const char *const answers[] = {
        "*1\n*3\n:0\n:16383\n*3\n$1\n?\n:7001\n" ID,
        "*1\n*3\n:0\n:16383\n*4\n$1\n?\n:7001\n" ID "*2\n$2\nip\n$0\n\n",
        "*1\n*3\n:0\n:16383\n*4\n$1\n?\n:7001\n" ID "*1\n$2\nip\n",
        "*1\n*3\n:0\n:16383\n*3\n$1\nh\n:0\n" ID, /* TLS only */
        "*1\n*3\n:0\n:16383\n*3\n$1\nh\n:65536\n" ID,
        "*1\n*3\n:0\n:16383\n*3\n$2\nh\t\n:7001\n" ID,
    };

    for (unsigned i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct redis_map map = map_of(answers[i]);

        assert_int_equal(map.master_count, 0);
        assert_int_equal(map.covered, 0);
        assert_int_equal(map.of_meta, REDIS_NO_MASTER);
    }
}

static void what_is_no_map_is_refused_and_changes_nothing(void **state)
{
    static const char *const answers[] = {
        "+OK\n",
        ":1\n",
        "$-1\n",
        "-ERR This instance has cluster support disabled\n",
        "*1\n:1\n",
        "*1\n*2\n:0\n:1\n",
        "*1\n*3\n:-1\n:1\n*3\n$1\nh\n:1\n" ID,
        "*1\n*3\n:0\n:16384\n*3\n$1\nh\n:1\n" ID,
        "*1\n*3\n:2\n:1\n*3\n$1\nh\n:1\n" ID,
        "*1\n*3\n$1\n0\n:1\n*3\n$1\nh\n:1\n" ID,
        "*1\n*3\n:0\n:1\n$1\nh\n",
        "*1\n*3\n:0\n:1\n*1\n$1\nh\n",
        "*1\n*3\n:0\n:1\n*2\n:1\n:1\n",
        "*1\n*3\n:0\n:1\n*2\n$1\nh\n$1\n1\n",
        "*2\n*3\n:0\n:16383\n*2\n$1\nh\n:1\n*3\n:0\n:0\n*2\n$1\ng\n:1\n",
    };
    struct redis_map map;

    for (unsigned i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        map.covered = 77;
        if (read_text(&map, answers[i]) != STATUS_BAD_CONFIG)
            fail_msg("%s", answers[i]);
        assert_int_equal(map.covered, 77);
    }
}

/* Every bucket at a master of its own, and dq:meta at one more. */
static void there_is_room_for_all_masters_there_can_be(void **state)
{
    static char text[BUCKETS * 80];
    struct redis_map map;
    size_t len;

    len = (size_t)sprintf(text, "*%d\n*3\n:4213\n:4213\n*2\n$4\nmeta\n:1\n", BUCKETS + 1);
    for (unsigned b = 0; b < BUCKETS; b++)
        len += (size_t)sprintf(text + len, "*3\n:%u\n:%u\n*2\n$1\nh\n:%u\n",
                               redis_slot_of_bucket(b), redis_slot_of_bucket(b), b + 1);
    map = map_of(text);
    assert_int_equal(map.master_count, REDIS_MASTERS_MAX);
    assert_at(&map, map.of_meta, "meta:1");
    assert_at(&map, map.of_bucket[127], "h:128");
}

/* ---- whose map is believed ---- */

static bool is_believed(struct redis_map_trust *t, bool is_ok, int64_t epoch, int64_t now_ms)
{
    return redis_map_trust(t, (struct redis_map_origin){is_ok, epoch}, now_ms);
}

static void a_map_from_before_a_failover_is_not_believed(void **state)
{
    struct redis_map_trust t = {0};

    assert_true(is_believed(&t, true, 3, 0));
    assert_true(is_believed(&t, true, 4, 1));
    assert_false(is_believed(&t, true, 3, 2));
    assert_true(is_believed(&t, true, 4, 3));
}

/* A replica raises its epoch each time it asks for votes. */
static void who_is_cut_off_is_not_believed_whatever_his_epoch(void **state)
{
    struct redis_map_trust t = {0};

    assert_true(is_believed(&t, true, 3, 0));
    assert_false(is_believed(&t, false, 9, 1));
    assert_true(is_believed(&t, true, 3, 2));
}

static void who_is_cut_off_is_better_than_nobody(void **state)
{
    struct redis_map_trust t = {0};

    assert_true(is_believed(&t, false, 9, 0));
    assert_true(is_believed(&t, false, 9, 1));
    assert_false(is_believed(&t, false, 8, 2));
    assert_true(is_believed(&t, true, 3, 3));
}

static void after_long_silence_any_map_is_believed(void **state)
{
    struct redis_map_trust t = {0};

    assert_true(is_believed(&t, true, 5, 1000));
    assert_true(is_believed(&t, true, 5, 5000));
    assert_false(is_believed(&t, false, 1, 5000 + REDIS_MAP_DOUBT_MS - 1));
    assert_true(is_believed(&t, false, 1, 5000 + REDIS_MAP_DOUBT_MS));
    assert_true(is_believed(&t, false, 1, 5001 + REDIS_MAP_DOUBT_MS));
}

/* ---- errors, as redis-server 6.2 and 7.0 write them ---- */

static void assert_redirect(const char *error, enum redis_redirect expected, const char *where)
{
    struct redis_address to = {.host = "untouched", .port = 1};
    char text[REDIS_ADDRESS_CHARS];

    if (redis_redirect_read(error, &asked, &to) != expected)
        fail_msg("%s", error);
    redis_address_print(&to, text);
    assert_string_equal(text, where);
}

static void reads_where_a_slot_went(void **state)
{
    assert_redirect("MOVED 1716 127.0.0.1:17101", REDIS_MOVED, "127.0.0.1:17101");
    assert_redirect("MOVED 1716 :17101", REDIS_MOVED, "10.9.9.9:17101");
    assert_redirect("MOVED 1716 redis-1.example:17101", REDIS_MOVED, "redis-1.example:17101");
    assert_redirect("MOVED 1716 fe80::1:17101", REDIS_MOVED, "[fe80::1]:17101");
    assert_redirect("ASK 1716 127.0.0.1:17102", REDIS_ASK, "127.0.0.1:17102");
}

static void who_says_moved_without_where_sends_nowhere(void **state)
{
    static const char *const errors[] = {
        "MOVED ",          "MOVED 1",          "MOVED 1 ",      "MOVED 1 h",
        "MOVED h:1",       "MOVED 1 h:",       "MOVED 1 h:0",   "MOVED 1 h:x",
        "MOVED 1 h:65536", "MOVED 1 h:123456", "MOVED 1 ?:700", "MOVED 1 a b:1",
        "MOVED 1 h:1 2",   "ASK 1 ?:700",
    };

    for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        assert_redirect(errors[i], REDIS_DOWN, "untouched:1");
}

static void reads_what_did_not_run(void **state)
{
    static const struct {
        const char *error;
        enum redis_redirect redirect;
    } errors[] = {
        {"TRYAGAIN Multiple keys request during rehashing of slot", REDIS_TRY_AGAIN},
        {"ERR Script attempted to access a non local key in a cluster node", REDIS_TRY_AGAIN},
        {"ERR Script attempted to access a non local key in a cluster node script: "
         "59c7cb87b5a0481c67051012b8c859073d4a20be, on @user_script:1.",
         REDIS_TRY_AGAIN},
        {"ERR Error running script (call to f_59c7cb87b5a0481c67051012b8c859073d4a20be): "
         "@user_script:1: @user_script: 1: Lua script attempted to access a non local key in a "
         "cluster node ",
         REDIS_TRY_AGAIN},
        {"CLUSTERDOWN The cluster is down", REDIS_DOWN},
        {"CLUSTERDOWN The cluster is down and only accepts read commands", REDIS_DOWN},
        {"CLUSTERDOWN Hash slot not served", REDIS_DOWN},
        {"ERR Script attempted to execute a command while the cluster is down script: "
         "4cfe541f8ecca8b83950c99fa801e6813b332969, on @user_script:1.",
         REDIS_DOWN},
        {"ERR Script attempted to execute a write command while the cluster is down and "
         "readonly script: 4cfe541f8ecca8b83950c99fa801e6813b332969, on @user_script:1.",
         REDIS_DOWN},
        {"CROSSSLOT Keys in request don't hash to the same slot", REDIS_NOT_REDIRECTED},
        {"READONLY You can't write against a read only replica.", REDIS_NOT_REDIRECTED},
        {"ERR unknown command", REDIS_NOT_REDIRECTED},
        {"MOVEDX 1 h:1", REDIS_NOT_REDIRECTED},
        {"", REDIS_NOT_REDIRECTED},
    };

    for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        assert_redirect(errors[i].error, errors[i].redirect, "untouched:1");
}

/* ---- the nodes in a configuration ---- */

static void assert_listed(const struct redis_seeds *s, unsigned i, const char *address)
{
    char text[REDIS_ADDRESS_CHARS];

    assert_true(i < s->count);
    redis_address_print(&s->list[i], text);
    assert_string_equal(text, address);
}

static void reads_a_list(void **state)
{
    struct redis_seeds s;

    assert_int_equal(redis_seeds_parse("cluster://10.0.0.1,name:7,[fe80::1]:8,[::1]", &s),
                     STATUS_OK);
    assert_int_equal(s.count, 4);
    assert_listed(&s, 0, "10.0.0.1:6379");
    assert_listed(&s, 1, "name:7");
    assert_listed(&s, 2, "[fe80::1]:8");
    assert_listed(&s, 3, "[::1]:6379");
}

static void sixteen_are_enough(void **state)
{
    struct redis_seeds s;

    assert_int_equal(redis_seeds_parse("cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", &s),
                     STATUS_OK);
    assert_int_equal(s.count, REDIS_SEEDS_MAX);
    assert_listed(&s, 15, "16:6379");
}

static void other_addresses_are_no_list(void **state)
{
    static const char *const others[] = {"127.0.0.1:6379", "unix:/run/redis.sock",
                                         "sentinel://m@h", "cluster",
                                         "clusters://h",   ""};
    struct redis_seeds s;

    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(redis_seeds_parse(others[i], &s), STATUS_NOT_FOUND);
}

static void refuses_what_is_wrong(void **state)
{
    static const char *const wrong[] = {
        "cluster:",
        "cluster://",
        "cluster:/h",
        "cluster://h,",
        "cluster://,h",
        "cluster://h,,h",
        "cluster://m@h",
        "cluster://h:0",
        "cluster://h:x",
        "cluster://h:70000",
        "cluster://::1",
        "cluster://unix:/run/redis.sock",
        "cluster://h,unix:/run/redis.sock",
        "cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    };
    struct redis_seeds s = {.count = 77};

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (redis_seeds_parse(wrong[i], &s) != STATUS_BAD_CONFIG)
            fail_msg("%s", wrong[i]);
    }
    assert_int_equal(s.count, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_has_the_slot_that_redis_says),
        cmocka_unit_test(a_bucket_has_the_slot_of_its_keys),
        cmocka_unit_test(reads_what_redis_7_writes),
        cmocka_unit_test(reads_what_redis_6_writes),
        cmocka_unit_test(the_order_of_the_ranges_is_no_matter),
        cmocka_unit_test(slots_that_are_nowhere_are_nobodys),
        cmocka_unit_test(a_master_without_a_bucket_is_not_listed),
        cmocka_unit_test(an_odd_host_is_understood),
        cmocka_unit_test(a_master_without_an_address_is_nobody),
        cmocka_unit_test(what_is_no_map_is_refused_and_changes_nothing),
        cmocka_unit_test(there_is_room_for_all_masters_there_can_be),
        cmocka_unit_test(a_map_from_before_a_failover_is_not_believed),
        cmocka_unit_test(who_is_cut_off_is_not_believed_whatever_his_epoch),
        cmocka_unit_test(who_is_cut_off_is_better_than_nobody),
        cmocka_unit_test(after_long_silence_any_map_is_believed),
        cmocka_unit_test(reads_where_a_slot_went),
        cmocka_unit_test(who_says_moved_without_where_sends_nowhere),
        cmocka_unit_test(reads_what_did_not_run),
        cmocka_unit_test(reads_a_list),
        cmocka_unit_test(sixteen_are_enough),
        cmocka_unit_test(other_addresses_are_no_list),
        cmocka_unit_test(refuses_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The section `store`: which Redis takes which keys. */
#include "conf/tests/conf_fixture.h"

#include <stdio.h>
#include <string.h>

#define SENTINEL "store:\n  redis: sentinel://mymaster@10.0.0.1,10.0.0.2:26380\n"
#define CLUSTER  "store:\n  redis: cluster://10.0.0.1,10.0.0.2:7001\n"

static void the_defaults_are_those_of_the_contract(void **state)
{
    struct conf *conf = fixture_load_well(NULL, NULL);

    assert_int_equal(conf->store.reconnect_ms, 250);
    assert_int_equal(conf->store.hold_max, 20000);
    assert_int_equal(conf->store.breaker.after_ms, 10000);
    assert_int_equal(conf->store.breaker.failures, 3);
    assert_int_equal(conf->store.breaker.probes, 16);
    assert_int_equal(conf->store.min_replicas, 0);
    assert_int_equal(conf->store.replica_timeout_ms, 1000);
    conf_free(conf);
}

static void gives_memory_to_the_embedded_redis_only_and_enough(void **state)
{
    struct conf *conf = fixture_load_well("store:\n  memory: 2GiB\n", NULL);

    assert_int_equal(conf->store.memory_bytes, 2ULL << 30);
    conf_free(conf);
    expect(
        "store:\n  memory: 1MiB\n", NULL,
        "c.yaml:2:11: store.memory: is too little to work with: give 16MiB or more, or 0 for "
        "half of the memory that there is\n");
    expect(
        "store:\n  redis: 10.0.0.1:6379\n  memory: 1GiB\n", NULL,
        "c.yaml:3:11: store.memory: is for the embedded Redis only; another one has maxmemory "
        "in its own redis.conf\n");
}

static void takes_a_redis_that_sentinels_name(void **state)
{
    struct conf *conf = fixture_load_well(SENTINEL "  min_replicas: 1\n"
                                                   "  breaker: {after: 0s, probes: 1}\n",
                                          NULL);

    assert_int_equal(conf->store.redis.kind, ADDRESS_SENTINELS);
    assert_string_equal(conf->store.redis.text, "sentinel://mymaster@10.0.0.1,10.0.0.2:26380");
    assert_int_equal(conf->store.min_replicas, 1);
    assert_int_equal(conf->store.breaker.after_ms, 0);
    assert_int_equal(conf->store.breaker.probes, 1);
    conf_free(conf);
}

static void takes_nodes_of_a_redis_cluster(void **state)
{
    struct conf *conf = fixture_load_well(CLUSTER "  min_replicas: 1\n"
                                                  "  password: jewels\n",
                                          NULL);

    assert_int_equal(conf->store.redis.kind, ADDRESS_CLUSTER);
    assert_string_equal(conf->store.redis.text, "cluster://10.0.0.1,10.0.0.2:7001");
    conf_free(conf);
}

/* What the store is told is the address without what only says that TLS is spoken. */
static void takes_each_kind_over_tls(void **state)
{
    static const struct {
        const char *given, *bare;
        enum conf_address_kind kind;
        bool is_tls;
    } rows[] = {
        {"redis://h:1", "h:1", ADDRESS_TCP, false},
        {"rediss://h:1", "h:1", ADDRESS_TCP, true},
        {"rediss://[::1]:1", "[::1]:1", ADDRESS_TCP, true},
        {"rediss+sentinel://m@h,i", "sentinel://m@h,i", ADDRESS_SENTINELS, true},
        {"rediss+cluster://h,i", "cluster://h,i", ADDRESS_CLUSTER, true},
        {"cluster://h", "cluster://h", ADDRESS_CLUSTER, false},
        {"embedded", "embedded", ADDRESS_EMBEDDED, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char set[64];
        const char *sets[] = {set, NULL};
        struct conf *conf;

        snprintf(set, sizeof(set), "store.redis=%s", rows[i].given);
        conf = fixture_load_well(NULL, sets);
        assert_int_equal(conf->store.redis.kind, rows[i].kind);
        assert_int_equal(conf->store.redis.is_tls, rows[i].is_tls);
        assert_string_equal(conf->store.redis.text, rows[i].given);
        assert_string_equal(conf->store.redis.text + conf->store.redis.bare_at, rows[i].bare);
        conf_free(conf);
    }
}

static void takes_no_other_scheme(void **state)
{
    static const char *const wrong[] = {
        "rediss://h",          "rediss://unix:/r.sock", "rediss://embedded", "rediss+h:1",
        "redis+cluster://h:1", "rediss://cluster://h",  "rediss+unix:/r",    "rediss://h:1/0",
        "rediss+redis://h:1",  "rediss+embedded",       "rediss://",         "redis://h:0",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        char set[64];
        const char *sets[] = {set, NULL};
        struct conf_errors errors;
        struct conf_request request = {.sets = sets, .set_count = 1};

        conf_errors_init(&errors);
        snprintf(set, sizeof(set), "store.redis=%s", wrong[i]);
        if (conf_load(&request, &errors))
            fail_msg("%s is taken", wrong[i]);
        conf_errors_fini(&errors);
    }
}

static void reads_the_password_of_the_sentinels_from_a_file(void **state)
{
    const char *yaml = SENTINEL "  sentinel_password_file: secret\n  password: jewels\n";
    struct conf *conf;

    expect(yaml, NULL,
           "c.yaml:3:27: store.sentinel_password_file: cannot open it: No such file or "
           "directory\n");
    fixture_write("secret", "open sesame\n", 0640);
    conf = fixture_load_well(yaml, NULL);
    assert_string_equal(conf->store.sentinel_password, "open sesame");
    assert_string_equal(conf->store.password, "jewels");
    conf_free(conf);
}

static void takes_one_password_of_sentinels_and_only_with_them(void **state)
{
    const char *sets[] = {"store.redis=r:1", NULL};

    expect(SENTINEL "  sentinel_password: a\n  sentinel_password_file: b\n", NULL,
           "c.yaml:4:27: store.sentinel_password_file: store.sentinel_password is given too; "
           "only one of the two\n");
    expect(SENTINEL "  sentinel_password: a\n", sets,
           "c.yaml:3:22: store.sentinel_password: is of Sentinels, and store.redis names none "
           "(sentinel://...); the password of Redis is store.password\n");
    expect(CLUSTER "  sentinel_password: a\n", NULL,
           "c.yaml:3:22: store.sentinel_password: is of Sentinels, and store.redis names none "
           "(sentinel://...); the password of Redis is store.password\n");
}

static void asks_no_replicas_of_an_embedded_redis(void **state)
{
    expect("store:\n  min_replicas: 1\n", NULL,
           "c.yaml:2:17: store.min_replicas: the embedded Redis has no replicas, so no push "
           "would ever be acknowledged; set it to 0, or give store.redis a Redis of your "
           "own\n");
}

static void waits_for_replicas_for_less_than_for_a_command(void **state)
{
    const char *sets[] = {"store.command_timeout=1s", NULL};
    const char *nobody[] = {"store.command_timeout=1s", "store.min_replicas=0", NULL};

    expect(SENTINEL "  min_replicas: 2\n", sets,
           "store.replica_timeout: must be below store.command_timeout, or waiting for "
           "replicas would look like a lost link\n");
    conf_free(fixture_load_well(SENTINEL "  min_replicas: 2\n", nobody));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(the_defaults_are_those_of_the_contract),
        IN_DIRECTORY(gives_memory_to_the_embedded_redis_only_and_enough),
        IN_DIRECTORY(takes_a_redis_that_sentinels_name),
        IN_DIRECTORY(takes_nodes_of_a_redis_cluster),
        IN_DIRECTORY(takes_each_kind_over_tls),
        IN_DIRECTORY(takes_no_other_scheme),
        IN_DIRECTORY(reads_the_password_of_the_sentinels_from_a_file),
        IN_DIRECTORY(takes_one_password_of_sentinels_and_only_with_them),
        IN_DIRECTORY(asks_no_replicas_of_an_embedded_redis),
        IN_DIRECTORY(waits_for_replicas_for_less_than_for_a_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

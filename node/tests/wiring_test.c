/* The rows of `topics`, as the engine gets them: nothing is lost on the way, and what the
 * configuration lets through is what the engine can take. */
#include "conf/tests/conf_fixture.h"

#include <inttypes.h>

#include "conf/table.h"
#include "conf/value.h"
#include "node/wiring.h"
#include "node/queue/queue.h"
#include "node/store/redis/topology/cluster_map.h"
#include "node/store/redis/topology/sentinel.h"

static struct wiring_rules rules;

static void set_rules(const char *yaml)
{
    struct conf *conf = fixture_load_well(yaml, NULL);

    wiring_rules_set(&rules, conf);
    conf_free(conf);
}

static void the_queue_gets_the_rows_and_the_node(void **state)
{
    struct conf *conf = fixture_load_well("node: {id: one}\n"
                                          "queue: {audit_rate: 7, history_bytes: 64KiB, "
                                          "lease_check: require}\n"
                                          "topics:\n"
                                          "  - {name: a, ttr: 0s, history: true}\n"
                                          "  - {name: a*, backoff: {kind: fixed, base: 2s}}\n",
                                          NULL);
    struct queue_options options;

    wiring_rules_set(&rules, conf);
    options = wiring_queue_options(conf, &rules);
    assert_true(bytes_equal(options.node, BYTES("one")));
    assert_int_equal(options.audit_rate, 7);
    assert_int_equal(options.history_bytes, 65536);
    assert_int_equal(options.lease_check, QUEUE_LEASE_CHECK_REQUIRE);
    assert_int_equal(options.rule_count, 2);
    assert_true(bytes_equal(options.rules[0].pattern, BYTES("a")));
    assert_int_equal(options.rules[0].settings.set, SETTING_BIT(TTR) | SETTING_BIT(HISTORY));
    assert_true(options.rules[0].settings.history);
    assert_true(settings_rule_matches(&options.rules[1], BYTES("ab")));
    assert_int_equal(options.rules[1].settings.set, SETTING_BIT(BACKOFF));
    assert_int_equal(options.rules[1].settings.backoff.kind, BACKOFF_FIXED);
    assert_int_equal(options.rules[1].settings.backoff.base_ms, 2000);
    conf_free(conf);
}

static void the_largest_values_fit_into_packed_settings(void **state)
{
    static const char *const words[] = {
#define X(name, word, ...) word,
        TOPIC_SETTING_LIST(X)
#undef X
    };
    struct buf yaml = BUF_INIT;
    char packed[SETTINGS_BYTES];
    struct topic_settings read;

    buf_add_text(&yaml, "topics:\n  - name: '*'\n    backoff: {kind: exponential, base: 30d, "
                        "cap: 30d, jitter: 100%}\n");
    for (unsigned i = 0; i < SETTING_COUNT; i++) {
        if (setting_kind(i) == SETTING_SWITCH)
            buf_printf(&yaml, "    %s: true\n", words[i]);
        else if (setting_kind(i) != SETTING_BACKOFFS)
            buf_printf(&yaml, "    %s: %" PRId64 "%s\n", words[i], setting_max(i),
                       setting_kind(i) == SETTING_DURATION ? "ms" : "");
    }
    set_rules(buf_text(&yaml));
    buf_fini(&yaml);
    assert_int_equal(rules.at[0].settings.set, SETTINGS_ALL);
    settings_pack(&rules.at[0].settings, packed);
    assert_true(settings_unpack(bytes_of(packed, sizeof(packed)), &read));
    for (unsigned i = 0; i < SETTING_COUNT; i++)
        assert_true(setting_kind(i) == SETTING_BACKOFFS ||
                    setting_number(&read, i) == setting_max(i));
    assert_true(read.backoff.base_ms == RULES_BACKOFF_MAX_MS);
    assert_true(read.backoff.cap_ms == RULES_BACKOFF_MAX_MS);
    assert_int_equal(read.backoff.jitter_percent, 100);
}

/* A scan under way borrows what was there before. */
static void rows_stay_where_they_are_when_they_change(void **state)
{
    struct settings_rule *second = &rules.at[1];
    const char *name;

    set_rules("topics: [{name: a}, {name: b, ttr: 1s}]\n");
    name = second->pattern.at;
    assert_true(settings_rule_matches(second, BYTES("b")));
    set_rules("topics: [{name: a}, {name: c}]\n");
    assert_ptr_equal(second->pattern.at, name);
    set_rules("topics: [{name: a}]\n");
    assert_int_equal(rules.count, 1);
    assert_false(settings_rule_matches(second, BYTES("b")));
    assert_int_equal(second->settings.set, 0);
}

static void the_name_of_a_row_has_the_letters_of_a_topic(void **state)
{
    for (int c = 1; c < 256; c++) {
        char text[] = {(char)c, '\0'};

        if (c != '*')
            assert_int_equal(value_is_topics(text), topic_name_is_valid(bytes_of(text, 1)));
    }
    assert_false(value_is_topics(".."));
    assert_true(value_is_topics("..*"));
    assert_int_equal(conf_topic_keys[TOPIC_NAME].max, NAME_MAX_BYTES);
}

/* "sentinel://nn..n@h,h,..,h" */
static const char *list_of(unsigned name_len, unsigned hosts)
{
    static char text[512];
    char *at = text + sprintf(text, "sentinel://%0*d@h", (int)name_len, 0);

    while (hosts-- > 1)
        at += sprintf(at, ",h");
    return text;
}

static bool takes_the_list(const char *text)
{
    struct redis_sentinels sentinels;
    bool is_taken = redis_sentinels_parse(text, &sentinels) == STATUS_OK;

    if (value_is_sentinels(text) != is_taken)
        fail_msg("%s: %s", text, is_taken ? "only the store takes it" : "the store does not");
    return is_taken;
}

static void a_list_of_nodes_of_a_redis_cluster_is_one_to_both_who_read_it(void **state)
{
    static const char *const texts[] = {
        "cluster://h",
        "cluster://h:1,[::1]:2,10.0.0.1",
        "cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
        "cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
        "cluster://h:0",
        "cluster://h:65536",
        "cluster://h,",
        "cluster://,h",
        "cluster://",
        "cluster://m@h",
        "cluster:h",
        "cluster://::1",
        "cluster://[::1",
        "cluster://unix:/run/r.sock",
        "h:1",
    };
    struct redis_seeds seeds;

    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(value_is_cluster(texts[i]), i < 3);
        assert_int_equal(redis_seeds_parse(texts[i], &seeds) == STATUS_OK, i < 3);
    }
}

static void a_list_of_sentinels_is_one_to_both_who_read_it(void **state)
{
    static const char *const texts[] = {
        "sentinel://m@h",
        "sentinel://m@h:1,[::1]:2,10.0.0.1",
        "sentinel://m.-_@[::1]",
        "sentinel://m:n@h",
        "sentinel://m@h:0",
        "sentinel://m@h:65536",
        "sentinel://m@h,",
        "sentinel://m@,h",
        "sentinel://@h",
        "sentinel://m@",
        "sentinel://m",
        "sentinel://m@h:",
        "sentinel://m n@h",
        "sentinel:m@h",
        "h:1",
        "sentinel://m@::1",
        "sentinel://m@[::1",
        "sentinel://m@h:x",
        "sentinel://m@n@h:1",
    };

    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(takes_the_list(texts[i]), i < 3);
    assert_true(takes_the_list(list_of(REDIS_MASTER_CHARS - 1, REDIS_SENTINELS_MAX)));
    assert_false(takes_the_list(list_of(REDIS_MASTER_CHARS, 1)));
    assert_false(takes_the_list(list_of(1, REDIS_SENTINELS_MAX + 1)));
}

/* Room for all protocols, for HTTP's clients without a place, for operators, and for the node
 * itself. */
static void clients_are_never_more_than_there_are_descriptors_for(void **state)
{
    static const struct wiring_open few = {.clients = 2, .http = 1, .operators = 2};
    static const struct wiring_open many = {.clients = 7, .http = 6, .operators = 3};
    static const struct {
        unsigned wanted;
        uint64_t descriptors;
        unsigned max;
        const struct wiring_open *open;
    } rows[] = {
        {0, UINT64_MAX, 10000, &few},
        {0, 1048576, 10000, &few},
        {0, 20272, 10000, &few},
        {0, 20271, 9999, &few},
        {0, 1024, 376, &few},
        {0, 64, 12, &few},
        {15000, 1048576, 15000, &few},
        {15000, 20000, 9864, &few},
        {3, 20000, 3, &few},
        {1000000, 1048576, 524152, &few},
        {0, 1, 1, &few},
        {0, 70664, 10000, &many},
        {0, 70663, 9999, &many},
        {0, 1024, 51, &many},
        {0, 64, 1, &many},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(
            wiring_connections_max(rows[i].wanted, rows[i].descriptors, rows[i].open),
            rows[i].max);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(the_queue_gets_the_rows_and_the_node),
        IN_DIRECTORY(the_largest_values_fit_into_packed_settings),
        IN_DIRECTORY(rows_stay_where_they_are_when_they_change),
        cmocka_unit_test(clients_are_never_more_than_there_are_descriptors_for),
        cmocka_unit_test(a_list_of_sentinels_is_one_to_both_who_read_it),
        cmocka_unit_test(a_list_of_nodes_of_a_redis_cluster_is_one_to_both_who_read_it),
        cmocka_unit_test(the_name_of_a_row_has_the_letters_of_a_topic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The list `topics`: reading its rows, and every mistake a row can have. */
#include "conf/tests/conf_fixture.h"

#include <string.h>

static void a_row_has_what_is_given_and_nothing_else(void **state)
{
    struct conf *conf = fixture_load_well("topics:\n"
                                          "  - name: mail\n"
                                          "    ttr: 0s\n"
                                          "    priority: 4294967295\n"
                                          "    max_tries: 65534\n"
                                          "    backoff:\n"
                                          "      kind: exponential\n"
                                          "      base: 1s\n"
                                          "      cap: 5m\n"
                                          "      jitter: 10%\n"
                                          "    ttl: 3650d\n"
                                          "    dead_max: 4294967295\n"
                                          "    dead_age: 14d\n"
                                          "    history: true\n"
                                          "    max_jobs: 4294967295\n"
                                          "    max_bytes: 3GiB\n"
                                          "  - name: '*'\n",
                                          NULL);
    const struct conf_topic *row = conf->topics.at;

    assert_int_equal(conf->topics.count, 2);
    assert_string_equal(row->name, "mail");
    assert_int_equal(row->given, (1u << TOPIC_KEY_COUNT) - 1);
    assert_int_equal(row->ttr_ms, 0);
    assert_true(row->priority == UINT32_MAX);
    assert_int_equal(row->max_tries, 65534);
    assert_int_equal(row->backoff.kind, CONF_BACKOFF_EXPONENTIAL);
    assert_int_equal(row->backoff.base_ms, 1000);
    assert_int_equal(row->backoff.cap_ms, 300000);
    assert_int_equal(row->backoff.jitter_percent, 10);
    assert_true(row->ttl_ms == INT64_C(3650) * 86400000);
    assert_true(row->dead_max == UINT32_MAX);
    assert_int_equal(row->dead_age_ms, 14 * 86400000);
    assert_true(row->history);
    assert_true(row->max_jobs == UINT32_MAX);
    assert_true(row->max_bytes == (size_t)3 << 30);
    assert_string_equal(row[1].name, "*");
    assert_int_equal(row[1].given, 1u << TOPIC_NAME);
    conf_free(conf);
}

static void a_list_without_rows_is_fine(void **state)
{
    static const char *const none[] = {"topics:\n", "topics: []\n", "topics: ~\n", NULL};

    for (size_t i = 0; none[i]; i++) {
        struct conf *conf = fixture_load_well(none[i], NULL);

        assert_int_equal(conf->topics.count, 0);
        conf_free(conf);
    }
}

static void rows_take_values_from_the_environment(void **state)
{
    struct conf *conf =
        fixture_load_well("topics: [{name: '${PASSWORD}', ttr: '${UNSET:-5s}'}]\n", NULL);

    assert_string_equal(conf->topics.at[0].name, "ssh");
    assert_int_equal(conf->topics.at[0].ttr_ms, 5000);
    conf_free(conf);
}

static void tells_all_mistakes_of_all_rows_each_with_its_place(void **state)
{
    expect_errors(
        "topics:\n"
        "  - name: -a\n"
        "    ttr: 10\n"
        "    prioritty: 1\n"
        "  - ttr: 8d\n"
        "  - mail\n"
        "  - name: [a]\n"
        "    name: b\n"
        "    backoff: fixed\n"
        "    dead_max:\n"
        "    ttl: ${NOT_THERE}\n"
        "  - name: c\n"
        "    backoff: {kind: linear, bas: 1s, jitter: 10}\n",
        "c.yaml:2:11: topics.name: expected a topic, or the beginning of some and "
        "\"*\", of 1 to 200 characters of [A-Za-z0-9_.:/+;$()-], no - in front, got "
        "\"-a\"\n"
        "c.yaml:3:10: topics.ttr: expected a duration with its unit from 0s to 7d, got "
        "\"10\"\n"
        "c.yaml:4:5: topics.prioritty: unknown key; did you mean topics.priority?\n"
        "c.yaml:5:10: topics.ttr: expected a duration with its unit from 0s to 7d, got "
        "\"8d\"\n"
        "c.yaml:6:5: topics: expected a row with keys, as in \"- name: mail\"\n"
        "c.yaml:7:11: topics.name: expected a topic, or the beginning of some and "
        "\"*\", of 1 to 200 characters of [A-Za-z0-9_.:/+;$()-], no - in front, got "
        "a list\n"
        "c.yaml:8:5: topics.name: is given twice; first in line 7\n"
        "c.yaml:9:14: topics.backoff: is a section: expected keys below it\n"
        "c.yaml:10:14: topics.dead_max: has no value; leave the key out for its "
        "default, or write \"\"\n"
        "c.yaml:11:10: topics.ttl: the environment variable NOT_THERE is not set, and "
        "there is no default (${NOT_THERE:-default})\n"
        "c.yaml:13:21: topics.backoff.kind: expected one of none, fixed, exponential, "
        "got \"linear\"\n"
        "c.yaml:13:29: topics.backoff.bas: unknown key; did you mean "
        "topics.backoff.base?\n"
        "c.yaml:13:46: topics.backoff.jitter: expected a share with its sign from 0% "
        "to 100%, got \"10\"\n"
        "c.yaml:5:5: topics.name: is missing: which topics is this row for?\n");
}

static void a_backoff_is_whole_or_not_there(void **state)
{
    expect_errors(
        "topics:\n"
        "  - {name: a, backoff: {base: 1s}}\n"
        "  - {name: b, backoff: {kind: fixed}}\n"
        "  - {name: c, backoff: {kind: fixed, base: 1s, cap: 2s}}\n"
        "  - {name: d, backoff: {kind: exponential, base: 2s, cap: 1s}}\n"
        "  - {name: e, backoff: {kind: none, jitter: 1%}}\n"
        "  - {name: f, backoff: {}}\n"
        "  - {name: g, backoff: {kind: none}}\n",
        "c.yaml:2:5: topics.backoff.kind: is missing: none, fixed or exponential\n"
        "c.yaml:3:5: topics.backoff.base: is missing: how long is the first rest?\n"
        "c.yaml:4:53: topics.backoff.cap: fixed rests do not grow: only exponential "
        "has a cap\n"
        "c.yaml:5:59: topics.backoff.cap: must not be below backoff.base\n"
        "c.yaml:6:31: topics.backoff.kind: with none there is neither base nor cap nor "
        "jitter\n");
}

static void rows_stand_in_the_list_and_the_list_in_its_place(void **state)
{
    expect_errors("topics: mail\n",
                  "c.yaml:1:9: topics: expected a list of at most 100 rows, each with a name, "
                  "got \"mail\"\n");
    expect_errors("topics: {name: mail}\n",
                  "c.yaml:1:9: topics: expected a list of at most 100 rows, each with a name, "
                  "got a section\n"
                  "c.yaml:1:10: topics.name: belongs in a row of the list topics, as in "
                  "\"- name: mail\"\n");
    expect_errors("topics: [{name: a}]\ntopics.ttr: 5s\ntopics: []\n",
                  "c.yaml:2:1: topics.ttr: belongs in a row of the list topics, as in "
                  "\"- name: mail\"\n"
                  "c.yaml:3:1: topics: is given twice; first in line 1\n");
    expect_errors("topic: [{name: a}]\n",
                  "c.yaml:1:1: topic: unknown key; did you mean topics?\n");
    expect_errors("topics.backoff: [{kind: fixed}]\nstore: [{buckets: 3}, 4]\n",
                  "c.yaml:1:17: topics.backoff: is a section: expected keys below it\n"
                  "c.yaml:2:8: store: is a section: expected keys below it\n");
}

static void the_command_line_has_no_rows(void **state)
{
    const char *sets[] = {"topics=[]", "topics.ttr=5s", "topics.tttr=5s", NULL};

    expect(NULL, sets,
           "--set topics: the rows of topics can only stand in the configuration file\n"
           "--set topics.ttr: the rows of topics can only stand in the configuration file\n"
           "--set topics.tttr: unknown key; did you mean topics.ttr?\n");
}

static void a_hundred_rows_are_possible(void **state)
{
    struct buf yaml = BUF_INIT;
    struct conf *conf;

    buf_add_text(&yaml, "topics:\n");
    for (int i = 0; i < CONF_TOPICS_MAX; i++)
        buf_printf(&yaml,
                   "  - {name: t%d, ttr: 1s, priority: 1, max_tries: 1, ttl: 1s, dead_max: 1,\n"
                   "     dead_age: 1s, history: true,\n"
                   "     backoff: {kind: exponential, base: 1s, cap: 1s, jitter: 1%%}}\n",
                   i);
    conf = fixture_load_well(buf_text(&yaml), NULL);
    assert_int_equal(conf->topics.count, CONF_TOPICS_MAX);
    assert_string_equal(conf->topics.at[CONF_TOPICS_MAX - 1].name, "t99");
    conf_free(conf);
    buf_add_text(&yaml, "  - name: one\n  - name: two\n");
    expect_errors(buf_text(&yaml), "c.yaml:302:5: topics: this row is one too many: at most "
                                   "100 are possible\n");
    buf_fini(&yaml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(a_row_has_what_is_given_and_nothing_else),
        IN_DIRECTORY(a_list_without_rows_is_fine),
        IN_DIRECTORY(rows_take_values_from_the_environment),
        IN_DIRECTORY(tells_all_mistakes_of_all_rows_each_with_its_place),
        IN_DIRECTORY(a_backoff_is_whole_or_not_there),
        IN_DIRECTORY(rows_stand_in_the_list_and_the_list_in_its_place),
        IN_DIRECTORY(the_command_line_has_no_rows),
        IN_DIRECTORY(a_hundred_rows_are_possible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

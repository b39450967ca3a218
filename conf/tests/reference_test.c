/* The table of keys against the reference file, printing and reloading. */
#include "conf/tests/conf_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/table.h"

static void print(const struct conf *conf, const char *name)
{
    FILE *to = fopen(name, "w");

    assert_non_null(to);
    conf_print(conf, to);
    fclose(to);
}

static void assert_same(struct conf *a, struct conf *b)
{
    struct buf taken = BUF_INIT, need_restart = BUF_INIT;

    conf_reload(a, b, &taken, &need_restart);
    assert_string_equal(buf_text(&taken), "");
    assert_string_equal(buf_text(&need_restart), "");
    buf_fini(&taken);
    buf_fini(&need_restart);
}

static void the_reference_file_equals_the_defaults(void **state)
{
    struct conf *defaults = fixture_load_well(NULL, NULL),
                *reference = fixture_load_file(DUEQ_YAML);

    assert_same(reference, defaults);
    conf_free(reference);
    conf_free(defaults);
}

#define REFERENCE_MAX 65536

static size_t read_reference(char *text, size_t room)
{
    FILE *from = fopen(DUEQ_YAML, "r");
    size_t len;

    assert_non_null(from);
    len = fread(text, 1, room - 1, from);
    fclose(from);
    assert_true(len < room - 1);
    text[len] = '\0';
    return len;
}

/* The comment above a key has [reload] exactly when the table says so. */
static void the_reference_file_marks_the_keys_that_can_be_reloaded(void **state)
{
    char text[REFERENCE_MAX];
    char *at;

    read_reference(text, sizeof(text));
    at = strstr(text, "\nnode:");
    for (size_t i = 0; i < conf_key_count; i++) {
        char line[64];
        char *end;
        const char *dot = strchr(conf_keys[i].path, '.');

        snprintf(line, sizeof(line), "\n%s%s: ", dot ? "  " : "",
                 dot ? dot + 1 : conf_keys[i].path);
        assert_non_null(end = strstr(at, line));
        *end = '\0';
        if (!strstr(at, "[reload]") == conf_keys[i].is_reloadable)
            fail_msg("%s: [reload] is wrong", conf_keys[i].path);
        at = end + 1;
    }
}

static void the_reference_file_names_the_modules_of_the_log(void **state)
{
    char text[REFERENCE_MAX];
    char *at, *end;

    read_reference(text, sizeof(text));
    assert_non_null(end = strstr(text, "\n  modules: "));
    *end = '\0';
    assert_non_null(at = strstr(text, "\n  # Another level for some modules"));
    for (const char *const *name = log_modules; *name; name++) {
        char line[40];

        snprintf(line, sizeof(line), "\n  #   %s ", *name);
        if (!strstr(at, line))
            fail_msg("the module %s is missing", *name);
    }
}

/* A key given twice is an error: all keys are in the file if adding any of them is refused. */
static void no_key_is_missing_in_the_reference_file(void **state)
{
    char text[REFERENCE_MAX];
    size_t len = read_reference(text, sizeof(text));

    for (size_t i = 0; i < conf_key_count; i++) {
        struct buf yaml = BUF_INIT;
        struct conf_errors errors;

        buf_add(&yaml, text, len);
        buf_printf(&yaml, "\n%s: \"%s\"\n", conf_keys[i].path, conf_keys[i].fallback);
        if (fixture_load(buf_text(&yaml), NULL, &errors))
            fail_msg("%s is missing in dueq.yaml", conf_keys[i].path);
        assert_non_null(strstr(conf_errors_text(&errors), "is given twice"));
        conf_errors_fini(&errors);
        buf_fini(&yaml);
    }
}

/* The example is a comment; without the "# " it must be a valid file. */
static void the_example_of_topics_in_the_reference_file_can_be_used(void **state)
{
    struct buf yaml = BUF_INIT;
    struct conf *conf;
    char text[REFERENCE_MAX];
    char *line;

    read_reference(text, sizeof(text));
    assert_non_null(line = strstr(text, "\n# topics:\n"));
    for (line++; !strncmp(line, "# ", 2); line = strchr(line, '\n') + 1)
        buf_printf(&yaml, "%.*s", (int)(strchr(line, '\n') - line - 1), line + 2);
    conf = fixture_load_well(buf_text(&yaml), NULL);
    assert_int_equal(conf->topics.count, 3);
    assert_string_equal(conf->topics.at[1].name, "mail.*");
    assert_int_equal(conf->topics.at[1].backoff.kind, CONF_BACKOFF_EXPONENTIAL);
    assert_int_equal(conf->topics.at[2].dead_max, 100000);
    conf_free(conf);
    buf_fini(&yaml);
}

/* The comment above the list has a line for each key of a row. */
static void the_reference_file_explains_what_a_row_can_have(void **state)
{
    char text[REFERENCE_MAX];
    char *at, *end;

    read_reference(text, sizeof(text));
    assert_non_null(at = strstr(text, "\n# Settings of topics"));
    assert_non_null(end = strstr(at, "\n# For example"));
    *end = '\0';
    for (size_t i = 0; i < TOPIC_KEY_COUNT; i++) {
        char line[64];

        snprintf(line, sizeof(line), "%s ", strrchr(conf_topic_keys[i].path, '.') + 1);
        if (!strstr(at, line))
            fail_msg("%s is missing", conf_topic_keys[i].path);
    }
}

static void prints_rows_that_read_back_to_the_same(void **state)
{
    struct conf *conf = fixture_load_well("topics:\n"
                                          "  - {name: '*', history: false}\n"
                                          "  - name: a/*\n"
                                          "    backoff: {kind: exponential, base: 90s,\n"
                                          "              cap: 2h, jitter: 0%}\n"
                                          "    ttl: 0s\n",
                                          NULL);
    struct conf *again;
    struct buf text = BUF_INIT;

    conf_key_print_value(conf_key_find("topics"), conf, &text);
    assert_string_equal(buf_text(&text), "\n  - name: \"*\"\n"
                                         "    history: false\n"
                                         "  - name: \"a/*\"\n"
                                         "    backoff:\n"
                                         "      kind: exponential\n"
                                         "      base: 90s\n"
                                         "      cap: 2h\n"
                                         "      jitter: 0%\n"
                                         "    ttl: 0s");
    print(conf, "printed.yaml");
    again = fixture_load_file("printed.yaml");
    assert_same(conf, again);
    assert_int_equal(again->topics.count, 2);
    conf_free(conf);
    conf_free(again);
    buf_fini(&text);
}

static void prints_what_reads_back_to_the_same(void **state)
{
    const char *sets[] = {"log.file=a \"b\" ${c} \\ #: \t",
                          "store.redis=unix:/run/r.sock",
                          "limits.idle=90s",
                          "limits.body_bytes=1025",
                          "http.listen=",
                          "store.password_file=secret",
                          NULL};
    struct conf *conf, *again;

    fixture_write("secret", "open sesame", 0600);
    conf = fixture_load_well("log: {format: json, level: warn}", sets);
    print(conf, "printed.yaml");
    again = fixture_load_file("printed.yaml");
    assert_same(conf, again);
    assert_string_equal(again->log.file, "a \"b\" ${c} \\ #: \t");
    conf_free(conf);
    conf_free(again);
}

static void prints_no_secret(void **state)
{
    struct conf *conf =
        fixture_load_well("store: {redis: \"r:1\", password: open sesame}", NULL);
    char text[8192];
    FILE *from;
    size_t len;

    print(conf, "printed.yaml");
    from = fopen("printed.yaml", "r");
    assert_non_null(from);
    len = fread(text, 1, sizeof(text) - 1, from);
    fclose(from);
    text[len] = '\0';
    assert_null(strstr(text, "sesame"));
    assert_non_null(strstr(text, "  password: \"***\"\n"));
    conf_free(conf);
}

static void explains_every_key(void **state)
{
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);

    assert_non_null(to);
    conf_print_keys(to);
    fclose(to);
    for (size_t i = 0; i < conf_key_count; i++) {
        assert_non_null(strstr(text, conf_keys[i].path));
        assert_non_null(strstr(text, conf_keys[i].help));
    }
    for (size_t i = 0; i < TOPIC_KEY_COUNT; i++)
        assert_non_null(strstr(text, conf_topic_keys[i].path));
    free(text);
}

/* ---- reload ---- */

static void reload_takes_what_it_can_and_names_the_rest(void **state)
{
    struct conf *running = fixture_load_well("log: {level: info, file: old}", NULL);
    struct conf *fresh = fixture_load_well(
        "log: {level: debug, file: new}\nstore: {prefix: x, buckets: 3}", NULL);
    struct buf taken = BUF_INIT, need_restart = BUF_INIT;

    conf_reload(running, fresh, &taken, &need_restart);
    conf_free(fresh);
    assert_string_equal(buf_text(&taken), "log.level, log.file");
    assert_string_equal(buf_text(&need_restart), "store.prefix, store.buckets");
    assert_int_equal(running->log.level, LEVEL_DEBUG);
    assert_string_equal(running->log.file, "new");
    assert_string_equal(running->store.prefix, "dq");
    assert_int_equal(running->store.buckets, 64);
    buf_fini(&taken);
    buf_fini(&need_restart);
    conf_free(running);
}

static void reload_takes_the_rows_of_topics(void **state)
{
    struct conf *running = fixture_load_well("topics: [{name: a, ttr: 1s}]", NULL);
    struct conf *same = fixture_load_well("topics: [{name: a, ttr: 1000ms}]", NULL);
    struct conf *fresh =
        fixture_load_well("topics: [{name: b}, {name: a, ttr: 1s, history: false}]", NULL);
    struct buf taken = BUF_INIT, need_restart = BUF_INIT;

    assert_same(running, same);
    conf_reload(running, fresh, &taken, &need_restart);
    conf_free(fresh);
    assert_string_equal(buf_text(&taken), "topics");
    assert_int_equal(running->topics.count, 2);
    assert_string_equal(running->topics.at[0].name, "b");
    assert_true(conf_topic_has(&running->topics.at[1], TOPIC_HISTORY));
    buf_fini(&taken);
    buf_fini(&need_restart);
    conf_free(running);
    conf_free(same);
}

static void a_log_hears_what_was_configured(void **state)
{
    struct conf *conf =
        fixture_load_well("log: {level: error, format: json, modules: gmq=debug}", NULL);
    struct log_options options = conf_log_options(conf);

    assert_int_equal(options.level, LEVEL_ERROR);
    assert_true(options.json);
    assert_string_equal(options.modules, "gmq=debug");
    assert_string_equal(options.file, "");
    conf_free(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(the_reference_file_equals_the_defaults),
        IN_DIRECTORY(the_reference_file_marks_the_keys_that_can_be_reloaded),
        IN_DIRECTORY(the_reference_file_names_the_modules_of_the_log),
        IN_DIRECTORY(no_key_is_missing_in_the_reference_file),
        IN_DIRECTORY(the_example_of_topics_in_the_reference_file_can_be_used),
        IN_DIRECTORY(the_reference_file_explains_what_a_row_can_have),
        IN_DIRECTORY(prints_rows_that_read_back_to_the_same),
        IN_DIRECTORY(prints_what_reads_back_to_the_same),
        IN_DIRECTORY(prints_no_secret),
        IN_DIRECTORY(explains_every_key),
        IN_DIRECTORY(reload_takes_what_it_can_and_names_the_rest),
        IN_DIRECTORY(reload_takes_the_rows_of_topics),
        IN_DIRECTORY(a_log_hears_what_was_configured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

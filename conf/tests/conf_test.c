/* A configuration from its sources to its struct, or to all of its mistakes. */
#include "conf/tests/conf_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of what store.redis may be. */
#define OVER_TLS "; over TLS rediss://host:port, rediss+sentinel://..., rediss+cluster://..."

/* ---- values and where they come from ---- */

static void no_file_is_a_whole_configuration(void **state)
{
    struct conf *conf = fixture_load_well(NULL, NULL);

    assert_int_equal(conf->store.redis.kind, ADDRESS_EMBEDDED);
    assert_int_equal(conf->store.buckets, 64);
    assert_string_equal(conf->listen[PORT_GMQ].host, "127.0.0.1");
    assert_int_equal(conf->listen[PORT_GMQ].port, 9503);
    assert_int_equal(conf->listen[PORT_HTTP].port, 8000);
    assert_int_equal(conf->limits.body_bytes, 1 << 20);
    assert_int_equal(conf->store.hold_ms, 10000);
    assert_int_equal(conf->log.level, LEVEL_INFO);
    assert_true(*conf->node.id);
    conf_free(conf);
}

static void the_file_overrides_defaults_and_sets_override_the_file(void **state)
{
    const char *sets[] = {"store.buckets=8", "store.buckets=9", "gmq.listen=", NULL};
    struct conf *conf = fixture_load_well("store:\n  buckets: 7\n  strict: true\n"
                                          "log.level: debug\n"
                                          "http: {listen: '[::1]:0'}\n",
                                          sets);

    assert_int_equal(conf->store.buckets, 9);
    assert_true(conf->store.strict);
    assert_int_equal(conf->log.level, LEVEL_DEBUG);
    assert_int_equal(conf->listen[PORT_GMQ].kind, ADDRESS_OFF);
    assert_string_equal(conf->listen[PORT_HTTP].host, "::1");
    conf_free(conf);
}

static void takes_values_from_the_environment_but_not_in_sets(void **state)
{
    const char *sets[] = {"log.file=${REDIS}", NULL};
    struct conf *conf = fixture_load_well("store:\n"
                                          "  redis: ${REDIS}\n"
                                          "  password: ${PASSWORD}\n"
                                          "  prefix: ${NOT_THERE:-other}\n",
                                          sets);

    assert_int_equal(conf->store.redis.kind, ADDRESS_TCP);
    assert_string_equal(conf->store.redis.host, "10.0.0.5");
    assert_string_equal(conf->store.redis.text, "10.0.0.5:6379");
    assert_string_equal(conf->store.password, "ssh");
    assert_string_equal(conf->store.prefix, "other");
    assert_string_equal(conf->log.file, "${REDIS}");
    conf_free(conf);
}

static void a_section_whose_keys_are_all_comments_is_fine(void **state)
{
    conf_free(fixture_load_well("store:\n  # redis: x\nlog:\n", NULL));
}

static void reads_a_password_from_a_file_that_is_not_for_all(void **state)
{
    const char *yaml = "store:\n  redis: r:1\n  password_file: secret\n";
    struct conf *conf;

    expect_errors(yaml, "c.yaml:3:18: store.password_file: cannot open it: No such file or "
                        "directory\n");
    fixture_write("secret", "open sesame\n", 0644);
    expect_errors(yaml, "c.yaml:3:18: store.password_file: its mode is 0644: others may read "
                        "it; chmod o-r\n");
    fixture_write("secret", "\n", 0640);
    expect_errors(yaml, "c.yaml:3:18: store.password_file: it is empty or not a text\n");
    fixture_write("secret", "open sesame\r\n", 0640);
    conf = fixture_load_well(yaml, NULL);
    assert_string_equal(conf->store.password, "open sesame");
    conf_free(conf);
}

/* ---- mistakes ---- */

static void tells_all_mistakes_at_once_each_with_its_place(void **state)
{
    const char *sets[] = {"gmq.pop_wait=30s", "limits.bodybytes=1", "nonsense", NULL};
    struct buf expected = BUF_INIT;

    buf_add_text(
        &expected,
        "c.yaml:2:3: store.rediss: unknown key; did you mean store.redis?\n"
        "c.yaml:3:12: store.buckets: expected a number from 1 to 128, got \"129\"\n"
        "c.yaml:4:11: store.strict: expected true or false, got \"yes\"\n"
        "c.yaml:5:9: store.hold: expected a duration with its unit from 0s to 5m, got \"10\"\n"
        "c.yaml:6:3: store.buckets: is given twice; first in line 3\n"
        "c.yaml:8:10: log.level: expected one of debug, info, warn, error, got a list\n"
        "c.yaml:9:12: log.modules: expected levels by module, such as "
        "\"scanner=debug,gmq=warn\", out of ");
    for (const char *const *name = log_modules; *name; name++)
        buf_printf(&expected, "%s, ", *name);
    buf_add_text(
        &expected,
        "got \"a=b\"\n"
        "c.yaml:10:10: log.format: has no value; leave the key out for its default, or write "
        "\"\"\n"
        "c.yaml:11:9: limits: is a section: expected keys below it\n"
        "c.yaml:12:1: buckets: unknown key; did you mean store.buckets?\n"
        "c.yaml:14:3: wholly.unheard_of: unknown key\n"
        "c.yaml:15:1: empty: unknown key\n"
        "c.yaml:17:7: node.id: expected a name of 0 to 64 characters of [A-Za-z0-9_.:-], got a "
        "section\n"
        "c.yaml:17:8: node.id.a: unknown key; did you mean node.id?\n"
        "c.yaml:18:13: node.data_dir: the environment variable NOT_THERE is not set, and there "
        "is no default (${NOT_THERE:-default})\n"
        "--set gmq.pop_wait: expected a duration with its unit from 0s to 29s, got \"30s\"\n"
        "--set limits.bodybytes: unknown key; did you mean limits.body_bytes?\n"
        "--set nonsense: expected KEY=VALUE\n");
    expect("store:\n"
           "  rediss: embedded\n"
           "  buckets: 129\n"
           "  strict: yes\n"
           "  hold: 10\n"
           "  buckets: 3\n"
           "log:\n"
           "  level: [info]\n"
           "  modules: a=b\n"
           "  format:\n"
           "limits: 5\n"
           "buckets: 3\n"
           "wholly:\n"
           "  unheard_of: 1\n"
           "empty: {}\n"
           "node:\n"
           "  id: {a: b}\n"
           "  data_dir: ${NOT_THERE}\n",
           sets, buf_text(&expected));
    buf_fini(&expected);
}

static void says_which_ports_meet(void **state)
{
    static const struct {
        const char *gmq, *http;
        bool meet;
    } cases[] = {
        {"gmq.listen=127.0.0.1:7951", "http.listen=127.0.0.1:7951", true},
        {"gmq.listen=0.0.0.0:7951", "http.listen=127.0.0.1:7951", true},
        {"gmq.listen=127.0.0.1:7951", "http.listen=[::]:7951", true},
        {"gmq.listen=[::1]:7951", "http.listen=[::]:7951", true},
        {"gmq.listen=0.0.0.0:7951", "http.listen=[::]:7951", true},
        {"gmq.listen=0.0.0.0:7951", "http.listen=[::1]:7951", false},
        {"gmq.listen=127.0.0.1:7951", "http.listen=127.0.0.1:7952", false},
        {"gmq.listen=127.0.0.1:7951", "http.listen=127.0.0.2:7951", false},
        {"gmq.listen=0.0.0.0:0", "http.listen=0.0.0.0:0", false},
        {"gmq.listen=unix:/run/dueq/gmq.sock", "http.listen=[::]:7951", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *sets[] = {cases[i].gmq, cases[i].http, NULL};

        if (cases[i].meet)
            expect("", sets, "--set http.listen: is the address of gmq.listen, or meets it\n");
        else
            conf_free(fixture_load_well("", sets));
    }
}

static void only_ports_may_be_sockets_of_this_machine(void **state)
{
    const char *relative[] = {"http.listen=unix:run/h.sock", NULL};
    const char *peer[] = {"ha.peer.listen=unix:/run/p.sock", NULL};

    expect(
        "", relative,
        "--set http.listen: expected host:port, such as 127.0.0.1:9503, unix:/path of at most "
        "107 bytes, or \"\" for off, got \"unix:run/h.sock\"\n");
    expect("", peer,
           "--set ha.peer.listen: expected host:port, such as 127.0.0.1:9503, or \"\" for off, "
           "got \"unix:/run/p.sock\"\n");
}

static void a_right_name_in_a_wrong_place_is_found(void **state)
{
    const char *sets[] = {"htp.listen=a:1", "peer.listen=a:1", "data_dir=/x", "listen=a:1",
                          NULL};

    expect("", sets,
           "--set htp.listen: unknown key; did you mean http.listen?\n"
           "--set peer.listen: unknown key; did you mean ha.peer.listen?\n"
           "--set data_dir: unknown key; did you mean node.data_dir?\n"
           "--set listen: unknown key\n");
}

static void refuses_what_does_not_go_together(void **state)
{
    const char *sets[] = {"store.appendfsync=everysec", "http.listen=127.0.0.1:9503", NULL};

    expect(
        "store: {redis: r:6379, password: a, password_file: b}\n"
        "limits: {body_bytes: 3MiB, http_bodies_bytes: 8MiB}\n",
        sets,
        "c.yaml:1:52: store.password_file: store.password is given too; only one "
        "of the two\n"
        "--set store.appendfsync: is for the embedded Redis only; another one has "
        "its own redis.conf\n"
        "--set http.listen: is the address of gmq.listen, or meets it\n"
        "limits.output_bytes: must be at least 6 times limits.body_bytes, or a job "
        "of that size could not be handed out\n"
        "limits.http_body_bytes: must be at least 6 times limits.body_bytes and 4096, or a job "
        "of that size could not be pushed\n"
        "c.yaml:2:47: limits.http_bodies_bytes: must be at least limits.http_body_bytes\n");
    expect_errors("log: {file: a, audit: a}\n",
                  "c.yaml:1:23: log.audit: is log.file, too; give it a file of its own\n");
    expect_errors("store:\n  password: a\n",
                  "c.yaml:2:13: store.password: the embedded Redis has no password: only this "
                  "node can reach it\n");
    expect_errors("store:\n  password_file: none\n",
                  "c.yaml:2:18: store.password_file: the embedded Redis has no password: only "
                  "this node can reach it\n");
}

static void keeps_the_logs_apart_whatever_their_paths(void **state)
{
    static const char *const rows[][2] = {
        {"a", "./a"}, {"./a", "a"}, {"a", "sub/../a"}, {"there", "linked"}, {"there", "twin"}};
    char yaml[64], expected[128];
    struct conf *conf;

    assert_int_equal(mkdir("sub", 0700), 0);
    fixture_write("there", "", 0600);
    assert_int_equal(symlink("there", "linked"), 0);
    assert_int_equal(link("there", "twin"), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(yaml, sizeof(yaml), "log: {file: %s, audit: %s}\n", rows[i][0], rows[i][1]);
        snprintf(expected, sizeof(expected),
                 "c.yaml:1:%zu: log.audit: is log.file, too; give it a file of its own\n",
                 22 + strlen(rows[i][0]));
        expect_errors(yaml, expected);
    }
    conf = fixture_load_well("log: {file: a, audit: b}\n", NULL);
    conf_free(conf);
    conf = fixture_load_well("log: {file: a, audit: sub/a}\n", NULL);
    conf_free(conf);
    unlink("there");
    unlink("linked");
    unlink("twin");
    rmdir("sub");
}

static void tells_names_of_hosts_from_addresses(void **state)
{
    expect_errors("http:\n  hosts: dueq:8000\n",
                  "c.yaml:2:10: http.hosts: expected names of hosts without ports, such as "
                  "\"dueq,dueq.example.com\", of 0 to 4096 bytes, got \"dueq:8000\"\n");
}

static void does_not_judge_by_a_value_that_is_wrong_itself(void **state)
{
    expect_errors(
        "store:\n  redis: r\n  appendfsync: everysec\n",
        "c.yaml:2:10: store.redis: expected embedded, host:port, unix:/path of at most "
        "107 bytes, sentinel://MASTER@host:port,host:port, or "
        "cluster://host:port,host:port" OVER_TLS ", got \"r\"\n");
}

static void says_that_lists_of_addresses_have_no_blanks(void **state)
{
    expect_errors(
        "store:\n  redis: cluster://a:1, b:2\n",
        "c.yaml:2:10: store.redis: expected embedded, host:port, unix:/path of at most "
        "107 bytes, sentinel://MASTER@host:port,host:port, or "
        "cluster://host:port,host:port" OVER_TLS
        ", got \"cluster://a:1, b:2\"; no blanks between the "
        "addresses\n");
}

/* Addresses as people paste them from elsewhere. */
static void shows_no_password_in_an_address_that_it_refuses(void **state)
{
#define REFUSED                                                                               \
    "c.yaml:2:10: store.redis: expected embedded, host:port, unix:/path of at most 107 "      \
    "bytes, sentinel://MASTER@host:port,host:port, or cluster://host:port,host:port" OVER_TLS \
    ", "                                                                                      \
    "got \"***@h\"; a password goes to "                                                      \
    "store.password_file, that of Sentinels to store.sentinel_password_file\n"
    static const char *const pasted[] = {
        "redis://:hunter2@h",     "redis://user:hunter2@h",       "hunter2@h",
        "redis://:hunt@er2@h",    "sentinel://m@:hunter2@h",      "sentinel://:hunter2@h",
        "sentinel://m:hunter2@h", "cluster://:hunter2@h",         "cluster://hunter2@h",
        "rediss://:hunter2@h",    "rediss+sentinel://:hunter2@h",
    };
    char yaml[128];

    for (size_t i = 0; i < sizeof(pasted) / sizeof(pasted[0]); i++) {
        snprintf(yaml, sizeof(yaml), "store:\n  redis: \"%s\"\n", pasted[i]);
        expect_errors(yaml, REFUSED);
    }
    expect_errors("ha:\n  zookeeper: \"digest:hunter2@h:2181,z\"\n",
                  "c.yaml:2:14: ha.zookeeper: expected servers, such as "
                  "\"10.0.0.1:2181,10.0.0.2:2181\", of 0 to 4096 bytes, got "
                  "\"***@h:2181,z\"; a password goes to ha.auth_file\n");
}

static void says_what_is_wrong_before_a_syntax_error_too(void **state)
{
    expect_errors(
        "gmq:\n  strict: 1\n  listen: \"x\n",
        "c.yaml:2:11: gmq.strict: expected true or false, got \"1\"\n"
        "c.yaml:4:1: not valid YAML: while scanning a quoted scalar: found unexpected "
        "end of stream\n");
}

static void says_when_the_file_cannot_be_read(void **state)
{
    struct conf_request request = {.file = "/nowhere/c.yaml"};
    struct conf_errors errors;

    conf_errors_init(&errors);
    assert_null(conf_load(&request, &errors));
    assert_string_equal(conf_errors_text(&errors),
                        "/nowhere/c.yaml: cannot open it: No such file or directory\n");
    conf_errors_fini(&errors);
    request.file = "/";
    assert_null(conf_load(&request, &errors));
    assert_string_equal(conf_errors_text(&errors), "/: cannot read it: Is a directory\n");
    conf_errors_fini(&errors);
}

static void refuses_a_file_without_end(void **state)
{
    struct conf_request request = {.file = "/dev/zero"};
    struct conf_errors errors;

    conf_errors_init(&errors);
    assert_null(conf_load(&request, &errors));
    assert_string_equal(conf_errors_text(&errors),
                        "/dev/zero: it is larger than 262144 bytes\n");
    conf_errors_fini(&errors);
}

static struct conf *load_again(const char *file, struct conf_errors *errors)
{
    struct conf_request request = {.file = file, .is_reload = true};

    conf_errors_init(errors);
    return conf_load(&request, errors);
}

/* Reading must not block a running node: nobody writes to the pipe. */
static void a_reload_reads_regular_files_only(void **state)
{
    static const char *const others[] = {"fifo", "/dev/null", "/"};
    struct conf_errors errors;
    struct conf *conf;

    assert_int_equal(mkfifo("fifo", 0600), 0);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        assert_null(load_again(others[i], &errors));
        assert_non_null(strstr(conf_errors_text(&errors), ": it is not a regular file"));
        conf_errors_fini(&errors);
    }
    fixture_write("c.yaml", "store: {redis: \"h:1\", password_file: fifo}\n", 0600);
    assert_null(load_again("c.yaml", &errors));
    assert_non_null(strstr(conf_errors_text(&errors), "it is not a regular file"));
    conf_errors_fini(&errors);
    fixture_write("c.yaml", "store: {buckets: 8}\n", 0600);
    conf = load_again("c.yaml", &errors);
    assert_non_null(conf);
    assert_int_equal(conf->store.buckets, 8);
    conf_free(conf);
    conf_errors_fini(&errors);
}

static void the_first_configuration_may_come_from_a_pipe(void **state)
{
    char path[32];
    struct conf *conf;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "store: {buckets: 8}\n", 20), 20);
    close(ends[1]);
    snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
    conf = fixture_load_file(path);
    close(ends[0]);
    assert_int_equal(conf->store.buckets, 8);
    conf_free(conf);
}

static void quotes_harmlessly_and_never_a_secret(void **state)
{
    struct buf yaml = BUF_INIT;
    struct conf_errors errors;

    buf_add_text(&yaml, "gmq: {strict: \"\\e[2J\\nx\"}\nstore: {password: ");
    for (int i = 0; i < 5000; i++)
        buf_add_char(&yaml, 'p');
    buf_add_text(&yaml, "}\n");
    assert_null(fixture_load(buf_text(&yaml), NULL, &errors));
    assert_string_equal(conf_errors_text(&errors),
                        "c.yaml:1:15: gmq.strict: expected true or false, got \"?[2J?x\"\n"
                        "c.yaml:2:19: store.password: expected a text of 0 to 4096 bytes\n");
    conf_errors_fini(&errors);
    buf_fini(&yaml);
}

static void takes_no_secret_from_the_command_line(void **state)
{
    const char *sets[] = {"store.password=abc", NULL};

    expect(NULL, sets,
           "--set store.password: is a secret, and a command line can be read by "
           "other users; use the file with ${NAME}, or store.password_file\n");
}

static void stops_counting_aloud_after_a_hundred_mistakes(void **state)
{
    struct buf yaml = BUF_INIT;
    struct conf_errors errors;

    for (int i = 0; i < 300; i++)
        buf_printf(&yaml, "zzzzzz%d: 1\n", i);
    assert_null(fixture_load(buf_text(&yaml), NULL, &errors));
    assert_int_equal(errors.count, 300);
    assert_non_null(strstr(conf_errors_text(&errors), "c.yaml:100:1: "));
    assert_null(strstr(conf_errors_text(&errors), "c.yaml:101:1: "));
    assert_non_null(strstr(conf_errors_text(&errors), "there are more errors than these\n"));
    conf_errors_fini(&errors);
    buf_fini(&yaml);
}

static void adds_to_the_errors_that_are_there(void **state)
{
    struct conf_request request = {.file = NULL};
    struct conf_errors errors;
    struct conf *conf;

    assert_null(fixture_load("a: 1\n", NULL, &errors));
    conf = conf_load(&request, &errors);
    assert_non_null(conf);
    assert_int_equal(errors.count, 1);
    conf_free(conf);
    conf_errors_fini(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(no_file_is_a_whole_configuration),
        IN_DIRECTORY(the_file_overrides_defaults_and_sets_override_the_file),
        IN_DIRECTORY(takes_values_from_the_environment_but_not_in_sets),
        IN_DIRECTORY(a_section_whose_keys_are_all_comments_is_fine),
        IN_DIRECTORY(reads_a_password_from_a_file_that_is_not_for_all),
        IN_DIRECTORY(tells_all_mistakes_at_once_each_with_its_place),
        IN_DIRECTORY(refuses_what_does_not_go_together),
        cmocka_unit_test(says_which_ports_meet),
        cmocka_unit_test(only_ports_may_be_sockets_of_this_machine),
        cmocka_unit_test(a_right_name_in_a_wrong_place_is_found),
        IN_DIRECTORY(keeps_the_logs_apart_whatever_their_paths),
        IN_DIRECTORY(tells_names_of_hosts_from_addresses),
        IN_DIRECTORY(does_not_judge_by_a_value_that_is_wrong_itself),
        IN_DIRECTORY(says_that_lists_of_addresses_have_no_blanks),
        IN_DIRECTORY(shows_no_password_in_an_address_that_it_refuses),
        IN_DIRECTORY(says_what_is_wrong_before_a_syntax_error_too),
        IN_DIRECTORY(says_when_the_file_cannot_be_read),
        IN_DIRECTORY(refuses_a_file_without_end),
        IN_DIRECTORY(a_reload_reads_regular_files_only),
        IN_DIRECTORY(the_first_configuration_may_come_from_a_pipe),
        IN_DIRECTORY(quotes_harmlessly_and_never_a_secret),
        IN_DIRECTORY(takes_no_secret_from_the_command_line),
        IN_DIRECTORY(stops_counting_aloud_after_a_hundred_mistakes),
        IN_DIRECTORY(adds_to_the_errors_that_are_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The section `ha`: the keys that a node of a cluster needs, and those it must not have. */
#include "conf/tests/conf_fixture.h"

#include <stdio.h>
#include <string.h>

#define GOOD                                                                               \
    "store: {redis: \"r:1\"}\n"                                                            \
    "http: {listen: \"10.0.0.7:8000\"}\n"                                                  \
    "ha: {mode: standby, zookeeper: \"z:2181,10.0.0.2:2181\", secret: 0123456789abcdef,\n" \
    "     peer.listen: \"10.0.0.7:9504\"}\n"

static void a_standalone_node_needs_nothing_of_it(void **state)
{
    struct conf *conf = fixture_load_well("log: {level: info}\n", NULL);

    assert_int_equal(conf->ha.mode, HA_MODE_STANDALONE);
    assert_int_equal(conf->ha.session_ms, 2000);
    conf_free(conf);
}

static void a_node_of_a_cluster_is_configured_in_a_few_lines(void **state)
{
    struct conf *conf = fixture_load_well(GOOD, NULL);

    assert_int_equal(conf->ha.mode, HA_MODE_STANDBY);
    assert_string_equal(conf->ha.zookeeper, "z:2181,10.0.0.2:2181");
    assert_int_equal(conf->ha.peer.port, 9504);
    assert_int_equal(conf->ha.priority, 50);
    assert_int_equal(conf->ha.on_loss, HA_ON_LOSS_STOP);
    conf_free(conf);
}

static void says_what_a_standby_lacks(void **state)
{
    expect("ha: {mode: standby, peer.listen: \"\"}\n", NULL,
           "ha.zookeeper: ha.mode standby needs it: name the servers of ZooKeeper, such as "
           "10.0.0.1:2181,10.0.0.2:2181,10.0.0.3:2181\n"
           "ha.secret: ha.mode standby needs one, the same on all nodes of the cluster; make "
           "one with: openssl rand -hex 16\n"
           "store.redis: the embedded Redis is for one node alone; with ha.mode standby all "
           "nodes need the same one: give its host:port\n"
           "c.yaml:1:34: ha.peer.listen: ha.mode standby needs it: host:port where the other "
           "nodes reach this one\n");
}

static void a_cluster_needs_the_same_as_a_standby(void **state)
{
    const char *cluster[] = {"ha.mode=cluster", NULL};
    struct conf *conf = fixture_load_well(GOOD, cluster);

    assert_int_equal(conf->ha.mode, HA_MODE_CLUSTER);
    assert_true(conf_has_others(conf));
    assert_int_equal(conf->queue.lock_ms, 5000);
    conf_free(conf);
    expect("ha: {mode: cluster, peer.listen: \"\"}\n", NULL,
           "ha.zookeeper: ha.mode cluster needs it: name the servers of ZooKeeper, such as "
           "10.0.0.1:2181,10.0.0.2:2181,10.0.0.3:2181\n"
           "ha.secret: ha.mode cluster needs one, the same on all nodes of the cluster; make "
           "one with: openssl rand -hex 16\n"
           "store.redis: the embedded Redis is for one node alone; with ha.mode cluster all "
           "nodes need the same one: give its host:port\n"
           "c.yaml:1:34: ha.peer.listen: ha.mode cluster needs it: host:port where the other "
           "nodes reach this one\n");
}

static void a_topics_lock_lasts_a_second_to_a_minute(void **state)
{
    const char *short_lock[] = {"queue.lock_time=999ms", NULL};
    const char *long_lock[] = {"queue.lock_time=61s", NULL};

    expect(GOOD, short_lock,
           "--set queue.lock_time: expected a duration with its unit from 1s to 1m, got "
           "\"999ms\"\n");
    expect(GOOD, long_lock,
           "--set queue.lock_time: expected a duration with its unit from 1s to 1m, got "
           "\"61s\"\n");
}

static void refuses_what_does_not_fit(void **state)
{
    const char *no_redis[] = {"store.redis=embedded", NULL};
    const char *same_port[] = {"ha.peer.listen=10.0.0.7:9503", "gmq.listen=10.0.0.7:9503",
                               NULL};
    const char *short_session[] = {"ha.session_timeout=999ms", NULL};
    const char *no_port[] = {"ha.zookeeper=z:2181,y", NULL};
    const char *everywhere[] = {"ha.peer.listen=0.0.0.0:1", NULL};
    const char *dots[] = {"ha.cluster=..", NULL};

    expect(GOOD, no_redis,
           "--set store.redis: the embedded Redis is for one node alone; with ha.mode standby "
           "all nodes need the same one: give its host:port\n");
    expect(GOOD, same_port,
           "--set ha.peer.listen: is the address of gmq.listen, or meets it\n");
    expect(GOOD, short_session,
           "--set ha.session_timeout: expected a duration with its unit from 1s to 1m, got "
           "\"999ms\"\n");
    expect(
        GOOD, no_port,
        "--set ha.zookeeper: expected servers, such as \"10.0.0.1:2181,10.0.0.2:2181\", of 0 "
        "to 4096 bytes, got \"z:2181,y\"\n");
    expect(GOOD, everywhere,
           "ha.advertise: ha.peer.listen is everywhere, which tells the other nodes nothing: "
           "give the name or address by which they reach this one\n");
    expect(GOOD, dots, "--set ha.cluster: ZooKeeper takes no such name\n");
}

#define NO_OTHER_MACHINE                                                                   \
    "ha.peer.listen: no other machine reaches this address, and ha.zookeeper names "       \
    "servers on other machines: give an address at which the other nodes reach this one, " \
    "such as 10.0.0.1:9504\n"

static void a_loopback_address_is_for_a_cluster_on_one_machine(void **state)
{
    static const char *const elsewhere[] = {"z:1",
                                            "127.example.com:1",
                                            "10.0.0.2:1",
                                            "127.0.0.1:1,[fd00::1]:1",
                                            "[::1]:1,localhost.example:1",
                                            "127:1"};
    char servers[64];
    const char *sets[] = {"ha.peer.listen=127.0.0.1:1", servers, NULL, NULL};

    for (unsigned i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        snprintf(servers, sizeof(servers), "ha.zookeeper=%s", elsewhere[i]);
        expect(GOOD, sets, "--set " NO_OTHER_MACHINE);
    }
    sets[0] = "ha.peer.listen=[::1]:1";
    expect(GOOD, sets, "--set " NO_OTHER_MACHINE);
    sets[2] = "ha.advertise=a";
    conf_free(fixture_load_well(GOOD, sets));
    sets[2] = NULL;
    strcpy(servers, "ha.zookeeper=127.0.0.1:1,127.9.9.9:1,[::1]:2,localhost:3");
    conf_free(fixture_load_well(GOOD, sets));
}

static void clients_are_told_an_address_too(void **state)
{
    const char *gmq[] = {"gmq.listen=0.0.0.0:9503", NULL};
    const char *http[] = {"http.listen=[::]:8000", NULL};
    const char *advertised[] = {"http.listen=[::]:8000", "ha.advertise=a", NULL};

    expect(GOOD, gmq,
           "ha.advertise: gmq.listen is everywhere, which tells nobody where that is: give the "
           "name or address by which others reach this node\n");
    expect(
        GOOD, http,
        "ha.advertise: http.listen is everywhere, which tells nobody where that is: give the "
        "name or address by which others reach this node\n");
    conf_free(fixture_load_well(GOOD, advertised));
}

static void the_http_address_that_is_advertised_leads_here(void **state)
{
    const char *sets[] = {"http.listen=127.0.0.1:8000", NULL, NULL, NULL};

    expect(GOOD, sets,
           "--set http.listen: is advertised to the other nodes, where it means another "
           "machine, and ha.zookeeper names servers on other machines: give an address at "
           "which they reach this one, such as 10.0.0.1:8000; or \"\", no HTTP\n");
    sets[1] = "ha.advertise=a"; /* a proxy on that host may lead here */
    conf_free(fixture_load_well(GOOD, sets));
    sets[1] = "ha.zookeeper=127.0.0.1:1,[::1]:2";
    conf_free(fixture_load_well(GOOD, sets));
    sets[0] = "http.listen=";
    sets[1] = NULL;
    conf_free(fixture_load_well(GOOD, sets));
    sets[0] = "http.listen=127.0.0.1:8000";
    sets[1] = "admin.listen=10.0.0.7:8001"; /* dueqctl asks there */
    conf_free(fixture_load_well(GOOD, sets));
    sets[1] = "admin.listen=127.0.0.1:8001";
    expect(GOOD, sets,
           "--set http.listen: is advertised to the other nodes, where it means another "
           "machine, and ha.zookeeper names servers on other machines: give an address at "
           "which they reach this one, such as 10.0.0.1:8000; or \"\", no HTTP\n");
}

static void a_hook_is_a_program_that_can_be_run(void **state)
{
    const char *sets[] = {"ha.hook=true", NULL};
    const char *no_path = "--set ha.hook: must be an absolute path of a program, and nothing "
                          "else: no shell and no PATH find it\n";

    expect(GOOD, sets, no_path);
    sets[0] = "ha.hook=/no/such/hook";
    expect(GOOD, sets,
           "--set ha.hook: /no/such/hook cannot be run: No such file or directory\n");
    sets[0] = "ha.hook=/bin/sh --arg";
    expect(GOOD, sets,
           "--set ha.hook: /bin/sh --arg cannot be run: No such file or directory\n");
    sets[0] = "ha.hook=/etc/passwd";
    expect(GOOD, sets, "--set ha.hook: /etc/passwd cannot be run: Permission denied\n");
    sets[0] = "ha.hook=/etc";
    expect(GOOD, sets, "--set ha.hook: is no file; give a program\n");
    sets[0] = "ha.hook=/bin/sh";
    conf_free(fixture_load_well(GOOD, sets));
}

static void a_secret_is_long_and_comes_from_one_place(void **state)
{
    const char *from_file[] = {"ha.secret_file=secret", NULL};
    const char *yaml = "store: {redis: \"r:1\"}\n"
                       "ha: {mode: standby, zookeeper: \"localhost:1\"}\n";
    struct conf *conf;

    expect("ha: {secret: 0123456789abcde}\n", NULL,
           "c.yaml:1:14: ha.secret: is shorter than 16 characters; make one with: openssl rand "
           "-hex 16\n");
    fixture_write("secret", "fedcba9876543210\n", 0600);
    expect(GOOD, from_file,
           "--set ha.secret_file: ha.secret is given too; only one of the two\n");
    conf = fixture_load_well(yaml, from_file);
    assert_string_equal(conf->ha.secret, "fedcba9876543210");
    conf_free(conf);
    fixture_write("secret", "short\n", 0600);
    expect(yaml, from_file,
           "--set ha.secret_file: is shorter than 16 characters; make one with: openssl rand "
           "-hex 16\n");
}

static void the_secret_before_is_as_long_and_may_be_in_a_file(void **state)
{
    const char *from_file[] = {"ha.secret_old_file=secret", NULL};
    struct conf *conf = fixture_load_well(GOOD, NULL);

    assert_string_equal(conf->ha.secret_old, "");
    conf_free(conf);
    expect("ha: {secret_old: 0123456789abcde}\n", NULL,
           "c.yaml:1:18: ha.secret_old: is shorter than 16 characters; make one with: openssl "
           "rand -hex 16\n");
    fixture_write("secret", "fedcba9876543210\n", 0600);
    conf = fixture_load_well(GOOD, from_file);
    assert_string_equal(conf->ha.secret, "0123456789abcdef");
    assert_string_equal(conf->ha.secret_old, "fedcba9876543210");
    conf_free(conf);
    fixture_write("secret", "short\n", 0600);
    expect(
        GOOD, from_file,
        "--set ha.secret_old_file: is shorter than 16 characters; make one with: openssl rand "
        "-hex 16\n");
}

static void the_peer_link_has_tls_where_both_sides_do(void **state)
{
    const char *sets[] = {"ha.peer.tls=required", NULL};
    struct conf *conf = fixture_load_well(GOOD, NULL);

    assert_int_equal(conf->ha.peer_tls, HA_TLS_OPTIONAL);
    conf_free(conf);
    conf = fixture_load_well(GOOD, sets);
    assert_int_equal(conf->ha.peer_tls, HA_TLS_REQUIRED);
    conf_free(conf);
}

static void credentials_have_a_user_and_a_password(void **state)
{
    struct conf *conf = fixture_load_well("ha: {auth: \"dueq:word\"}\n", NULL);

    assert_string_equal(conf->ha.auth, "dueq:word");
    conf_free(conf);
    expect("ha: {auth: dueq}\n", NULL, "c.yaml:1:12: ha.auth: must be user:password\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(a_standalone_node_needs_nothing_of_it),
        IN_DIRECTORY(a_node_of_a_cluster_is_configured_in_a_few_lines),
        IN_DIRECTORY(says_what_a_standby_lacks),
        IN_DIRECTORY(a_cluster_needs_the_same_as_a_standby),
        IN_DIRECTORY(a_topics_lock_lasts_a_second_to_a_minute),
        IN_DIRECTORY(refuses_what_does_not_fit),
        IN_DIRECTORY(a_loopback_address_is_for_a_cluster_on_one_machine),
        IN_DIRECTORY(clients_are_told_an_address_too),
        IN_DIRECTORY(the_http_address_that_is_advertised_leads_here),
        IN_DIRECTORY(a_hook_is_a_program_that_can_be_run),
        IN_DIRECTORY(a_secret_is_long_and_comes_from_one_place),
        IN_DIRECTORY(the_secret_before_is_as_long_and_may_be_in_a_file),
        IN_DIRECTORY(the_peer_link_has_tls_where_both_sides_do),
        IN_DIRECTORY(credentials_have_a_user_and_a_password),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

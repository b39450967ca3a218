/* The section `vip`: the addresses that a cluster can have, and their rules for other keys. */
#include "conf/tests/conf_fixture.h"

#include <stdio.h>
#include <string.h>

#define CLUSTER                                                                            \
    "store: {redis: \"r:1\"}\n"                                                            \
    "ha: {mode: standby, zookeeper: \"z:2181,10.0.0.2:2181\", secret: 0123456789abcdef,\n" \
    "     peer.listen: \"10.0.0.7:9504\", advertise: 10.0.0.7}\n"
#define EVERYWHERE               \
    "gmq.listen: 0.0.0.0:9503\n" \
    "http.listen: 0.0.0.0:8000\n"
#define GOOD CLUSTER EVERYWHERE "vip.address: 10.0.0.100\n"

static void there_is_none_unless_it_is_wanted(void **state)
{
    struct conf *conf = fixture_load_well(NULL, NULL);

    assert_string_equal(conf->vip.address, "");
    assert_string_equal(conf->vip.interface, "");
    assert_string_equal(conf->vip.hook, "");
    conf_free(conf);
}

/* One file may serve all kinds of node. */
static void without_an_address_the_other_keys_mean_nothing(void **state)
{
    conf_free(fixture_load_well("vip: {interface: eth0, hook: nothing}\n", NULL));
}

static void one_more_line_gives_a_cluster_an_address(void **state)
{
    struct conf *conf = fixture_load_well(GOOD, NULL);

    assert_string_equal(conf->vip.address, "10.0.0.100");
    conf_free(conf);
}

static void addresses_of_both_families_and_up_to_four(void **state)
{
    const char *sets[] = {"vip.address=10.0.0.100,10.0.0.101,fd00::100,2001:db8::1",
                          "gmq.listen=[::]:9503", "http.listen=[0::0]:8000", NULL};
    struct conf *conf = fixture_load_well(GOOD, sets);

    assert_string_equal(conf->vip.address, sets[0] + strlen("vip.address="));
    conf_free(conf);
    expect_set(GOOD, "vip.address=10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5",
               "--set vip.address: has more than 4 addresses\n");
}

#define NO_ADDRESS                                                                            \
    "is no address: give IPv4 or IPv6 addresses without a prefix, with commas and no blanks " \
    "between, such as \"10.0.0.100,fd00::100\"\n"

static void what_is_no_address_is_refused_and_shown(void **state)
{
    static const struct {
        const char *set, *shown;
    } cases[] = {
        {"vip.address=10.0.0.100/24", "10.0.0.100/24"},
        {"vip.address=dueq.example.com", "dueq.example.com"},
        {"vip.address=10.0.0.100, 10.0.0.101", " 10.0.0.101"},
        {"vip.address=10.0.0.100,", ""},
        {"vip.address=,10.0.0.100", ""},
        {"vip.address=10.0.0", "10.0.0"},
        {"vip.address=010.0.0.1", "010.0.0.1"},
        {"vip.address=[fd00::100]", "[fd00::100]"},
        {"vip.address=fd00::100%eth0", "fd00::100%eth0"},
        {"vip.address=10.0.0.100:9503", "10.0.0.100:9503"},
        {"vip.address=0000:0000:0000:0000:0000:0000:0000:0000:0000:0000",
         "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"},
    };
    char line[512];

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(line, sizeof(line), "--set vip.address: \"%s\" " NO_ADDRESS, cases[i].shown);
        expect_set(GOOD, cases[i].set, line);
    }
}

static void what_no_host_of_a_cluster_can_have_is_refused(void **state)
{
    static const struct {
        const char *address, *why;
    } cases[] = {
        {"127.0.0.1", "is a loopback address, which no other machine reaches"},
        {"127.255.1.1", "is a loopback address, which no other machine reaches"},
        {"0.0.0.0", "is no host's address"},
        {"169.254.1.1", "is link-local"},
        {"224.0.0.1", "is a multicast address"},
        {"239.1.1.1", "is a multicast address"},
        {"255.255.255.255", "is reserved"},
        {"::1", "is the loopback address, which no other machine reaches"},
        {"::", "is no host's address"},
        {"fe80::1", "is link-local"},
        {"::1:2", "is reserved"},
        {"ff02::1", "is a multicast address"},
        {"::ffff:10.0.0.1", "is an IPv4 address; write it as one, such as 10.0.0.100"},
    };
    const char *sets[] = {NULL, "gmq.listen=[::]:1", "http.listen=[::]:2", NULL};
    char set[64], line[256];

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(set, sizeof(set), "vip.address=%s", cases[i].address);
        snprintf(line, sizeof(line),
                 "--set vip.address: %s %s: give a free address of your clients' network\n",
                 cases[i].address, cases[i].why);
        sets[0] = set;
        expect(GOOD, sets, line);
    }
}

static void an_address_is_there_once_however_it_is_written(void **state)
{
    const char *sets[] = {"vip.address=fd00::100,10.0.0.1,fd00:0::0100", "gmq.listen=[::]:1",
                          "http.listen=", NULL};

    expect_set(GOOD, "vip.address=10.0.0.1,10.0.0.1",
               "--set vip.address: 10.0.0.1 is there twice: leave one out\n");
    expect(GOOD, sets,
           "--set vip.address: fd00:0::0100 is there twice, first as fd00::100: leave one "
           "out\n");
}

static void an_address_that_moves_takes_several_nodes(void **state)
{
    expect(
        EVERYWHERE "vip.address: 10.0.0.100\n", NULL,
        "c.yaml:3:14: vip.address: moves to the node that leads, and with ha.mode standalone "
        "there is but one: set ha.mode standby or cluster, or leave it out\n");
}

static void its_clients_are_heard_wherever_it_is(void **state)
{
    const char *off[] = {"gmq.listen=", NULL};

    expect(CLUSTER "vip.address: 10.0.0.100\n", NULL,
           "gmq.listen: must be \"0.0.0.0:9503\", so that clients of vip.address are heard "
           "wherever it is; or \"\", off\n"
           "http.listen: must be \"0.0.0.0:8000\", so that clients of vip.address are heard "
           "wherever it is; or \"\", off\n");
    expect_set(GOOD, "gmq.listen=10.0.0.100:7",
               "--set gmq.listen: must be \"0.0.0.0:7\", so that clients of vip.address are "
               "heard wherever it is; or \"\", off\n");
    expect_set(GOOD, "http.listen=[::1]:7",
               "--set http.listen: must be \"0.0.0.0:7\", so that clients of vip.address are "
               "heard wherever it is; or \"\", off\n");
    conf_free(fixture_load_well(GOOD, off));
}

static void ipv6_is_heard_at_its_own_everywhere(void **state)
{
    const char *sets[] = {"vip.address=10.0.0.100,fd00::1", "gmq.listen=[::]:9503", NULL};

    expect(GOOD, sets,
           "c.yaml:5:14: http.listen: must be \"[::]:8000\", which hears IPv4, too, so that "
           "clients of vip.address are heard wherever it is; or \"\", off\n");
}

static void it_is_for_clients(void **state)
{
    const char *sets[] = {"gmq.listen=unix:/run/gmq.sock",
                          "http.listen=", "admin.listen=127.0.0.1:8001", NULL};

    expect(GOOD, sets,
           "c.yaml:6:14: vip.address: is for clients, and all their ports are off, or sockets "
           "of this machine: switch one on, such as http.listen, or leave it out\n");
}

static void what_a_node_always_has_is_another_address(void **state)
{
    const char *v6[] = {"vip.address=fd00::1", "gmq.listen=[::]:1",
                        "http.listen=", "ha.peer.listen=[fd00:0::1]:3", NULL};
    const char *admin[] = {"admin.listen=127.0.0.1:8001", NULL};
    const char *why = "is an address of vip.address, which moves from node to node: give one "
                      "that this node always has\n";
    char line[256];

    snprintf(line, sizeof(line), "--set ha.peer.listen: %s", why);
    expect_set(GOOD, "ha.peer.listen=10.0.0.100:9504", line);
    expect(GOOD, v6, line);
    snprintf(line, sizeof(line), "--set admin.listen: %s", why);
    expect_set(GOOD, "admin.listen=10.0.0.100:8001", line);
    conf_free(fixture_load_well(GOOD, admin));
    snprintf(line, sizeof(line), "--set lmstfy_admin.listen: %s", why);
    expect_set(GOOD, "lmstfy_admin.listen=10.0.0.100:7778", line);
    snprintf(line, sizeof(line), "--set ha.advertise: %s", why);
    expect_set(GOOD, "ha.advertise=10.0.0.100", line);
}

static void a_hook_is_a_program_that_can_be_run(void **state)
{
    const char *sets[] = {"vip.hook=/bin/sh", NULL, NULL};

    conf_free(fixture_load_well(GOOD, sets));
    expect_set(GOOD, "vip.hook=move",
               "--set vip.hook: must be an absolute path of a program, and nothing else: no "
               "shell and no PATH find it\n");
    expect_set(GOOD, "vip.hook=/no/such/hook",
               "--set vip.hook: /no/such/hook cannot be run: No such file or directory\n");
    sets[1] = "vip.interface=eth0";
    expect(GOOD, sets,
           "--set vip.interface: is where the kernel puts the address, and with vip.hook the "
           "program does: leave one of them out\n");
}

static void an_interface_has_a_name(void **state)
{
    const char *good[] = {"vip.interface=eth0.100", NULL};

    conf_free(fixture_load_well(GOOD, good));
    expect_set(GOOD, "vip.interface=eth0 eth1",
               "--set vip.interface: is no name of an interface; `ip -brief link` lists them, "
               "such as eth0\n");
    expect_set(GOOD, "vip.interface=eth0-is-much-too-long",
               "--set vip.interface: expected a text of 0 to 15 bytes, got "
               "\"eth0-is-much-too-long\"\n");
}

static void all_of_it_takes_a_restart(void **state)
{
    const char *sets[] = {"vip.address=10.0.0.101", "vip.interface=eth1", NULL};
    struct conf *running = fixture_load_well(GOOD, NULL),
                *fresh = fixture_load_well(GOOD, sets);
    struct buf taken = BUF_INIT, need_restart = BUF_INIT;

    conf_reload(running, fresh, &taken, &need_restart);
    assert_string_equal(buf_text(&taken), "");
    assert_string_equal(buf_text(&need_restart), "vip.address, vip.interface");
    buf_fini(&taken);
    buf_fini(&need_restart);
    conf_free(running);
    conf_free(fresh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(there_is_none_unless_it_is_wanted),
        IN_DIRECTORY(without_an_address_the_other_keys_mean_nothing),
        IN_DIRECTORY(one_more_line_gives_a_cluster_an_address),
        IN_DIRECTORY(addresses_of_both_families_and_up_to_four),
        IN_DIRECTORY(what_is_no_address_is_refused_and_shown),
        IN_DIRECTORY(what_no_host_of_a_cluster_can_have_is_refused),
        IN_DIRECTORY(an_address_is_there_once_however_it_is_written),
        IN_DIRECTORY(an_address_that_moves_takes_several_nodes),
        IN_DIRECTORY(its_clients_are_heard_wherever_it_is),
        IN_DIRECTORY(ipv6_is_heard_at_its_own_everywhere),
        IN_DIRECTORY(it_is_for_clients),
        IN_DIRECTORY(what_a_node_always_has_is_another_address),
        IN_DIRECTORY(a_hook_is_a_program_that_can_be_run),
        IN_DIRECTORY(an_interface_has_a_name),
        IN_DIRECTORY(all_of_it_takes_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

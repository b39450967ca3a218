#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "protocol/beanstalkd/codec.h"

#define BODY_MAX 65535

static const char *const verb_names[] = {
#define X(name, ...) #name,
    BEANSTALKD_COMMANDS(X)
#undef X
        "?",
};

/* Adds the fields that are not as beanstalkd_parse() begins. */
static void tell(struct buf *story, const struct beanstalkd_command *c)
{
    buf_add_text(story, verb_names[c->verb]);
    if (c->tube.len)
        buf_printf(story, " tube=%.*s", BYTES_ARG(c->tube));
    if (c->id)
        buf_printf(story, " id=%llu", (unsigned long long)c->id);
    if (c->priority)
        buf_printf(story, " pri=%u", c->priority);
    if (c->delay_s)
        buf_printf(story, " delay=%u", c->delay_s);
    if (c->ttr_s)
        buf_printf(story, " ttr=%u", c->ttr_s);
    if (c->body_bytes)
        buf_printf(story, " bytes=%u", c->body_bytes);
    if (c->bound)
        buf_printf(story, " bound=%u", c->bound);
    if (c->wait_s >= 0)
        buf_printf(story, " wait=%d", (int)c->wait_s);
}

#define A50  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A200 A50 A50 A50 A50

/* Seen with beanstalkd 1.12, but for the tubes "." and "..". */
static const struct {
    const char *line, *story;
} cases[] = {
    {"put 1 2 3 4", "PUT pri=1 delay=2 ttr=3 bytes=4"},
    {"put  1   2  3 4", "PUT pri=1 delay=2 ttr=3 bytes=4"},
    {"put 4294967295 4294967295 4294967295 65535",
     "PUT pri=4294967295 delay=4294967295 ttr=4294967295 bytes=65535"},
    {"put 4294967296 0 0 0", "BAD_FORMAT"},
    {"put 0 4294967296 0 0", "BAD_FORMAT"},
    {"put 0 0 4294967296 0", "BAD_FORMAT"},
    {"put 0 0 0 4294967296", "BAD_FORMAT"},
    {"put 0 0 0 65536", "TOO_BIG 65536"},
    {"put 0 0 0 4294967295", "TOO_BIG 4294967295"},
    {"put 0 0 0 65536 x", "TOO_BIG 65536"},
    {"put 0 0 0 1 ", "BAD_FORMAT"},
    {"put 0 0 0 1x", "BAD_FORMAT"},
    {"put 0 0 0 1 x1", "BAD_FORMAT"},
    {"put 0 0 0", "BAD_FORMAT"},
    {"put 0 0 0 -1", "BAD_FORMAT"},
    {"put ", "BAD_FORMAT"},
    {"put", "UNKNOWN"},
    {"PUT 0 0 0 0", "UNKNOWN"},
    {"peek 7", "PEEK id=7"},
    {"peek -1", "BAD_FORMAT"},
    {"peek-ready", "PEEK_READY"},
    {"peek-ready ", "BAD_FORMAT"},
    {"peek-delayed", "PEEK_DELAYED"},
    {"peek-buried", "PEEK_BURIED"},
    {"peek-", "UNKNOWN"},
    {"reserve", "RESERVE"},
    {"reserve ", "BAD_FORMAT"},
    {"reservex", "BAD_FORMAT"},
    {"reserve-job", "BAD_FORMAT"},
    {"reserve-job 5", "RESERVE_JOB id=5"},
    {"reserve-job abc", "BAD_FORMAT"},
    {"reserve-with-timeout", "BAD_FORMAT"},
    {"reserve-with-timeout ", "RESERVE_TIMEOUT wait=0"},
    {"reserve-with-timeout 5", "RESERVE_TIMEOUT wait=5"},
    {"reserve-with-timeout 0abc", "RESERVE_TIMEOUT wait=0"},
    {"reserve-with-timeout abc", "RESERVE_TIMEOUT wait=0"},
    {"reserve-with-timeout -1", "RESERVE_TIMEOUT"},
    {"reserve-with-timeout 2147483647", "RESERVE_TIMEOUT wait=2147483647"},
    {"reserve-with-timeout 2147483648", "RESERVE_TIMEOUT"},
    {"reserve-with-timeout 4294967296", "RESERVE_TIMEOUT wait=0"},
    {"reserve-with-timeout 99999999999999999999", "BAD_FORMAT"},
    {"delete 18446744073709551615", "DELETE id=18446744073709551615"},
    {"delete 18446744073709551616", "BAD_FORMAT"},
    {"delete  00017", "DELETE id=17"},
    {"delete 1 ", "BAD_FORMAT"},
    {"delete +1", "BAD_FORMAT"},
    {"delete", "UNKNOWN"},
    {"release 1 2 3", "RELEASE id=1 pri=2 delay=3"},
    {"release 1 2", "BAD_FORMAT"},
    {"release 1 2 3 4", "BAD_FORMAT"},
    {"release 1 4294967296 0", "BAD_FORMAT"},
    {"bury 1 2", "BURY id=1 pri=2"},
    {"bury 1", "BAD_FORMAT"},
    {"bury 1 2 ", "BAD_FORMAT"},
    {"kick 10", "KICK bound=10"},
    {"kick 10abc", "KICK bound=10"},
    {"kick -1", "KICK bound=4294967295"},
    {"kick +3", "KICK bound=3"},
    {"kick 4294967296", "KICK"},
    {"kick abc", "BAD_FORMAT"},
    {"kick ", "BAD_FORMAT"},
    {"kick 99999999999999999999", "BAD_FORMAT"},
    {"kick", "UNKNOWN"},
    {"kick-job 3", "KICK_JOB id=3"},
    {"kick-job 3x", "BAD_FORMAT"},
    {"kick-job", "UNKNOWN"},
    {"touch 3", "TOUCH id=3"},
    {"stats", "STATS"},
    {"stats ", "BAD_FORMAT"},
    {"stats-job", "BAD_FORMAT"},
    {"stats-job 3", "STATS_JOB id=3"},
    {"stats-tube", "BAD_FORMAT"},
    {"stats-tube default", "STATS_TUBE tube=default"},
    {"stats-tube  default", "BAD_FORMAT"},
    {"use a-Z0+/;.$_()", "USE tube=a-Z0+/;.$_()"},
    {"use " A200, "USE tube=" A200},
    {"use " A200 "a", "BAD_FORMAT"},
    {"use -a", "BAD_FORMAT"},
    {"use a:b", "BAD_FORMAT"},
    {"use .", "BAD_FORMAT"},
    {"use ..", "BAD_FORMAT"},
    {"use a b", "BAD_FORMAT"},
    {"use ", "BAD_FORMAT"},
    {"use", "UNKNOWN"},
    {"watch a", "WATCH tube=a"},
    {"ignore a", "IGNORE tube=a"},
    {"list-tubes", "LIST_TUBES"},
    {"list-tubesx", "BAD_FORMAT"},
    {"list-tube", "UNKNOWN"},
    {"list-tube-used", "LIST_TUBE_USED"},
    {"list-tubes-watched", "LIST_TUBES_WATCHED"},
    {"pause-tube a 5", "PAUSE_TUBE tube=a delay=5"},
    {"pause-tube  a  5", "PAUSE_TUBE tube=a delay=5"},
    {"pause-tubea 5", "PAUSE_TUBE tube=a delay=5"},
    {"pause-tube a 0", "PAUSE_TUBE tube=a"},
    {"pause-tube a", "BAD_FORMAT"},
    {"pause-tube a 5 ", "BAD_FORMAT"},
    {"pause-tube a:b 5", "BAD_FORMAT"},
    {"pause-tube -a 5", "BAD_FORMAT"},
    {"pause-tube a 4294967296", "BAD_FORMAT"},
    {"pause-tube", "BAD_FORMAT"},
    {"quit", "QUIT"},
    {"quit now", "QUIT"},
    {"", "UNKNOWN"},
    {" stats", "UNKNOWN"},
};

static void reads_commands_as_beanstalkd_does(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t len = strlen(cases[i].line);
        char *line = malloc(len + !len); /* of exactly these bytes */
        struct beanstalkd_command command;
        struct buf story = BUF_INIT;

        memcpy(line, cases[i].line, len);
        switch (beanstalkd_parse(bytes_of(line, len), BODY_MAX, &command)) {
        case BEANSTALKD_PARSED:
            tell(&story, &command);
            break;
        case BEANSTALKD_BAD_FORMAT:
            buf_add_text(&story, "BAD_FORMAT");
            break;
        case BEANSTALKD_UNKNOWN_COMMAND:
            buf_add_text(&story, "UNKNOWN");
            break;
        case BEANSTALKD_JOB_TOO_BIG:
            buf_printf(&story, "TOO_BIG %u", command.body_bytes);
        }
        assert_string_equal(buf_text(&story), cases[i].story);
        buf_fini(&story);
        free(line);
    }
}

static void refuses_a_line_with_a_nul(void **unused)
{
    static const char line[] = "stats\0x";
    struct beanstalkd_command command;

    (void)unused;
    assert_int_equal(beanstalkd_parse(bytes_of(line, sizeof(line) - 1), 1, &command),
                     BEANSTALKD_BAD_FORMAT);
    assert_int_equal(command.verb, BEANSTALKD_VERBS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_commands_as_beanstalkd_does),
        cmocka_unit_test(refuses_a_line_with_a_nul),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

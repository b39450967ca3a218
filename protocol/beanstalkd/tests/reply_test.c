#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/beanstalkd/codec.h"

static void writes_replies_as_beanstalkd_does(void **unused)
{
    struct buf b = BUF_INIT;

    (void)unused;
    beanstalkd_reply(&b, "DELETED");
    beanstalkd_reply_number(&b, "INSERTED", 7);
    beanstalkd_reply_number(&b, "INSERTED", UINT64_MAX);
    beanstalkd_reply_tube(&b, "USING", BYTES("default"));
    beanstalkd_reply_job(&b, "RESERVED", 12, BYTES("a\r\nb"));
    beanstalkd_reply_job(&b, "FOUND", 13, BYTES(""));
    assert_string_equal(buf_text(&b), "DELETED\r\n"
                                      "INSERTED 7\r\n"
                                      "INSERTED 18446744073709551615\r\n"
                                      "USING default\r\n"
                                      "RESERVED 12 4\r\na\r\nb\r\n"
                                      "FOUND 13 0\r\n\r\n");
    buf_fini(&b);
}

static void writes_yaml(void **unused)
{
    struct buf yaml = BUF_INIT, b = BUF_INIT;

    (void)unused;
    beanstalkd_yaml_begin(&yaml);
    beanstalkd_yaml_number(&yaml, "id", 3);
    beanstalkd_yaml_word(&yaml, "draining", "false");
    beanstalkd_yaml_text(&yaml, "os", BYTES("#1 \"a\\b\"\n"));
    beanstalkd_yaml_item(&yaml, BYTES("default"));
    beanstalkd_reply_data(&b, buf_bytes(&yaml));
    assert_string_equal(buf_text(&b), "OK 55\r\n---\nid: 3\ndraining: false\n"
                                      "os: \"#1 \\\"a\\\\b\\\" \"\n- default\n\r\n");
    buf_fini(&yaml);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_replies_as_beanstalkd_does),
        cmocka_unit_test(writes_yaml),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

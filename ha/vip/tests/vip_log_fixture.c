#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ha/vip/tests/vip_log_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static char path[] = "/tmp/dueq-vip-test.XXXXXX";

int log_catch(void **state)
{
    const struct log_options options = {.level = LEVEL_INFO, .file = path};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    return log_configure(&options) == STATUS_OK ? 0 : -1;
}

int log_let_go(void **state)
{
    const struct log_options options = {.level = LEVEL_INFO};

    return log_configure(&options) == STATUS_OK ? unlink(path) : -1;
}

void log_forget(void)
{
    assert_int_equal(truncate(path, 0), 0);
}

unsigned log_count(const char *text)
{
    FILE *file = fopen(path, "re");
    char line[512];
    unsigned count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, text) != NULL;
    assert_int_equal(fclose(file), 0);
    return count;
}

#include "node/store/redis/tests/log_fixture.h"

#include "base/tests/unit.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char log_path[] = "/tmp/redis_log_fixture.XXXXXX";

void log_to(const char *path)
{
    struct log_options options = {.level = LEVEL_INFO, .modules = "", .file = path};

    assert_int_equal(log_configure(&options), STATUS_OK);
}

unsigned lines_with(const char *path, const char *words)
{
    FILE *file = fopen(path, "r");
    unsigned count = 0;
    char line[4096];

    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, words) != NULL;
    fclose(file);
    return count;
}

int log_begin(void **state)
{
    int fd = mkstemp(log_path);

    assert_true(fd >= 0);
    close(fd);
    log_to(log_path);
    return 0;
}

int log_end(void **state)
{
    log_to(NULL);
    return unlink(log_path);
}

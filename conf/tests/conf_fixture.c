#include "conf/tests/conf_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int fixture_enter(void **state)
{
    static char directory[32];

    snprintf(directory, sizeof(directory), "/tmp/conf_test.XXXXXX");
    *state = mkdtemp(directory);
    return !*state || chdir(*state) < 0;
}

int fixture_leave(void **state)
{
    DIR *here = opendir(".");
    const struct dirent *entry;

    if (!here)
        return 1;
    while ((entry = readdir(here)))
        (void)unlink(entry->d_name);
    closedir(here);
    return chdir("/") < 0 || rmdir(*state) < 0;
}

void fixture_write(const char *name, const char *text, mode_t mode)
{
    FILE *to = fopen(name, "w");

    assert_non_null(to);
    fputs(text, to);
    fclose(to);
    assert_int_equal(chmod(name, mode), 0);
}

const char *fixture_get_env(const char *name)
{
    if (!strcmp(name, "REDIS"))
        return "10.0.0.5:6379";
    return strcmp(name, "PASSWORD") != 0 ? NULL : "ssh";
}

struct conf *fixture_load(const char *yaml, const char *const *sets, struct conf_errors *errors)
{
    struct conf_request request = {.sets = sets, .get_env = fixture_get_env};

    while (sets && sets[request.set_count])
        request.set_count++;
    if (yaml) {
        fixture_write("c.yaml", yaml, 0600);
        request.file = "c.yaml";
    }
    conf_errors_init(errors);
    return conf_load(&request, errors);
}

struct conf *fixture_load_well(const char *yaml, const char *const *sets)
{
    struct conf_errors errors;
    struct conf *conf = fixture_load(yaml, sets, &errors);

    if (!conf)
        print_error("%s", conf_errors_text(&errors));
    assert_non_null(conf);
    assert_int_equal(errors.count, 0);
    conf_errors_fini(&errors);
    return conf;
}

struct conf *fixture_load_file(const char *file)
{
    struct conf_request request = {.file = file, .get_env = fixture_get_env};
    struct conf_errors errors;
    struct conf *conf;

    conf_errors_init(&errors);
    conf = conf_load(&request, &errors);
    assert_string_equal(conf_errors_text(&errors), "");
    assert_non_null(conf);
    conf_errors_fini(&errors);
    return conf;
}

void expect(const char *yaml, const char *const *sets, const char *lines)
{
    struct conf_errors errors;
    struct conf *conf = fixture_load(yaml, sets, &errors);

    assert_string_equal(conf_errors_text(&errors), lines);
    assert_null(conf);
    conf_errors_fini(&errors);
}

void expect_errors(const char *yaml, const char *lines)
{
    expect(yaml, NULL, lines);
}

void expect_set(const char *yaml, const char *set, const char *lines)
{
    const char *sets[] = {set, NULL};

    expect(yaml, sets, lines);
}

#include "node/tests/program_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/loop.h"

void program_site_up(struct program_site *s)
{
    strcpy(s->dir, "/tmp/dueq-program.XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    snprintf(s->program, sizeof(s->program), "%s/hook", s->dir);
    snprintf(s->seen, sizeof(s->seen), "%s/seen", s->dir);
    snprintf(s->go, sizeof(s->go), "%s/go", s->dir);
    snprintf(s->log, sizeof(s->log), "%s/log", s->dir);
    assert_int_equal(log_configure(&(struct log_options){
                         .level = LEVEL_INFO, .modules = "", .file = s->log}),
                     STATUS_OK);
    s->loop = loop_new();
}

void program_site_down(struct program_site *s)
{
    loop_free(s->loop);
    assert_int_equal(log_configure(&(struct log_options){.level = LEVEL_ERROR, .modules = ""}),
                     STATUS_OK);
    unlink(s->program);
    unlink(s->seen);
    unlink(s->go);
    unlink(s->log);
    assert_int_equal(rmdir(s->dir), 0);
}

void program_site_install(const struct program_site *s, const char *script)
{
    char beside[140];
    FILE *file;

    snprintf(beside, sizeof(beside), "%s.new", s->program);
    file = fopen(beside, "we");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\ncd %s || exit 9\n%s\n", s->dir, script);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(beside, 0755), 0);
    assert_int_equal(rename(beside, s->program), 0);
}

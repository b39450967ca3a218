/* Any bytes as a file: loading must end without a crash.
 *
 * A configuration that loads must also print, and the printed text must load to the same: the
 * writer and the reader check one another.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *get_env(const char *name)
{
    return *name == 'U' ? NULL : name;
}

static struct conf *load(int fd)
{
    char path[32];
    struct conf_request request = {.file = path, .get_env = get_env};
    struct conf_errors errors;
    struct conf *conf;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    conf_errors_init(&errors);
    conf = conf_load(&request, &errors);
    if (!conf != (errors.count > 0))
        abort();
    conf_errors_fini(&errors);
    return conf;
}

static int memory_file(void)
{
    int fd = memfd_create("conf", MFD_CLOEXEC);

    if (fd < 0)
        abort();
    return fd;
}

static void check_print(struct conf *conf)
{
    int fd = memory_file();
    FILE *to = fdopen(fd, "w");
    struct buf taken = BUF_INIT, need_restart = BUF_INIT;
    struct conf *again;

    if (!to)
        abort();
    conf_print(conf, to);
    fflush(to);
    again = load(fd);
    if (!again)
        abort();
    conf_reload(conf, again, &taken, &need_restart);
    if (taken.len || need_restart.len)
        abort();
    conf_free(again);
    fclose(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memory_file();
    struct conf *conf;

    if (write(fd, data, size) != (ssize_t)size)
        abort();
    conf = load(fd);
    /* A secret does not print, and a password file may be anything. */
    if (conf && !*conf->store.password && !*conf->store.password_file)
        check_print(conf);
    conf_free(conf);
    close(fd);
    return 0;
}

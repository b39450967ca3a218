#include "node/store/redis/tests/server_fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>
#include <hiredis/hiredis.h>

#define ARGS_MAX 40

static void die(const char *what)
{
    fprintf(stderr, "redis fixture: %s\n", what);
    abort();
}

/* ---- ports ---- */

/* A port that is free, and stays so until the claim is closed: a socket that is bound and does
 * not listen keeps everybody out but Redis, which says SO_REUSEADDR as this one does. Below the
 * range of outgoing connections: a client that keeps trying to connect to a port in that range
 * is connected to itself sooner or later. */
static int claim_port(int *claim)
{
    for (;;) {
        int port = 10000 + (int)arc4random_uniform(20000);
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_ANY),
                                 .sin_port = htons((uint16_t)port)};

        *claim = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind(*claim, (struct sockaddr *)&at, sizeof(at)) == 0) {
            setsockopt(*claim, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)); /* now only */
            return port;
        }
        close(*claim);
    }
}

void redis_fixture_listen(struct redis_fixture *f)
{
    f->port = claim_port(&f->claims[0]);
    redis_fixture_command(f, "CONFIG SET port %d", f->port);
}

/* ---- the process ---- */

static void become(const char *const *argv, int output)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

static const char *const of_cluster[] = {
    "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-port", NULL};

static void become_redis(struct redis_fixture *f, int output)
{
    char socket[80], port[16], bus_port[16];
    const char *argv[ARGS_MAX] = {
        "redis-server", "--port",      port, "--unixsocket", socket, "--dir",
        f->dir,         "--save",      "",   "--appendonly", "yes",  "--appendfsync",
        "always",       "--daemonize", "no", "--logfile",    "",
    };
    int argc = 17;

    snprintf(socket, sizeof(socket), "%s/redis.sock", f->dir);
    snprintf(port, sizeof(port), "%d", f->port);
    snprintf(bus_port, sizeof(bus_port), "%d", f->bus_port);
    for (unsigned i = 0; f->bus_port && of_cluster[i]; i++)
        argv[argc++] = of_cluster[i];
    if (f->bus_port)
        argv[argc++] = bus_port;
    for (const char *const *arg = f->args; arg && *arg && argc < ARGS_MAX - 1; arg++)
        argv[argc++] = *arg;
    become(argv, output);
}

/* It keeps what it learns in its file of configuration. */
static void become_sentinel(struct redis_fixture *f, int output)
{
    char socket[80], conf[80];
    const char *argv[] = {"redis-server", conf,   "--sentinel", "--port", "0",
                          "--unixsocket", socket, "--dir",      f->dir,   NULL};

    snprintf(socket, sizeof(socket), "%s/redis.sock", f->dir);
    snprintf(conf, sizeof(conf), "%s/sentinel.conf", f->dir);
    become(argv, output);
}

/* Redis says on its standard output when it listens. */
static void wait_for_line(int output, const char *words)
{
    char text[16384];
    size_t len = 0;

    while (len < sizeof(text) - 1) {
        ssize_t got = read(output, text + len, sizeof(text) - 1 - len);

        if (got <= 0)
            die(len ? text : "redis-server did not start");
        len += (size_t)got;
        text[len] = '\0';
        if (strstr(text, words))
            return;
    }
    die("redis-server says too much");
}

void redis_fixture_start(struct redis_fixture *f)
{
    int output[2];

    if (pipe2(output, O_CLOEXEC) < 0)
        die("pipe");
    f->pid = fork();
    if (f->pid < 0)
        die("fork");
    if (f->pid == 0 && f->is_sentinel)
        become_sentinel(f, output[1]);
    if (f->pid == 0)
        become_redis(f, output[1]);
    close(output[1]);
    alarm(PATIENCE_S);
    wait_for_line(output[0], f->is_sentinel
                                 ? "Sentinel ID is"
                                 : "The server is now ready to accept connections at");
    alarm(0);
    close(output[0]); /* what it says later is lost; it does not mind */
}

void redis_fixture_disconnect(struct redis_fixture *f)
{
    if (f->control)
        redisFree(f->control);
    f->control = NULL;
}

void redis_fixture_kill(struct redis_fixture *f)
{
    redis_fixture_disconnect(f);
    if (f->pid <= 0)
        return;
    kill(f->pid, SIGKILL);
    waitpid(f->pid, NULL, 0);
    f->pid = 0;
}

static struct redis_fixture *fixture_new(void)
{
    struct redis_fixture *f = calloc(1, sizeof(*f));

    if (!f)
        abort();
    strcpy(f->dir, "/tmp/dueq-redis-XXXXXX");
    if (!mkdtemp(f->dir))
        die("no directory");
    snprintf(f->address, sizeof(f->address), "unix:%s/redis.sock", f->dir);
    return f;
}

struct redis_fixture *redis_fixture_new(const char *const *args)
{
    struct redis_fixture *f = fixture_new();

    f->args = args;
    redis_fixture_start(f);
    return f;
}

struct redis_fixture *redis_fixture_new_of_cluster(const char *const *args)
{
    struct redis_fixture *f = fixture_new();

    f->args = args;
    f->port = claim_port(&f->claims[0]);
    f->bus_port = claim_port(&f->claims[1]);
    redis_fixture_start(f);
    return f;
}

struct redis_fixture *redis_fixture_new_sentinel(const char *lines)
{
    struct redis_fixture *f = fixture_new();
    char path[80];
    FILE *file;

    f->is_sentinel = true;
    snprintf(path, sizeof(path), "%s/sentinel.conf", f->dir);
    file = fopen(path, "w");
    if (!file || fputs(lines, file) < 0 || fclose(file) != 0)
        die("no configuration");
    redis_fixture_start(f);
    return f;
}

void redis_fixture_free(struct redis_fixture *f)
{
    char command[128];

    if (!f)
        return;
    redis_fixture_kill(f);
    snprintf(command, sizeof(command), "rm -rf -- '%s'", f->dir);
    if (system(command) != 0)
        fprintf(stderr, "redis fixture: %s stays behind\n", f->dir);
    for (unsigned i = 0; i < 2 && f->claims[i]; i++)
        close(f->claims[i]);
    free(f);
}

/* ---- asking it ---- */

long long redis_fixture_command(struct redis_fixture *f, const char *format, ...)
{
    redisReply *reply;
    long long number;
    va_list args;

    if (!f->control)
        f->control = redisConnectUnix(f->address + strlen("unix:"));
    if (!f->control || f->control->err)
        die("cannot connect");
    va_start(args, format);
    reply = redisvCommand(f->control, format, args);
    va_end(args);
    if (!reply)
        die(f->control->errstr);
    number = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    freeReplyObject(reply);
    return number;
}

void run_until(struct loop *loop, const bool *is_true)
{
    alarm(PATIENCE_S);
    while (!*is_true)
        event_base_loop(loop->base, EVLOOP_ONCE);
    alarm(0);
}

#include "ha/coord/tests/zk_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS    1000
#define FDS_MAX      1024
#define ASK_AGAIN_MS 20

static void die(const char *what)
{
    fprintf(stderr, "zookeeper fixture: %s\n", what);
    abort();
}

/* ---- ports ---- */

static struct sockaddr_in local(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int first_outgoing_port(void)
{
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    int first = 0;

    if (!file || fscanf(file, "%d", &first) != 1)
        die("no range of ports");
    fclose(file);
    return first;
}

/* Ports below those that the kernel gives to outgoing connections. Else a client of a server
 * that is down may get the server's port as its own, and the server cannot have it back. */
static int take_port(int *fd)
{
    int first = 10000, count = first_outgoing_port() - first;

    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        die("no socket");
    for (;;) {
        int port = first + (int)arc4random_uniform((uint32_t)count);
        struct sockaddr_in at = local(port);

        if (bind(*fd, (struct sockaddr *)&at, sizeof(at)) == 0)
            return port;
        if (errno != EADDRINUSE)
            die("no port");
    }
}

/* All ports are taken before any is released, so they differ. */
static void choose_ports(struct zk_fixture *f)
{
    int fds[ZK_SERVERS_MAX * 3];

    for (unsigned i = 0; i < f->count * 3; i++)
        f->servers[i / 3].ports[i % 3] = take_port(&fds[i]);
    for (unsigned i = 0; i < f->count * 3; i++)
        close(fds[i]);
}

/* ---- files ---- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    if (!file || fputs(text, file) < 0 || fclose(file))
        die(path);
}

static void configure(struct zk_fixture *f, unsigned i)
{
    char path[128], text[2048], number[8];
    int len;

    snprintf(path, sizeof(path), "%s/%u", f->dir, i);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%u/myid", f->dir, i);
    snprintf(number, sizeof(number), "%u\n", i + 1);
    write_file(path, number);
    len = snprintf(text, sizeof(text),
                   "tickTime=%d\ninitLimit=20\nsyncLimit=5\nminSessionTimeout=1000\n"
                   "maxSessionTimeout=60000\nmaxClientCnxns=0\nadmin.enableServer=false\n"
                   "4lw.commands.whitelist=srvr,conf\nforceSync=no\ndataDir=%s/%u\n"
                   "clientPortAddress=127.0.0.1\nclientPort=%d\n",
                   ZK_TICK_MS, f->dir, i, f->servers[i].ports[0]);
    for (unsigned n = 0; f->count > 1 && n < f->count; n++)
        len += snprintf(text + len, sizeof(text) - (size_t)len, "server.%u=127.0.0.1:%d:%d\n",
                        n + 1, f->servers[n].ports[1], f->servers[n].ports[2]);
    snprintf(path, sizeof(path), "%s/%u/zoo.cfg", f->dir, i);
    write_file(path, text);
}

/* ---- processes ---- */

static void become_zookeeper(struct zk_fixture *f, unsigned i)
{
    char config[128], log[128];
    int fd;

    snprintf(config, sizeof(config), "%s/%u/zoo.cfg", f->dir, i);
    snprintf(log, sizeof(log), "%s/%u/log", f->dir, i);
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execlp("java", "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
           "-XX:-UsePerfData", "-cp",
           "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
           "org.apache.zookeeper.server.quorum.QuorumPeerMain", config, NULL);
    _exit(127);
}

void zk_fixture_start(struct zk_fixture *f, unsigned i)
{
    f->servers[i].pid = fork();
    if (f->servers[i].pid < 0)
        die("fork");
    if (f->servers[i].pid == 0)
        become_zookeeper(f, i);
}

void zk_fixture_kill(struct zk_fixture *f, unsigned i)
{
    if (f->servers[i].pid <= 0)
        return;
    kill(f->servers[i].pid, SIGKILL);
    waitpid(f->servers[i].pid, NULL, 0);
    f->servers[i].pid = 0;
}

void zk_fixture_freeze(struct zk_fixture *f, unsigned i, bool is_frozen)
{
    kill(f->servers[i].pid, is_frozen ? SIGSTOP : SIGCONT);
    if (is_frozen) /* its threads go on until they have all seen it */
        waitpid(f->servers[i].pid, NULL, WUNTRACED);
}

/* A starting server may forget a connection: then the question is asked on another one. */
static ssize_t read_in_time(int fd, char *to, size_t room)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, ANSWER_MS) == 1 ? read(fd, to, room) : -1;
}

/* A server that has no quorum says so instead of its mode. */
static bool serves(const struct zk_server *s)
{
    struct sockaddr_in at = local(s->ports[0]);
    char text[1024];
    size_t len = 0;
    ssize_t got;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        die("socket");
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && write(fd, "srvr", 4) == 4)
        while (len < sizeof(text) - 1 &&
               (got = read_in_time(fd, text + len, sizeof(text) - 1 - len)) > 0)
            len += (size_t)got;
    close(fd);
    text[len] = '\0';
    return strstr(text, "Mode: ") != NULL;
}

void zk_fixture_wait(struct zk_fixture *f)
{
    alarm(ZK_PATIENCE_S);
    for (unsigned i = 0; i < f->count; i++)
        while (f->servers[i].pid && !serves(&f->servers[i])) {
            if (waitpid(f->servers[i].pid, NULL, WNOHANG) != 0)
                die("a server has ended: see its log");
            poll(NULL, 0, ASK_AGAIN_MS);
        }
    alarm(0);
}

struct zk_fixture *zk_fixture_new(unsigned count)
{
    struct zk_fixture *f = calloc(1, sizeof(*f));
    size_t len = 0;

    if (!f)
        abort();
    f->count = count;
    strcpy(f->dir, "/tmp/dueq-zookeeper-XXXXXX");
    if (!mkdtemp(f->dir))
        die("no directory");
    choose_ports(f);
    for (unsigned i = 0; i < count; i++) {
        configure(f, i);
        zk_fixture_start(f, i);
        len += (size_t)snprintf(f->addresses + len, sizeof(f->addresses) - len,
                                "%s127.0.0.1:%d", i ? "," : "", f->servers[i].ports[0]);
    }
    zk_fixture_wait(f);
    return f;
}

void zk_fixture_free(struct zk_fixture *f)
{
    char command[128];

    if (!f)
        return;
    for (unsigned i = 0; i < f->count; i++)
        zk_fixture_kill(f, i);
    snprintf(command, sizeof(command), "rm -rf -- '%s'", f->dir);
    if (system(command) != 0)
        fprintf(stderr, "zookeeper fixture: %s stays behind\n", f->dir);
    free(f);
}

/* ---- connections ---- */

unsigned zk_fixture_find(const struct zk_fixture *f, const char *address)
{
    const char *colon = strrchr(address, ':');

    for (unsigned i = 0; colon && i < f->count; i++)
        if (atoi(colon + 1) == f->servers[i].ports[0])
            return i;
    die(address);
    return 0;
}

static bool is_of_a_server(const struct zk_fixture *f, int fd)
{
    struct sockaddr_in peer = {0};
    socklen_t len = sizeof(peer);

    if (getpeername(fd, (struct sockaddr *)&peer, &len) || peer.sin_family != AF_INET)
        return false;
    for (unsigned i = 0; i < f->count; i++)
        if (ntohs(peer.sin_port) == f->servers[i].ports[0])
            return true;
    return false;
}

void zk_fixture_cut(struct zk_fixture *f)
{
    char lost[4096];

    for (int fd = 0; fd < FDS_MAX; fd++) {
        if (!is_of_a_server(f, fd))
            continue;
        shutdown(fd, SHUT_RDWR);
        while (recv(fd, lost, sizeof(lost), MSG_DONTWAIT) > 0)
            ;
    }
}

bool zk_fixture_has_answered(struct zk_fixture *f)
{
    for (int fd = 0; fd < FDS_MAX; fd++) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

        if (is_of_a_server(f, fd) && poll(&poll_fd, 1, 0) == 1)
            return true;
    }
    return false;
}

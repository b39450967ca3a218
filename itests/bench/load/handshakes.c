/* Clients that come, shake hands and leave, --connections of them at a time: how many can the
 * server take? With --resume 1 all but the first bring a ticket. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "itests/bench/load/die.h"
#include "itests/bench/load/modes.h"
#include "itests/bench/load/protocol.h"
#include "itests/bench/load/report.h"
#include "itests/bench/load/secure.h"

struct comer {
    struct secure *secure;
    int64_t since_us;
};

static struct {
    const struct options *o;
    int64_t port;
    struct report report;
    struct comer *comers;
    struct pollfd *fds;
} run;

static int connect_anew(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)run.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger at_once = {.l_onoff = 1}; /* else ports of ours would run out */
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        die("port %d: %s", (int)run.port, strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    return fd;
}

static void come(unsigned i)
{
    int fd = connect_anew();

    fcntl(fd, F_SETFL, O_NONBLOCK);
    run.fds[i] = (struct pollfd){.fd = fd, .events = POLLIN};
    run.comers[i] =
        (struct comer){.secure = secure_new(fd, run.o->resume), .since_us = clock_mono_us()};
    (void)secure_shake(run.comers[i].secure);
}

static void leave(unsigned i)
{
    secure_free(run.comers[i].secure);
    close(run.fds[i].fd);
}

/* It is over when the client has the server's ticket: then the server has done its part. */
static bool has_shaken(struct comer *c)
{
    char unused[64];

    return secure_shake(c->secure) && secure_read(c->secure, unused, sizeof(unused)) < 0 &&
           secure_has_ticket(c->secure);
}

static void look_at(unsigned i)
{
    struct comer *c = &run.comers[i];

    if (!has_shaken(c))
        return;
    report_add(&run.report, c->since_us, clock_mono_us());
    run.report.empty += secure_is_full(c->secure);
    leave(i);
    come(i);
}

/* Blocks, until the ticket has come. */
static void get_ticket(void)
{
    int fd = connect_anew();
    struct secure *first = secure_new(fd, false);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char unused[64];

    (void)secure_shake(first);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    poll(&wait, 1, -1);
    (void)secure_read(first, unused, sizeof(unused));
    secure_free(first);
    close(fd);
}

void mode_handshakes(const struct options *o)
{
    nfds_t count = (nfds_t)o->connections;

    run.o = o;
    run.port = o->port ? o->port : protocol_find(o->protocol)->usual_port;
    run.comers = must_calloc(o->connections, sizeof(*run.comers));
    run.fds = must_calloc(o->connections, sizeof(*run.fds));
    if (o->resume)
        get_ticket();
    report_init(&run.report, "handshakes", o);
    for (unsigned i = 0; i < count; i++)
        come(i);
    while (!report_is_over(&run.report, clock_mono_us())) {
        poll(run.fds, count, 1000);
        for (unsigned i = 0; i < count; i++)
            if (run.fds[i].revents)
                look_at(i);
    }
    for (unsigned i = 0; i < count; i++)
        leave(i);
    report_print(&run.report);
    free(run.comers);
    free(run.fds);
}

#include "ha/vip/rtnl.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#define ANSWER_MAX   32768 /* the kernel's own limit for a message of a list */
#define PATIENCE_S   1
#define ATTEMPTS_MAX 10

struct vip_rtnl {
    struct mnl_socket *socket;
    unsigned number; /* of the newest question */
    struct nlmsghdr *request;
    _Alignas(struct nlmsghdr) char question[VIP_RTNL_REQUEST_MAX];
    _Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
};

struct vip_rtnl *vip_rtnl_new(void)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    struct vip_rtnl *r;
    int on = 1;

    if (!socket)
        return NULL;
    if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
        setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &patience,
                   sizeof(patience)) < 0) {
        int error = errno;

        mnl_socket_close(socket);
        errno = error;
        return NULL;
    }
    /* Lists of one interface alone; kernels before 4.20 give all, which does no harm. */
    (void)mnl_socket_setsockopt(socket, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
    r = calloc(1, sizeof(*r));
    if (!r)
        abort();
    r->socket = socket;
    return r;
}

void vip_rtnl_free(struct vip_rtnl *r)
{
    if (!r)
        return;
    mnl_socket_close(r->socket);
    free(r);
}

struct nlmsghdr *vip_rtnl_request(struct vip_rtnl *r, uint16_t type, uint16_t flags,
                                  size_t extra_bytes, void *extra)
{
    void **to = extra;

    r->request = mnl_nlmsg_put_header(r->question);
    r->request->nlmsg_type = type;
    r->request->nlmsg_flags = NLM_F_REQUEST | flags;
    *to = mnl_nlmsg_put_extra_header(r->request, extra_bytes);
    return r->request;
}

/* What a message says of the end of the answer: -1: it is not the end; 0, or an errno. */
static int end_of(const struct nlmsghdr *m)
{
    const int *code = mnl_nlmsg_get_payload(m); /* of struct nlmsgerr the first field */

    if (m->nlmsg_type != NLMSG_ERROR && m->nlmsg_type != NLMSG_DONE)
        return -1;
    return mnl_nlmsg_get_payload_len(m) < sizeof(*code) ? EBADMSG : *code < 0 ? -*code : 0;
}

static int read_answer(struct vip_rtnl *r,
                       void (*on_item)(void *arg, const struct nlmsghdr *item), void *arg)
{
    bool has_changed = false;

    for (;;) {
        ssize_t got = mnl_socket_recvfrom(r->socket, r->answer, sizeof(r->answer));
        int left = (int)got, end;

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN ? ETIMEDOUT : errno;
        for (const struct nlmsghdr *m = (void *)r->answer; mnl_nlmsg_ok(m, left);
             m = mnl_nlmsg_next(m, &left)) {
            if (m->nlmsg_seq != r->number)
                continue;
            has_changed = has_changed || m->nlmsg_flags & NLM_F_DUMP_INTR;
            end = end_of(m);
            if (end >= 0)
                return end == 0 && has_changed ? EINTR : end;
            if (on_item)
                on_item(arg, m);
        }
    }
}

int vip_rtnl_ask(struct vip_rtnl *r, void (*on_item)(void *arg, const struct nlmsghdr *item),
                 void *arg)
{
    int error = EINTR;

    for (unsigned i = 0; i < ATTEMPTS_MAX && error == EINTR; i++) {
        r->request->nlmsg_seq = ++r->number;
        if (mnl_socket_sendto(r->socket, r->request, r->request->nlmsg_len) < 0)
            return errno;
        error = read_answer(r, on_item, arg);
    }
    return error;
}

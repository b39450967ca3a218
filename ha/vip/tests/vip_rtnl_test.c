/* Answers of the kernel, played by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#define PIECES_MAX 16

/* A piece of an answer: messages, or an error of receiving it. */
struct piece {
    int error;
    int late; /* this many questions ago it was asked for */
    uint16_t types[4];
    uint16_t flags; /* of the first */
    int code;       /* of those that end it */
};

static struct piece script[PIECES_MAX];
static unsigned piece_count, next_piece, questions, newest, send_error;

static ssize_t fake_sendto(const struct mnl_socket *socket, const void *request, size_t len)
{
    if (send_error) {
        errno = (int)send_error;
        return -1;
    }
    newest = ((const struct nlmsghdr *)request)->nlmsg_seq;
    questions++;
    return (ssize_t)len;
}

static ssize_t fake_recvfrom(const struct mnl_socket *socket, void *to, size_t room)
{
    struct piece *p = &script[next_piece++];
    char *at = to;

    assert_true(next_piece <= piece_count);
    errno = p->error;
    if (p->error)
        return -1;
    for (unsigned i = 0; i < 4 && p->types[i]; i++) {
        struct nlmsghdr *m = mnl_nlmsg_put_header(at);

        m->nlmsg_type = p->types[i];
        m->nlmsg_seq = newest - (unsigned)p->late;
        m->nlmsg_flags = i ? 0 : p->flags;
        *(int *)mnl_nlmsg_put_extra_header(m, sizeof(int)) = p->code;
        at += MNL_ALIGN(m->nlmsg_len);
    }
    return at - (char *)to;
}

#define mnl_socket_sendto   fake_sendto
#define mnl_socket_recvfrom fake_recvfrom
#include "ha/vip/link.c"

static struct vip_rtnl *rtnl;
static unsigned items;

static void on_item(void *arg, const struct nlmsghdr *item)
{
    assert_int_equal(item->nlmsg_type, RTM_NEWADDR);
    items++;
}

static int setup(void **state)
{
    piece_count = next_piece = questions = send_error = items = 0;
    memset(script, 0, sizeof(script));
    rtnl = vip_rtnl_new();
    return rtnl ? 0 : -1;
}

static int teardown(void **state)
{
    vip_rtnl_free(rtnl);
    return 0;
}

static void answer(struct piece piece)
{
    assert_true(piece_count < PIECES_MAX);
    script[piece_count++] = piece;
}

static int ask(void)
{
    struct ifaddrmsg *head;
    int error;

    vip_rtnl_request(rtnl, RTM_GETADDR, NLM_F_DUMP, sizeof(*head), &head);
    error = vip_rtnl_ask(rtnl, on_item, NULL);
    assert_int_equal(next_piece, piece_count); /* all was read */
    return error;
}

#define ITEMS(...) ((struct piece){.types = {__VA_ARGS__}})

static void a_list_comes_in_pieces(void **state)
{
    answer(ITEMS(RTM_NEWADDR, RTM_NEWADDR, RTM_NEWADDR));
    answer(ITEMS(RTM_NEWADDR));
    answer(ITEMS(RTM_NEWADDR, NLMSG_DONE));
    assert_int_equal(ask(), 0);
    assert_int_equal(items, 5);
    assert_int_equal(questions, 1);
}

static void what_the_kernel_refuses_is_an_errno(void **state)
{
    answer((struct piece){.types = {NLMSG_ERROR}, .code = -EPERM});
    assert_int_equal(ask(), EPERM);
    answer((struct piece){.types = {NLMSG_DONE}, .code = -ENODEV});
    assert_int_equal(ask(), ENODEV);
    answer((struct piece){.types = {NLMSG_ERROR}, .code = 0});
    assert_int_equal(ask(), 0);
}

static void a_list_that_has_changed_meanwhile_is_asked_for_again(void **state)
{
    answer((struct piece){.types = {RTM_NEWADDR}, .flags = NLM_F_DUMP_INTR});
    answer(ITEMS(RTM_NEWADDR, NLMSG_DONE));
    answer((struct piece){.types = {NLMSG_DONE}, .flags = NLM_F_DUMP_INTR});
    answer(ITEMS(RTM_NEWADDR, NLMSG_DONE));
    assert_int_equal(ask(), 0);
    assert_int_equal(questions, 3);
    assert_int_equal(items, 3);
}

static void one_that_changes_for_ever_is_given_up(void **state)
{
    for (unsigned i = 0; i < ATTEMPTS_MAX; i++)
        answer((struct piece){.types = {NLMSG_DONE}, .flags = NLM_F_DUMP_INTR});
    assert_int_equal(ask(), EINTR);
    assert_int_equal(questions, ATTEMPTS_MAX);
}

static void the_answer_of_an_earlier_question_is_left_out(void **state)
{
    answer((struct piece){.error = EAGAIN}); /* too late for this one */
    assert_int_equal(ask(), ETIMEDOUT);
    answer((struct piece){.types = {RTM_NEWADDR}, .late = 1});
    answer((struct piece){.types = {NLMSG_ERROR}, .code = -EEXIST, .late = 1});
    answer(ITEMS(RTM_NEWADDR, NLMSG_DONE));
    assert_int_equal(ask(), 0);
    assert_int_equal(items, 1);
}

static void an_interrupted_call_goes_on(void **state)
{
    answer((struct piece){.error = EINTR});
    answer(ITEMS(RTM_NEWADDR));
    answer((struct piece){.error = EINTR});
    answer(ITEMS(NLMSG_DONE));
    assert_int_equal(ask(), 0);
    assert_int_equal(questions, 1);
}

static void what_cannot_be_sent_or_received_is_an_errno(void **state)
{
    send_error = ENOBUFS;
    assert_int_equal(ask(), ENOBUFS);
    send_error = 0;
    answer((struct piece){.error = ENOBUFS});
    assert_int_equal(ask(), ENOBUFS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_list_comes_in_pieces),
        TEST(what_the_kernel_refuses_is_an_errno),
        TEST(a_list_that_has_changed_meanwhile_is_asked_for_again),
        TEST(one_that_changes_for_ever_is_given_up),
        TEST(the_answer_of_an_earlier_question_is_left_out),
        TEST(an_interrupted_call_goes_on),
        TEST(what_cannot_be_sent_or_received_is_an_errno),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The link, seen from the store on it: what it connects to, how long it waits, what it says. */
#include "node/store/redis/tests/store_fixture.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "node/store/redis/tests/log_fixture.h"
#include "node/store/redis/wire/link.h"

static void start_with_timeout(struct node *n, int64_t timeout_ms)
{
    n->options.command_timeout_ms = timeout_ms;
    node_start_up(n);
}

static void closes_the_connection_when_an_answer_does_not_come_in_time(void **state)
{
    struct node *n = *state;
    struct job_op a = {0}, b = {0};

    start_with_timeout(n, 150);
    node_freeze(n);
    submit_push(n, &a, "t");
    run_until(n->loop, &n->is_down);
    assert_false(a.is_done); /* it is retried */

    submit_push(n, &b, "t");
    node_thaw(n);
    run_until(n->loop, &b.is_done);
    assert_true(a.is_done);
    assert_int_equal(a.op.status, STATUS_OK);
    assert_int_equal(b.op.status, STATUS_OK);
}

/* Long, so that the quarter more that a late answer gets (500 ms) is enough on any machine. */
#define PATIENCE_MS 2000
#define STALL_MS    2400

/* The node stands still for longer than an answer may take, with a push under way. */
static void stall_with_a_push(struct node *n, bool is_written_before)
{
    int64_t until_mono_ms;
    struct job_op a = {0};

    start_with_timeout(n, PATIENCE_MS);
    submit_push(n, &a, "t");
    if (is_written_before) {
        event_base_loop(n->loop->base, EVLOOP_NONBLOCK);
        while (redis_fixture_command(n->redis, "HLEN dq:{%u}:j:t", a.op.bucket) == 0)
            assert_false(a.is_done);
    }
    until_mono_ms = clock_mono_ms() + STALL_MS;
    while (clock_mono_ms() < until_mono_ms)
        ;
    assert_int_equal(await(n, &a), STATUS_OK);
    assert_int_equal(n->downs, 0);
}

/* The answer is there, and nobody has read it. */
static void a_stall_of_the_node_itself_is_not_held_against_redis(void **state)
{
    stall_with_a_push(*state, true);
}

static void a_stall_before_anything_was_sent_is_not_either(void **state)
{
    stall_with_a_push(*state, false);
}

static void notices_a_silent_redis_without_an_operation(void **state)
{
    struct node *n = *state;

    start_with_timeout(n, 100);
    node_freeze(n);
    run_until(n->loop, &n->is_down);
    node_thaw(n);
    run_until(n->loop, &n->is_up);
}

static long long connections_of(struct redis_fixture *redis)
{
    return redis_fixture_command(
        redis, "EVAL %s 0",
        "return tonumber(redis.call('INFO'):match('total_connections_received:(%d+)'))");
}

/* From now on; `path` gets its name. */
static void log_to_file(struct node *n, char path[96])
{
    snprintf(path, 96, "%s/log", n->redis->dir);
    log_to(path);
}

static void on_silence(void *arg, bool is_silent)
{
    struct node *n = arg;

    if (is_silent)
        n->is_down = true; /* of this test: it does not answer */
    else
        n->is_woken = true;
}

/* Long before the connection is given up. */
static void tells_that_a_redis_is_silent_and_that_it_answers_again(void **state)
{
    struct node *n = *state;
    int64_t frozen_mono_ms;

    n->options.silence_ms = 400;
    n->options.on_silence = on_silence;
    node_start_up(n);
    assert_int_equal(stats(n)->silent_since_mono_ms, 0);
    node_freeze(n);
    frozen_mono_ms = timers_now(&n->loop->timers);
    n->is_down = n->is_woken = false;
    run_until(n->loop, &n->is_down);
    assert_true(stats(n)->silent_since_mono_ms >= frozen_mono_ms + 400 / 2);
    assert_int_equal(stats(n)->state, REDIS_STORE_UP);
    assert_false(n->is_woken);
    node_thaw(n);
    run_until(n->loop, &n->is_woken);
    assert_int_equal(stats(n)->silent_since_mono_ms, 0);
    assert_int_equal(stats(n)->connects, 1);
}

/* And so does a connection that is lost meanwhile. */
static void a_lost_connection_ends_the_silence(void **state)
{
    struct node *n = *state;

    n->options.silence_ms = 100;
    n->options.command_timeout_ms = 400;
    n->options.on_silence = on_silence;
    node_start_up(n);
    node_freeze(n);
    n->is_down = n->is_woken = false;
    run_until(n->loop, &n->is_woken);
    assert_int_equal(stats(n)->silent_since_mono_ms, 0);
    assert_int_equal(stats(n)->state, REDIS_STORE_DOWN);
    node_thaw(n);
    n->is_up = false;
    run_until(n->loop, &n->is_up);
}

/* The first reason is a lost connection; the one that matters comes later. */
static void warns_of_every_new_reason_once(void **state)
{
    static const char *const as_replica[] = {"--replicaof", "127.0.0.1 1", NULL};
    struct node *n = *state;
    char path[96];

    log_to_file(n, path);
    node_start_up(n);
    redis_fixture_kill(n->redis);
    run_until(n->loop, &n->is_down);
    n->redis->args = as_replica;
    redis_fixture_start(n->redis);
    run_until_why(n, "replica");
    while (connections_of(n->redis) < 8)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    log_to(NULL);
    assert_int_equal(lines_with(path, ": this Redis is a replica"), 1);
    redis_fixture_command(n->redis, "REPLICAOF NO ONE");
    run_until(n->loop, &n->is_up);
    assert_string_equal(redis_store_why(n->store), "");
}

static void says_once_that_it_is_up_and_once_that_it_is_down(void **state)
{
    struct node *n = *state;
    char path[96];

    log_to_file(n, path);
    node_start_up(n);
    redis_fixture_kill(n->redis);
    run_until(n->loop, &n->is_down);
    while (stats(n)->state != REDIS_STORE_DOWN)
        event_base_loop(n->loop->base, EVLOOP_ONCE);
    log_to(NULL);
    assert_int_equal(lines_with(path, "redis.sock is up\n"), 1);
    assert_int_equal(lines_with(path, "redis.sock is down\n"), 1);
    redis_fixture_start(n->redis);
}

/* A connection that ends because of an answer ends with that answer's text. */
static void says_what_redis_said_that_made_it_leave(void **state)
{
    struct node *n = *state;
    struct job_op a = {0};
    char path[96], line[192];

    snprintf(line, sizeof(line), "command link: %s: it answers: READONLY", n->redis->address);
    node_start_up(n);
    log_to_file(n, path);
    redis_fixture_command(n->redis, "REPLICAOF 127.0.0.1 1");
    submit_push(n, &a, "t");
    run_until(n->loop, &n->is_down);
    log_to(NULL);
    assert_int_equal(lines_with(path, line), 1);
    redis_fixture_command(n->redis, "REPLICAOF NO ONE");
    assert_int_equal(await(n, &a), STATUS_OK);
}

static void says_where_nobody_listens(void **state)
{
    struct node *n = *state;
    char address[64], why[96];

    redis_fixture_listen(n->redis);
    redis_fixture_kill(n->redis);
    snprintf(address, sizeof(address), "localhost:%d", n->redis->port);
    snprintf(why, sizeof(why), "127.0.0.1:%d: Connection refused", n->redis->port);
    n->options.address = address;
    node_start(n);
    run_until_why(n, why);
    redis_fixture_start(n->redis);
}

static void push_at(struct node *n, const char *host)
{
    static char address[64];
    struct job_op a = {0};

    redis_fixture_listen(n->redis);
    snprintf(address, sizeof(address), "%s:%d", host, n->redis->port);
    n->options.address = address;
    node_start_up(n);
    assert_int_equal(push(n, &a, "t"), STATUS_OK);
    assert_string_equal(redis_store_address(n->store), address);
}

static void talks_over_tcp_too(void **state)
{
    push_at(*state, "127.0.0.1");
}

/* It may have an address at which Redis does not listen (::1): that is not the only one. */
static void finds_the_address_of_a_name(void **state)
{
    push_at(*state, "localhost");
}

/* Or that nobody answers who could know, where this machine's name server is silent. */
static void says_that_there_is_no_such_name(void **state)
{
    struct node *n = *state;

    n->options.address = "nobody.invalid:1";
    n->options.command_timeout_ms = 500;
    node_start(n);
    run_until_why(n, "name");
}

/* ---- a server that says what it likes ---- */

#define DRIP_MS 10

/* To each connection the same, with a link before it that asks PING, or subscribes. */
struct liar {
    struct loop *loop;
    struct redis_link *link;
    struct redis_call call;
    int listener, fd; /* -1: nobody is connected */
    struct event *accepted, *asked;
    const char *text;
    size_t len;
    bool says_at_once; /* before it is asked */
    bool ends;         /* it says it, and closes */
    bool is_subscribing;
    int64_t silence_ms;
    struct timer drip; /* one more byte of an answer of which the text is the beginning */
    unsigned drops;    /* that are left */
    unsigned opens, closes, answers, lost, messages, silences;
    bool is_closed, is_answered, is_stopped;
};

static void say(struct liar *s)
{
    assert_int_equal(send(s->fd, s->text, s->len, MSG_NOSIGNAL), s->len);
    if (s->ends)
        shutdown(s->fd, SHUT_WR);
    if (s->drops)
        timer_arm(&s->loop->timers, &s->drip, DRIP_MS);
}

static void on_drip(struct timer *timer)
{
    struct liar *s = CONTAINER_OF(timer, struct liar, drip);

    s->drops--;
    assert_int_equal(send(s->fd, s->drops ? "x" : "\r\n", s->drops ? 1 : 2, MSG_NOSIGNAL),
                     s->drops ? 1 : 2);
    if (s->drops)
        timer_arm(&s->loop->timers, timer, DRIP_MS);
}

static void leave(struct liar *s)
{
    if (s->fd < 0)
        return;
    event_free(s->asked);
    close(s->fd);
    s->fd = -1;
}

static void on_asked(evutil_socket_t fd, short what, void *arg)
{
    struct liar *s = arg;
    char bytes[4096];

    if (recv(fd, bytes, sizeof(bytes), 0) <= 0)
        leave(s);
    else if (!s->says_at_once)
        say(s);
}

static void on_accepted(evutil_socket_t fd, short what, void *arg)
{
    struct liar *s = arg;

    leave(s);
    s->fd = accept(fd, NULL, NULL);
    s->asked = event_new(s->loop->base, s->fd, EV_READ | EV_PERSIST, on_asked, s);
    event_add(s->asked, NULL);
    if (s->says_at_once)
        say(s);
}

static void on_liar_reply(struct redis_call *call, const struct redisReply *reply)
{
    struct liar *s = CONTAINER_OF(call, struct liar, call);

    s->answers += reply != NULL;
    s->lost += reply == NULL;
    s->is_answered |= reply != NULL;
}

static void on_liar_open(void *arg)
{
    struct liar *s = arg;
    const char *argv[] = {"PING"};
    size_t lens[] = {4};

    s->opens++;
    if (s->is_subscribing) {
        redis_link_subscribe(s->link, "channel");
    } else if (!s->says_at_once) {
        s->call.on_reply = on_liar_reply;
        redis_link_send(s->link, &s->call, 1, argv, lens);
    }
}

static void on_liar_close(void *arg)
{
    struct liar *s = arg;

    s->closes++;
    s->is_closed = true;
}

static void on_liar_message(void *arg, struct bytes payload)
{
    ((struct liar *)arg)->messages++;
}

static void on_liar_subscribed(void *arg)
{
}

static void on_liar_silence(void *arg, bool is_silent)
{
    ((struct liar *)arg)->silences++;
}

static void on_liar_stopped(void *arg)
{
    ((struct liar *)arg)->is_stopped = true;
}

/* The deadlines are far: what ends a connection is what was said. */
static void liar_start(struct liar *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    struct redis_link_options options = {.name = "link",
                                         .is_quiet = true,
                                         .address.host = "127.0.0.1",
                                         .timeout_ms = 3600000,
                                         .backoff_max_ms = 1,
                                         .on_open = on_liar_open,
                                         .on_close = on_liar_close,
                                         .on_message = on_liar_message,
                                         .on_subscribed = on_liar_subscribed,
                                         .on_silence = on_liar_silence,
                                         .silence_ms = s->silence_ms,
                                         .on_stopped = on_liar_stopped,
                                         .arg = s};

    s->loop = loop_new();
    s->fd = -1;
    timer_init(&s->drip, on_drip);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(s->listener, 8), 0);
    getsockname(s->listener, (struct sockaddr *)&address, &len);
    options.address.port = ntohs(address.sin_port);
    s->accepted = event_new(s->loop->base, s->listener, EV_READ | EV_PERSIST, on_accepted, s);
    event_add(s->accepted, NULL);
    s->link = redis_link_new(s->loop, &options);
    redis_link_start(s->link);
}

static void liar_stop(struct liar *s)
{
    redis_link_stop(s->link);
    run_until(s->loop, &s->is_stopped);
    redis_link_free(s->link);
    leave(s);
    event_free(s->accepted);
    close(s->listener);
    loop_free(s->loop);
}

static void what_nobody_asked_for_ends_the_connection(void **state)
{
    static const char *const strays[] = {
        "+OK\r\n",      "-ERR max number of clients reached\r\n",
        ":1\r\n*0\r\n", ">2\r\n+a\r\n+b\r\n",
        "\r\n",         "HTTP/1.1 400 Bad Request\r\n\r\n"};

    for (size_t i = 0; i < sizeof(strays) / sizeof(*strays); i++) {
        struct liar s = {.text = strays[i], .len = strlen(strays[i]), .says_at_once = true};

        liar_start(&s);
        run_until(s.loop, &s.is_closed);
        assert_string_not_equal(redis_link_why(s.link), "");
        s.is_closed = false; /* and it comes back */
        run_until(s.loop, &s.is_closed);
        liar_stop(&s);
        assert_int_equal(s.opens, s.closes);
    }
}

static void one_answer_too_many_ends_the_connection_after_the_first(void **state)
{
    struct liar s = {.text = "+PONG\r\n+PONG\r\n", .len = 14};

    liar_start(&s);
    run_until(s.loop, &s.is_closed);
    assert_int_equal(s.answers, 1);
    liar_stop(&s);
    assert_int_equal(s.lost, 0);
}

/* Its bytes come all the time: it is long, or the way is narrow. */
static void an_answer_that_is_long_on_its_way_is_no_silence(void **state)
{
    struct liar s = {.text = "$49\r\n", .len = 5, .silence_ms = 20 * DRIP_MS, .drops = 50};

    liar_start(&s);
    run_until(s.loop, &s.is_answered);
    assert_int_equal(s.silences, 0);
    liar_stop(&s);
    assert_int_equal(s.answers, 1);
}

static void assert_every_call_is_lost(struct liar *s)
{
    liar_start(s);
    run_until(s->loop, &s->is_closed);
    liar_stop(s);
    assert_int_equal(s->answers, 0);
    assert_int_equal(s->lost, s->opens);
}

static void what_is_no_answer_fails_the_call(void **state)
{
    static const char *const texts[] = {
        "x",
        "$-7\r\n",
        "$99999999999999999999\r\n",
        "*2000000000\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
        "%1\r\n+a\r\n+b\r\n",
        "_\r\n",
        ":abc\r\n"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct liar s = {.text = texts[i], .len = strlen(texts[i])};

        assert_every_call_is_lost(&s);
    }
}

static void half_an_answer_fails_the_call_when_the_server_ends(void **state)
{
    static const char whole[] = "*2\r\n$4\r\nPONG\r\n:12\r\n";

    for (size_t len = 0; len < sizeof(whole) - 1; len++) {
        struct liar s = {.text = whole, .len = len, .ends = true};

        assert_every_call_is_lost(&s);
    }
}

#define SUBSCRIBED "*3\r\n$9\r\nsubscribe\r\n$7\r\nchannel\r\n:1\r\n"
#define MESSAGE    "*3\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n$2\r\nhi\r\n"

/* Not in a circle either: a turn of the loop has an end. */
static void what_is_no_message_ends_a_subscription(void **state)
{
    static const struct {
        const char *text;
        unsigned messages;
    } cases[] = {
        {"+OK\r\n", 0},
        {"-NOPERM this user has no permissions\r\n", 0},
        {"*0\r\n", 0},
        {"*-1\r\n", 0},
        {"*1\r\n$9\r\nsubscribe\r\n", 0},
        {"*2\r\n$9\r\nsubscribe\r\n$7\r\nchannel\r\n", 0},
        {"*3\r\n:1\r\n:2\r\n:3\r\n", 0},
        {"*3\r\n$-1\r\n$-1\r\n$-1\r\n", 0},
        {"*3\r\n*0\r\n*0\r\n*0\r\n", 0},
        {MESSAGE, 0},
        {SUBSCRIBED "+OK\r\n", 0},
        {SUBSCRIBED SUBSCRIBED, 0},
        {SUBSCRIBED MESSAGE "*3\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n$-1\r\n", 1},
        {SUBSCRIBED MESSAGE "*3\r\n$11\r\nunsubscribe\r\n$7\r\nchannel\r\n:0\r\n", 1},
        {SUBSCRIBED MESSAGE ">3\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n$2\r\nhi\r\n", 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct liar s = {
            .text = cases[i].text, .len = strlen(cases[i].text), .is_subscribing = true};

        liar_start(&s);
        run_until(s.loop, &s.is_closed);
        liar_stop(&s);
        assert_int_equal(s.messages, s.closes * cases[i].messages);
    }
}

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245U + 12345U;
    return (*seed >> 16) % below;
}

static size_t draw_text(unsigned *seed, char *text, size_t room)
{
    static const char *const parts[] = {"+OK\r\n",
                                        "-E\r\n",
                                        ":7\r\n",
                                        "$2\r\nhi\r\n",
                                        "$-1\r\n",
                                        "*2\r\n",
                                        "*3\r\n",
                                        "*0\r\n",
                                        "*-1\r\n",
                                        "$9\r\nsubscribe\r\n",
                                        "$7\r\nmessage\r\n",
                                        ">2\r\n",
                                        "\r\n",
                                        "$",
                                        "*",
                                        "9",
                                        "\n",
                                        "\r",
                                        "%1\r\n",
                                        SUBSCRIBED,
                                        MESSAGE};
    size_t len = 0;

    for (unsigned more = 1 + draw(seed, 12); more > 0; more--) {
        const char *part = parts[draw(seed, sizeof(parts) / sizeof(*parts))];

        if (draw(seed, 8) == 0)
            text[len++] = (char)draw(seed, 256);
        assert_true(len + strlen(part) < room);
        memcpy(text + len, part, strlen(part));
        len += strlen(part);
    }
    return len;
}

#define LIES 400

/* Whatever it says, it costs the connection at most. */
static void no_answer_whatever_costs_more_than_the_connection(void **state)
{
    unsigned seed = arc4random();
    char text[1024];

    print_message("seed %u\n", seed);
    for (unsigned i = 0; i < LIES; i++) {
        struct liar s = {.text = text,
                         .len = draw_text(&seed, text, sizeof(text)),
                         .says_at_once = draw(&seed, 4) == 0,
                         .is_subscribing = draw(&seed, 2),
                         .ends = true};

        liar_start(&s);
        run_until(s.loop, &s.is_closed);
        liar_stop(&s);
        assert_int_equal(s.opens, s.closes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REDIS(closes_the_connection_when_an_answer_does_not_come_in_time),
        WITH_REDIS(a_stall_of_the_node_itself_is_not_held_against_redis),
        WITH_REDIS(a_stall_before_anything_was_sent_is_not_either),
        WITH_REDIS(notices_a_silent_redis_without_an_operation),
        WITH_REDIS(tells_that_a_redis_is_silent_and_that_it_answers_again),
        WITH_REDIS(a_lost_connection_ends_the_silence),
        WITH_REDIS(warns_of_every_new_reason_once),
        WITH_REDIS(says_once_that_it_is_up_and_once_that_it_is_down),
        WITH_REDIS(says_what_redis_said_that_made_it_leave),
        WITH_REDIS(says_where_nobody_listens),
        WITH_REDIS(talks_over_tcp_too),
        WITH_REDIS(finds_the_address_of_a_name),
        WITH_REDIS(says_that_there_is_no_such_name),
        cmocka_unit_test(what_nobody_asked_for_ends_the_connection),
        cmocka_unit_test(one_answer_too_many_ends_the_connection_after_the_first),
        cmocka_unit_test(an_answer_that_is_long_on_its_way_is_no_silence),
        cmocka_unit_test(what_is_no_answer_fails_the_call),
        cmocka_unit_test(half_an_answer_fails_the_call_when_the_server_ends),
        cmocka_unit_test(what_is_no_message_ends_a_subscription),
        cmocka_unit_test(no_answer_whatever_costs_more_than_the_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

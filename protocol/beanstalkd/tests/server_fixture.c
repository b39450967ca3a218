#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/beanstalkd/tests/server_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

int fixture_up(void **state)
{
    static const struct queue_options queue_options = {.body_max_bytes = BODY_MAX,
                                                       .waiting_max = 1000,
                                                       .scan_batch = 100,
                                                       .scan_interval_ms = 1000,
                                                       .index_ids = true};
    static const struct log_options quiet = {.level = LEVEL_WARN, .modules = ""};
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(log_configure(&quiet), STATUS_OK);
    f->loop = loop_new_ahead();
    f->ms = memory_store_new(&f->loop->timers, 4);
    f->queue = queue_new(&queue_options, memory_store_port(f->ms), &f->loop->timers);
    queue_activate(f->queue);
    f->options = (struct beanstalkd_options){
        .as = "",
        .limits = {.body_max_bytes = BODY_MAX,
                   .connections_max = 8,
                   .pipelined_max = 4,
                   .output_max_bytes = 65536},
    };
    f->port = beanstalkd_new(&f->options, f->loop, f->queue, listen_on_loopback(&f->number));
    f->tls = serve_as_asked(f->port, f->loop);
    *state = f;
    return 0;
}

static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

void fixture_stop_port(struct fixture *f)
{
    port_stop(f->port, set_flag, &f->is_port_stopped);
    f->is_port_stopping = true;
}

int fixture_down(void **state)
{
    struct fixture *f = *state;

    memory_store_unhold(f->ms);
    if (!f->is_port_stopping)
        fixture_stop_port(f);
    fixture_pass(f, 100);
    AWAIT(f, f->is_port_stopped);
    queue_stop(f->queue, set_flag, &f->is_queue_stopped);
    AWAIT(f, f->is_queue_stopped);
    assert_int_equal(memory_store_in_flight(f->ms), 0);
    port_free(f->port);
    tls_free(f->tls);
    queue_free(f->queue);
    memory_store_free(f->ms);
    loop_free(f->loop);
    free(f);
    return 0;
}

void fixture_pass(struct fixture *f, int64_t ms)
{
    pass_time(f->loop, ms);
}

/* ---- talking ---- */

struct talker *dial(struct fixture *f)
{
    struct talker *t = calloc(1, sizeof(*t));
    uint64_t before = f->port->stats.accepted + f->port->stats.rejected;

    assert_non_null(t);
    t->c = dial_from(f, f->loop, f->number, 1);
    AWAIT(f, f->port->stats.accepted + f->port->stats.rejected > before);
    return t;
}

void hang_up(struct talker *t)
{
    leave(&t->c);
    buf_fini(&t->in);
    free(t);
}

static uint64_t *id_of(struct talker *t, char digit)
{
    assert_in_range(digit, '1', '9');
    return &t->c.f->ids[digit - '0'];
}

void tell(struct talker *t, const char *what)
{
    struct buf text = BUF_INIT;

    for (; *what; what++) {
        if (*what == '\n')
            buf_add_text(&text, "\r\n");
        else if (*what == '$')
            buf_printf(&text, "%llu", (unsigned long long)*id_of(t, *++what));
        else
            buf_add_char(&text, *what);
    }
    say_bytes(&t->c, buf_bytes(&text));
    buf_fini(&text);
}

static void receive(struct talker *t)
{
    size_t n = receive_piece(&t->c, buf_reserve(&t->in, 4096), 4096);

    if (n == 0)
        fail_msg("the connection has ended behind: %s", buf_text(&t->in));
    t->in.len += n;
}

/* The next character, which is awaited. */
static char at(struct talker *t, size_t i)
{
    while (i >= t->in.len)
        receive(t);
    return t->in.at[i];
}

static size_t hear_id(struct talker *t, size_t i, uint64_t *id)
{
    uint64_t number = 0;

    for (; at(t, i) >= '0' && at(t, i) <= '9'; i++)
        number = number * 10 + (uint64_t)(at(t, i) - '0');
    if (*id == 0)
        *id = number;
    assert_int_equal(number, *id);
    return i;
}

static size_t hear_char(struct talker *t, size_t i, char expected)
{
    if (at(t, i) != expected)
        fail_msg("heard '%s', differs at %zu", buf_text(&t->in), i);
    return i + 1;
}

void hear(struct talker *t, const char *reply)
{
    size_t i = 0;

    for (; *reply; reply++) {
        if (*reply == '$')
            i = hear_id(t, i, id_of(t, *++reply));
        else if (*reply == '\n')
            i = hear_char(t, hear_char(t, i, '\r'), '\n');
        else if (*reply == '|')
            i = hear_char(t, i, '\n');
        else
            i = hear_char(t, i, *reply);
    }
    buf_drop(&t->in, i);
}

void talk(struct talker *t, const char *what, const char *reply)
{
    tell(t, what);
    hear(t, reply);
}

void hear_end(struct talker *t)
{
    assert_int_equal(t->in.len, 0);
    expect_end(&t->c);
}

void hear_nothing(struct talker *t)
{
    assert_int_equal(t->in.len, 0);
    expect_silence(&t->c);
}

/* ---- jobs of others ---- */

static void set_done(struct op *op)
{
    assert_int_equal(op->status, STATUS_OK);
    op->on_done = NULL;
}

void push_and_await(struct fixture *f, struct op *op)
{
    op->on_done = set_done;
    queue_submit(f->queue, op);
    AWAIT(f, !op->on_done);
}

/* ---- data ---- */

static size_t hear_data(struct talker *t)
{
    size_t len = 0, i = 0;

    for (const char *ok = "OK "; *ok; ok++)
        i = hear_char(t, i, *ok);
    for (; at(t, i) != '\r'; i++)
        len = len * 10 + (size_t)(at(t, i) - '0');
    buf_drop(&t->in, i + 2);
    (void)at(t, len + 1);
    return len;
}

const char *ask(struct talker *t, const char *what, const char *key)
{
    static char value[256];
    struct buf line = BUF_INIT;
    const char *found;
    size_t len;

    tell(t, what);
    len = hear_data(t);
    buf_printf(&line, "\n%s: ", key);
    found = strstr(buf_text(&t->in), buf_text(&line));
    assert_non_null(found);
    found += line.len;
    snprintf(value, sizeof(value), "%.*s", (int)strcspn(found, "\n"), found);
    buf_drop(&t->in, len + 2);
    buf_fini(&line);
    return value;
}

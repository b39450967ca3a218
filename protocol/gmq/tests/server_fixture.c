#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/gmq/tests/server_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static int start(void **state, bool strict)
{
    static const struct queue_options queue_options = {.body_max_bytes = BODY_MAX,
                                                       .waiting_max = 1000,
                                                       .scan_batch = 100,
                                                       .scan_interval_ms = 1000};
    static const struct log_options quiet = {.level = LEVEL_WARN, .modules = ""};
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(log_configure(&quiet), STATUS_OK);
    f->loop = loop_new_ahead();
    f->ms = memory_store_new(&f->loop->timers, 4);
    f->queue = queue_new(&queue_options, memory_store_port(f->ms), &f->loop->timers);
    queue_activate(f->queue);
    f->options = (struct gmq_options){
        .strict = strict,
        .pop_wait_ms = 2000,
        .limits = {.body_max_bytes = BODY_MAX,
                   .connections_max = 8,
                   .pipelined_max = 4,
                   .output_max_bytes = 65536},
    };
    f->gmq = gmq_new(&f->options, f->loop, f->queue, listen_on_loopback(&f->port));
    f->tls = serve_as_asked(f->gmq, f->loop);
    *state = f;
    return 0;
}

int fixture_up(void **state)
{
    return start(state, false);
}

int fixture_up_strict(void **state)
{
    return start(state, true);
}

static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

void fixture_stop_gmq(struct fixture *f)
{
    port_stop(f->gmq, set_flag, &f->is_gmq_stopped);
    f->is_gmq_stopping = true;
}

int fixture_down(void **state)
{
    struct fixture *f = *state;

    memory_store_unhold(f->ms);
    if (!f->is_gmq_stopping)
        fixture_stop_gmq(f);
    fixture_pass(f, 100);
    AWAIT(f, f->is_gmq_stopped);
    queue_stop(f->queue, set_flag, &f->is_queue_stopped);
    AWAIT(f, f->is_queue_stopped);
    assert_int_equal(memory_store_in_flight(f->ms), 0);
    port_free(f->gmq);
    tls_free(f->tls);
    queue_free(f->queue);
    memory_store_free(f->ms);
    loop_free(f->loop);
    free(f);
    return 0;
}

/* ---- time ---- */

void fixture_turn(struct fixture *f)
{
    turn_loop(f->loop);
}

void fixture_pass(struct fixture *f, int64_t ms)
{
    pass_time(f->loop, ms);
}

/* ---- clients ---- */

struct client connect_from(struct fixture *f, unsigned host)
{
    const struct port_stats *stats = &f->gmq->stats;
    uint64_t before = stats->accepted + stats->rejected;
    struct client c = dial_from(f, f->loop, f->port, host);

    AWAIT(f, stats->accepted + stats->rejected > before);
    return c;
}

struct client connect_client(struct fixture *f)
{
    return connect_from(f, 1);
}

void expect(struct client *c, const char *reply)
{
    char *got = calloc(1, strlen(reply) + 2);
    size_t len = receive_piece(c, got, strlen(reply));

    assert_string_equal(got, reply);
    assert_int_equal(len, strlen(reply));
    free(got);
}

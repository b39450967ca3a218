#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/queue/queue.h"
#include "protocol/http/metrics.h"

struct page {
    struct queue_stats stats;
    struct metrics metrics;
    struct buf text;
};

static int set_up(void **state)
{
    struct page *page = calloc(1, sizeof(*page));

    page->metrics.queue = &page->stats;
    page->metrics.version = "1.2.3";
    *state = page;
    return 0;
}

static int tear_down(void **state)
{
    struct page *page = *state;

    buf_fini(&page->text);
    free(page);
    return 0;
}

static const char *write_page(struct page *page)
{
    metrics_write(&page->text, &page->metrics);
    return buf_text(&page->text);
}

/* Does the page have exactly this line? */
static void assert_line(const char *page, const char *line)
{
    size_t len = strlen(line);

    for (const char *at = page; (at = strstr(at, line)); at++) {
        if ((at == page || at[-1] == '\n') && at[len] == '\n')
            return;
    }
    fail_msg("no line '%s' in:\n%s", line, page);
}

static void counts_operations_by_verb_and_result(void **state)
{
    struct page *page = *state;
    const char *text;

    page->stats.done[OP_PUSH] = 7;
    page->stats.refused[OP_PUSH] = 2;
    page->stats.unknown[OP_ACK] = UINT64_MAX;
    text = write_page(page);
    assert_line(text, "# TYPE dueq_operations_total counter");
    assert_line(text, "dueq_operations_total{verb=\"push\",result=\"ok\"} 7");
    assert_line(text, "dueq_operations_total{verb=\"push\",result=\"refused\"} 2");
    assert_line(text, "dueq_operations_total{verb=\"ack\",result=\"unknown\"} "
                      "18446744073709551615");
    assert_line(text, "dueq_operations_total{verb=\"scan\",result=\"ok\"} 0");
}

static void shows_gauges_of_queue_and_store(void **state)
{
    struct page *page = *state;
    const char *text;

    page->stats.waiting = 12;
    page->metrics.store.is_up = 1;
    page->metrics.store.held = 3;
    page->metrics.loop_stalls = 4;
    page->metrics.loop_stall_max_ms = 1250;
    text = write_page(page);
    assert_line(text, "# TYPE dueq_consumers_waiting gauge");
    assert_line(text, "dueq_consumers_waiting 12");
    assert_line(text, "dueq_store_up 1");
    assert_line(text, "dueq_store_operations_held 3");
    assert_line(text, "dueq_loop_stalls_total 4");
    assert_line(text, "dueq_loop_stall_max_seconds 1.250");
    assert_line(text, "dueq_build_info{version=\"1.2.3\"} 1");
}

static void shows_each_protocol_under_its_name(void **state)
{
    struct page *page = *state;
    const char *text;

    page->metrics.protocols[0] =
        (struct http_protocol_numbers){.name = "gmq", .connections = 3, .requests = 9};
    page->metrics.protocols[1] = (struct http_protocol_numbers){.name = "x", .turned_away = 1};
    page->metrics.protocol_count = 2;
    text = write_page(page);
    assert_line(text, "dueq_connections{protocol=\"gmq\"} 3");
    assert_line(text, "dueq_requests_total{protocol=\"gmq\"} 9");
    assert_line(text, "dueq_connections_turned_away_total{protocol=\"x\"} 1");
}

static void lateness_buckets_are_cumulative_and_in_seconds(void **state)
{
    struct page *page = *state;
    const char *text;

    histogram_add(&page->stats.move_lateness, 0);
    histogram_add(&page->stats.move_lateness, 1);
    histogram_add(&page->stats.move_lateness, 4);
    histogram_add(&page->stats.move_lateness, 90000);
    text = write_page(page);
    assert_line(text, "# TYPE dueq_move_lateness_seconds histogram");
    assert_line(text, "dueq_move_lateness_seconds_bucket{le=\"0.001\"} 2");
    assert_line(text, "dueq_move_lateness_seconds_bucket{le=\"0.002\"} 2");
    assert_line(text, "dueq_move_lateness_seconds_bucket{le=\"0.005\"} 3");
    assert_line(text, "dueq_move_lateness_seconds_bucket{le=\"50\"} 3");
    assert_line(text, "dueq_move_lateness_seconds_bucket{le=\"+Inf\"} 4");
    assert_line(text, "dueq_move_lateness_seconds_sum 90.005000");
    assert_line(text, "dueq_move_lateness_seconds_count 4");
    assert_line(text, "dueq_delivery_lateness_seconds_count 0");
}

static void round_trips_are_counted_in_microseconds_and_shown_in_seconds(void **state)
{
    struct page *page = *state;
    struct histogram *round_trip = calloc(1, sizeof(*round_trip));
    const char *text;

    histogram_add(round_trip, 60);
    histogram_add(round_trip, 1900);
    page->metrics.store.round_trip_us = round_trip;
    text = write_page(page);
    assert_line(text, "dueq_store_round_trip_seconds_bucket{le=\"0.0001\"} 1");
    assert_line(text, "dueq_store_round_trip_seconds_bucket{le=\"0.001\"} 1");
    assert_line(text, "dueq_store_round_trip_seconds_bucket{le=\"0.002\"} 2");
    assert_line(text, "dueq_store_round_trip_seconds_sum 0.001960");
    free(round_trip);
}

static void leaves_round_trips_out_when_nobody_measures_them(void **state)
{
    assert_null(strstr(write_page(*state), "dueq_store_round_trip_seconds"));
}

/* name, or name{labels}, then a space and a number; HELP and TYPE come before, once. */
static void every_sample_belongs_to_the_family_announced_before_it(void **state)
{
    char *text = strdup(write_page(*state));
    char family[100] = "";
    char *rest = text;
    char *line;

    while ((line = strsep(&rest, "\n")) && *line) {
        if (strncmp(line, "# HELP ", 7) == 0) {
            size_t len = strcspn(line + 7, " ");

            assert_in_range(len, 1, sizeof(family) - 1);
            snprintf(family, sizeof(family), "%.*s", (int)len, line + 7);
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            assert_int_equal(strncmp(line + 7, family, strlen(family)), 0);
        } else {
            char *number = strrchr(line, ' ');
            char *end;

            assert_int_equal(strncmp(line, family, strlen(family)), 0);
            assert_non_null(number);
            strtod(number, &end);
            assert_true(end > number + 1 && *end == '\0');
        }
    }
    free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(counts_operations_by_verb_and_result),
        TEST(shows_gauges_of_queue_and_store),
        TEST(shows_each_protocol_under_its_name),
        TEST(lateness_buckets_are_cumulative_and_in_seconds),
        TEST(round_trips_are_counted_in_microseconds_and_shown_in_seconds),
        TEST(leaves_round_trips_out_when_nobody_measures_them),
        TEST(every_sample_belongs_to_the_family_announced_before_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

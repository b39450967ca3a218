#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build.h"
#include "base/loop.h"
#include "node/queue/queue.h"
#include "protocol/api/metrics.h"

struct page {
    struct queue_stats stats;
    struct loop loop;
    struct build build;
    uint64_t errors[HTTP_ERROR_COUNT];
    struct port_stats ports[2];
    struct census census;
    struct metrics metrics;
    struct buf text;
};

static int set_up(void **state)
{
    struct page *page = calloc(1, sizeof(*page));

    page->metrics.queue = &page->stats;
    page->metrics.loop = &page->loop;
    page->metrics.build = &page->build;
    page->metrics.http_errors = page->errors;
    page->metrics.identities_age_ms = -1;
    page->build = (struct build){"1.2.3", "0123abc", "cc \"9\" \\ x", "1.2.3+0123abc"};
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

static void a_node_alone_leads_and_has_no_session(void **state)
{
    const char *text = write_page(*state);

    assert_line(text, "dueq_role{role=\"leader\"} 1");
    assert_line(text, "dueq_role{role=\"standby\"} 0");
    assert_line(text, "dueq_zookeeper_session{state=\"closed\"} 1");
    assert_line(text, "dueq_lease_left_seconds 0.000");
    assert_line(text, "# TYPE dueq_last_failover_seconds gauge");
    assert_null(strstr(text, "\ndueq_last_failover_seconds "));
}

static void counts_operations_by_verb_and_result(void **state)
{
    struct page *page = *state;
    const char *text;

    page->stats.done[OP_PUSH] = 7;
    page->stats.refused[OP_PUSH] = 2;
    page->stats.unknown[OP_ACK] = INT64_MAX;
    text = write_page(page);
    assert_line(text, "# TYPE dueq_operations_total counter");
    assert_line(text, "dueq_operations_total{verb=\"push\",result=\"ok\"} 7");
    assert_line(text, "dueq_operations_total{verb=\"push\",result=\"refused\"} 2");
    assert_line(text, "dueq_operations_total{verb=\"ack\",result=\"unknown\"} "
                      "9223372036854775807");
    assert_line(text, "dueq_operations_total{verb=\"scan\",result=\"ok\"} 0");
}

static void shows_the_errors_that_have_happened(void **state)
{
    struct page *page = *state;
    const char *text;

    page->stats.ended[OP_PUSH][STATUS_OK] = 9;
    page->stats.ended[OP_PUSH][STATUS_DUPLICATE] = 3;
    page->stats.ended[OP_ACK][STATUS_UNKNOWN] = 1;
    page->stats.ended[OP_OWNER][STATUS_NOT_FOUND] = 5;
    text = write_page(page);
    assert_line(text, "dueq_operation_errors_total{verb=\"push\",status=\"duplicate\"} 3");
    assert_line(text, "dueq_operation_errors_total{verb=\"ack\",status=\"unknown\"} 1");
    assert_null(strstr(text, "status=\"ok\""));
    assert_null(strstr(text, "{verb=\"owner\",status="));
    assert_null(strstr(text, "{verb=\"push\",status=\"unknown\""));
}

/* ---- jobs ---- */

static const struct topic_count top[] = {
    {.topic = BYTES("orders"),
     .stats = {.delayed = 100,
               .ready = 20,
               .reserved = 3,
               .dead = 1,
               .oldest_ready_ms = 90500,
               .next_due_ms = 12000}},
    {.topic = BYTES("a\"b\\c\n\xc3\xa9"), .stats = {.delayed = 50, .oldest_ready_ms = -1}},
    {.topic = BYTES("mails"), .stats = {.ready = 4, .oldest_ready_ms = -1, .next_due_ms = -1}},
};

static void take_census(struct page *page, unsigned topics_max)
{
    page->census = (struct census){
        .age_ms = 1500,
        .total =
            {.delayed = 200, .ready = 30, .reserved = 5, .dead = 2, .oldest_ready_ms = 90500},
        .topics = 12,
        .looked_at = 10,
        .top = top,
        .top_count = METRICS_COUNT(top),
    };
    page->metrics.census = &page->census;
    page->metrics.topics_max = topics_max;
}

static void shows_jobs_by_topic_and_state_and_the_rest_as_a_sum(void **state)
{
    struct page *page = *state;
    const char *text;

    take_census(page, 2);
    text = write_page(page);
    assert_line(text, "dueq_jobs{topic=\"orders\",state=\"delayed\"} 100");
    assert_line(text, "dueq_jobs{topic=\"orders\",state=\"ready\"} 20");
    assert_line(text, "dueq_jobs{topic=\"orders\",state=\"reserved\"} 3");
    assert_line(text, "dueq_jobs{topic=\"orders\",state=\"dead\"} 1");
    assert_line(text, "dueq_jobs{topic=\"*\",state=\"delayed\"} 50");
    assert_line(text, "dueq_jobs{topic=\"*\",state=\"ready\"} 10");
    assert_line(text, "dueq_jobs{topic=\"*\",state=\"reserved\"} 2");
    assert_line(text, "dueq_jobs{topic=\"*\",state=\"dead\"} 1");
    assert_null(strstr(text, "mails"));
}

static void shows_no_topic_of_its_own_when_none_is_wanted(void **state)
{
    struct page *page = *state;
    const char *text;

    take_census(page, 0);
    text = write_page(page);
    assert_line(text, "dueq_jobs{topic=\"*\",state=\"delayed\"} 200");
    assert_null(strstr(text, "orders"));
}

static void shows_all_topics_when_more_are_wanted_than_there_are(void **state)
{
    struct page *page = *state;
    const char *text;

    take_census(page, 1000);
    text = write_page(page);
    assert_line(text, "dueq_jobs{topic=\"mails\",state=\"ready\"} 4");
    assert_line(text, "dueq_jobs{topic=\"*\",state=\"ready\"} 6");
}

static void escapes_a_topic(void **state)
{
    struct page *page = *state;

    take_census(page, 2);
    assert_line(write_page(page),
                "dueq_jobs{topic=\"a\\\"b\\\\c\\n\xc3\xa9\",state=\"delayed\"} 50");
}

static void shows_totals_and_what_they_are_about(void **state)
{
    struct page *page = *state;
    const char *text;

    take_census(page, 2);
    text = write_page(page);
    assert_line(text, "dueq_jobs_by_state{state=\"delayed\"} 200");
    assert_line(text, "dueq_jobs_by_state{state=\"dead\"} 2");
    assert_line(text, "dueq_topics 12");
    assert_line(text, "dueq_topics_counted 10");
    assert_line(text, "dueq_census_complete 0");
    assert_line(text, "dueq_census_age_seconds 1.500");
}

static void says_when_all_topics_were_counted(void **state)
{
    struct page *page = *state;

    take_census(page, 0);
    page->census.is_whole = true;
    assert_line(write_page(page), "dueq_census_complete 1");
}

static void an_age_grows_with_that_of_the_census(void **state)
{
    struct page *page = *state;
    const char *text;

    take_census(page, 1);
    text = write_page(page);
    assert_line(text, "dueq_first_ready_age_seconds 92.000");
    assert_line(text, "dueq_topic_first_ready_age_seconds{topic=\"orders\"} 92.000");
}

static void the_next_due_comes_nearer_as_the_census_ages(void **state)
{
    static const struct {
        int64_t counted_ms;
        const char *line; /* NULL: none */
    } cases[] = {
        {1501, "dueq_next_due_seconds 0.001"},
        {1500, NULL}, /* due since: nobody knows whether it was moved */
        {1, NULL},
        {0, "dueq_next_due_seconds 0.000"},
        {-1, NULL},
    };
    struct page *page = *state;

    take_census(page, 0);
    for (size_t i = 0; i < METRICS_COUNT(cases); i++) {
        const char *text;

        buf_clear(&page->text);
        page->census.total.next_due_ms = cases[i].counted_ms;
        text = write_page(page);
        if (cases[i].line)
            assert_line(text, cases[i].line);
        else
            assert_null(strstr(text, "\ndueq_next_due_seconds "));
    }
}

static void an_age_is_0_without_ready_jobs_and_left_out_when_it_is_hidden(void **state)
{
    struct page *page = *state;
    const char *family = "dueq_topic_first_ready_age_seconds";
    const char *text;

    take_census(page, 3);
    text = write_page(page);
    assert_line(text, "dueq_topic_first_ready_age_seconds{topic=\"orders\"} 92.000");
    assert_line(text, "dueq_topic_first_ready_age_seconds{topic=\"a\\\"b\\\\c\\n\xc3\xa9\"} "
                      "0.000");
    text = strstr(text, family);
    assert_null(strstr(text, "{topic=\"mails\"}"));
}

static void leaves_jobs_out_when_they_were_not_counted(void **state)
{
    const char *text = write_page(*state);

    assert_null(strstr(text, "dueq_jobs{"));
    assert_null(strstr(text, "dueq_jobs_by_state"));
    assert_null(strstr(text, "dueq_topics"));
    assert_null(strstr(text, "ready_age_seconds"));
    assert_null(strstr(text, "census_age_seconds"));
    assert_null(strstr(text, "dueq_next_due_seconds"));
    assert_null(strstr(text, "dueq_census_complete"));
}

/* ---- the node ---- */

static void shows_gauges_of_queue_and_store(void **state)
{
    struct page *page = *state;
    const char *text;

    page->stats.waiting = 12;
    page->metrics.store.is_up = 1;
    page->metrics.store.held = 3;
    page->loop.stall_count = 4;
    page->loop.stall_total_ms = 61004;
    page->loop.stall_max_ms = 1250;
    text = write_page(page);
    assert_line(text, "# TYPE dueq_consumers_waiting gauge");
    assert_line(text, "dueq_consumers_waiting 12");
    assert_line(text, "dueq_store_up 1");
    assert_line(text, "dueq_store_operations_held 3");
    assert_line(text, "dueq_loop_stalls_total 4");
    assert_line(text, "dueq_loop_stall_max_seconds 1.250");
    assert_line(text, "dueq_loop_stall_seconds_total 61.004");
}

static void shows_whether_the_store_is_trusted_and_keeps_its_promise(void **state)
{
    struct page *page = *state;
    const char *text;

    page->metrics.store.breaker = "open";
    page->metrics.store.breaker_trips = 2;
    page->metrics.store.broken = 7;
    page->metrics.store.replica_waits = 9;
    page->metrics.store.replica_timeouts = 3;
    page->metrics.store.waiting_for_replicas = 1;
    page->metrics.store.weak[0] = (struct store_weakness){"fsync", "", "", true};
    page->metrics.store.weak[1] = (struct store_weakness){"no_aof", "", "", false};
    page->metrics.store.weak_count = 2;
    text = write_page(page);
    assert_line(text, "dueq_store_breaker_state{state=\"closed\"} 0");
    assert_line(text, "dueq_store_breaker_state{state=\"open\"} 1");
    assert_line(text, "dueq_store_breaker_state{state=\"half_open\"} 0");
    assert_line(text, "dueq_store_breaker_trips_total 2");
    assert_line(text, "dueq_store_broken_total 7");
    assert_line(text, "dueq_store_replica_waits_total 9");
    assert_line(text, "dueq_store_replica_timeouts_total 3");
    assert_line(text, "dueq_store_operations_waiting_for_replicas 1");
    assert_line(text, "dueq_store_weak{why=\"fsync\"} 1");
    assert_line(text, "dueq_store_weak{why=\"no_aof\"} 0");
}

static const struct store_master masters[] = {
    {"10.0.0.1:7001", "up", "", "closed", .is_up = 1, .buckets = 40, .in_flight = 3},
    {"", "connecting", "the Sentinels have not named it", NULL, .buckets = 1},
    {"10.0.0.2:7001", "connecting", "Connection refused", "half_open", .buckets = 23},
};

static void shows_each_master_of_the_store_that_has_a_name(void **state)
{
    struct page *page = *state;
    const char *text;

    page->metrics.store.masters = masters;
    page->metrics.store.master_count = METRICS_COUNT(masters);
    text = write_page(page);
    assert_line(text, "dueq_store_master_up{master=\"10.0.0.1:7001\"} 1");
    assert_line(text, "dueq_store_master_up{master=\"10.0.0.2:7001\"} 0");
    assert_line(text, "dueq_store_master_buckets{master=\"10.0.0.1:7001\"} 40");
    assert_line(text, "dueq_store_master_buckets{master=\"10.0.0.2:7001\"} 23");
    assert_line(text, "dueq_store_master_operations_in_flight{master=\"10.0.0.1:7001\"} 3");
    assert_line(text, "dueq_store_master_breaker_state{master=\"10.0.0.2:7001\","
                      "state=\"half_open\"} 1");
    assert_line(text, "dueq_store_master_breaker_state{master=\"10.0.0.2:7001\","
                      "state=\"closed\"} 0");
    assert_null(strstr(text, "master=\"\""));
}

static void shows_a_master_that_is_left_and_had_again_once(void **state)
{
    static const struct store_master twice[] = {
        {"a:1", "leaving", "", "closed", .buckets = 0},
        {"a:1", "up", "", "closed", .is_up = 1, .buckets = 9},
        {"b:1", "leaving", "", "closed", .buckets = 0},
        {"a:1", "leaving", "", "closed", .buckets = 0},
    };
    struct page *page = *state;
    const char *text;

    page->metrics.store.masters = twice;
    page->metrics.store.master_count = METRICS_COUNT(twice);
    text = write_page(page);
    assert_line(text, "dueq_store_master_buckets{master=\"a:1\"} 9");
    assert_line(text, "dueq_store_master_buckets{master=\"b:1\"} 0");
    assert_null(strstr(text, "dueq_store_master_buckets{master=\"a:1\"} 0"));
    text = strstr(text, "dueq_store_master_breaker_state{master=\"a:1\",state=\"open\"}");
    assert_null(
        strstr(text + 1, "dueq_store_master_breaker_state{master=\"a:1\",state=\"open\"}"));
}

static void shows_what_became_of_operations_where_buckets_move(void **state)
{
    struct page *page = *state;
    const char *text;

    page->metrics.store.moved = 1;
    page->metrics.store.asked = 2;
    page->metrics.store.try_again = 3;
    page->metrics.store.down = 4;
    page->metrics.store.maps_read = 5;
    page->metrics.store.unreached_count = 6;
    text = write_page(page);
    assert_line(text, "dueq_store_redirects_total{kind=\"moved\"} 1");
    assert_line(text, "dueq_store_redirects_total{kind=\"ask\"} 2");
    assert_line(text, "dueq_store_redirects_total{kind=\"try_again\"} 3");
    assert_line(text, "dueq_store_redirects_total{kind=\"down\"} 4");
    assert_line(text, "dueq_store_maps_read_total 5");
    assert_line(text, "dueq_store_buckets_unreached 6");
}

static void tells_who_scans_and_how_its_locks_were_taken(void **state)
{
    struct cluster_status status = {.node = "a",
                                    .role = "standby",
                                    .session = "connected",
                                    .is_sharing = true,
                                    .view = 4294967303,
                                    .scanners = 3,
                                    .shares = 16384,
                                    .own_shares = 5461};
    struct page *page = *state;
    const char *text;

    page->metrics.cluster = &status;
    page->stats.locks_taken = 12;
    page->stats.locks_stolen = 2;
    page->stats.locks_taken_over = 4;
    page->stats.lock_conflicts = 7;
    text = write_page(page);
    assert_line(text, "dueq_scanners 3");
    assert_line(text, "dueq_view 4294967303");
    assert_line(text, "dueq_shares 16384");
    assert_line(text, "dueq_shares_own 5461");
    assert_line(text, "dueq_topic_locks_total{how=\"free\"} 10");
    assert_line(text, "dueq_topic_locks_total{how=\"view\"} 4");
    assert_line(text, "dueq_topic_locks_total{how=\"late\"} 2");
    assert_line(text, "dueq_topic_lock_conflicts_total 7");
}

static void a_node_that_does_not_share_has_no_view(void **state)
{
    const char *text = write_page(*state);

    assert_line(text, "dueq_scanners 0");
    assert_line(text, "dueq_view 0");
    assert_line(text, "dueq_shares 0");
    assert_line(text, "dueq_shares_own 0");
    assert_line(text, "dueq_topic_locks_total{how=\"late\"} 0");
}

static void says_what_was_built_with_labels_escaped(void **state)
{
    assert_line(write_page(*state), "dueq_build_info{version=\"1.2.3\",commit=\"0123abc\","
                                    "compiler=\"cc \\\"9\\\" \\\\ x\"} 1");
}

static void shows_the_process_under_the_names_that_all_programs_use(void **state)
{
    struct page *page = *state;
    const char *text;

    page->metrics.process = (struct metrics_process){.cpu_ms = 90061007,
                                                     .resident_bytes = 12345678,
                                                     .virtual_bytes = 1 << 30,
                                                     .open_fds = 17,
                                                     .max_fds = 1024,
                                                     .start_ms = 1767225600123};
    text = write_page(page);
    assert_line(text, "process_cpu_seconds_total 90061.007");
    assert_line(text, "process_resident_memory_bytes 12345678");
    assert_line(text, "process_virtual_memory_bytes 1073741824");
    assert_line(text, "process_open_fds 17");
    assert_line(text, "process_max_fds 1024");
    assert_line(text, "process_start_time_seconds 1767225600.123");
}

static void shows_each_protocol_under_its_name(void **state)
{
    struct page *page = *state;
    const char *text;

    page->ports[0] = (struct port_stats){.name = "gmq", .connections = 3, .requests = 9};
    page->ports[1] = (struct port_stats){.name = "x", .rejected = 1, .shed = 2};
    page->metrics.ports[0] = &page->ports[0];
    page->metrics.ports[1] = &page->ports[1];
    page->metrics.port_count = 2;
    text = write_page(page);
    assert_line(text, "dueq_connections{protocol=\"gmq\"} 3");
    assert_line(text, "dueq_requests_total{protocol=\"gmq\"} 9");
    assert_line(text, "dueq_connections_rejected_total{protocol=\"x\"} 1");
    assert_line(text, "dueq_connections_shed_total{protocol=\"x\"} 2");
}

static void counts_errors_of_http_by_their_word(void **state)
{
    struct page *page = *state;
    const char *text;

    page->errors[HTTP_ERROR_TOO_LARGE] = 2;
    page->errors[HTTP_ERROR_JOB_TOO_LARGE] = 3;
    page->errors[HTTP_ERROR_VERSION] = 1;
    text = write_page(page);
    assert_line(text, "dueq_http_errors_total{code=\"too_large\"} 5");
    assert_line(text, "dueq_http_errors_total{code=\"version_not_supported\"} 1");
    assert_line(text, "dueq_http_errors_total{code=\"bad_request\"} 0");
    text = strstr(text, "code=\"too_large\"");
    assert_null(strstr(text + 1, "code=\"too_large\""));
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
    struct page *page = *state;
    char *text;
    char family[100] = "";
    char *rest, *line;

    take_census(page, 3);
    rest = text = strdup(write_page(page));
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

static void tells_every_reason_of_death_and_every_damage_from_the_start(void **state)
{
    struct page *page = *state;
    const char *text;

    page->stats.died[DEATH_EXPIRED] = 7;
    page->stats.repaired[DAMAGE_NO_BODY] = 3;
    page->stats.pruned_jobs = 11;
    page->stats.history_lost = 12;
    page->stats.audited = 13;
    page->stats.audit_walks = 14;
    page->stats.suspects = 15;
    text = write_page(page);
    assert_line(text, "dueq_jobs_died_total{reason=\"tries\"} 0");
    assert_line(text, "dueq_jobs_died_total{reason=\"expired\"} 7");
    assert_line(text, "dueq_jobs_died_total{reason=\"damaged\"} 0");
    assert_null(strstr(text, "reason=\"\""));
    assert_line(text, "dueq_repaired_total{damage=\"no_place\"} 0");
    assert_line(text, "dueq_repaired_total{damage=\"no_body\"} 3");
    assert_null(strstr(text, "damage=\"none\""));
    assert_line(text, "dueq_jobs_pruned_total 11");
    assert_line(text, "dueq_history_lost_total 12");
    assert_line(text, "dueq_audited_total 13");
    assert_line(text, "dueq_audit_walks_total 14");
    assert_line(text, "dueq_audit_suspects_total 15");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_node_alone_leads_and_has_no_session),
        TEST(counts_operations_by_verb_and_result),
        TEST(shows_the_errors_that_have_happened),
        TEST(shows_jobs_by_topic_and_state_and_the_rest_as_a_sum),
        TEST(shows_no_topic_of_its_own_when_none_is_wanted),
        TEST(shows_all_topics_when_more_are_wanted_than_there_are),
        TEST(escapes_a_topic),
        TEST(shows_totals_and_what_they_are_about),
        TEST(says_when_all_topics_were_counted),
        TEST(an_age_grows_with_that_of_the_census),
        TEST(the_next_due_comes_nearer_as_the_census_ages),
        TEST(an_age_is_0_without_ready_jobs_and_left_out_when_it_is_hidden),
        TEST(leaves_jobs_out_when_they_were_not_counted),
        TEST(shows_gauges_of_queue_and_store),
        TEST(shows_whether_the_store_is_trusted_and_keeps_its_promise),
        TEST(shows_each_master_of_the_store_that_has_a_name),
        TEST(shows_a_master_that_is_left_and_had_again_once),
        TEST(shows_what_became_of_operations_where_buckets_move),
        TEST(tells_who_scans_and_how_its_locks_were_taken),
        TEST(a_node_that_does_not_share_has_no_view),
        TEST(says_what_was_built_with_labels_escaped),
        TEST(shows_the_process_under_the_names_that_all_programs_use),
        TEST(shows_each_protocol_under_its_name),
        TEST(counts_errors_of_http_by_their_word),
        TEST(lateness_buckets_are_cumulative_and_in_seconds),
        TEST(round_trips_are_counted_in_microseconds_and_shown_in_seconds),
        TEST(leaves_round_trips_out_when_nobody_measures_them),
        TEST(every_sample_belongs_to_the_family_announced_before_it),
        TEST(tells_every_reason_of_death_and_every_damage_from_the_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

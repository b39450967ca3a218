/* What is not about jobs: ports, the event loop, the process. */
#include "protocol/http/metrics.h"

#include <string.h>

#include "base/build.h"
#include "base/loop.h"

#define OF_PORT(field)    METRICS_FIELD(struct http_protocol_numbers, field)
#define OF_LOOP(field)    METRICS_FIELD(struct loop, field)
#define OF_PROCESS(field) METRICS_FIELD(struct metrics_process, field)

static const struct metrics_number port_numbers[] = {
    {"dueq_connections", METRICS_GAUGE, "Clients that are connected.", OF_PORT(connections)},
    {"dueq_connections_accepted_total", METRICS_COUNTER, "Clients that were accepted.",
     OF_PORT(accepted)},
    {"dueq_connections_turned_away_total", METRICS_COUNTER,
     "Clients that came over limits.connections or connections_per_address.",
     OF_PORT(turned_away)},
    {"dueq_connections_crowded_out_total", METRICS_COUNTER,
     "Clients closed because all together left too much unread, or unfinished.",
     OF_PORT(crowded_out)},
    {"dueq_requests_total", METRICS_COUNTER, "Requests, well-formed or not.",
     OF_PORT(requests)},
    {"dueq_requests_refused_total", METRICS_COUNTER,
     "Requests that were not understood, not known, too large, or came while the node "
     "stopped.",
     OF_PORT(refused)},
};

static const struct metrics_number loop_numbers[] = {
    {"dueq_loop_stalls_total", METRICS_COUNTER,
     "Turns of the event loop in which a timer waited more than 10 ms.", OF_LOOP(stall_count)},
    {"dueq_loop_stall_seconds_total", METRICS_COUNTER,
     "How long the timers of these turns waited.", OF_LOOP(stall_total_ms)},
    {"dueq_loop_stall_max_seconds", METRICS_GAUGE,
     "The longest that a timer has waited since the start.", OF_LOOP(stall_max_ms)},
};

static const struct metrics_number process_numbers[] = {
    {"process_cpu_seconds_total", METRICS_COUNTER,
     "Processor time of the worker, user and system.", OF_PROCESS(cpu_ms)},
    {"process_resident_memory_bytes", METRICS_GAUGE, "Memory of the worker in RAM.",
     OF_PROCESS(resident_bytes)},
    {"process_virtual_memory_bytes", METRICS_GAUGE, "Address space of the worker.",
     OF_PROCESS(virtual_bytes)},
    {"process_open_fds", METRICS_GAUGE, "Open file descriptors of the worker.",
     OF_PROCESS(open_fds)},
    {"process_max_fds", METRICS_GAUGE, "How many it may open.", OF_PROCESS(max_fds)},
    {"process_start_time_seconds", METRICS_GAUGE,
     "When the worker started, in seconds since 1970.", OF_PROCESS(start_ms)},
};

static void write_ports(struct metrics_text *t, const struct metrics *m)
{
    for (size_t i = 0; i < METRICS_COUNT(port_numbers); i++) {
        const struct metrics_number *n = &port_numbers[i];

        metrics_text_family(t, n->name, n->type, n->help);
        for (unsigned p = 0; p < m->protocol_count; p++)
            metrics_text_number(
                t, n, METRICS_LABELS({"protocol", bytes_of_text(m->protocols[p].name)}),
                &m->protocols[p]);
    }
}

static const char *word_of(int error)
{
    return http_error_row((enum http_error)error)->word;
}

static bool is_first_with_its_word(int error)
{
    for (int e = HTTP_ERROR_NONE + 1; e < error; e++)
        if (strcmp(word_of(e), word_of(error)) == 0)
            return false;
    return true;
}

static uint64_t replies_with(const struct http_stats *stats, const char *word)
{
    uint64_t sum = 0;

    for (int e = HTTP_ERROR_NONE + 1; e < HTTP_ERROR_COUNT; e++)
        if (strcmp(word_of(e), word) == 0)
            sum += stats->errors[e];
    return sum;
}

/* By word: several rows of the table may share one. */
static void write_http_errors(struct metrics_text *t, const struct http_stats *stats)
{
    metrics_text_family(t, "dueq_http_errors_total", METRICS_COUNTER,
                        "Replies of the HTTP port that tell an error, by its code.");
    for (int e = HTTP_ERROR_NONE + 1; e < HTTP_ERROR_COUNT; e++)
        if (is_first_with_its_word(e))
            metrics_text_whole(t, METRICS_LABELS({"code", bytes_of_text(word_of(e))}),
                               replies_with(stats, word_of(e)));
}

static void write_build(struct metrics_text *t, const struct build *build)
{
    metrics_text_family(t, "dueq_build_info", METRICS_GAUGE, "Always 1; see the labels.");
    metrics_text_whole(t,
                       METRICS_LABELS({"version", bytes_of_text(build->version)},
                                      {"commit", bytes_of_text(build->commit)},
                                      {"compiler", bytes_of_text(build->compiler)}),
                       1);
}

void metrics_write_node(struct metrics_text *t, const struct metrics *m)
{
    write_ports(t, m);
    write_http_errors(t, m->http);
    metrics_text_numbers(t, loop_numbers, METRICS_COUNT(loop_numbers), m->loop);
    metrics_text_numbers(t, process_numbers, METRICS_COUNT(process_numbers), &m->process);
    write_build(t, m->build);
}

/* Metrics that are not about jobs: ports, event loop, process, the store's links, the virtual
 * address. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/build.h"
#include "base/loop.h"
#include "protocol/api/metrics.h"

#define OF_PORT(field)    METRICS_FIELD(struct port_stats, field)
#define OF_LOOP(field)    METRICS_FIELD(struct loop, field)
#define OF_PROCESS(field) METRICS_FIELD(struct metrics_process, field)

static const struct metrics_number port_numbers[] = {
#define X(field, type, name, help) {name, METRICS_##type, help, OF_PORT(field)},
    PORT_METRICS(X)
#undef X
};

static const struct metrics_number loop_numbers[] = {
    {"dueq_loop_stalls_total", METRICS_COUNTER,
     "Turns of the event loop in which a timer waited more than 10 ms.", OF_LOOP(stall_count)},
    {"dueq_loop_stall_seconds_total", METRICS_COUNTER,
     "How long timers waited in stalled turns of the event loop.", OF_LOOP(stall_total_ms)},
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
    {"process_max_fds", METRICS_GAUGE, "Limit of the worker's open file descriptors.",
     OF_PROCESS(max_fds)},
    {"process_start_time_seconds", METRICS_GAUGE,
     "When the worker started, in seconds since 1970.", OF_PROCESS(start_ms)},
};

static void write_ports(struct metrics_text *t, const struct metrics *m)
{
    for (size_t i = 0; i < METRICS_COUNT(port_numbers); i++) {
        const struct metrics_number *n = &port_numbers[i];

        metrics_text_family(t, n->name, n->type, n->help);
        for (unsigned p = 0; p < m->port_count; p++)
            metrics_text_number(t, n,
                                METRICS_LABELS({"protocol", bytes_of_text(m->ports[p]->name)}),
                                m->ports[p]);
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

static uint64_t replies_with(const uint64_t *errors, const char *word)
{
    uint64_t sum = 0;

    for (int e = HTTP_ERROR_NONE + 1; e < HTTP_ERROR_COUNT; e++)
        if (strcmp(word_of(e), word) == 0)
            sum += errors[e];
    return sum;
}

/* Summed by word: several rows of the table may share one. */
static void write_http_errors(struct metrics_text *t, const uint64_t *errors)
{
    metrics_text_family(t, "dueq_http_errors_total", METRICS_COUNTER,
                        "Replies of HTTP that tell an error, by its code, of all ports.");
    for (int e = HTTP_ERROR_NONE + 1; e < HTTP_ERROR_COUNT; e++)
        if (is_first_with_its_word(e))
            metrics_text_whole(t, METRICS_LABELS({"code", bytes_of_text(word_of(e))}),
                               replies_with(errors, word_of(e)));
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

static void write_identities(struct metrics_text *t, const struct metrics *m)
{
    metrics_text_family(t, "dueq_identities", METRICS_GAUGE, "Identities that the node knows.");
    metrics_text_whole(t, NULL, m->identities);
    metrics_text_family(t, "dueq_identities_age_seconds", METRICS_GAUGE,
                        "Since Redis last told of its identities; none where it is not asked.");
    if (m->identities_age_ms >= 0)
        metrics_text_ms(t, NULL, m->identities_age_ms);
}

void metrics_write_node(struct metrics_text *t, const struct metrics *m)
{
    write_ports(t, m);
    write_http_errors(t, m->http_errors);
    write_identities(t, m);
    metrics_text_numbers(t, loop_numbers, METRICS_COUNT(loop_numbers), m->loop);
    metrics_text_numbers(t, process_numbers, METRICS_COUNT(process_numbers), &m->process);
    write_build(t, m->build);
}

/* The store: are its links up, what waits for them, which buckets are unreached, may it lose
 * jobs? */

#define OF_STORE(field) METRICS_FIELD(struct store_numbers, field)

static const struct metrics_number store_numbers[] = {
    {"dueq_store_up", METRICS_GAUGE, "Whether the store can be reached.", OF_STORE(is_up)},
    {"dueq_store_round_trips_total", METRICS_COUNTER, "Operations the store has answered.",
     OF_STORE(round_trips)},
    {"dueq_store_aof_cut_bytes", METRICS_GAUGE,
     "Bytes that were missing at the end of the embedded Redis's file when it was loaded, or "
     "cut off it then, since the node's start.",
     OF_STORE(aof_cut_bytes)},
    {"dueq_store_errors_total", METRICS_COUNTER, "Operations the store answered with an error.",
     OF_STORE(errors)},
    {"dueq_store_lost_total", METRICS_COUNTER,
     "Operations that were in flight when the connection broke: they may have happened.",
     OF_STORE(lost)},
#define X(field, type, name, help) {name, METRICS_##type, help, OF_STORE(field)},
    STORE_METRICS(X)
#undef X
};

static const char *const breaker_words[] = {"closed", "open", "half_open"};

static bool is_breaker(const char *state, unsigned word)
{
    return !strcmp(breaker_words[word], state ? state : breaker_words[0]);
}

static void write_breaker(struct metrics_text *t, const char *state)
{
    metrics_text_family(t, "dueq_store_breaker_state", METRICS_GAUGE,
                        "1 for the state of the circuit breaker before the store.");
    for (unsigned i = 0; i < METRICS_COUNT(breaker_words); i++)
        metrics_text_whole(t, METRICS_LABELS({"state", bytes_of_text(breaker_words[i])}),
                           is_breaker(state, i));
}

/* ---- its masters ---- */

#define OF_MASTER(field) METRICS_FIELD(struct store_master, field)

static const struct metrics_number master_numbers[] = {
    {"dueq_store_master_up", METRICS_GAUGE, "Whether this master can be reached.",
     OF_MASTER(is_up)},
    {"dueq_store_master_buckets", METRICS_GAUGE, "Buckets that are at this master.",
     OF_MASTER(buckets)},
    {"dueq_store_master_operations_in_flight", METRICS_GAUGE,
     "Operations sent to this master and not answered.", OF_MASTER(in_flight)},
};

static bool is_leaving(const struct store_master *master)
{
    return !strcmp(master->state, "leaving");
}

/* No sample may come twice: an address that left and came back is shown as it is now. A master
 * that Sentinels have not named yet has no address. */
static bool is_shown(const struct store_numbers *n, unsigned i)
{
    const struct store_master *master = &n->masters[i];

    for (unsigned other = 0; other < n->master_count && master->address; other++) {
        const struct store_master *o = &n->masters[other];
        bool is_rather = is_leaving(o) == is_leaving(master) ? other < i : is_leaving(master);

        if (is_rather && o->address && !strcmp(o->address, master->address))
            return false;
    }
    return master->address && *master->address;
}

static void write_master_number(struct metrics_text *t, const struct metrics_number *number,
                                const struct store_numbers *n)
{
    metrics_text_family(t, number->name, number->type, number->help);
    for (unsigned i = 0; i < n->master_count; i++)
        if (is_shown(n, i))
            metrics_text_number(
                t, number, METRICS_LABELS({"master", bytes_of_text(n->masters[i].address)}),
                &n->masters[i]);
}

static void write_master_breakers(struct metrics_text *t, const struct store_numbers *n)
{
    metrics_text_family(t, "dueq_store_master_breaker_state", METRICS_GAUGE,
                        "1 for the state of the circuit breaker before this master.");
    for (unsigned i = 0; i < n->master_count; i++)
        for (unsigned w = 0; w < METRICS_COUNT(breaker_words) && is_shown(n, i); w++)
            metrics_text_whole(t,
                               METRICS_LABELS({"master", bytes_of_text(n->masters[i].address)},
                                              {"state", bytes_of_text(breaker_words[w])}),
                               is_breaker(n->masters[i].breaker, w));
}

static void write_masters(struct metrics_text *t, const struct store_numbers *n)
{
    for (unsigned i = 0; i < METRICS_COUNT(master_numbers); i++)
        write_master_number(t, &master_numbers[i], n);
    write_master_breakers(t, n);
    metrics_text_family(t, "dueq_store_buckets_unreached", METRICS_GAUGE,
                        "Buckets that operations do not reach now.");
    metrics_text_whole(t, NULL, n->unreached_count);
}

static void write_redirects(struct metrics_text *t, const struct store_numbers *n)
{
    const struct {
        const char *word;
        uint64_t count;
    } kinds[] = {
        {"moved", n->moved}, {"ask", n->asked}, {"try_again", n->try_again}, {"down", n->down}};

    metrics_text_family(t, "dueq_store_redirects_total", METRICS_COUNTER,
                        "Operations that a Redis Cluster sent elsewhere, or bade wait.");
    for (size_t i = 0; i < METRICS_COUNT(kinds); i++)
        metrics_text_whole(t, METRICS_LABELS({"kind", bytes_of_text(kinds[i].word)}),
                           kinds[i].count);
}

/* ---- its promise ---- */

static void write_weak(struct metrics_text *t, const struct store_numbers *n)
{
    metrics_text_family(t, "dueq_store_weak", METRICS_GAUGE,
                        "1 where the store may lose jobs, or keep them waiting, for this "
                        "reason.");
    for (unsigned i = 0; i < n->weak_count; i++)
        metrics_text_whole(t, METRICS_LABELS({"why", bytes_of_text(n->weak[i].word)}),
                           n->weak[i].is_so);
}

void metrics_write_store(struct metrics_text *t, const struct metrics *m)
{
    metrics_text_numbers(t, store_numbers, METRICS_COUNT(store_numbers), &m->store);
    write_breaker(t, m->store.breaker);
    write_masters(t, &m->store);
    write_redirects(t, &m->store);
    write_weak(t, &m->store);
    if (m->store.round_trip_us)
        metrics_text_histogram(t, "dueq_store_round_trip_seconds",
                               "From a command's sending to its answer.",
                               m->store.round_trip_us, METRICS_OF_US);
}

/* The virtual address. Without one its families are announced, but have no samples.
 */

#define OF_VIP(field) METRICS_FIELD(struct vip_status, field)

static const struct metrics_number numbers[] = {
    {"dueq_vip_taken_total", METRICS_COUNTER, "Times that the virtual address was taken.",
     OF_VIP(taken)},
    {"dueq_vip_restored_total", METRICS_COUNTER,
     "Times that the virtual address was gone while held, and was put back.", OF_VIP(restored)},
    {"dueq_vip_announcements_total", METRICS_COUNTER,
     "Times that the virtual address was announced to the neighbours.", OF_VIP(announcements)},
    {"dueq_vip_conflicts_total", METRICS_COUNTER,
     "Times that another host was heard to have the virtual address while it was held here.",
     OF_VIP(conflicts)},
    {"dueq_vip_failures_total", METRICS_COUNTER,
     "Failures of taking it, or of the program that moves it.", OF_VIP(failures)},
};

void metrics_write_vip(struct metrics_text *t, const struct metrics *m)
{
    const struct vip_status *v = m->cluster ? m->cluster->vip : NULL;

    metrics_text_family(t, "dueq_vip_held", METRICS_GAUGE,
                        "1 while the virtual address is on this host, as far as is known.");
    if (v)
        metrics_text_whole(t, NULL, v->is_here);
    metrics_text_family(
        t, "dueq_vip_possible", METRICS_GAUGE,
        "1 while this node could have the virtual address, as far as is known.");
    if (v)
        metrics_text_whole(t, NULL, v->is_possible);
    for (unsigned i = 0; i < METRICS_COUNT(numbers); i++) {
        metrics_text_family(t, numbers[i].name, numbers[i].type, numbers[i].help);
        if (v)
            metrics_text_number(t, &numbers[i], NULL, v);
    }
}

/* ---- metrics_process ---- */

#define FD_DIR          "/proc/self/fd"
#define STARTTIME_FIELD 22 /* of /proc/PID/stat, in ticks since the machine's start */

/* The start of a file of /proc as text; "" when there is none. */
static void read_text(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(text, 1, room - 1, file) : 0;

    text[len] = '\0';
    if (file)
        fclose(file);
}

static int64_t clock_ms(clockid_t id)
{
    struct timespec t = {0};

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void read_memory(struct metrics_process *p)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned long long size = 0, resident = 0;
    char text[128];

    read_text("/proc/self/statm", text, sizeof(text));
    if (sscanf(text, "%llu %llu", &size, &resident) != 2)
        return;
    p->virtual_bytes = size * page_bytes;
    p->resident_bytes = resident * page_bytes;
}

static uint64_t count_fds_one_by_one(void)
{
    DIR *dir = opendir(FD_DIR);
    uint64_t count = 0;

    if (!dir)
        return 0;
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count ? count - 1 : 0; /* without the one that reads */
}

/* Linux 6.2 and newer give the number as the directory's size. On older ones counting 10,000
 * takes 13 ms, in which no job moves. */
static uint64_t count_fds(void)
{
    struct stat dir;

    if (stat(FD_DIR, &dir) == 0 && dir.st_size > 0)
        return (uint64_t)dir.st_size;
    return count_fds_one_by_one();
}

static uint64_t soft_fd_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) ? 0 : (uint64_t)limit.rlim_cur;
}

/* The program's name is in parentheses and may have any characters in it. */
static int64_t start_since_boot_ms(void)
{
    char text[1024];
    char *at;

    read_text("/proc/self/stat", text, sizeof(text));
    at = strrchr(text, ')');
    for (int field = 2; at && field < STARTTIME_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoll(at, NULL, 10) * 1000 / sysconf(_SC_CLK_TCK) : -1;
}

/* By the wall clock at the first call, and then kept: a set clock must not look like a restart.
 */
static int64_t start_ms(void)
{
    static int64_t known_ms;
    int64_t since_boot_ms;

    if (known_ms)
        return known_ms;
    since_boot_ms = start_since_boot_ms();
    if (since_boot_ms >= 0)
        known_ms = clock_ms(CLOCK_REALTIME) - clock_ms(CLOCK_BOOTTIME) + since_boot_ms;
    return known_ms;
}

void metrics_process_read(struct metrics_process *p)
{
    *p = (struct metrics_process){
        .cpu_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID),
        .open_fds = count_fds(),
        .max_fds = soft_fd_limit(),
        .start_ms = start_ms(),
    };
    read_memory(p);
}

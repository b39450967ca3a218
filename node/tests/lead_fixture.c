#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/tests/lead_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "node/channel.h"

struct fake_ensemble ensemble;
struct node nodes[NODES];
int64_t now;
char directory[DIRECTORY_LEN];
static struct timers ensemble_timers;

/* ---- a node ---- */

void read_warden(struct node *n)
{
    struct channel_message message;

    while (channel_receive(n->warden_fd, &message)) {
        if (message.kind == CHANNEL_ADDRESS) {
            n->warden_until_boot_ms = message.until_boot_ms;
            continue;
        }
        if (message.kind == CHANNEL_NO_SUCCESSOR) {
            n->is_no_successor_reported = message.has_no_successor;
            continue;
        }
        assert_int_equal(message.kind, CHANNEL_SESSION);
        n->warden_session = message.session.session;
        n->warden_messages++;
    }
}

static void on_role(void *arg, const struct role *role, enum role_state before)
{
    struct node *n = arg;

    node_lead_report_session(n->lead, &n->warden);
    node_lead_report_address(n->lead, &n->warden);
    assert_true(n->told_count < sizeof(n->told) / sizeof(n->told[0]));
    n->told[n->told_count++] = (struct notifier){.role = role->state,
                                                 .before = before,
                                                 .reason = role->reason,
                                                 .session = n->warden.session,
                                                 .until_boot_ms = n->warden.until_boot_ms,
                                                 .at_ms = now};
}

static void on_refused(void *arg, const char *why)
{
    struct node *n = arg;

    snprintf(n->refused, sizeof(n->refused), "%s", why);
}

/* From the beginning: a store tells its queue once that it is up. */
static void make_queue(struct node *n)
{
    const struct queue_options options = {.body_max_bytes = 1024,
                                          .waiting_max = 1000,
                                          .scan_batch = 10,
                                          .scan_interval_ms = 100,
                                          .lock_ms = LOCK_MS,
                                          .node = bytes_of_text(n->conf.node.id)};

    n->queue = queue_new(&options, memory_store_port(n->ms), &n->loop.timers);
}

static void node_init(unsigned i)
{
    static char names[NODES][2] = {"a", "b"}, cluster[] = "main", none[] = "";
    static char secret[] = "a secret that only tests know";
    struct node *n = &nodes[i];

    *n = (struct node){.warden_session = 0};
    n->conf.node.id = names[i];
    n->conf.node.data_dir = directory;
    n->conf.ha.mode = HA_MODE_STANDBY;
    n->conf.ha.zookeeper = n->conf.ha.auth = n->conf.ha.advertise = none;
    n->conf.ha.secret = secret;
    n->conf.ha.cluster = cluster;
    n->conf.ha.session_ms = T;
    n->conf.ha.priority = 50;
    n->conf.ha.journal = i == 0;
    timers_init(&n->loop.timers, now);
    n->ms = i ? memory_store_join(nodes[0].ms, &n->loop.timers)
              : memory_store_new(&n->loop.timers, BUCKETS);
    assert_int_equal(channel_open(&n->warden_fd, &n->warden.fd), STATUS_OK);
    make_queue(n);
}

void node_start(unsigned i)
{
    struct node *n = &nodes[i];
    static const int none[CONF_PORTS] = {[0 ... CONF_PORTS - 1] = -1};
    const struct node_lead_options options = {.conf = &n->conf,
                                              .loop = &n->loop,
                                              .queue = n->queue,
                                              .port_fds = none,
                                              .peer_fd = -1,
                                              .incarnation = 1000 + i,
                                              .on_refused = on_refused,
                                              .on_role = on_role,
                                              .arg = n};

    n->lead = node_lead_new(&options);
    n->is_running = true;
    node_lead_start(n->lead);
    node_lead_store_is(n->lead, true);
}

static void on_stopped(void *arg)
{
    struct node *n = arg;

    n->is_stopped = true;
    node_lead_report_session(n->lead, &n->warden);
}

void node_stop(unsigned i)
{
    node_lead_stop(nodes[i].lead, on_stopped, &nodes[i]);
    assert_false(nodes[i].is_stopped);
}

static bool is_queue_stopped;

static void on_queue_stopped(void *arg)
{
    is_queue_stopped = true;
}

static bool queue_is_stopped(void)
{
    return is_queue_stopped;
}

static struct node *ending;

static bool it_is_stopped(void)
{
    return ending->is_stopped;
}

static void node_end(unsigned i)
{
    struct node *n = ending = &nodes[i];

    if (n->is_running) {
        if (!n->is_stopped)
            node_stop(i);
        await(it_is_stopped);
    }
    is_queue_stopped = false;
    queue_stop(n->queue, on_queue_stopped, NULL);
    await(queue_is_stopped);
    node_lead_free(n->lead);
    queue_free(n->queue);
    memory_store_free(n->ms);
    timers_fini(&n->loop.timers);
    close(n->warden_fd);
    close(n->warden.fd);
}

/* ---- the world ---- */

static const char *path_of(const char *name)
{
    static char path[DIRECTORY_LEN + 32];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

const char *read_file(const char *name)
{
    static char text[256 * 1024];
    FILE *file = fopen(path_of(name), "r");
    size_t len = 0;

    if (file) {
        len = fread(text, 1, sizeof(text) - 1, file);
        assert_true(feof(file));
        fclose(file);
    }
    text[len] = '\0';
    return text;
}

int world_setup(void **state)
{
    struct log_options options = {.level = LEVEL_ERROR, .modules = ""};

    now = 100000;
    snprintf(directory, sizeof(directory), "/tmp/node_lead_test.XXXXXX");
    assert_non_null(mkdtemp(directory));
    options.file = path_of("log");
    assert_int_equal(log_configure(&options), STATUS_OK);
    timers_init(&ensemble_timers, now);
    fake_ensemble_init(&ensemble, &ensemble_timers);
    for (unsigned i = 0; i < NODES; i++)
        node_init(i);
    return 0;
}

int world_teardown(void **state)
{
    const struct log_options options = {.level = LEVEL_ERROR, .modules = ""};

    for (unsigned i = 0; i < NODES; i++)
        node_end(i);
    fake_ensemble_fini(&ensemble);
    timers_fini(&ensemble_timers);
    unlink(path_of("ha.journal"));
    unlink(path_of("log"));
    rmdir(directory);
    return log_configure(&options) == STATUS_OK ? 0 : -1;
}

static void turn(struct timers *timers)
{
    for (int i = 0; timers_run(timers, now) == 0; i++)
        assert_true(i < 10000); /* nobody turns for ever */
}

void run(int64_t ms)
{
    while (ms-- > 0) {
        now++;
        turn(&ensemble_timers);
        for (unsigned i = 0; i < NODES; i++)
            turn(&nodes[i].loop.timers);
    }
}

void await(bool (*holds)(void))
{
    int64_t end = now + PATIENCE_MS;

    while (!holds()) {
        assert_true(now < end);
        run(1);
    }
}

/* ---- questions ---- */

struct ha_status status_of(unsigned i)
{
    struct ha_status s;

    ha_status(node_lead_ha(nodes[i].lead), &s);
    return s;
}

enum role_state role_of(unsigned i)
{
    return status_of(i).role->state;
}

bool first_leads(void)
{
    return role_of(0) == ROLE_LEADER;
}

bool second_leads(void)
{
    return role_of(1) == ROLE_LEADER;
}

/* ---- operations ---- */

static bool is_done;
static int64_t ready;

static void on_done(struct op *op)
{
    is_done = true;
    if (op->verb == OP_STATS && op->status == STATUS_OK)
        ready = op->out.stats.ready;
}

static bool op_is_done(void)
{
    return is_done;
}

static enum status at_store(struct op *op)
{
    op->on_done = on_done;
    is_done = false;
    store_submit(memory_store_port(nodes[0].ms), op);
    await(op_is_done);
    return op->status;
}

void fence_all(const char *token)
{
    for (unsigned i = 0; i < BUCKETS; i++) {
        struct op op = {.verb = OP_FENCE, .bucket = i, .token = bytes_of_text(token)};

        assert_int_equal(at_store(&op), STATUS_OK);
    }
}

enum status scan_at_store(const char *token)
{
    struct op op = {.verb = OP_SCAN, .token = bytes_of_text(token), .in.scan.limit = 1};

    return at_store(&op);
}

static enum status ask(unsigned i, struct op *op)
{
    op->topic = BYTES("t");
    op->on_done = on_done;
    is_done = false;
    queue_submit(nodes[i].queue, op);
    await(op_is_done);
    return op->status;
}

void push(unsigned i, int64_t delay_ms)
{
    struct op op = {.verb = OP_PUSH,
                    .in.push = {.body = BYTES("body"), .delay_ms = delay_ms, .ttr_ms = 1000}};

    assert_int_equal(ask(i, &op), STATUS_OK);
}

int64_t ready_count(unsigned i)
{
    struct op op = {.verb = OP_STATS};

    assert_int_equal(ask(i, &op), STATUS_OK);
    return ready;
}

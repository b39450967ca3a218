#include "protocol/beanstalkd/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "protocol/access/access.h"
#include "protocol/access/audit.h"
#include "protocol/access/role.h"
#include "protocol/conn/peer.h"

/* A put's line, its body, and the end of that. */
#define REQUEST_BYTES(body_bytes) (BEANSTALKD_LINE_MAX + (body_bytes) + 2)

static struct beanstalkd_client *client_of(struct connection *c)
{
    return CONTAINER_OF(c, struct beanstalkd_client, base.connection);
}

static struct beanstalkd_client *client_at(struct port_client *c)
{
    return CONTAINER_OF(c, struct beanstalkd_client, base);
}

/* ---- clients ---- */

static void forget_tubes(struct beanstalkd_client *client)
{
    struct tubes *tubes = &client->server->tubes;

    watch_clear(&client->watch, tubes);
    client->used->using --;
    tubes_drop(tubes, client->used);
}

static void free_if_done(struct beanstalkd_client *client)
{
    if (!client->is_closed || client->request)
        return;
    holder_end(&client->holder);
    forget_tubes(client);
    port_leave(&client->base);
    free(client);
}

static void wind_up_if_closing(struct beanstalkd_client *client)
{
    if (client->server->port.is_closing && !client->request)
        connection_wind_up(&client->base.connection, "the node is stopping");
}

static void send_reply(struct beanstalkd_client *client)
{
    connection_send(&client->base.connection, buf_bytes(&client->server->reply));
    buf_reuse(&client->server->reply);
}

static void say(struct beanstalkd_client *client, const char *word)
{
    beanstalkd_reply(&client->server->reply, word);
    send_reply(client);
}

/* ---- requests ---- */

static struct request *request_new(struct beanstalkd_client *client,
                                   const struct beanstalkd_command *command, struct bytes body,
                                   struct identity *who, bool is_ports)
{
    struct request *r = must(calloc(1, sizeof(*r) + command->tube.len + body.len));
    char *room = r->text;

    r->client = client;
    r->count = -1;
    r->command = *command;
    r->command.tube = text_put(&room, command->tube);
    r->body = text_put(&room, body);
    r->who = identity_use(who);
    r->is_ports = is_ports;
    return r;
}

/* The audit log has what is for operators, done or refused. */
static void audit(struct request *r, bool is_done, struct bytes error)
{
    struct beanstalkd_client *client = r->client;
    struct audit *audit = client->server->options.audit;
    unsigned roles = command_roles(r->command.verb);

    if (!audit || !audit_is_wanted(audit) || !access_is_audited(roles))
        return;
    if (!audit_write(audit,
                     &(struct audit_entry){
                         .who = r->who ? r->who->name : BYTES(""),
                         .from = peer_name(&client->base.connection),
                         .operation = bytes_of_text(command_word(r->command.verb)),
                         .role = bytes_of_text(access_role_word(roles)),
                         .topic = r->command.tube.len ? r->command.tube : client->used->name,
                         .status = is_done ? 200 : 500,
                         .error = error,
                         .count = r->count}))
        client->server->port.stats.unaudited++;
}

/* The last step of a request. One that is over before it has begun to wait was never in work.
 */
static void finish(struct request *r)
{
    struct beanstalkd_client *client = r->client;
    bool was_in_work = client->base.connection.in_work > 0;

    if (r->held)
        r->held->is_busy = false;
    port_turn_release(&client->turn, r->who, r->bytes);
    identity_drop(r->who);
    free(r);
    client->request = NULL;
    if (!was_in_work)
        return;
    connection_done(&client->base.connection);
    wind_up_if_closing(client);
    free_if_done(client);
}

void command_answer(struct request *r, const char *answer)
{
    if (!r->is_refused)
        audit(r, true, BYTES(""));
    if (answer)
        beanstalkd_reply(&r->client->server->reply, answer);
    send_reply(r->client);
    finish(r);
}

void command_hand_over(struct request *r, struct delivery *delivery)
{
    struct beanstalkd *s = r->client->server;

    port_send(&r->client->base, buf_bytes(&s->reply), delivery);
    buf_reuse(&s->reply);
    finish(r);
}

void command_lose(struct request *r, const char *why)
{
    connection_wind_up(&r->client->base.connection, why);
    finish(r);
}

/* What beanstalkd has a word for. All else did not happen, and is the server's fault. */
static const char *const words[STATUS_COUNT] = {
    [STATUS_NOT_FOUND] = "NOT_FOUND",
    [STATUS_NOT_RESERVED] = "NOT_FOUND",
    [STATUS_NOT_OWNER] = "NOT_FOUND",
    [STATUS_WRONG_STATE] = "NOT_FOUND",
    [STATUS_TOO_LARGE] = "JOB_TOO_BIG",
    [STATUS_TOPIC_FULL] = "OUT_OF_MEMORY",
    [STATUS_TOPIC_FULL_BYTES] = "OUT_OF_MEMORY",
    [STATUS_TOO_MANY] = "OUT_OF_MEMORY",
    [STATUS_TOO_MANY_WAITERS] = "OUT_OF_MEMORY",
    [STATUS_TOO_MANY_POPS] = "OUT_OF_MEMORY",
    [STATUS_TOO_MANY_SWEEPS] = "OUT_OF_MEMORY",
    [STATUS_FORBIDDEN] = "FORBIDDEN",
};

void command_fail(struct request *r, enum status status)
{
    audit(r, false, bytes_of_text(status_word(status)));
    r->is_refused = true;
    if (status_is_unknown(status))
        command_lose(r, "nobody knows whether its command has been done");
    else if (status == STATUS_SHUTTING_DOWN && r->command.verb == BEANSTALKD_PUT)
        command_answer(r, "DRAINING");
    else
        command_answer(r, words[status] ? words[status] : "INTERNAL_ERROR");
}

/* ---- who asks ---- */

bool command_may_go_on(const struct request *r)
{
    return port_identity_holds(r->client->base.port, r->who, r->is_ports);
}

bool command_has_topic(const struct request *r, struct bytes topic)
{
    return !r->who || identity_has_topic(r->who, topic);
}

/* OK, or why the client may not do that. */
static enum status judge(struct beanstalkd_client *client, enum beanstalkd_verb verb,
                         const struct identity *who)
{
    unsigned roles = command_roles(verb);

    if (!roles || !port_access_is_on(client->base.port))
        return STATUS_OK;
    if (!who && port_identity_may_come(&client->base))
        return STATUS_UNAVAILABLE; /* this node has not read it yet */
    return who && (who->roles & roles) ? STATUS_OK : STATUS_FORBIDDEN;
}

/* ---- commands ---- */

static void refuse(struct beanstalkd_client *client, const char *word)
{
    client->server->port.stats.refused++;
    say(client, word);
}

/* An identity has as many connections as it may. */
static void refuse_connection(struct beanstalkd_client *client)
{
    refuse(client, "OUT_OF_MEMORY");
    connection_wind_up(&client->base.connection, "its identity has too many connections");
}

/* The command has been read to its end. A request that is not over by now is in work. */
static void run(struct beanstalkd_client *client, const struct beanstalkd_command *command,
                struct bytes body, size_t bytes)
{
    struct port_stats *stats = &client->server->port.stats;
    bool is_ports;
    struct identity *who = port_identity_of(&client->base, &is_ports);
    enum status status = judge(client, command->verb, who);
    struct request *r;

    stats->requests++;
    if (who && !port_act_as(&client->base, who)) {
        refuse_connection(client);
        return;
    }
    stats->tokenless += is_ports;
    r = client->request = request_new(client, command, body, who, is_ports);
    client->request->bytes = bytes;
    port_turn_charge(&client->turn, who, bytes);
    stats->refused += status != STATUS_OK;
    if (status != STATUS_OK)
        command_fail(r, status);
    else
        command_begin(r);
    if (client->request)
        connection_begin(&client->base.connection);
}

static void take_put(struct beanstalkd_client *client, const struct beanstalkd_command *command,
                     size_t line_bytes)
{
    client->server->counters.producers += !client->is_producer;
    client->is_producer = true;
    client->put = *command;
    client->line_bytes = line_bytes;
    client->awaits_body = true;
}

static void skip(struct beanstalkd_client *client, uint64_t bytes, const char *answer)
{
    client->skipped_bytes = bytes;
    client->skipped = answer;
}

/* In `stats`, as beanstalkd counts. */
static bool is_counted(enum beanstalkd_parsed parsed, const struct beanstalkd_command *command)
{
    return command->is_read &&
           (parsed != BEANSTALKD_BAD_FORMAT || command->verb == BEANSTALKD_PUT ||
            command->verb == BEANSTALKD_PAUSE_TUBE);
}

static void take_line(struct beanstalkd_client *client, struct bytes line, size_t line_bytes)
{
    struct beanstalkd *s = client->server;
    struct beanstalkd_command command;
    enum beanstalkd_parsed parsed =
        beanstalkd_parse(line, s->options.limits.body_max_bytes, &command);

    if (is_counted(parsed, &command))
        s->counters.commands[command.verb]++;
    if (parsed == BEANSTALKD_PARSED && command.verb == BEANSTALKD_PUT) {
        take_put(client, &command, line_bytes);
        return;
    }
    port_turn_over(&client->turn);
    if (parsed == BEANSTALKD_PARSED) {
        run(client, &command, bytes_of("", 0), line_bytes);
        return;
    }
    s->port.stats.requests++;
    if (parsed == BEANSTALKD_JOB_TOO_BIG)
        skip(client, (uint64_t)command.body_bytes + 2, "JOB_TOO_BIG");
    else
        refuse(client, parsed == BEANSTALKD_BAD_FORMAT ? "BAD_FORMAT" : "UNKNOWN_COMMAND");
}

/* ---- input: each takes what it can use off the front, and says how much ---- */

static size_t take_skipped(struct beanstalkd_client *client, struct bytes input)
{
    uint64_t n = input.len < client->skipped_bytes ? input.len : client->skipped_bytes;

    client->skipped_bytes -= n;
    if (client->skipped_bytes == 0)
        refuse(client, client->skipped);
    return (size_t)n;
}

static size_t take_body(struct beanstalkd_client *client, struct bytes input)
{
    size_t n = client->put.body_bytes;

    if (input.len < n + 2)
        return 0;
    client->awaits_body = false;
    port_turn_over(&client->turn);
    if (input.at[n] != '\r' || input.at[n + 1] != '\n') {
        client->server->port.stats.requests++;
        refuse(client, "EXPECTED_CRLF");
    } else {
        run(client, &client->put, bytes_of(input.at, n), client->line_bytes + n + 2);
    }
    return n + 2;
}

static size_t take_next_line(struct beanstalkd_client *client, struct bytes input)
{
    struct bytes line;
    size_t used;

    if (!client->lines.is_dropping && !port_turn_begin(&client->turn))
        return 0;
    switch (beanstalkd_next_line(&client->lines, input, &line, &used)) {
    case BEANSTALKD_LINE_MORE:
        break;
    case BEANSTALKD_LINE_WHOLE:
        take_line(client, line, used);
        break;
    case BEANSTALKD_LINE_LONG:
        client->server->port.stats.requests++;
        port_turn_over(&client->turn);
        refuse(client, "BAD_FORMAT");
    }
    return used;
}

static size_t take(struct beanstalkd_client *client, struct bytes input)
{
    if (client->skipped_bytes)
        return take_skipped(client, input);
    if (client->awaits_body)
        return take_body(client, input);
    return take_next_line(client, input);
}

static bool has_room(const struct beanstalkd_client *client)
{
    const struct connection *c = &client->base.connection;

    return c->state == CONNECTION_OPEN && !c->is_held && !client->request;
}

static void time_out(struct port_client *c)
{
    c->port->stats.requests++;
    c->port->stats.refused++;
    connection_wind_up(&c->connection, "its command took too long to arrive");
}

static bool is_between_commands(const struct beanstalkd_client *client)
{
    return !client->skipped_bytes && !client->awaits_body && !client->lines.is_dropping;
}

static size_t on_input(struct connection *c, struct bytes input)
{
    struct beanstalkd_client *client = client_of(c);
    uint64_t requests = client->server->port.stats.requests;
    size_t used = 0, n = 1;

    while (used < input.len && has_room(client) && n) {
        n = take(client, bytes_of(input.at + used, input.len - used));
        used += n;
    }
    port_turn_watch(&client->turn, client->server->port.stats.requests != requests,
                    has_room(client) && (used < input.len || !is_between_commands(client)));
    return used;
}

/* A worker that works says nothing; its jobs' time is its deadline. */
static bool is_busy(const struct connection *c)
{
    const struct beanstalkd_client *client =
        CONTAINER_OF(c, struct beanstalkd_client, base.connection);

    return !list_is_empty(&client->holder.list);
}

/* A put that waits for the store to come back is dropped, and answered, for the client may
 * still read. */
static void give_up_waiting(struct beanstalkd_client *client, enum reserve_end why)
{
    struct request *r = client->request;

    if (!r)
        return;
    if (r->reserve)
        reserve_cancel(r, why);
    else if (r->command.verb == BEANSTALKD_PUT)
        queue_abandon(client->server->port.queue, &r->asked.op);
}

static void on_end(struct connection *c)
{
    struct beanstalkd_client *client = client_of(c);

    client->has_ended = true;
    port_turn_ended(&client->turn);
    give_up_waiting(client, RESERVE_TIMED_OUT);
    port_hold_no_more(&client->base);
}

/* Whoever sees the end of a connection can have its jobs: the release goes first. */
static void on_finished(struct connection *c)
{
    holder_end(&client_of(c)->holder);
}

static void on_closed(struct connection *c)
{
    struct beanstalkd_client *client = client_of(c);
    struct counters *counters = &client->server->counters;

    port_turn_leave(&client->turn);
    give_up_waiting(client, RESERVE_LOST);
    port_settle(&client->base); /* what was not delivered is no longer held */
    holder_end(&client->holder);
    counters->producers -= client->is_producer;
    counters->workers -= client->is_worker;
    client->is_closed = true;
    free_if_done(client);
}

/* ---- accepting ---- */

/* It has ended its side, and its next command had no turn. */
static void lose_held(struct port_client *c)
{
    refuse(client_at(c), "OUT_OF_MEMORY");
    connection_wind_up(&c->connection, "it has ended, and its command had no turn");
}

static void on_soon(struct holder *holder)
{
    struct beanstalkd_client *client = CONTAINER_OF(holder, struct beanstalkd_client, holder);

    if (client->request && client->request->reserve)
        reserve_cancel(client->request, RESERVE_DEADLINE_SOON);
}

static const struct port_turn_ops turn_ops = {.lose = lose_held, .time_out = time_out};

/* As beanstalkd does: it uses, and watches, the tube "default". */
static void begin_with_default(struct beanstalkd_client *client)
{
    struct tubes *tubes = &client->server->tubes;

    client->used = tubes_use(tubes, BYTES("default"));
    client->used->using ++;
    (void)watch_add(&client->watch, tubes, BYTES("default"));
}

static void on_client(struct port *p, int fd, struct peer *peer, enum port_admission admission)
{
    struct beanstalkd *s = CONTAINER_OF(p, struct beanstalkd, port);
    struct beanstalkd_client *client;

    if (admission != PORT_ADMITS) {
        port_reject(p, fd, peer, BYTES("OUT_OF_MEMORY\r\n"));
        return;
    }
    client = must(calloc(1, sizeof(*client)));
    client->server = s;
    holder_init(&client->holder, &s->held, on_soon);
    port_turn_init(&client->turn, &client->base, &turn_ops);
    begin_with_default(client);
    port_join(p, &client->base, fd, peer, true);
    LOG_DEBUG("beanstalkd", "connection %llu: accepted",
              (unsigned long long)client->base.connection.number);
}

/* ---- starting and stopping ---- */

static void cancel_waits(struct port_client *c)
{
    give_up_waiting(client_at(c), RESERVE_LOST);
}

static void recheck(struct port_client *c)
{
    struct beanstalkd_client *client = client_at(c);
    struct request *r = client->request;

    port_turn_look_again(&client->turn);
    if (r && r->reserve && !command_may_go_on(r))
        reserve_cancel(r, RESERVE_FORBIDDEN);
}

static void wind_up(struct port_client *c)
{
    wind_up_if_closing(client_at(c));
}

static void drain(struct port *p)
{
    struct beanstalkd *s = CONTAINER_OF(p, struct beanstalkd, port);

    if (!s->is_draining)
        LOG_INFO("beanstalkd", "draining: puts are answered DRAINING until the node restarts");
    s->is_draining = true;
}

static void free_beanstalkd(struct port *p)
{
    struct beanstalkd *s = CONTAINER_OF(p, struct beanstalkd, port);

    port_fini(p);
    held_fini(&s->held);
    numbers_fini(&s->numbers);
    tubes_fini(&s->tubes);
    buf_fini(&s->reply);
    buf_fini(&s->yaml);
    free(s);
}

static const struct port_ops ops = {
    .name = "beanstalkd",
    .on_client = on_client,
    .cancel_waits = cancel_waits,
    .recheck = recheck,
    .wind_up = wind_up,
    .set_limits = port_set_limits,
    .drain = drain,
    .free = free_beanstalkd,
};

static void draw_id(char id[17])
{
    uint64_t random;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        abort();
    snprintf(id, 17, "%016llx", (unsigned long long)random);
}

struct port *beanstalkd_new(const struct beanstalkd_options *options, struct loop *loop,
                            struct queue *queue, int listen_fd)
{
    struct beanstalkd *s = must(calloc(1, sizeof(*s)));

    s->port.kind = (struct connection_kind){.on_input = on_input,
                                            .on_end = on_end,
                                            .on_finished = on_finished,
                                            .is_busy = is_busy,
                                            .on_closed = on_closed};
    tubes_init(&s->tubes);
    held_init(&s->held, queue, &loop->timers);
    numbers_init(&s->numbers, queue_buckets(queue));
    s->start_mono_ms = timers_now(&loop->timers);
    draw_id(s->id);
    port_init(&s->port, &ops, loop, queue);
    beanstalkd_reload(&s->port, options);
    port_open(&s->port, listen_fd);
    return &s->port;
}

void beanstalkd_reload(struct port *p, const struct beanstalkd_options *options)
{
    CONTAINER_OF(p, struct beanstalkd, port)->options = *options;
    port_set_access(p, options->access, options->as);
    port_limit(p, &options->limits, REQUEST_BYTES(options->limits.body_max_bytes));
    p->kind.in_work_max = 1;
    LIST_EACH (link, &p->clients)
        port_turn_look_again(&client_at(CONTAINER_OF(link, struct port_client, link))->turn);
}

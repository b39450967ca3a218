#include "protocol/conn/turns.h"

#include "base/clock.h"
#include "protocol/access/access.h"
#include "protocol/conn/peer.h"

/* A client of an identity that has all its bytes in work looks again so often: these may be of
 * any address and port. */
#define IDENTITY_BYTES_MS 200

enum { PAID_BY_ADDRESS = 1, PAID_BY_IDENTITY = 2 };

static struct timers *timers_of(const struct port_turn *turn)
{
    return &turn->client->port->loop->timers;
}

/* ---- whom clients act as ---- */

void port_set_access(struct port *p, const struct access *access, const char *as)
{
    p->access = access;
    p->as = as;
}

bool port_access_is_on(const struct port *p)
{
    return p->access && access_is_on(p->access);
}

struct identity *port_identity_of(struct port_client *c, bool *is_ports)
{
    *is_ports = false;
    if (!port_access_is_on(c->port))
        return NULL;
    return access_of_client(c->port->access, connection_names(&c->connection),
                            bytes_of_text(c->port->as), clock_wall_ms(), is_ports);
}

bool port_identity_may_come(struct port_client *c)
{
    return port_access_is_on(c->port) && access_is_incomplete(c->port->access) &&
           (*c->port->as || connection_names(&c->connection).len);
}

bool port_identity_holds(const struct port *p, const struct identity *who, bool is_ports)
{
    if (!who)
        return !port_access_is_on(p);
    if (is_ports && !bytes_equal(who->name, bytes_of_text(p->as)))
        return false;
    return !who->is_gone && clock_wall_ms() < who->until_ms;
}

static struct identity *next_identity(const struct port_turn *turn)
{
    bool ignored;

    return port_identity_of(turn->client, &ignored);
}

/* ---- held ---- */

static void hold(struct port_turn *turn)
{
    connection_hold(&turn->client->connection);
    if (turn->is_leaving && !timer_is_armed(&turn->late))
        timer_arm(timers_of(turn), &turn->late, PORT_LEAVING_MS);
}

static void leave_line(struct port_turn *turn)
{
    list_remove(&turn->link);
    turn->line = NULL;
    identity_account_drop(turn->account);
    turn->account = NULL;
}

/* From the loop: the client may close meanwhile, or wait again. */
static void go_on(struct port_turn *turn)
{
    leave_line(turn);
    timer_arm(timers_of(turn), &turn->timer, 0);
}

static void on_late(struct timer *timer)
{
    struct port_turn *turn = CONTAINER_OF(timer, struct port_turn, late);

    if (turn->client->connection.state == CONNECTION_OPEN && turn->client->connection.is_held)
        turn->ops->lose(turn->client);
}

/* ---- a turn ---- */

static int64_t await_address(struct port_turn *turn)
{
    int64_t ms = port_await_request(turn->client);

    turn->paid |= ms == 0 ? PAID_BY_ADDRESS : 0;
    return ms;
}

static int64_t await_identity(struct port_turn *turn, const struct identity *who)
{
    struct identity_account *account = who->account;
    int64_t ms = allowance_take_in_line(&account->requests, &account->line, who->rate,
                                        timers_now(timers_of(turn)));

    turn->paid |= ms == 0 ? PAID_BY_IDENTITY : 0;
    return ms;
}

/* 0: the client in front of its line may go on, with its turn, or because what it waits for is
 * no longer for it. */
static int64_t await_in_front(struct port_turn *turn)
{
    const struct identity *who;

    if (turn->client->connection.state != CONNECTION_OPEN)
        return 0;
    if (!turn->account)
        return await_address(turn);
    who = next_identity(turn);
    return who && who->account == turn->account ? await_identity(turn, who) : 0;
}

static struct port_turn *first_in(struct allowance_line *line)
{
    struct list *link = allowance_line_first(line);

    return link ? CONTAINER_OF(link, struct port_turn, link) : NULL;
}

/* The line of an identity that is gone ends with its last client; so it is kept until here. */
static void serve(struct allowance_line *line, struct identity_account *account)
{
    struct port_turn *turn;
    int64_t ms = 0;

    if (account)
        identity_account_use(account);
    while ((turn = first_in(line)) && (ms = await_in_front(turn)) == 0)
        go_on(turn);
    if (turn)
        timer_arm(timers_of(turn), &turn->timer, ms);
    identity_account_drop(account);
}

static void stand_in(struct port_turn *turn, struct allowance_line *line,
                     struct identity_account *account)
{
    turn->client->port->stats.slowed++;
    turn->line = line;
    turn->account = account ? identity_account_use(account) : NULL;
    hold(turn);
    list_append(turn->is_leaving ? &line->leaving : &line->here, &turn->link);
    if (first_in(line) == turn)
        serve(line, account);
}

static bool has_turn_of_address(struct port_turn *turn)
{
    struct allowance_line *line = &turn->client->peer->line;

    if (turn->paid & PAID_BY_ADDRESS)
        return true;
    if (!first_in(line) && await_address(turn) == 0)
        return true;
    stand_in(turn, line, NULL);
    return false;
}

static bool has_turn_of_identity(struct port_turn *turn, const struct identity *who)
{
    struct allowance_line *line = &who->account->line;

    if (turn->paid & PAID_BY_IDENTITY)
        return true;
    if (!first_in(line) && await_identity(turn, who) == 0)
        return true;
    stand_in(turn, line, who->account);
    return false;
}

static void on_turn(struct timer *timer)
{
    struct port_turn *turn = CONTAINER_OF(timer, struct port_turn, timer);

    if (turn->line)
        serve(turn->line, turn->account);
    else
        connection_resume(&turn->client->connection);
}

/* ---- bytes ---- */

/* A client in front of the gate may have a request of any size: only its beginning is here. */
static bool has_bytes(struct port_turn *turn, const struct identity *who)
{
    struct peer *peer = turn->client->peer;

    if (!port_may_have_bytes(turn->client, peer->work_bytes, 1)) {
        hold(turn);
        list_append(&peer->held, &turn->link);
        return false;
    }
    if (who && !identity_may_have_bytes(who, who->account->bytes, 1)) {
        hold(turn);
        timer_arm(timers_of(turn), &turn->timer, IDENTITY_BYTES_MS);
        return false;
    }
    return true;
}

/* From the loop, as far as the address has bytes. */
static void go_on_held(struct port_turn *turn)
{
    struct peer *peer = turn->client->peer;
    struct list *link;

    while (port_may_have_bytes(turn->client, peer->work_bytes, 1) &&
           (link = list_first(&peer->held)))
        go_on(CONTAINER_OF(link, struct port_turn, link));
}

void port_turn_charge(struct port_turn *turn, const struct identity *who, size_t bytes)
{
    turn->client->peer->work_bytes += bytes;
    if (who)
        who->account->bytes += bytes;
}

void port_turn_release(struct port_turn *turn, const struct identity *who, size_t bytes)
{
    turn->client->peer->work_bytes -= bytes;
    if (who)
        who->account->bytes -= bytes;
    go_on_held(turn);
}

/* ---- arrival ---- */

void port_turn_watch(struct port_turn *turn, bool has_ended, bool is_inside)
{
    int64_t ms = turn->client->port->limits.request_ms;

    if (has_ended || !is_inside)
        timer_disarm(timers_of(turn), &turn->arrival);
    if (is_inside && ms && !timer_is_armed(&turn->arrival))
        timer_arm(timers_of(turn), &turn->arrival, ms);
}

static void on_arrival_late(struct timer *timer)
{
    struct port_turn *turn = CONTAINER_OF(timer, struct port_turn, arrival);

    if (turn->client->connection.state == CONNECTION_OPEN)
        turn->ops->time_out(turn->client);
}

/* ---- a client's life ---- */

void port_turn_init(struct port_turn *turn, struct port_client *client,
                    const struct port_turn_ops *ops)
{
    turn->client = client;
    turn->ops = ops;
    list_init(&turn->link);
    timer_init(&turn->timer, on_turn);
    timer_init(&turn->late, on_late);
    timer_init(&turn->arrival, on_arrival_late);
}

bool port_turn_begin(struct port_turn *turn)
{
    const struct identity *who = next_identity(turn);

    if (!who && port_identity_may_come(turn->client) &&
        port_hold_for_identities(turn->client, turn->client->port->access))
        return false;
    return has_turn_of_address(turn) && (!who || has_turn_of_identity(turn, who)) &&
           has_bytes(turn, who);
}

void port_turn_over(struct port_turn *turn)
{
    turn->paid = 0;
    timer_disarm(timers_of(turn), &turn->late);
}

void port_turn_ended(struct port_turn *turn)
{
    struct allowance_line *line = turn->line;

    if (turn->is_leaving)
        return;
    turn->is_leaving = true;
    if (turn->client->connection.is_held)
        timer_arm(timers_of(turn), &turn->late, PORT_LEAVING_MS);
    if (!line)
        return;
    timer_disarm(timers_of(turn), &turn->timer);
    list_remove(&turn->link);
    list_append(&line->leaving, &turn->link);
    serve(line, turn->account);
}

void port_turn_leave(struct port_turn *turn)
{
    struct allowance_line *line = turn->line;
    struct identity_account *account =
        turn->account ? identity_account_use(turn->account) : NULL;

    timer_disarm(timers_of(turn), &turn->timer);
    timer_disarm(timers_of(turn), &turn->late);
    timer_disarm(timers_of(turn), &turn->arrival);
    leave_line(turn);
    if (line)
        serve(line, account);
    identity_account_drop(account);
}

void port_turn_look_again(struct port_turn *turn)
{
    if (turn->line)
        serve(turn->line, turn->account);
    else
        go_on_held(turn);
}

#include "protocol/gmq/turns.h"

#include "protocol/conn/peer.h"
#include "protocol/gmq/server.h"

/* A client of an identity that has all its bytes in work looks again so often: these may be of
 * any address and port. */
#define IDENTITY_BYTES_MS 200

enum { PAID_BY_ADDRESS = 1, PAID_BY_IDENTITY = 2 };

static struct timers *timers_of(const struct gmq_client *client)
{
    return &client->gmq->port.loop->timers;
}

/* ---- held ---- */

static void hold(struct gmq_client *client)
{
    connection_hold(&client->base.connection);
    if (client->turn.is_leaving && !timer_is_armed(&client->turn.late))
        timer_arm(timers_of(client), &client->turn.late, GMQ_LEAVING_MS);
}

static void leave_line(struct gmq_client *client)
{
    list_remove(&client->turn.link);
    client->turn.line = NULL;
    identity_account_drop(client->turn.account);
    client->turn.account = NULL;
}

/* From the loop: the client may close meanwhile, or wait again. */
static void go_on(struct gmq_client *client)
{
    leave_line(client);
    timer_arm(timers_of(client), &client->turn.timer, 0);
}

static void on_late(struct timer *timer)
{
    struct gmq_client *client = CONTAINER_OF(timer, struct gmq_client, turn.late);

    if (client->base.connection.state == CONNECTION_OPEN && client->base.connection.is_held)
        gmq_lose_held(client);
}

/* ---- a turn ---- */

static int64_t await_address(struct gmq_client *client)
{
    int64_t ms = port_await_request(&client->base);

    client->turn.paid |= ms == 0 ? PAID_BY_ADDRESS : 0;
    return ms;
}

static int64_t await_identity(struct gmq_client *client, const struct identity *who)
{
    struct identity_account *account = who->account;
    int64_t ms = allowance_take_in_line(&account->requests, &account->line, who->rate,
                                        timers_now(timers_of(client)));

    client->turn.paid |= ms == 0 ? PAID_BY_IDENTITY : 0;
    return ms;
}

/* 0: the client in front of its line may go on, with its turn, or because what it waits for is
 * no longer for it. */
static int64_t await_in_front(struct gmq_client *client)
{
    const struct identity *who;

    if (client->base.connection.state != CONNECTION_OPEN)
        return 0;
    if (!client->turn.account)
        return await_address(client);
    who = gmq_identity_of(client);
    return who && who->account == client->turn.account ? await_identity(client, who) : 0;
}

static struct gmq_client *first_in(struct allowance_line *line)
{
    struct list *link = allowance_line_first(line);

    return link ? CONTAINER_OF(link, struct gmq_client, turn.link) : NULL;
}

/* The line of an identity that is gone ends with its last client; so it is kept until here. */
static void serve(struct allowance_line *line, struct identity_account *account)
{
    struct gmq_client *client;
    int64_t ms = 0;

    if (account)
        identity_account_use(account);
    while ((client = first_in(line)) && (ms = await_in_front(client)) == 0)
        go_on(client);
    if (client)
        timer_arm(timers_of(client), &client->turn.timer, ms);
    identity_account_drop(account);
}

static void stand_in(struct gmq_client *client, struct allowance_line *line,
                     struct identity_account *account)
{
    struct gmq_turn *turn = &client->turn;

    client->gmq->port.stats.slowed++;
    turn->line = line;
    turn->account = account ? identity_account_use(account) : NULL;
    hold(client);
    list_append(turn->is_leaving ? &line->leaving : &line->here, &turn->link);
    if (first_in(line) == client)
        serve(line, account);
}

static bool has_turn_of_address(struct gmq_client *client)
{
    struct allowance_line *line = &client->base.peer->line;

    if (client->turn.paid & PAID_BY_ADDRESS)
        return true;
    if (!first_in(line) && await_address(client) == 0)
        return true;
    stand_in(client, line, NULL);
    return false;
}

static bool has_turn_of_identity(struct gmq_client *client, const struct identity *who)
{
    struct allowance_line *line = &who->account->line;

    if (client->turn.paid & PAID_BY_IDENTITY)
        return true;
    if (!first_in(line) && await_identity(client, who) == 0)
        return true;
    stand_in(client, line, who->account);
    return false;
}

static void on_turn(struct timer *timer)
{
    struct gmq_client *client = CONTAINER_OF(timer, struct gmq_client, turn.timer);

    if (client->turn.line)
        serve(client->turn.line, client->turn.account);
    else
        connection_resume(&client->base.connection);
}

/* ---- bytes ---- */

/* A client in front of the gate may have a request of any size: only its beginning is here. */
static bool has_bytes(struct gmq_client *client, const struct identity *who)
{
    struct peer *peer = client->base.peer;

    if (!port_may_have_bytes(&client->base, peer->work_bytes, 1)) {
        hold(client);
        list_append(&peer->held, &client->turn.link);
        return false;
    }
    if (who && !identity_may_have_bytes(who, who->account->bytes, 1)) {
        hold(client);
        timer_arm(timers_of(client), &client->turn.timer, IDENTITY_BYTES_MS);
        return false;
    }
    return true;
}

void gmq_turn_go_on(struct gmq_client *client)
{
    struct peer *peer = client->base.peer;
    struct list *link;

    while (port_may_have_bytes(&client->base, peer->work_bytes, 1) &&
           (link = list_first(&peer->held)))
        go_on(CONTAINER_OF(link, struct gmq_client, turn.link));
}

/* ---- a client's life ---- */

void gmq_turn_init(struct gmq_client *client)
{
    list_init(&client->turn.link);
    timer_init(&client->turn.timer, on_turn);
    timer_init(&client->turn.late, on_late);
}

bool gmq_turn_begin(struct gmq_client *client, const struct identity *who)
{
    return has_turn_of_address(client) && (!who || has_turn_of_identity(client, who)) &&
           has_bytes(client, who);
}

void gmq_turn_over(struct gmq_client *client)
{
    client->turn.paid = 0;
    timer_disarm(timers_of(client), &client->turn.late);
}

void gmq_turn_ended(struct gmq_client *client)
{
    struct gmq_turn *turn = &client->turn;
    struct allowance_line *line = turn->line;

    if (turn->is_leaving)
        return;
    turn->is_leaving = true;
    if (client->base.connection.is_held)
        timer_arm(timers_of(client), &turn->late, GMQ_LEAVING_MS);
    if (!line)
        return;
    timer_disarm(timers_of(client), &turn->timer);
    list_remove(&turn->link);
    list_append(&line->leaving, &turn->link);
    serve(line, turn->account);
}

void gmq_turn_leave(struct gmq_client *client)
{
    struct gmq_turn *turn = &client->turn;
    struct allowance_line *line = turn->line;
    struct identity_account *account =
        turn->account ? identity_account_use(turn->account) : NULL;

    timer_disarm(timers_of(client), &turn->timer);
    timer_disarm(timers_of(client), &turn->late);
    leave_line(client);
    if (line)
        serve(line, account);
    identity_account_drop(account);
}

void gmq_turn_look_again(struct gmq_client *client)
{
    if (client->turn.line)
        serve(client->turn.line, client->turn.account);
    else
        gmq_turn_go_on(client);
}

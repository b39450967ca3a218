/* events: follows the roles of all nodes, by looking at each several times a second.
 *
 * The node of --url names the others; each node is then asked itself, because only it knows its
 * role. A role that comes and goes between two looks is in `history` only.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node/ctl/client.h"
#include "node/ctl/request.h"
#include "node/ctl/cmd_nodes.h"
#include "node/ctl/commands.h"
#include "node/ctl/times.h"
#include "node/ctl/output.h"
#include "node/ctl/text.h"

#define LOOK_EVERY_MS 200
#define ANSWER_MS     1000
#define WATCHED_MAX   65
#define UNREACHABLE   "unreachable"
#define ANOTHER       "another answers" /* at its address: a loopback one, most likely */

struct watched {
    char *name;
    char *address;
    struct client *client; /* NULL: it has no HTTP */
    char role[24];         /* as last told; "": not yet */
    int64_t epoch;
};

struct events {
    struct ctl *ctl;
    struct watched nodes[WATCHED_MAX];
    size_t count;
};

struct event {
    const char *role, *reason; /* reason: "" for none */
    int64_t epoch;
    int64_t at_ms;
};

/* ---- showing ---- */

static void show_json(const struct watched *w, const struct event *e)
{
    json_t *before = w->role[0] ? json_string(w->role) : json_null();

    output_json_and_free(json_pack(
        "{s:I, s:s, s:o, s:s, s:s, s:I}", "at_ms", (json_int_t)e->at_ms, "node", w->name,
        "before", before, "role", e->role, "reason", e->reason, "epoch", (json_int_t)e->epoch));
}

static void show_for_people(const struct watched *w, const struct event *e)
{
    struct buf line = BUF_INIT;

    moment_print(&line, e->at_ms);
    buf_add_text(&line, "  ");
    text_escape(&line, bytes_of_text(w->name));
    buf_printf(&line, "  %s%s", w->role, w->role[0] ? " -> " : "");
    text_escape(&line, bytes_of_text(e->role));
    if (e->reason[0]) {
        buf_add_text(&line, "  ");
        text_escape(&line, bytes_of_text(e->reason));
    }
    if (e->epoch)
        buf_printf(&line, "  epoch %" PRId64, e->epoch);
    puts(buf_text(&line));
    buf_fini(&line);
}

/* A leader may have lost the lead and won it again in between. */
static void note(struct events *events, struct watched *w, const struct event *e)
{
    if (!strcmp(w->role, e->role) && w->epoch == e->epoch)
        return;
    if (events->ctl->is_json)
        show_json(w, e);
    else
        show_for_people(w, e);
    snprintf(w->role, sizeof(w->role), "%s", e->role);
    w->epoch = e->epoch;
}

/* ---- looking ---- */

static struct watched *find(struct events *events, const char *name)
{
    for (size_t i = 0; i < events->count; i++)
        if (!strcmp(events->nodes[i].name, name))
            return &events->nodes[i];
    return NULL;
}

/* A node's own address for operators, else for clients. The node that was asked is asked as it
 * was before. "https://" is in front where a port takes nothing else; where we speak TLS,
 * others do, too. */
static char *url_of(const struct events *events, const json_t *page, const json_t *node)
{
    const struct client *asked = events->ctl->client;
    struct bytes address = output_text(node, "admin");
    struct buf url = BUF_INIT;
    char *copy;

    if (!address.len)
        address = output_text(node, "http");
    if (client_is_socket(asked) &&
        bytes_equal(output_text(node, "name"), output_text(page, "node")))
        address = bytes_of_text(client_where(asked));
    else if (address.len && client_is_secure(asked) && !strstr(address.at, "://"))
        buf_add_text(&url, "https://");
    buf_add_bytes(&url, address);
    copy = must(strdup(buf_text(&url)));
    buf_fini(&url);
    return copy;
}

/* Nodes may come, and come back at another address. */
static void learn_node(struct events *events, const json_t *page, const json_t *node)
{
    struct bytes name = output_text(node, "name");
    struct watched *w = find(events, name.at);
    char *address;

    if (!w && events->count == WATCHED_MAX)
        return;
    if (!w) {
        w = &events->nodes[events->count++];
        *w = (struct watched){.name = bytes_copy(name), .address = bytes_copy(BYTES(""))};
    }
    address = url_of(events, page, node);
    if (!*address || !strcmp(w->address, address)) {
        free(address);
        return;
    }
    client_free(w->client);
    free(w->address);
    w->address = address;
    w->client = client_new(address);
}

static void learn(struct events *events, const json_t *page)
{
    const json_t *node;
    size_t i;

    json_array_foreach(json_object_get(page, "nodes"), i, node)
    {
        learn_node(events, page, node);
    }
}

static void note_page(struct events *events, struct watched *w, const json_t *page)
{
    struct bytes role = output_text(page, "role");
    bool leads = !strcmp(role.at, "leader") || !strcmp(role.at, "draining");
    struct event e = {.role = role.at,
                      .reason = output_text(page, "reason").at,
                      .epoch = leads ? output_number(page, "leader_epoch", 0) : 0,
                      .at_ms = clock_wall_ms() - output_number(page, "role_age_ms", 0)};

    note(events, w, &e);
}

/* Has the node answered? */
static bool look_at(struct events *events, struct watched *w)
{
    struct event away = {.role = UNREACHABLE, .reason = "", .at_ms = clock_wall_ms()};
    struct event wrong = {.role = ANOTHER, .reason = "", .at_ms = clock_wall_ms()};
    struct ctl ctl = *events->ctl;
    struct failure failure;
    json_t *page = NULL;

    ctl.client = w->client;
    ctl.timeout_ms = ANSWER_MS;
    if (!w->client || cluster_look(&ctl, &page, &failure) != CTL_DONE) {
        note(events, w, &away);
        return false;
    }
    if (!bytes_equal(output_text(page, "node"), bytes_of_text(w->name)))
        note(events, w, &wrong);
    else
        note_page(events, w, page);
    learn(events, page);
    json_decref(page);
    return true;
}

/* All nodes may have gone, and come back elsewhere. */
static void learn_anew(struct events *events)
{
    struct ctl ctl = *events->ctl;
    struct failure failure;
    json_t *page = NULL;

    ctl.timeout_ms = ANSWER_MS;
    if (cluster_look(&ctl, &page, &failure) == CTL_DONE)
        learn(events, page);
    json_decref(page);
}

static enum ctl_exit follow(struct events *events)
{
    for (;;) {
        bool has_answer = false;

        for (size_t i = 0; i < events->count; i++)
            has_answer |= look_at(events, &events->nodes[i]);
        if (!has_answer)
            learn_anew(events);
        if (!output_flush())
            return CTL_REFUSED;
        poll(NULL, 0, LOOK_EVERY_MS);
    }
}

static void release(struct events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        client_free(events->nodes[i].client);
        free(events->nodes[i].address);
        free(events->nodes[i].name);
    }
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    struct events events = {.ctl = ctl};
    json_t *page = NULL;
    enum ctl_exit end = cluster_fetch(ctl, "events", &page);

    (void)arguments;
    if (end == CTL_DONE && cluster_is_standalone(page)) {
        ctl_say("events: this node is alone, and %s",
                output_text(page, "refused").len ? "moves nothing; 'dueqctl check' says why"
                                                 : "leads for ever");
        end = CTL_NOTHING;
    } else if (end == CTL_DONE) {
        learn(&events, page);
        end = follow(&events);
    }
    json_decref(page);
    release(&events);
    return end;
}

const struct command events_command = {
    .name = "events",
    .usage = "",
    .summary = "follow the roles of all nodes",
    .text = "Shows the role of each node, then every change, as each node itself tells it.\n"
            "All are looked at five times a second, at the addresses that they give ('dueqctl\n"
            "nodes'). With --json each change is a document on a line of its own. Ends with\n"
            "Ctrl-C, and at once with 5 where a node is alone. 'another answers': the address\n"
            "that a node gives is another node's; set admin.listen, http.listen or\n"
            "ha.advertise there.\n",
    .run = run,
};

/* Operators' requests: switchover and failover, cluster, fence and forget. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "node/ctl/cmd_nodes.h"
#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/text.h"
#include "node/ctl/times.h"

/* POSTs `body` (taken over; may be NULL); speaks up when it is refused. */
static enum ctl_exit cluster_request(struct ctl *ctl, const char *what, const char *path,
                                     json_t *body)
{
    struct request request;
    json_t *answer = NULL;
    enum ctl_exit end;

    request_init(&request, "POST", path);
    request.body = body;
    request.expects = "status";
    request.advice = cluster_advice;
    end = request_ask(ctl, &request, what, &answer);
    json_decref(answer);
    return end;
}

/* cluster, fence and forget: operators' requests except for another leader. */

static void print_done(const struct ctl *ctl, const char *name, const char *what)
{
    if (ctl->is_json)
        output_json_and_free(json_pack("{s:s}", "status", "accepted"));
    else
        output_done(name, what);
}

/* ---- cluster ---- */

static enum ctl_exit run_cluster(struct ctl *ctl, const struct arguments *arguments)
{
    const char *what = arguments->words[0];
    bool is_pause = !strcmp(what, "pause");
    enum ctl_exit end;

    if (!is_pause && strcmp(what, "resume") != 0)
        return ctl_misused("cluster: there are pause and resume, not '%s'", what);
    end = cluster_request(ctl, is_pause ? "cluster pause" : "cluster resume",
                          is_pause ? "/v1/cluster/pause" : "/v1/cluster/resume", NULL);
    if (end == CTL_DONE)
        print_done(ctl, "automatic failover", is_pause ? "paused" : "resumed");
    return end;
}

static const char *const cluster_choices[] = {"pause", "resume", NULL};

const struct command cluster_command = {
    .name = "cluster",
    .usage = "pause|resume",
    .summary = "pause or resume automatic failover",
    .text = "While failover is paused, another node takes over from a dead leader only by\n"
            "switchover or failover: for work on ZooKeeper or on the network. The leader goes\n"
            "on. The commands pause and resume are about topics.\n",
    .choices = cluster_choices,
    .words_min = 1,
    .words_max = 1,
    .run = run_cluster,
};

/* ---- fence ---- */

enum { FENCE_YES };

static enum ctl_exit run_fence(struct ctl *ctl, const struct arguments *arguments)
{
    enum ctl_exit end;

    if (strcmp(arguments->words[0], "adopt") != 0)
        return ctl_misused("fence: there is adopt, not '%s'", arguments->words[0]);
    if (!arguments->own[FENCE_YES].is_given &&
        !ctl_confirm("Refuse the leaders of the other ZooKeeper at this Redis from now on?")) {
        ctl_say("nothing was adopted");
        return CTL_REFUSED;
    }
    end = cluster_request(ctl, "fence adopt", "/v1/cluster/fence/adopt", NULL);
    if (end == CTL_DONE)
        print_done(ctl, "fence", "adopted");
    return end;
}

static const char *const fence_choices[] = {"adopt", NULL};

static const struct option_row fence_options[] = {
    [FENCE_YES] = {"yes", 'y', OPTION_FLAG, NULL, .text = "do not ask on a terminal"},
    {0},
};

const struct command fence_command = {
    .name = "fence",
    .usage = "adopt",
    .summary = "take Redis over from another ZooKeeper ensemble",
    .text = "Redis knows the ensemble whose leaders have used it, and refuses those of any\n"
            "other. Adopt when ZooKeeper was set up anew, or when Redis came from another\n"
            "cluster: be sure that no leader of the former one lives, because it is refused\n"
            "from then on. Ask the node that leads: any other refuses, and names it; so does\n"
            "a leader that Redis follows already. Without an answer from ZooKeeper no node\n"
            "adopts. Ask one node only: two at the same time can divide the buckets of Redis,\n"
            "and then at least one of the commands fails. On a terminal it asks first.\n",
    .options = fence_options,
    .choices = fence_choices,
    .words_min = 1,
    .words_max = 1,
    .run = run_fence,
};

/* ---- forget ---- */

static enum ctl_exit run_forget(struct ctl *ctl, const struct arguments *arguments)
{
    const char *node = arguments->words[0];
    enum ctl_exit end =
        cluster_request(ctl, "forget", "/v1/cluster/forget", json_pack("{s:s}", "node", node));

    if (end == CTL_DONE)
        print_done(ctl, node, "forgotten");
    return end;
}

const struct command forget_command = {
    .name = "forget",
    .usage = "NODE",
    .summary = "remove a node that will not come back from the members",
    .text = "With ha.on_zookeeper_loss: failsafe a leader goes on without ZooKeeper only\n"
            "while all members agree. A node that comes back is a member again.\n",
    .words_min = 1,
    .words_max = 1,
    .run = run_forget,
};

/* Waiting until another node leads: asks the node again and again until it knows of a leader
 * with a higher epoch. The node may be away for a moment, or for good when it was the leader:
 * it is asked until the patience is over. Another leader than the wanted one ends the wait only
 * when the request is gone.
 */

#define LOOK_EVERY_MS   20
#define PATIENCE_MS     30000 /* and two session timeouts: a lease has to run out first */
#define SETTLED_MS      2000  /* no request and no other leader for so long: given up */
#define HISTORY_MS      1000  /* and one session timeout: it is written when the leader acts */
#define NOT_SEEN_SO_FAR (-1)

/* Texts are borrowed. */
struct await_leader {
    struct ctl *ctl;
    const char *what; /* the command, for people */
    const char *to;   /* who is to lead; "": any but the one before */
    char before[65];  /* who led before; "": nobody */
    int64_t epoch;    /* the highest there was before */

    /* Its own. */
    int64_t patience_ms;
    int64_t begin_mono_ms;
    int64_t new_mono_ms;  /* since a new leader was seen; -1: not so far */
    int64_t gone_mono_ms; /* since the request was gone from the page; -1: not so far */
};

/* ---- what a page says ---- */

static int64_t highest_epoch(const json_t *page)
{
    int64_t highest = output_number(page, "leader_epoch", 0);
    const json_t *change;
    size_t i;

    json_array_foreach(json_object_get(page, "history"), i, change)
    {
        int64_t epoch = output_number(change, "epoch", 0);

        highest = epoch > highest ? epoch : highest;
    }
    return highest;
}

/* The change that made the current leader; NULL: not in the history yet. */
static const json_t *change_to(const json_t *page)
{
    int64_t epoch = output_number(page, "leader_epoch", -1);
    const json_t *change;
    size_t i;

    json_array_foreach(json_object_get(page, "history"), i, change)
    {
        if (output_number(change, "epoch", 0) == epoch)
            return change;
    }
    return NULL;
}

/* The session timeout; for a node without a session the one that it asks for. */
static int64_t session_ms(const json_t *page)
{
    const json_t *zookeeper = json_object_get(page, "zookeeper");

    return output_number(zookeeper, "granted_ms", output_number(zookeeper, "asked_ms", 0));
}

static bool is_whom_it_waits_for(const struct await_leader *a, const json_t *page)
{
    const char *leader = output_text(page, "leader").at;

    if (!leader[0] || output_number(page, "leader_epoch", 0) <= a->epoch)
        return false;
    return a->to[0] ? !strcmp(leader, a->to) : strcmp(leader, a->before) != 0;
}

/* ---- the end ---- */

static void print_for_people(const json_t *page, int64_t without_ms)
{
    struct buf text = BUF_INIT;

    text_escape(&text, output_text(page, "leader"));
    buf_printf(&text, ": leads now (epoch %" PRId64 "); ",
               output_number(page, "leader_epoch", 0));
    if (without_ms < 0) {
        buf_add_text(&text, "for how long due jobs stood still was not seen");
    } else {
        buf_add_text(&text, "due jobs stood still for ");
        duration_print(&text, without_ms);
    }
    puts(buf_text(&text));
    buf_fini(&text);
}

static void print_leader(const struct ctl *ctl, const json_t *page, const json_t *change)
{
    int64_t without_ms = output_number(change, "without_leader_ms", -1);
    json_t *without = without_ms < 0 ? json_null() : json_integer(without_ms);

    if (ctl->is_json)
        output_json_and_free(json_pack(
            "{s:O, s:O, s:O}", "leader", json_object_get(page, "leader"), "leader_epoch",
            json_object_get(page, "leader_epoch"), "without_leader_ms", without));
    else
        print_for_people(page, without_ms);
    json_decref(without);
}

static enum ctl_exit fail(const struct await_leader *a, struct failure *failure)
{
    failure_advise(failure, cluster_advice);
    return failure_tell(a->ctl, failure, a->what);
}

static enum ctl_exit fail_given_up(const struct await_leader *a, const json_t *page)
{
    const char *leader = output_text(page, "leader").at;
    struct failure failure;

    if (output_number(page, "leader_epoch", 0) <= a->epoch)
        failure_set(&failure, CTL_REFUSED, "wrong_state", "it was given up; %s still leads",
                    leader);
    else if (a->to[0])
        failure_set(&failure, CTL_REFUSED, "wrong_state", "%s leads now, not %s", leader,
                    a->to);
    else
        failure_set(&failure, CTL_REFUSED, "wrong_state",
                    "nobody took the lead over; %s leads again", leader);
    return fail(a, &failure);
}

/* A forced failover cannot be cancelled. */
static const char *how_to_cancel(const json_t *page)
{
    if (!output_text(page, "wanted").len || json_is_true(json_object_get(page, "forced")))
        return "";
    return ", unless 'dueqctl switchover --cancel' takes it back";
}

/* `page` is NULL where the node gave no answer in the end. */
static enum ctl_exit end_late(const struct await_leader *a, const json_t *page)
{
    int patience_s = (int)(a->patience_ms / 1000);
    struct failure failure;

    if (page && is_whom_it_waits_for(a, page)) {
        print_leader(a->ctl, page, change_to(page));
        return CTL_DONE;
    }
    if (page)
        failure_set(&failure, CTL_UNKNOWN, "unknown",
                    "nobody who was wanted leads after %d s; it may still happen%s", patience_s,
                    how_to_cancel(page));
    else
        failure_set(&failure, CTL_UNKNOWN, "unknown",
                    "the node that was asked gives no answer after %d s; another one may know "
                    "who leads",
                    patience_s);
    return fail(a, &failure);
}

/* ---- waiting ---- */

/* How long it has been like this; begins with the first call. */
static int64_t since(int64_t *mono_ms)
{
    int64_t now = clock_mono_ms();

    if (*mono_ms == NOT_SEEN_SO_FAR)
        *mono_ms = now;
    return now - *mono_ms;
}

/* There is no request, and a leader is known, for so long that the node would have seen a
 * request. */
static bool is_given_up(struct await_leader *a, const json_t *page)
{
    if (!output_text(page, "leader").len || output_text(page, "wanted").len) {
        a->gone_mono_ms = NOT_SEEN_SO_FAR;
        return false;
    }
    return since(&a->gone_mono_ms) >= SETTLED_MS;
}

/* Is there an end to the waiting? */
static bool judge(struct await_leader *a, const json_t *page, enum ctl_exit *end)
{
    const json_t *change;

    if (!is_whom_it_waits_for(a, page)) {
        if (!is_given_up(a, page))
            return false;
        *end = fail_given_up(a, page);
        return true;
    }
    change = change_to(page);
    if (!change && since(&a->new_mono_ms) < session_ms(page) + HISTORY_MS)
        return false;
    print_leader(a->ctl, page, change);
    *end = CTL_DONE;
    return true;
}

/* How it was before the request, from GET /v1/cluster. */
static void await_leader_init(struct await_leader *a, struct ctl *ctl, const char *what,
                              const char *to, const json_t *page)
{
    *a = (struct await_leader){.ctl = ctl,
                               .what = what,
                               .to = to,
                               .epoch = highest_epoch(page),
                               .patience_ms = PATIENCE_MS + 2 * session_ms(page),
                               .new_mono_ms = NOT_SEEN_SO_FAR,
                               .gone_mono_ms = NOT_SEEN_SO_FAR};
    snprintf(a->before, sizeof(a->before), "%s", output_text(page, "leader").at);
}

/* Call when the node has taken the request. CTL_DONE: prints who leads, and for how long nobody
 * did. Else prints what is wrong: CTL_REFUSED where another node leads than was wanted, or the
 * request was given up; CTL_UNKNOWN where the patience is over. */
static enum ctl_exit await_leader(struct await_leader *a)
{
    enum ctl_exit end = CTL_DONE;
    json_t *page = NULL;
    bool is_over = false;

    a->begin_mono_ms = clock_mono_ms();
    while (!is_over && clock_mono_ms() - a->begin_mono_ms < a->patience_ms) {
        struct failure failure;

        json_decref(page);
        page = NULL;
        if (cluster_look(a->ctl, &page, &failure) == CTL_DONE)
            is_over = judge(a, page, &end);
        if (!is_over)
            poll(NULL, 0, LOOK_EVERY_MS);
    }
    if (!is_over)
        end = end_late(a, page);
    json_decref(page);
    return end;
}

/* switchover and failover: another leader, gracefully or by force. The node that is asked
 * records the request for the cluster.
 */

/* `body` is taken over. */
static enum ctl_exit change_leader(struct ctl *ctl, const char *what, const char *path,
                                   json_t *body)
{
    struct await_leader w;
    json_t *page = NULL;
    enum ctl_exit end = cluster_fetch(ctl, what, &page);

    if (end != CTL_DONE) {
        json_decref(body);
        return end;
    }
    json_incref(body); /* `to` is borrowed from it */
    await_leader_init(&w, ctl, what, output_text(body, "to").at, page);
    json_decref(page);
    end = cluster_request(ctl, what, path, body);
    if (end == CTL_DONE)
        end = await_leader(&w);
    json_decref(body);
    return end;
}

/* ---- switchover ---- */

enum { TO, AT, CANCEL };

static const struct option_row switchover_options[] = {
    [TO] = {"to", 't', OPTION_TEXT, "NODE", "the next leader; default: the best",
            .member = "to"},
    [AT] = {"at", 0, OPTION_MOMENT, "TIME", "not before then; does not wait for it",
            .member = "at_ms"},
    [CANCEL] = {"cancel", 0, OPTION_FLAG, NULL, "take back what is not carried out yet",
                .member = "cancel"},
    {0},
};

static void print_noted(const struct ctl *ctl, int64_t at_ms)
{
    struct buf text = BUF_INIT;

    buf_add_text(&text, "taken down, for ");
    moment_print(&text, at_ms);
    if (ctl->is_json)
        output_json_and_free(
            json_pack("{s:s, s:I}", "status", "accepted", "at_ms", (json_int_t)at_ms));
    else
        output_done("switchover", buf_text(&text));
    buf_fini(&text);
}

static enum ctl_exit run_switchover(struct ctl *ctl, const struct arguments *arguments)
{
    static const char path[] = "/v1/cluster/switchover";
    const struct option_value *own = arguments->own;
    json_t *body;
    enum ctl_exit end;

    if (own[CANCEL].is_given && (own[TO].is_given || own[AT].is_given))
        return ctl_misused("switchover: --cancel goes with neither --to nor --at");
    body = options_json(switchover_options, arguments);
    if (!own[CANCEL].is_given && !own[AT].is_given)
        return change_leader(ctl, "switchover", path, body);
    end = cluster_request(ctl, "switchover", path, body);
    if (end == CTL_DONE && own[CANCEL].is_given)
        print_done(ctl, "switchover", "taken back");
    else if (end == CTL_DONE)
        print_noted(ctl, own[AT].number);
    return end;
}

const struct command switchover_command = {
    .name = "switchover",
    .usage = "",
    .summary = "let another node lead, gracefully",
    .text = "The leader ends what it has begun and gives the lead away; this waits until\n"
            "another node leads, and tells how long due jobs stood still. Clients keep their\n"
            "connections: all nodes serve them all the time. Ends with 1 where another node\n"
            "than the wanted one leads then, or where none could.\n",
    .options = switchover_options,
    .run = run_switchover,
};

/* ---- failover ---- */

enum { FORCE, FORCE_TO };

static const struct option_row failover_options[] = {
    [FORCE] = {"force", 0, OPTION_FLAG, NULL, "must be given: it is not graceful",
               .member = "force"},
    [FORCE_TO] = {"to", 't', OPTION_TEXT, "NODE", "the next leader; default: the best",
                  .member = "to"},
    {0},
};

static enum ctl_exit run_failover(struct ctl *ctl, const struct arguments *arguments)
{
    if (!arguments->own[FORCE].is_given)
        return ctl_misused("failover: only with --force; the graceful way is 'switchover'");
    return change_leader(ctl, "failover", "/v1/cluster/failover",
                         options_json(failover_options, arguments));
}

const struct command failover_command = {
    .name = "failover",
    .usage = "--force",
    .summary = "depose a leader that does not answer",
    .text = "The leader is asked first. When it does not give the lead away it is deposed,\n"
            "and its successor waits until the old lease is over for certain: less than one\n"
            "session timeout. Priorities, no_failover and a pause do not count here. Ends\n"
            "with 1 where another node than the wanted one leads then.\n",
    .options = failover_options,
    .run = run_failover,
};

/* tail: follows the node's hand-overs, with one long poll after the other.
 *
 * It goes on until it is interrupted: a node that is away is asked again until it is back. The
 * numbers of hand-overs grow over a restart, too, so that the last one seen stays a good place
 * to go on from.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "node/ctl/client.h"
#include "node/ctl/commands.h"
#include "node/ctl/duration.h"
#include "node/ctl/moment.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/text.h"

#define POLL_MS   30000
#define PAUSE_MS  500
#define NO_CURSOR (-1)

struct tail {
    struct ctl *ctl;
    const char *topic; /* NULL: all */
    int64_t next;      /* hand-overs behind this number are new; NO_CURSOR: no answer yet */
    bool is_away;      /* the node, as was said */
};

static void show_for_people(const struct ctl *ctl, const json_t *handover)
{
    int64_t late_ms = output_number(handover, "late_ms", -1);
    struct buf line = BUF_INIT;

    moment_print(&line, output_number(handover, "at_ms", 0));
    buf_add_text(&line, "  ");
    text_escape(&line, output_text(handover, "topic"));
    buf_add_text(&line, "  ");
    text_escape(&line, output_text(handover, "id"));
    buf_add_text(&line, "  try ");
    text_number(&line, output_number(handover, "tries", 0), ctl->is_terminal);
    if (late_ms >= 0) {
        buf_add_text(&line, "  late ");
        duration_print(&line, late_ms);
    }
    if (output_text(handover, "client").len) {
        buf_add_text(&line, "  to ");
        text_escape(&line, output_text(handover, "client"));
    }
    puts(buf_text(&line));
    buf_fini(&line);
}

static void show_missed(const struct tail *t, int64_t missed)
{
    if (missed <= 0)
        return;
    if (t->ctl->is_json)
        output_json_and_free(json_pack("{s:I}", "missed", (json_int_t)missed));
    else
        ctl_say("missed %" PRId64 " hand-overs", missed);
}

/* False: stdout cannot be written any more. */
static bool show(struct tail *t, const json_t *answer)
{
    const json_t *handover;
    size_t i;

    show_missed(t, output_number(answer, "missed", 0));
    json_array_foreach(json_object_get(answer, "handovers"), i, handover)
    {
        if (t->ctl->is_json)
            output_json(handover);
        else
            show_for_people(t->ctl, handover);
    }
    return output_flush();
}

static void welcome(struct tail *t)
{
    if (t->is_away)
        ctl_say("%s is back", client_where(t->ctl->client));
    t->is_away = false;
}

/* The first answer comes at once, so that there is a number to go on from, and so does the
 * first one after the node was away, to tell that it is back. */
static enum ctl_exit follow(struct tail *t, struct failure *failure)
{
    int64_t wait_ms = t->next == NO_CURSOR || t->is_away ? 0 : POLL_MS;
    struct request request;
    json_t *answer = NULL;

    request_init(&request, "GET", "/v1/handovers");
    if (t->next != NO_CURSOR)
        request_add_query_number(&request, "after", t->next);
    if (t->topic)
        request_add_query(&request, "topic", t->topic);
    request_add_query_number(&request, "wait_ms", wait_ms);
    request.wait_ms = wait_ms;
    request.expects = "next";
    request_send(t->ctl, &request, &answer, failure);
    request_fini(&request);
    if (failure->end != CTL_DONE)
        return failure->end;
    welcome(t);
    t->next = output_number(answer, "next", t->next);
    if (!show(t, answer))
        failure_set(failure, CTL_REFUSED, "io_error", "the output cannot be written");
    json_decref(answer);
    return failure->end;
}

/* Will the same question be answered later? Not where the node has understood and refused it,
 * nor before any node was there: then the address is wrong, more likely. */
static bool may_pass(const struct tail *t, const struct failure *failure)
{
    return t->next != NO_CURSOR &&
           (failure->end == CTL_UNREACHABLE || failure->retry_after_s > 0);
}

static void wait_for_node(struct tail *t, const struct failure *failure)
{
    if (!t->is_away) {
        failure_say(failure, "tail");
        ctl_say("the node is asked again until it answers; Ctrl-C ends");
    }
    t->is_away = true;
    poll(NULL, 0, PAUSE_MS);
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    struct tail t = {.ctl = ctl,
                     .topic = arguments->word_count ? arguments->words[0] : NULL,
                     .next = NO_CURSOR};
    struct failure failure;

    for (;;) {
        if (follow(&t, &failure) == CTL_DONE)
            continue;
        if (!may_pass(&t, &failure))
            break;
        wait_for_node(&t, &failure);
    }
    failure_say(&failure, "tail");
    return failure.end;
}

const struct command tail_command = {
    .name = "tail",
    .usage = "[TOPIC]",
    .summary = "follow the jobs that the node hands out",
    .text = "Shows each hand-over to a consumer, of this node alone, from now on. How many\n"
            "were missed, because they came faster than they could be shown, is said on\n"
            "stderr. With --json each hand-over is a document on a line of its own, and what\n"
            "was missed is {\"missed\":N}. Survives a restart of the node; ends with Ctrl-C.\n",
    .words_max = 1,
    .run = run,
};

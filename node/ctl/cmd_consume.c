/* The commands of a consumer: pop, then ack, release, touch or bury; and tail, which only
 * watches. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "node/ctl/client.h"
#include "node/ctl/request.h"
#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/text.h"
#include "node/ctl/times.h"

/* pop: reserves jobs and prints them.
 *
 * With --ack a job is acknowledged after it was written, not before: a job whose body did not
 * get into the pipe goes back to its topic when its time to run is over.
 */

#define COUNT_MAX   64
#define WAIT_MAX_MS 3600000
#define DAYS_7_MS   INT64_C(604800000)

enum { COUNT, WAIT, TTR, ACK, BODY_ONLY };

static const struct option_row options[] = {
    [COUNT] = {"count", 'n', OPTION_COUNT, "N", "at most so many, 1 to 64; default: 1", 1,
               .max = COUNT_MAX},
    [WAIT] = {"wait", 'w', OPTION_DURATION, "DURATION",
              "wait so long for the first, up to 1h; default: 0", .max = WAIT_MAX_MS},
    [TTR] = {"ttr", 't', OPTION_DURATION, "DURATION",
             "hold them so long; default: as each was pushed", .max = DAYS_7_MS},
    [ACK] = {"ack", 'a', OPTION_FLAG, NULL, .text = "acknowledge each job once it is printed"},
    [BODY_ONLY] = {"body-only", 'b', OPTION_FLAG, NULL,
                   .text = "print the bodies, byte for byte, nothing in between"},
    {0},
};

static void build(struct request *request, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    struct buf topics = BUF_INIT;

    for (int i = 0; i < arguments->word_count; i++) {
        if (i)
            buf_add_char(&topics, ',');
        buf_add_text(&topics, arguments->words[i]);
    }
    request_init(request, "POST", "/v1/topics/%/pop", buf_text(&topics));
    buf_fini(&topics);
    if (own[COUNT].is_given)
        request_add_query_number(request, "count", own[COUNT].number);
    if (own[WAIT].is_given)
        request_add_query_number(request, "wait_ms", own[WAIT].number);
    if (own[TTR].is_given)
        request_add_query_number(request, "ttr_ms", own[TTR].number);
    request->expects = "jobs";
    request->wait_ms = own[WAIT].number;
}

static void print(const struct ctl *ctl, const struct arguments *arguments,
                  const json_t *answer)
{
    const json_t *jobs = json_object_get(answer, "jobs");
    const json_t *job;
    size_t i;

    if (ctl->is_json) {
        output_json(answer);
        return;
    }
    json_array_foreach(jobs, i, job)
    {
        if (arguments->own[BODY_ONLY].is_given) {
            output_body(job);
        } else {
            if (i)
                putchar('\n');
            output_job(ctl, job);
        }
    }
}

static enum ctl_exit ack_one(struct ctl *ctl, const json_t *job)
{
    const char *id = output_text(job, "id").at;
    struct failure failure;
    struct request request;
    json_t *answer = NULL;

    request_init(&request, "POST", "/v1/topics/%/jobs/%/ack", output_text(job, "topic").at, id);
    request.body = json_pack("{s:s}", "lease", output_text(job, "lease").at);
    if (request_send(ctl, &request, &answer, &failure) != CTL_DONE)
        failure_say(&failure, id);
    json_decref(answer);
    return failure.end;
}

/* Jobs from `first` on were printed and stay reserved. */
static void name_left(const json_t *jobs, size_t first)
{
    struct buf ids = BUF_INIT;

    for (size_t i = first; i < json_array_size(jobs); i++)
        buf_printf(&ids, " '%s'", output_text(json_array_get(jobs, i), "id").at);
    if (ids.len)
        ctl_say("printed and not acknowledged:%s", buf_text(&ids));
    buf_fini(&ids);
}

/* When the node no longer answers, the remaining jobs are not tried. */
static enum ctl_exit ack_all(struct ctl *ctl, const json_t *jobs)
{
    enum ctl_exit end = CTL_DONE;
    size_t i = 0;

    if (!output_flush()) {
        ctl_say("not acknowledged, because the output cannot be written");
        return CTL_UNKNOWN;
    }
    while (i < json_array_size(jobs) && end != CTL_UNKNOWN && end != CTL_UNREACHABLE)
        end = ctl_worse(end, ack_one(ctl, json_array_get(jobs, i++)));
    name_left(jobs, i);
    return end;
}

/* The message is for terminals: a loop in a script need not see it each time. */
static enum ctl_exit say_none(const struct ctl *ctl)
{
    if (ctl->is_terminal && !ctl->is_json)
        ctl_say("no job is ready, or the topic is paused");
    return CTL_NOTHING;
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    struct request request;
    json_t *answer = NULL;
    const json_t *jobs;
    enum ctl_exit end;

    if (ctl->is_json && arguments->own[BODY_ONLY].is_given)
        return ctl_misused("pop: --json and --body-only exclude each other");
    for (int i = 0; i < arguments->word_count; i++)
        if (strchr(arguments->words[i], ','))
            return ctl_misused("pop: no topic is called '%s'; each is a word of its own",
                               arguments->words[i]);
    build(&request, arguments);
    end = request_ask(ctl, &request, "pop", &answer);
    jobs = json_object_get(answer, "jobs");
    if (end == CTL_DONE) {
        print(ctl, arguments, answer);
        if (json_array_size(jobs) == 0)
            end = say_none(ctl);
        else if (arguments->own[ACK].is_given)
            end = ack_all(ctl, jobs);
    }
    json_decref(answer);
    return end;
}

const struct command pop_command = {
    .name = "pop",
    .usage = "TOPIC...",
    .summary = "take jobs that are due, and hold them",
    .text = "All jobs are of the first TOPIC that has some: name the most urgent one first.\n"
            "A job that is not acknowledged before its time to run is over is handed out\n"
            "again. Ends with 5 where there was none.\n",
    .options = options,
    .words_min = 1,
    .words_max = 64,
    .run = run,
};

/* ack, release, touch and bury: what a consumer says about a job it holds. The lease, as pop
 * has printed it, proves that. */

enum { TOPIC, ID, LEASE };

static const struct option_row release_options[] = {
    {"delay", 'd', OPTION_DURATION, "DURATION",
     "due again so long from now; else as its backoff says", .max = YEARS_10_MS,
     .member = "delay_ms"},
    {0},
};

static const struct option_row touch_options[] = {
    {"ttr", 't', OPTION_DURATION, "DURATION",
     "hold it so long from now; default: as it was pushed", .max = DAYS_7_MS,
     .member = "ttr_ms"},
    {0},
};

/* The job may be dead now, or have a new due time. */
static void print_done(const char *id, const char *done, const json_t *answer)
{
    struct bytes death = output_text(answer, "death");
    int64_t due_ms = output_number(answer, "due_ms", 0);
    struct buf text = BUF_INIT;

    buf_add_text(&text, done);
    if (death.len && !bytes_equal(death, bytes_of_text(done)))
        buf_printf(&text, ", and dead (%s)", death.at);
    else if (due_ms) {
        buf_add_text(&text, ", ");
        output_due(&text, due_ms);
    }
    output_done(id, buf_text(&text));
    buf_fini(&text);
}

static void show(const struct ctl *ctl, char **words, const char *done, const json_t *answer)
{
    json_t *object;

    if (!ctl->is_json) {
        print_done(words[ID], done, answer);
        return;
    }
    object = json_pack("{s:s, s:s, s:s}", "topic", words[TOPIC], "id", words[ID], "done", done);
    json_object_update_missing(object, (json_t *)answer);
    output_json_and_free(object);
}

/* Sends the lease, and the options. */
static enum ctl_exit run_change(struct ctl *ctl, const struct arguments *arguments)
{
    const struct command *command = arguments->command;
    char **words = arguments->words;
    struct request request;
    json_t *answer = NULL;
    enum ctl_exit end;

    request_init(&request, "POST", "/v1/topics/%/jobs/%/%", words[TOPIC], words[ID],
                 command->name);
    request.body = options_json(command->options, arguments);
    json_object_set_new(request.body, "lease", json_string(words[LEASE]));
    request.expects = command->expects;
    end = request_ask(ctl, &request, words[ID], &answer);
    if (end == CTL_DONE)
        show(ctl, words, command->done, answer);
    json_decref(answer);
    return end;
}

const struct command ack_command = {
    .name = "ack",
    .usage = "TOPIC ID LEASE",
    .summary = "acknowledge a job: it is done, and gone",
    .done = "acknowledged",
    .words_min = 3,
    .words_max = 3,
    .run = run_change,
};

const struct command release_command = {
    .name = "release",
    .usage = "TOPIC ID LEASE",
    .summary = "give a job back, for now or for later",
    .text = "Without --delay the job rests as its backoff says; without a backoff it is ready\n"
            "at once. A job whose tries are used up is dead.\n",
    .options = release_options,
    .expects = "due_ms",
    .done = "released",
    .words_min = 3,
    .words_max = 3,
    .run = run_change,
};

const struct command touch_command = {
    .name = "touch",
    .usage = "TOPIC ID LEASE",
    .summary = "hold a job longer: its time to run begins anew",
    .options = touch_options,
    .expects = "deadline_ms",
    .done = "touched",
    .words_min = 3,
    .words_max = 3,
    .run = run_change,
};

const struct command bury_command = {
    .name = "bury",
    .usage = "TOPIC ID LEASE",
    .summary = "put a job aside: dead, until it is kicked or deleted",
    .expects = "death",
    .done = "buried",
    .words_min = 3,
    .words_max = 3,
    .run = run_change,
};

/* tail: follows the node's deliveries, with one long poll after the other.
 *
 * tail runs until it is interrupted: a node that is away is asked until it is back. The numbers
 * of deliveries grow over a restart, too, so tail can go on from the last one seen.
 */

#define POLL_MS   30000
#define PAUSE_MS  500
#define NO_CURSOR (-1)

struct tail {
    struct ctl *ctl;
    const char *topic; /* NULL: all */
    int64_t next;      /* deliveries behind this number are new; NO_CURSOR: no answer yet */
    bool is_away;      /* the node, as was said */
};

static void show_for_people(const struct ctl *ctl, const json_t *delivery)
{
    int64_t late_ms = output_number(delivery, "late_ms", -1);
    struct buf line = BUF_INIT;

    moment_print(&line, output_number(delivery, "at_ms", 0));
    buf_add_text(&line, "  ");
    text_escape(&line, output_text(delivery, "topic"));
    buf_add_text(&line, "  ");
    text_escape(&line, output_text(delivery, "id"));
    buf_add_text(&line, "  try ");
    text_number(&line, output_number(delivery, "tries", 0), ctl->is_terminal);
    if (late_ms >= 0) {
        buf_add_text(&line, "  late ");
        duration_print(&line, late_ms);
    }
    if (output_text(delivery, "client").len) {
        buf_add_text(&line, "  to ");
        text_escape(&line, output_text(delivery, "client"));
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
        ctl_say("missed %" PRId64 " deliveries", missed);
}

/* False: stdout cannot be written any more. */
static bool show_tail(struct tail *t, const json_t *answer)
{
    const json_t *delivery;
    size_t i;

    show_missed(t, output_number(answer, "missed", 0));
    json_array_foreach(json_object_get(answer, "deliveries"), i, delivery)
    {
        if (t->ctl->is_json)
            output_json(delivery);
        else
            show_for_people(t->ctl, delivery);
    }
    return output_flush();
}

static void welcome(struct tail *t)
{
    if (t->is_away)
        ctl_say("%s is back", client_where(t->ctl->client));
    t->is_away = false;
}

/* The first answer comes at once, for a number to go on from; so does the first one after the
 * node was away, to tell that it is back. */
static enum ctl_exit follow(struct tail *t, struct failure *failure)
{
    int64_t wait_ms = t->next == NO_CURSOR || t->is_away ? 0 : POLL_MS;
    struct request request;
    json_t *answer = NULL;

    request_init(&request, "GET", "/v1/deliveries");
    if (t->next != NO_CURSOR)
        request_add_query_number(&request, "after", t->next);
    if (t->topic)
        request_add_query(&request, "topic", t->topic);
    request_add_query_number(&request, "wait_ms", wait_ms);
    request.wait_ms = wait_ms;
    request.expects = "next";
    request_send(t->ctl, &request, &answer, failure);
    if (failure->end != CTL_DONE)
        return failure->end;
    welcome(t);
    t->next = output_number(answer, "next", t->next);
    if (!show_tail(t, answer))
        failure_set(failure, CTL_REFUSED, "io_error", "the output cannot be written");
    json_decref(answer);
    return failure->end;
}

/* Could the same request succeed later? Not when the node has understood and refused it, nor
 * before any answer: then the address is probably wrong. */
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

static enum ctl_exit run_tail(struct ctl *ctl, const struct arguments *arguments)
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
    .text = "Shows each delivery to a consumer, of this node alone, from now on. Deliveries\n"
            "that came faster than they could be shown are counted on stderr. With --json\n"
            "each delivery is a document on a line of its own, and missed ones are\n"
            "{\"missed\":N}. Survives a restart of the node; ends with Ctrl-C.\n",
    .words_max = 1,
    .run = run_tail,
};

/* pop: reserves jobs and prints them.
 *
 * With --ack they are acknowledged when they were written, not before: a job whose body did not
 * get into the pipe goes back to its topic when its time to run is over.
 */
#include <stdio.h>

#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"

#define COUNT_MAX   64
#define WAIT_MAX_MS 3600000
#define DAYS_7_MS   INT64_C(604800000)

enum { COUNT, WAIT, TTR, ACK, BODY_ONLY };

static const struct option_row options[] = {
    [COUNT] = {"count", 'n', OPTION_COUNT, "N", "at most so many, 1 to 64; default: 1", 1,
               COUNT_MAX, NULL},
    [WAIT] = {"wait", 'w', OPTION_DURATION, "DURATION",
              "wait so long for the first, up to 1h; default: 0", 0, WAIT_MAX_MS, NULL},
    [TTR] = {"ttr", 't', OPTION_DURATION, "DURATION",
             "hold them so long; default: as each was pushed", 0, DAYS_7_MS, NULL},
    [ACK] = {"ack", 'a', OPTION_FLAG, NULL, "acknowledge each job once it is printed", 0, 0,
             NULL},
    [BODY_ONLY] = {"body-only", 'b', OPTION_FLAG, NULL,
                   "print the bodies, byte for byte, nothing in between", 0, 0, NULL},
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

static void print_body(const json_t *job)
{
    struct buf body = BUF_INIT;

    output_body(job, &body);
    fwrite(body.at, 1, body.len, stdout);
    buf_fini(&body);
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
            print_body(job);
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
    request_fini(&request);
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

/* Where the node does not answer any more, the rest is not tried. */
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

/* A loop in a script need not hear it each time. */
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
    build(&request, arguments);
    end = request_ask(ctl, &request, "pop", &answer);
    request_fini(&request);
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
    .text = "Topics come in order of priority; all jobs are of the first topic that has some.\n"
            "A job that is not acknowledged before its time to run is over is handed out\n"
            "again. Ends with 5 where there was none.\n",
    .options = options,
    .words_min = 1,
    .words_max = 64,
    .run = run,
};

/* push --lines: a job for each line, up to 1,000 in a request.
 *
 * A batch is sent when it is full, or when the next line is not there yet: a pipe that drips
 * is not held up. The node judges each job for itself; what it refuses is named by its line and
 * the others go on. When a whole request fails nothing more is sent, because who reads the
 * message must know which lines are in.
 */
#include "node/ctl/push.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/ctl/input.h"
#include "node/ctl/interrupt.h"
#include "node/ctl/output.h"
#include "node/ctl/progress.h"
#include "node/ctl/request.h"
#include "node/ctl/text.h"

#define BATCH_JOBS  1000
#define BATCH_BYTES (256 << 10) /* of bodies, one line more or less */
#define NAMED_MAX   10          /* lines that are named one by one, when they failed */

struct pusher {
    struct ctl *ctl;
    const struct arguments *arguments;
    json_t *batch; /* not sent yet */
    size_t batch_bytes;
    int64_t lines; /* answered so far, and so the number of the batch's first line, less one */
    int64_t pushed;
    int64_t refused;
    int64_t unknown; /* they may be in */
    bool has_result; /* --json: a first element was printed */
    struct progress progress;
    enum ctl_exit end;
};

static void print_result(struct pusher *p, const json_t *result)
{
    if (!p->ctl->is_json)
        return;
    if (p->has_result)
        putchar(',');
    p->has_result = true;
    output_json(result);
}

static void take_result(struct pusher *p, const json_t *result)
{
    const json_t *error = json_object_get(result, "error");
    struct failure failure = {.end = CTL_DONE};
    char what[48];

    p->lines++;
    print_result(p, result);
    if (!error) {
        p->pushed++;
        return;
    }
    failure_read(&failure, error);
    p->end = ctl_worse(p->end, failure.end);
    if (failure.end == CTL_UNKNOWN)
        p->unknown++;
    else
        p->refused++;
    if (p->refused + p->unknown > NAMED_MAX)
        return;
    progress_wipe(&p->progress);
    snprintf(what, sizeof(what), "line %" PRId64, p->lines);
    failure_say(&failure, what);
}

/* The lines of a request that failed as a whole. */
static void take_failure(struct pusher *p, const struct failure *failure, size_t count)
{
    json_t *result = json_pack("{s:o}", "error", failure_json(failure));
    char what[80];

    progress_wipe(&p->progress);
    snprintf(what, sizeof(what), "lines %" PRId64 " to %" PRId64, p->lines + 1,
             p->lines + (int64_t)count);
    failure_say(failure, what);
    for (size_t i = 0; i < count; i++)
        print_result(p, result);
    json_decref(result);
    fprintf(stderr, "%s\n",
            failure->end == CTL_UNKNOWN ? "These lines may be in; what follows was not sent."
                                        : "These lines are not in, nor is what follows.");
    p->end = ctl_worse(p->end, failure->end);
}

static enum ctl_exit ask(struct pusher *p, json_t *batch, json_t **answer,
                         struct failure *failure)
{
    struct request request;

    request_init(&request, "POST", "/v1/topics/%/jobs", p->arguments->words[0]);
    request.expects = "results";
    request.body = json_incref(batch);
    request_send(p->ctl, &request, answer, failure);
    request_fini(&request);
    if (failure->end == CTL_DONE &&
        json_array_size(json_object_get(*answer, "results")) != json_array_size(batch))
        failure_set(failure, CTL_UNKNOWN, "bad_answer",
                    "the node answers another number of jobs than it got");
    return failure->end;
}

static bool send_batch(struct pusher *p, json_t *batch);

static bool send_part(struct pusher *p, const json_t *batch, size_t begin, size_t end)
{
    json_t *part = json_array();
    bool goes_on;

    for (size_t i = begin; i < end; i++) {
        if (json_array_append(part, json_array_get(batch, i)))
            abort();
    }
    goes_on = send_batch(p, part);
    json_decref(part);
    return goes_on;
}

/* The node takes no request of that size, perhaps the halves. A line that is too large alone is
 * refused like any other. */
static bool send_smaller(struct pusher *p, const json_t *batch, const struct failure *failure)
{
    size_t count = json_array_size(batch);
    json_t *result;

    if (count > 1)
        return send_part(p, batch, 0, count / 2) && send_part(p, batch, count / 2, count);
    result = json_pack("{s:o}", "error", failure_json(failure));
    take_result(p, result);
    json_decref(result);
    return true;
}

/* False: nothing more is to be sent. */
static bool send_batch(struct pusher *p, json_t *batch)
{
    struct failure failure;
    json_t *answer = NULL;
    const json_t *result;
    size_t i;

    ask(p, batch, &answer, &failure);
    if (failure.end == CTL_DONE) {
        json_array_foreach(json_object_get(answer, "results"), i, result)
        {
            take_result(p, result);
        }
        progress_show(&p->progress, p->lines, 0);
    } else if (!strcmp(failure.code, "too_large")) {
        return send_smaller(p, batch, &failure);
    } else {
        take_failure(p, &failure, json_array_size(batch));
    }
    json_decref(answer);
    return failure.end == CTL_DONE;
}

static bool flush_batch(struct pusher *p)
{
    bool goes_on = send_batch(p, p->batch);

    json_array_clear(p->batch);
    p->batch_bytes = 0;
    return goes_on;
}

static void add_line(struct pusher *p, struct bytes line)
{
    if (json_array_append_new(p->batch, push_job(p->arguments, line)))
        abort();
    p->batch_bytes += line.len;
}

static void push_each(struct pusher *p, struct lines *lines)
{
    enum input_next next;
    struct bytes line;

    do {
        size_t count = json_array_size(p->batch);

        next = lines_next(lines, count == 0, &line);
        if (next == INPUT_LINE)
            add_line(p, line);
        count = json_array_size(p->batch);
        if (count &&
            (next != INPUT_LINE || count == BATCH_JOBS || p->batch_bytes >= BATCH_BYTES) &&
            !flush_batch(p))
            return;
    } while (next == INPUT_LINE || next == INPUT_LATER);
    if (next == INPUT_FAILED)
        p->end = ctl_worse(p->end, CTL_USAGE);
    if (next == INPUT_INTERRUPTED) {
        progress_wipe(&p->progress);
        ctl_say("interrupted: what follows line %" PRId64 " was not sent", p->lines);
    }
}

static void add_sum(struct buf *text, const struct pusher *p, int64_t count, const char *what)
{
    if (text->len && !count)
        return;
    if (text->len)
        buf_add_text(text, ", ");
    text_number(text, count, p->ctl->is_terminal);
    buf_add_text(text, what);
}

static void sum_up(struct pusher *p)
{
    int64_t unnamed = p->refused + p->unknown - NAMED_MAX;
    struct buf text = BUF_INIT;

    progress_wipe(&p->progress);
    if (unnamed > 0)
        ctl_say("and %" PRId64 " more lines", unnamed);
    add_sum(&text, p, p->pushed, " pushed");
    add_sum(&text, p, p->refused, " refused");
    add_sum(&text, p, p->unknown, " unknown (they may be in)");
    puts(buf_text(&text));
    buf_fini(&text);
}

enum ctl_exit push_lines(struct ctl *ctl, const struct arguments *arguments, int fd)
{
    struct pusher p = {.ctl = ctl, .arguments = arguments, .batch = json_array()};
    struct lines lines;

    progress_init(&p.progress, "lines");
    interrupt_catch();
    lines_init(&lines, fd);
    if (ctl->is_json)
        fputs("{\"results\":[", stdout);
    push_each(&p, &lines);
    if (ctl->is_json)
        puts("]}");
    else
        sum_up(&p);
    lines_fini(&lines);
    json_decref(p.batch);
    return p.end;
}

/* push: one job from the command line, or one for each line of input. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/encoding.h"
#include "node/ctl/commands.h"
#include "node/ctl/input.h"
#include "node/ctl/options.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"
#include "node/ctl/text.h"

/* The rows of push_command's options. */
enum {
    PUSH_ID,
    PUSH_DELAY,
    PUSH_AT,
    PUSH_TTR,
    PUSH_FILE,
    PUSH_LINES,
    PUSH_PRIORITY,
    PUSH_MAX_TRIES,
    PUSH_BACKOFF,
    PUSH_TTL,
    PUSH_MODE
};

static json_t *push_job(const struct arguments *arguments, struct bytes body);

/* push --lines: a job for each line, up to 1,000 in a request.
 *
 * A batch is sent when it is full, or when the next line is not there yet: so a slow pipe is
 * not held up. The node judges each job alone; a refused job is named by its line, and the
 * others go on. When a whole request fails nothing more is sent, so that the message can say
 * which lines are in.
 */

#define BATCH_JOBS  1000
#define BATCH_BYTES (256 << 10) /* of bodies, one line more or less */
#define NAMED_MAX   10          /* lines that are named one by one, when they failed */

struct pusher {
    struct ctl *ctl;
    const struct arguments *arguments;
    json_t *batch; /* not sent yet */
    size_t batch_bytes;
    int64_t lines; /* answered so far: one less than the number of the batch's first line */
    int64_t pushed;
    int64_t refused;
    int64_t unknown; /* they may be in */
    bool has_result; /* --json: a first element was printed */
    struct progress progress;
    enum ctl_exit end;
};

static void print_result(struct pusher *p, const json_t *result)
{
    if (p->ctl->is_json)
        output_item(&p->has_result, result);
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

/* The request is too large for the node: tries its halves. A single line that is too large is
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

/* Jobs of all lines of `fd`, in arrays. */
static enum ctl_exit push_lines(struct ctl *ctl, const struct arguments *arguments, int fd)
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

/* push: a job, or a job for each line. */

#define DAYS_7_MS INT64_C(604800000)

enum { MODE_REJECT, MODE_REPLACE, MODE_IGNORE };

static const char *const modes[] = {"reject", "replace", "ignore", NULL};

static const struct option_row options[] = {
    [PUSH_ID] = {"id", 'i', OPTION_TEXT, "ID",
                 "unique in the topic; default: the node finds one", .member = "id"},
    [PUSH_DELAY] = {"delay", 'd', OPTION_DURATION, "DURATION",
                    "due so long from now; default: at once", .max = YEARS_10_MS,
                    .member = "delay_ms"},
    [PUSH_AT] = {"at", 'a', OPTION_MOMENT, "TIME",
                 "due at '2026-12-01 09:00' (local), RFC 3339, or ms", .member = "at_ms"},
    [PUSH_TTR] = {"ttr", 't', OPTION_DURATION, "DURATION",
                  "time to run: it may be held so long; default: 1m", .max = DAYS_7_MS,
                  .member = "ttr_ms"},
    [PUSH_FILE] = {"file", 'f', OPTION_FILE, "FILE",
                   .text = "read the body (or the lines) from FILE"},
    [PUSH_LINES] = {"lines", 'l', OPTION_FLAG, NULL,
                    .text = "make a job of each line of the input"},
    [PUSH_PRIORITY] = {"priority", 'p', OPTION_COUNT, "N",
                       "0 is the most urgent; default: 1024", .max = UINT32_MAX,
                       .member = "priority"},
    [PUSH_MAX_TRIES] = {"max-tries", 0, OPTION_COUNT, "N",
                        "dead after so many failed tries; 0: any number", .max = 65534,
                        .member = "max_tries"},
    [PUSH_BACKOFF] = {"backoff", 0, OPTION_BACKOFF, "BACKOFF",
                      "rest between tries, as exponential:1s..5m~10%", .member = "backoff"},
    [PUSH_TTL] = {"ttl", 0, OPTION_DURATION, "DURATION",
                  "dead when it is not done after so long", .max = YEARS_10_MS,
                  .member = "ttl_ms"},
    [PUSH_MODE] = {"mode", 'm', OPTION_CHOICE, "MODE",
                   "if its id lives: reject (default), replace, ignore", .choices = modes,
                   .member = "mode"},
    {0},
};

static void set_body(json_t *job, struct bytes body)
{
    bool is_plain = text_is_plain(body);
    struct buf text = BUF_INIT;
    json_t *value;

    if (!is_plain) {
        base64_add(&text, body);
        body = buf_bytes(&text);
    }
    value = json_stringn(body.len ? body.at : "", body.len);
    if (!value || json_object_set_new(job, is_plain ? "body" : "body_base64", value))
        abort();
    buf_fini(&text);
}

/* The caller's. */
static json_t *push_job(const struct arguments *arguments, struct bytes body)
{
    json_t *job = options_json(options, arguments);

    set_body(job, body);
    return job;
}

static void show(const struct ctl *ctl, const struct arguments *arguments, const json_t *answer)
{
    bool existed = json_is_true(json_object_get(answer, "existed"));
    struct buf text = BUF_INIT;

    if (ctl->is_json) {
        output_json(answer);
        return;
    }
    text_escape(&text, output_text(answer, "id"));
    buf_add_text(&text, "  ");
    output_due(&text, output_number(answer, "due_ms", 0));
    if (existed)
        buf_printf(&text, "  (%s)",
                   arguments->own[PUSH_MODE].number == MODE_IGNORE ? "it was there already"
                                                                   : "replaced");
    puts(buf_text(&text));
    buf_fini(&text);
}

static enum ctl_exit push_body(struct ctl *ctl, const struct arguments *arguments,
                               struct bytes body)
{
    const struct option_value *id = &arguments->own[PUSH_ID];
    struct request request;
    json_t *answer = NULL;
    enum ctl_exit end;

    request_init(&request, "POST", "/v1/topics/%/jobs", arguments->words[0]);
    request.expects = "id";
    request.body = push_job(arguments, body);
    end = request_ask(ctl, &request, id->is_given ? id->text : arguments->words[0], &answer);
    if (end == CTL_DONE)
        show(ctl, arguments, answer);
    json_decref(answer);
    return end;
}

static enum ctl_exit push_all_of(struct ctl *ctl, const struct arguments *arguments, int fd)
{
    struct buf body = BUF_INIT;
    enum ctl_exit end = input_read_all(fd, &body);

    if (end == CTL_DONE)
        end = push_body(ctl, arguments, buf_bytes(&body));
    buf_fini(&body);
    return end;
}

/* The second word, or NULL. */
static const char *word_of(const struct arguments *arguments)
{
    return arguments->word_count > 1 ? arguments->words[1] : NULL;
}

static bool is_stdin(const char *word)
{
    return word && !strcmp(word, "-");
}

static enum ctl_exit check(const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    const char *word = word_of(arguments);

    if (own[PUSH_DELAY].is_given && own[PUSH_AT].is_given)
        return ctl_misused("push: --delay and --at exclude each other");
    if (own[PUSH_FILE].is_given && word)
        return ctl_misused("push: the body is in --file already");
    if (own[PUSH_LINES].is_given && word && !is_stdin(word))
        return ctl_misused("push: with --lines the bodies come from stdin or --file");
    if (own[PUSH_LINES].is_given && own[PUSH_ID].is_given)
        return ctl_misused("push: --id is for one job, --lines for many");
    if (own[PUSH_MODE].is_given && !own[PUSH_ID].is_given)
        return ctl_misused("push: --mode is for a job with an --id");
    return CTL_DONE;
}

static enum ctl_exit run(struct ctl *ctl, const struct arguments *arguments)
{
    const struct option_value *own = arguments->own;
    const char *word = word_of(arguments);
    enum ctl_exit end = check(arguments);
    int fd;

    if (end != CTL_DONE)
        return end;
    if (!own[PUSH_FILE].is_given && !own[PUSH_LINES].is_given && !is_stdin(word))
        return push_body(ctl, arguments, bytes_of_text(word ? word : ""));
    fd = input_open(own[PUSH_FILE].text);
    if (fd < 0)
        return CTL_USAGE;
    end = own[PUSH_LINES].is_given ? push_lines(ctl, arguments, fd)
                                   : push_all_of(ctl, arguments, fd);
    input_close(fd);
    return end;
}

const struct command push_command = {
    .name = "push",
    .usage = "TOPIC [BODY | -]",
    .summary = "put a job into a topic, due now or later",
    .text = "Without BODY the body is empty; '-' reads it from stdin. Prints the job's id and\n"
            "when it is due. With --lines the jobs go out in batches, without waiting for a\n"
            "batch to fill while the input pauses; lines that the node refuses are named on\n"
            "stderr.\n"
            "\n"
            "BACKOFF is none, fixed:REST or exponential:REST, the latter with ..CAP for how\n"
            "far it grows; ~10% behind it makes rests vary at random. A topic may have\n"
            "other defaults than these: 'dueqctl topic show TOPIC'.\n",
    .options = options,
    .words_min = 1,
    .words_max = 2,
    .names = 1,
    .run = run,
};

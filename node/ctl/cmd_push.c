/* push: a job, or a job for each line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/ctl/commands.h"
#include "node/ctl/input.h"
#include "node/ctl/output.h"
#include "node/ctl/push.h"
#include "node/ctl/request.h"
#include "node/ctl/settings.h"
#include "node/ctl/text.h"

#define DAYS_7_MS INT64_C(604800000)

enum { MODE_REJECT, MODE_REPLACE, MODE_IGNORE };

static const char *const modes[] = {"reject", "replace", "ignore", NULL};

static const struct option_row options[] = {
    [PUSH_ID] = {"id", 'i', OPTION_TEXT, "ID",
                 "unique in the topic; default: the node finds one", 0, 0, NULL},
    [PUSH_DELAY] = {"delay", 'd', OPTION_DURATION, "DURATION",
                    "due so long from now; default: at once", 0, YEARS_10_MS, NULL},
    [PUSH_AT] = {"at", 'a', OPTION_MOMENT, "TIME",
                 "due at '2026-12-01 09:00' (local), RFC 3339, or ms", 0, 0, NULL},
    [PUSH_TTR] = {"ttr", 't', OPTION_DURATION, "DURATION",
                  "time to run: it may be held so long; default: 1m", 0, DAYS_7_MS, NULL},
    [PUSH_FILE] = {"file", 'f', OPTION_FILE, "FILE", "read the body (or the lines) from FILE",
                   0, 0, NULL},
    [PUSH_LINES] = {"lines", 'l', OPTION_FLAG, NULL, "make a job of each line of the input", 0,
                    0, NULL},
    [PUSH_PRIORITY] = {"priority", 'p', OPTION_COUNT, "N",
                       "0 is the most urgent; default: 1024", 0, UINT32_MAX, NULL},
    [PUSH_MAX_TRIES] = {"max-tries", 0, OPTION_COUNT, "N",
                        "dead after so many in vain; 0: any number", 0, 65534, NULL},
    [PUSH_BACKOFF] = {"backoff", 0, OPTION_BACKOFF, "BACKOFF",
                      "rest between tries, as exponential:1s..5m~10%", 0, 0, NULL},
    [PUSH_TTL] = {"ttl", 0, OPTION_DURATION, "DURATION",
                  "dead when it is not done after so long", 0, YEARS_10_MS, NULL},
    [PUSH_MODE] = {"mode", 'm', OPTION_CHOICE, "MODE",
                   "if its id lives: reject (default), replace, ignore", 0, 0, modes},
    {0},
};

static void set_new(json_t *object, const char *name, json_t *value)
{
    if (!value || json_object_set_new(object, name, value))
        abort();
}

static void set_body(json_t *job, struct bytes body)
{
    struct buf text = BUF_INIT;

    if (text_is_plain(body)) {
        set_new(job, "body", json_stringn(body.len ? body.at : "", body.len));
        return;
    }
    text_to_base64(&text, body);
    set_new(job, "body_base64", json_stringn(text.at, text.len));
    buf_fini(&text);
}

json_t *push_job(const struct arguments *arguments, struct bytes body)
{
    static const struct {
        int option;
        const char *name;
    } numbers[] = {{PUSH_DELAY, "delay_ms"},      {PUSH_AT, "at_ms"},
                   {PUSH_TTR, "ttr_ms"},          {PUSH_PRIORITY, "priority"},
                   {PUSH_MAX_TRIES, "max_tries"}, {PUSH_TTL, "ttl_ms"}};
    const struct option_value *own = arguments->own;
    json_t *job = json_object();

    if (own[PUSH_ID].is_given)
        set_new(job, "id", json_string(own[PUSH_ID].text));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const struct option_value *value = &own[numbers[i].option];

        if (value->is_given)
            set_new(job, numbers[i].name, json_integer(value->number));
    }
    if (own[PUSH_BACKOFF].is_given)
        set_new(job, "backoff", setting_backoff_json(own[PUSH_BACKOFF].text));
    if (own[PUSH_MODE].is_given)
        set_new(job, "mode", json_string(own[PUSH_MODE].text));
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
    request_fini(&request);
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
            "far it grows; ~10% behind it makes rests differ by chance. A topic may have\n"
            "other defaults than these: 'dueqctl topic show TOPIC'.\n",
    .options = options,
    .words_min = 1,
    .words_max = 2,
    .names = 1,
    .run = run,
};

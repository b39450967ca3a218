/* ack, release, touch and bury: what a consumer says about a job it holds. The lease, as pop
 * has printed it, proves that it still does. */
#include <stdio.h>

#include "node/ctl/commands.h"
#include "node/ctl/output.h"
#include "node/ctl/request.h"

#define DAYS_7_MS INT64_C(604800000)

enum { TOPIC, ID, LEASE };

static const struct option_row release_options[] = {
    {"delay", 'd', OPTION_DURATION, "DURATION",
     "due again so long from now; else as its backoff says", 0, YEARS_10_MS, NULL},
    {0},
};

static const struct option_row touch_options[] = {
    {"ttr", 't', OPTION_DURATION, "DURATION",
     "hold it so long from now; default: as it was pushed", 0, DAYS_7_MS, NULL},
    {0},
};

struct saying {
    const char *path;
    const char *number;  /* the API's name of the one option; NULL: there is none */
    const char *expects; /* as in struct request */
    const char *done;
};

/* A job may have died of it, or have a new time. */
static void print_done(const char *id, const struct saying *saying, const json_t *answer)
{
    struct bytes death = output_text(answer, "death");
    int64_t due_ms = output_number(answer, "due_ms", 0);
    struct buf text = BUF_INIT;

    buf_add_text(&text, saying->done);
    if (death.len && !bytes_equal(death, bytes_of_text(saying->done)))
        buf_printf(&text, ", and dead (%s)", death.at);
    else if (due_ms) {
        buf_add_text(&text, ", ");
        output_due(&text, due_ms);
    }
    output_done(id, buf_text(&text));
    buf_fini(&text);
}

static void show(const struct ctl *ctl, char **words, const struct saying *saying,
                 const json_t *answer)
{
    json_t *object;

    if (!ctl->is_json) {
        print_done(words[ID], saying, answer);
        return;
    }
    object = json_pack("{s:s, s:s, s:s}", "topic", words[TOPIC], "id", words[ID], "done",
                       saying->done);
    json_object_update_missing(object, (json_t *)answer);
    output_json_and_free(object);
}

/* Sends the lease, and the one option under the API's name for it. */
static enum ctl_exit say(struct ctl *ctl, const struct arguments *arguments,
                         const struct saying *saying)
{
    char **words = arguments->words;
    struct request request;
    json_t *answer = NULL;
    enum ctl_exit end;

    request_init(&request, "POST", saying->path, words[TOPIC], words[ID]);
    request.body = json_pack("{s:s}", "lease", words[LEASE]);
    request.expects = saying->expects;
    if (saying->number && arguments->own[0].is_given)
        json_object_set_new(request.body, saying->number,
                            json_integer(arguments->own[0].number));
    end = request_ask(ctl, &request, words[ID], &answer);
    if (end == CTL_DONE)
        show(ctl, words, saying, answer);
    json_decref(answer);
    request_fini(&request);
    return end;
}

static enum ctl_exit run_ack(struct ctl *ctl, const struct arguments *arguments)
{
    static const struct saying ack = {"/v1/topics/%/jobs/%/ack", NULL, NULL, "acknowledged"};

    return say(ctl, arguments, &ack);
}

static enum ctl_exit run_release(struct ctl *ctl, const struct arguments *arguments)
{
    static const struct saying release = {"/v1/topics/%/jobs/%/release", "delay_ms", "due_ms",
                                          "released"};

    return say(ctl, arguments, &release);
}

static enum ctl_exit run_touch(struct ctl *ctl, const struct arguments *arguments)
{
    static const struct saying touch = {"/v1/topics/%/jobs/%/touch", "ttr_ms", "deadline_ms",
                                        "touched"};

    return say(ctl, arguments, &touch);
}

static enum ctl_exit run_bury(struct ctl *ctl, const struct arguments *arguments)
{
    static const struct saying bury = {"/v1/topics/%/jobs/%/bury", NULL, "death", "buried"};

    return say(ctl, arguments, &bury);
}

const struct command ack_command = {
    .name = "ack",
    .usage = "TOPIC ID LEASE",
    .summary = "acknowledge a job: it is done, and gone",
    .words_min = 3,
    .words_max = 3,
    .run = run_ack,
};

const struct command release_command = {
    .name = "release",
    .usage = "TOPIC ID LEASE",
    .summary = "give a job back, for now or for later",
    .text = "Without --delay it rests as its backoff says, or not at all where it has none.\n"
            "One whose tries are used up is dead.\n",
    .options = release_options,
    .words_min = 3,
    .words_max = 3,
    .run = run_release,
};

const struct command touch_command = {
    .name = "touch",
    .usage = "TOPIC ID LEASE",
    .summary = "hold a job longer: its time to run begins anew",
    .options = touch_options,
    .words_min = 3,
    .words_max = 3,
    .run = run_touch,
};

const struct command bury_command = {
    .name = "bury",
    .usage = "TOPIC ID LEASE",
    .summary = "put a job aside: dead, until it is kicked or deleted",
    .words_min = 3,
    .words_max = 3,
    .run = run_bury,
};

#include "node/ctl/sweep.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "node/ctl/interrupt.h"
#include "node/ctl/output.h"
#include "node/ctl/progress.h"
#include "node/ctl/request.h"
#include "node/ctl/text.h"

#define LIMIT_FIRST 1000
#define LIMIT_MAX   100000
#define SOON_MS     200 /* a request that took less may do more */

struct work {
    struct ctl *ctl;
    const struct sweep *sweep;
    struct progress progress;
    int64_t total;   /* of all parts */
    int64_t count;   /* the same, so far */
    int64_t limit;   /* of the next request */
    int64_t missed;  /* counted in the parts that are over, but not there any more */
    bool has_more;   /* as the last answer says of its part */
    bool leaves_any; /* a part that nothing was asked for, though it had some */
    bool is_interrupted;
    bool is_stuck; /* an answer without progress, though there are more */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many it has swept, of at most `left`; -1: it failed. */
static int64_t send(struct work *w, const struct sweep_part *part, int64_t left,
                    struct failure *failure)
{
    json_t *answer = NULL;
    struct request request;
    int64_t count = -1;

    request_init(&request, "POST", w->sweep->path, w->sweep->topic);
    request.body = json_deep_copy(part->body);
    request.expects = "count";
    if (!request.body ||
        json_object_set_new(request.body, "limit", json_integer(smaller(left, w->limit))))
        abort();
    if (request_send(w->ctl, &request, &answer, failure) == CTL_DONE) {
        count = output_number(answer, "count", 0);
        w->has_more = json_is_true(json_object_get(answer, "has_more"));
    }
    json_decref(answer);
    request_fini(&request);
    return count;
}

/* Without progress there is no use in going on. */
static void sweep_part(struct work *w, const struct sweep_part *part, struct failure *failure)
{
    int64_t left = part->total + w->missed;
    bool is_over = false;

    w->leaves_any |= left == 0 && part->there > 0;
    while (!is_over && left > 0) {
        int64_t begin_ms = clock_mono_ms();
        int64_t count;

        w->is_interrupted = interrupt_is_caught();
        if (w->is_interrupted)
            return;
        count = send(w, part, left, failure);
        if (clock_mono_ms() - begin_ms < SOON_MS && w->limit < LIMIT_MAX)
            w->limit *= 2;
        is_over = !w->has_more || count <= 0;
        w->is_stuck |= w->has_more && count == 0;
        w->count += count < 0 ? failure->count : count;
        left -= count;
        progress_show(&w->progress, w->count, w->total);
    }
    w->missed = left;
}

static void sweep_all(struct work *w, struct failure *failure)
{
    const struct sweep *sweep = w->sweep;

    for (int i = 0; i < sweep->part_count; i++)
        w->total += sweep->parts[i].total;
    for (int i = 0; i < sweep->part_count; i++) {
        if (failure->end == CTL_DONE && !w->is_interrupted)
            sweep_part(w, &sweep->parts[i], failure);
    }
    progress_wipe(&w->progress);
}

static void say_why_not_all(const struct work *w, const struct failure *failure)
{
    if (failure->end != CTL_DONE)
        failure_say(failure, w->sweep->topic);
    else if (w->is_interrupted)
        ctl_say("interrupted: the others were not %s", w->sweep->done);
}

/* Of what was there when it began: what came in meanwhile does not count. */
static bool has_more(const struct work *w, const struct failure *failure)
{
    if (failure->end != CTL_DONE || w->is_interrupted || w->is_stuck)
        return true;
    return w->sweep->is_cut && (w->has_more || w->leaves_any);
}

/* Where nothing worked nobody knows whether there are any. */
static void print_json(const struct work *w, const struct failure *failure)
{
    json_t *object = json_pack("{s:I}", "count", (json_int_t)w->count);

    if (failure->end == CTL_DONE || w->count > 0)
        json_object_set_new(object, "has_more", json_boolean(has_more(w, failure)));
    if (failure->end != CTL_DONE)
        json_object_set_new(object, "error", failure_json(failure));
    output_json_and_free(object);
}

static void sum_up(const struct work *w, const struct failure *failure)
{
    struct buf text = BUF_INIT;

    if (w->ctl->is_json) {
        print_json(w, failure);
        return;
    }
    if (failure->end != CTL_DONE && w->count == 0)
        return;
    text_number(&text, w->count, w->ctl->is_terminal);
    buf_printf(&text, " %s%s", w->sweep->done, has_more(w, failure) ? ", there are more" : "");
    puts(buf_text(&text));
    buf_fini(&text);
}

void sweep_add(struct sweep *sweep, json_t *body, int64_t total, int64_t there)
{
    assert(sweep->part_count < SWEEP_PARTS_MAX);
    sweep->parts[sweep->part_count++] =
        (struct sweep_part){.body = body, .total = total, .there = there};
}

void sweep_fini(struct sweep *sweep)
{
    while (sweep->part_count > 0)
        json_decref(sweep->parts[--sweep->part_count].body);
}

enum ctl_exit sweep_counts(struct ctl *ctl, const char *topic, json_t **counts)
{
    struct request request;
    enum ctl_exit end;

    request_init(&request, "GET", "/v1/topics/%", topic);
    request.expects = "topic";
    end = request_ask(ctl, &request, topic, counts);
    request_fini(&request);
    return end;
}

enum ctl_exit sweep_run(struct ctl *ctl, const struct sweep *sweep)
{
    struct work w = {.ctl = ctl, .sweep = sweep, .limit = LIMIT_FIRST};
    struct failure failure = {.end = CTL_DONE};

    progress_init(&w.progress, sweep->done);
    interrupt_catch();
    sweep_all(&w, &failure);
    say_why_not_all(&w, &failure);
    sum_up(&w, &failure);
    return failure.end;
}

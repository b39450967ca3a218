#include "node/ctl/sweep.h"

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
    int64_t count;
    int64_t limit; /* of the next request */
    bool has_more;
    bool is_over;
};

/* Without progress there is no use in going on. */
static void take_answer(struct work *w, const json_t *answer)
{
    int64_t count = output_number(answer, "count", 0);

    w->count += count;
    w->has_more = json_is_true(json_object_get(answer, "has_more"));
    w->is_over = !w->has_more || count == 0;
}

static enum ctl_exit send(struct work *w, struct failure *failure)
{
    int64_t left = w->sweep->total - w->count;
    json_t *answer = NULL;
    struct request request;

    request_init(&request, "POST", w->sweep->path, w->sweep->topic);
    request.body = json_deep_copy(w->sweep->body);
    request.expects = "count";
    if (!request.body || json_object_set_new(request.body, "limit",
                                             json_integer(left < w->limit ? left : w->limit)))
        abort();
    request_send(w->ctl, &request, &answer, failure);
    if (failure->end == CTL_DONE)
        take_answer(w, answer);
    json_decref(answer);
    request_fini(&request);
    return failure->end;
}

static enum ctl_exit sweep_all(struct work *w, struct failure *failure)
{
    enum ctl_exit end = CTL_DONE;

    while (end == CTL_DONE && !w->is_over && w->count < w->sweep->total &&
           !interrupt_is_caught()) {
        int64_t begin_ms = clock_mono_ms();

        end = send(w, failure);
        if (clock_mono_ms() - begin_ms < SOON_MS && w->limit < LIMIT_MAX)
            w->limit *= 2;
        progress_show(&w->progress, w->count, w->sweep->total);
    }
    progress_wipe(&w->progress);
    return end;
}

static void say_why_not_all(const struct work *w, const struct failure *failure)
{
    if (failure->end != CTL_DONE)
        failure_say(failure, w->sweep->topic);
    else if (w->has_more && interrupt_is_caught())
        ctl_say("interrupted: the others were not %s", w->sweep->done);
}

static void sum_up(const struct work *w, const struct failure *failure)
{
    struct buf text = BUF_INIT;
    json_t *object;

    if (w->ctl->is_json) {
        object = json_pack("{s:I, s:b}", "count", (json_int_t)w->count, "has_more",
                           (int)w->has_more);
        if (failure->end != CTL_DONE)
            json_object_set_new(object, "error", failure_json(failure));
        output_json_and_free(object);
        return;
    }
    if (failure->end != CTL_DONE && w->count == 0)
        return;
    text_number(&text, w->count, w->ctl->is_terminal);
    buf_printf(&text, " %s%s", w->sweep->done, w->has_more ? ", there are more" : "");
    puts(buf_text(&text));
    buf_fini(&text);
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
    enum ctl_exit end;

    progress_init(&w.progress, sweep->done);
    interrupt_catch();
    end = sweep_all(&w, &failure);
    say_why_not_all(&w, &failure);
    sum_up(&w, &failure);
    return end;
}

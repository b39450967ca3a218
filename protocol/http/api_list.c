/* GET /v1/topics/{topic}/jobs: page by page, one state after the other. */
#include "protocol/http/api_decode_topic.h"
#include "protocol/http/api_encode.h"
#include "protocol/http/page.h"
#include "protocol/http/routes.h"

static void prepare_jobs(struct page *page)
{
    page->op.in.list.state = (enum job_state)page->place;
    page->op.in.list.after = buf_bytes(&page->after);
    page->op.in.list.limit = page_room(page, OP_LIST_MAX);
}

static struct bytes take_jobs(struct page *page)
{
    const struct job_row *rows = page->op.out.list.rows;

    for (unsigned i = 0; i < page->op.out.list.count; i++)
        api_add_listed_job(page_next_row(page), page->x->topic, &rows[i]);
    return page->op.out.list.next;
}

void api_list(struct exchange *x)
{
    static const struct page_kind kind = {
        .member = "jobs",
        .limit_default = OP_LIST_MAX,
        .limit_max = OP_LIST_MAX,
        .steps_max = 16, /* tombstones may fill one */
        .prepare = prepare_jobs,
        .take = take_jobs,
    };
    struct bytes word = exchange_query_text(x, "state");
    unsigned state = 0;

    if (!word.at)
        page_reply(x, &kind, OP_LIST, JOB_DELAYED, JOB_DEAD + 1);
    else if (exchange_query_word(x, "state", api_states, JOB_DEAD + 1, &state))
        page_reply(x, &kind, OP_LIST, state, state + 1);
}

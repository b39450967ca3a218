/* The store: why it may lose jobs, and which buckets are not reached. The node that says so is
 * seldom the only one, so that a failover would not help; but none fails for it. */
#include "protocol/http/cluster_check_private.h"
#include "protocol/http/unreached.h"

static void check_weakness(struct check *c, const struct http_store_weakness *weakness)
{
    if (weakness->is_so)
        check_find(c, false, weakness->advice, "%s", weakness->what);
}

static void check_buckets(struct check *c, const struct http_store_numbers *n, unsigned first)
{
    struct buf text = BUF_INIT;

    unreached_describe(&text, n, first);
    check_find(c, false, unreached_advice(&n->unreached[first]), "%s", buf_text(&text));
    buf_fini(&text);
}

void cluster_check_store(const struct http_store_numbers *n, struct cluster_report *report)
{
    struct check c = {.report = report, .max = CLUSTER_FINDINGS_MAX};

    for (unsigned i = 0; i < n->unreached_count; i++)
        if (unreached_is_first(n, i))
            check_buckets(&c, n, i);
    for (unsigned i = 0; i < n->weak_count; i++)
        check_weakness(&c, &n->weak[i]);
}

/* The store: why it may lose jobs, and which buckets are not reached. The node that says so is
 * seldom the only one, so that a failover would not help; but none fails for it. */
#include "protocol/http/cluster_check_private.h"
#include "protocol/http/unreached.h"

static void check_weakness(struct check *c, const struct http_store_weakness *weakness)
{
    if (weakness->is_so)
        check_find(c, false, weakness->advice, "%s", weakness->what);
}

/* The buckets come last: they may be many. */
static void check_buckets(struct check *c, const struct http_store_numbers *n, unsigned first)
{
    const struct http_store_unreached *u = &n->unreached[first];
    bool has_master = u->address && *u->address;
    struct buf buckets = BUF_INIT;

    unreached_print(&buckets, n, first);
    check_find(c, false,
               has_master
                   ? "look at that Redis, and at the way to it"
                   : "'redis-cli --cluster check HOST:PORT' shows which slots nobody has",
               "%s%s%s; the topics of %s stand still", has_master ? u->address : "",
               has_master ? ": " : "", u->why, buf_text(&buckets));
    buf_fini(&buckets);
}

void cluster_check_store(const struct http_store_numbers *n, struct cluster_report *report)
{
    struct check c = {.report = report};

    for (unsigned i = 0; i < n->unreached_count; i++)
        if (unreached_is_first(n, i))
            check_buckets(&c, n, i);
    for (unsigned i = 0; i < n->weak_count; i++)
        check_weakness(&c, &n->weak[i]);
}

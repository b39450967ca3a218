#include "protocol/http/metrics.h"

void metrics_write(struct buf *out, const struct metrics *m)
{
    struct metrics_text t = {.out = out};

    metrics_write_jobs(&t, m);
    metrics_write_queue(&t, m);
    metrics_write_cluster(&t, m);
    metrics_write_vip(&t, m);
    metrics_write_store(&t, m);
    metrics_write_node(&t, m);
}

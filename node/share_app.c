#include "node/share_app.h"

#include "node/queue/queue.h"
#include "node/queue/shares.h"

void share_app_begin(struct queue *queue)
{
    queue_share(queue, &(struct shares_view){.number = 0});
}

void share_app_see(struct queue *queue, const struct ha_scanners *scanners)
{
    struct bytes nodes[SHARES_NODES_MAX];
    struct shares_view view = {.number = scanners->number, .nodes = nodes};

    for (; view.count < scanners->count && view.count < SHARES_NODES_MAX; view.count++)
        nodes[view.count] = bytes_of_text(scanners->nodes[view.count]);
    queue_share(queue, &view);
}

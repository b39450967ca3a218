/* The virtual address, where there is one: else its families are announced, and have no
 * samples.
 */
#include "protocol/http/metrics.h"

#define OF_VIP(field) METRICS_FIELD(struct http_vip_status, field)

static const struct metrics_number numbers[] = {
    {"dueq_vip_taken_total", METRICS_COUNTER, "Times that the virtual address was taken.",
     OF_VIP(taken)},
    {"dueq_vip_restored_total", METRICS_COUNTER,
     "Times that it was gone while it was held, and was put back.", OF_VIP(restored)},
    {"dueq_vip_announcements_total", METRICS_COUNTER,
     "Times that it was announced to the neighbours.", OF_VIP(announcements)},
    {"dueq_vip_conflicts_total", METRICS_COUNTER,
     "Times that another host was heard to have it while it was held.", OF_VIP(conflicts)},
    {"dueq_vip_failures_total", METRICS_COUNTER,
     "Failures of taking it, or of the program that moves it.", OF_VIP(failures)},
};

void metrics_write_vip(struct metrics_text *t, const struct metrics *m)
{
    const struct http_vip_status *v = m->cluster ? m->cluster->vip : NULL;

    metrics_text_family(t, "dueq_vip_held", METRICS_GAUGE,
                        "1 while the virtual address is on this host, as far as is known.");
    if (v)
        metrics_text_whole(t, NULL, v->is_here);
    metrics_text_family(
        t, "dueq_vip_possible", METRICS_GAUGE,
        "1 while this node could have the virtual address, as far as is known.");
    if (v)
        metrics_text_whole(t, NULL, v->is_possible);
    for (unsigned i = 0; i < METRICS_COUNT(numbers); i++) {
        metrics_text_family(t, numbers[i].name, numbers[i].type, numbers[i].help);
        if (v)
            metrics_text_number(t, &numbers[i], NULL, v);
    }
}

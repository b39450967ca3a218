#include "ha/fake/process.h"

#include "ha/state.h" /* to let it die without a good-bye */

struct ha_options fake_process_options(const char *node, const char *address)
{
    return (struct ha_options){.node = node,
                               .root = "/dueq/main",
                               .version = "1.2.3",
                               .gmq = "gmq:1",
                               .http = "http:1",
                               .peer = address,
                               .priority = 50};
}

struct ha *fake_process_begin(const struct ha_options *options, struct fake_coordinator *zk,
                              struct peers *peers, struct timers *timers)
{
    struct ha *ha = ha_new(options, &zk->base, peers, timers);

    ha_start(ha);
    return ha;
}

void fake_process_kill(struct ha *ha, struct fake_coordinator *zk, struct timers *timers,
                       int64_t now_mono_ms)
{
    fake_coordinator_link(zk, FAKE_LINK_MUTE);
    coordinator_close(&zk->base);
    ha_commands_end(ha);
    timers_run(timers, now_mono_ms);
    ha_free(ha);
}

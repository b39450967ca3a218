/* A network in memory for the virtual address, on virtual time: it keeps the contract of
 * vip_contract.h, fails on demand, and records the calls.
 */
#ifndef DUEQ_HA_VIP_TESTS_VIP_FIXTURE_H
#define DUEQ_HA_VIP_TESTS_VIP_FIXTURE_H

#include "ha/vip/vip.h"

#define FAKE_NOTES_MAX 256

struct fake_address {
    int64_t until_mono_ms; /* end of its lifetime; in the past: it is not there */
    const char *broken;    /* why putting fails; NULL: it succeeds */
    int64_t announced_mono_ms[FAKE_NOTES_MAX];
    unsigned announced, probed, put, removed;
};

struct fake_net {
    struct timers *timers;
    struct vip_addresses addresses;
    struct fake_address of[VIP_ADDRESSES_MAX];
};

extern const struct vip_ops fake_net_ops; /* with the fake_net as `arg` */

bool fake_net_has(struct fake_net *n, const struct vip_address *a);

#endif

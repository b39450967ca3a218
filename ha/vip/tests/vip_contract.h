/* The contract of vip_ops, for the machine's and for the tests' one. Include after cmocka's
 * headers. */
#ifndef DUEQ_HA_VIP_TESTS_VIP_CONTRACT_H
#define DUEQ_HA_VIP_TESTS_VIP_CONTRACT_H

#include "ha/vip/vip.h"

struct vip_contract {
    const struct vip_ops *ops;
    void *arg;
    const struct vip_address *address; /* not there, and can be put */
    int64_t (*now_ms)(void);
    void (*wait_ms)(int64_t ms);        /* at least */
    void (*set_broken)(bool is_broken); /* broken: putting the address fails */
};

void vip_contract_check(const struct vip_contract *c);

#endif

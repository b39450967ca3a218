/* What holds of every vip_ops, the machine's and the tests' one. Include after cmocka's
 * headers. */
#ifndef DUEQ_HA_VIP_TESTS_VIP_CONTRACT_H
#define DUEQ_HA_VIP_TESTS_VIP_CONTRACT_H

#include "ha/vip/vip.h"

struct vip_contract {
    const struct vip_ops *ops;
    void *arg;
    const struct vip_address *address; /* is not there, and can be put */
    int64_t (*now_ms)(void);
    void (*wait_ms)(int64_t ms);        /* at least */
    void (*set_broken)(bool is_broken); /* it cannot be put, or can again */
};

void vip_contract_check(const struct vip_contract *c);

#endif

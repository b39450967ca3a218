/* Questions to the kernel's rtnetlink, each with its answer: no loop, no callback that comes
 * later.
 *
 * The kernel does the work while the question is sent, so the answer is there at once. What an
 * earlier question is answered after all is known by its number, and left out.
 */
#ifndef DUEQ_HA_VIP_RTNL_H
#define DUEQ_HA_VIP_RTNL_H

#include <libmnl/libmnl.h>

#include "base/status.h"

#define VIP_RTNL_REQUEST_MAX 256

struct vip_rtnl;

/* NULL, with errno. Close-on-exec. */
struct vip_rtnl *vip_rtnl_new(void);
void vip_rtnl_free(struct vip_rtnl *r); /* NULL is fine */

/* A new question, for mnl_attr_put*(). `extra_bytes` of the type's own header come to *extra,
 * zeroed. Valid until the next. */
struct nlmsghdr *vip_rtnl_request(struct vip_rtnl *r, uint16_t type, uint16_t flags,
                                  size_t extra_bytes, void *extra);

/* Asks the newest question. 0, or the errno of what went wrong. `on_item`, which may be NULL,
 * gets each message of the answer; of a list that changed meanwhile, which is read again, some
 * twice. */
int vip_rtnl_ask(struct vip_rtnl *r, void (*on_item)(void *arg, const struct nlmsghdr *item),
                 void *arg) MUST_CHECK;

#endif

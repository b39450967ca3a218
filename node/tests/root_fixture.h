/* For tests of what only root can do. Include after cmocka's headers. */
#ifndef DUEQ_NODE_TESTS_ROOT_FIXTURE_H
#define DUEQ_NODE_TESTS_ROOT_FIXTURE_H

#include <stdlib.h>
#include <unistd.h>

/* Passes a test over where it is not root's; in CI it must be. */
static inline void need_root(void)
{
    if (geteuid() == 0)
        return;
    if (getenv("CI"))
        fail_msg("not root");
    print_message("not root: passed over\n");
    skip();
}

#endif

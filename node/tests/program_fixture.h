/* A directory for a test of programs that the node runs: a shell script in place of an
 * operator's, and the node's log, to be read back.
 */
#ifndef DUEQ_NODE_TESTS_PROGRAM_FIXTURE_H
#define DUEQ_NODE_TESTS_PROGRAM_FIXTURE_H

struct loop;

struct program_site {
    struct loop *loop;
    char dir[64];
    char program[128], seen[128], go[128],
        log[128]; /* files in it; what they are for is the test's */
};

void program_site_up(struct program_site *s);
void program_site_down(struct program_site *s); /* what uses the loop is gone */

/* `script` runs in the directory. It comes in the place of the one before, which, where it
 * runs, reads on in its own file. */
void program_site_install(const struct program_site *s, const char *script);

#endif

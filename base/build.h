/* What this binary was built from. */
#ifndef DUEQ_BASE_BUILD_H
#define DUEQ_BASE_BUILD_H

struct build {
    const char *version;
    const char *commit;   /* the first digits of git's; "": not built in a git work tree */
    const char *compiler; /* name and version */
};

/* Static. */
const struct build *build_info(void);

#endif

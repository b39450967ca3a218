/* What this binary was built from. */
#ifndef DUEQ_BASE_BUILD_H
#define DUEQ_BASE_BUILD_H

struct build {
    const char *version;
    const char *commit; /* the first digits of git's; "": neither git nor the archive said it */
    const char *compiler; /* name and version */
    const char *full; /* version+commit, as `--version` says it; version, without a commit */
};

/* Static. */
const struct build *build_info(void);

#endif

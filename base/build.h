/* What this binary was built from. */
#ifndef DUEQ_BASE_BUILD_H
#define DUEQ_BASE_BUILD_H

struct build {
    const char *version;
    const char *commit;   /* git's hash, shortened; "": not known when this was built */
    const char *compiler; /* name and version */
    const char *full;     /* "version+commit"; "version" where the commit is not known */
};

/* Static. */
const struct build *build_info(void);

#endif

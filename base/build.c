#include "base/build.h"

#include "base/build_commit.h" /* generated: see cmake/build_commit.cmake */

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

const struct build *build_info(void)
{
    static const struct build info = {
        .version = DUEQ_VERSION,
        .commit = BUILD_COMMIT,
        .compiler = COMPILER,
        .full = sizeof(BUILD_COMMIT) > 1 ? DUEQ_VERSION "+" BUILD_COMMIT : DUEQ_VERSION,
    };

    return &info;
}

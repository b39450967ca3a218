# Writes the header OUT with the commit of the source tree DIR, or "" where nothing says it. Run with
# every build; OUT changes, and something is compiled, only when the commit did.
#
# COMMIT comes first: the commit where the source tree cannot say it, as in an image. Then git, where
# DIR is the top of a work tree. Then `git archive`, which writes the commit into this file
# (.gitattributes), so that a tarball knows it, inside somebody else's repository, too.
set(archived "$Format:%H$")
set(commit "${COMMIT}")
find_program(GIT git)
if(NOT commit AND GIT AND EXISTS ${DIR}/.git)
    execute_process(COMMAND ${GIT} -C ${DIR} rev-parse HEAD
        OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit AND archived MATCHES "^[0-9a-f]+$")
    set(commit "${archived}")
endif()
string(SUBSTRING "${commit}" 0 12 commit)
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define BUILD_COMMIT \"${commit}\"\n" @ONLY)

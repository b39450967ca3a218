# Writes the header OUT with the commit of the work tree DIR, or "" where there is no git or DIR
# is not the top of a work tree (a tarball, perhaps inside somebody else's repository). Run with
# every build; OUT changes, and something is compiled, only when the commit did. COMMIT: what it
# is where the work tree cannot say, as in an image.
set(commit "${COMMIT}")
find_program(GIT git)
if(NOT commit AND GIT AND EXISTS ${DIR}/.git)
    execute_process(COMMAND ${GIT} -C ${DIR} rev-parse --short=12 HEAD
        OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define BUILD_COMMIT \"${commit}\"\n" @ONLY)

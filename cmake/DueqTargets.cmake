# The flags every target shares, and the words the folders use:
#   dueq_library(NAME SOURCES ... LINK ...)   a static library of one layer
#   dueq_tests(FOLDER)                        what only tests need: left out with BUILD_TESTING=OFF
#   dueq_test(NAME SOURCES ... LINK ...)      a cmocka test, run by ctest; its label is its level:
#                                             `contract` where it starts real servers, else
#                                             `unit`
#   dueq_test_over_tls(NAME)                  the same test once more, its clients speaking TLS
#   dueq_fuzzer(NAME SOURCES ... LINK ...)    a libFuzzer target, only with DUEQ_FUZZ; its
#                                             seeds lie in corpus/NAME/ or corpus/ beside it
#   dueq_generated(PATH)                      a source that a command above it makes

find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBEVENT REQUIRED IMPORTED_TARGET libevent)
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis)
pkg_check_modules(LIBMNL REQUIRED IMPORTED_TARGET libmnl)
pkg_check_modules(LIBCRYPTO REQUIRED IMPORTED_TARGET libcrypto>=3.0.3) # before, HMAC was not begun anew
pkg_check_modules(LIBSSL REQUIRED IMPORTED_TARGET libssl)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(LIBCAP REQUIRED IMPORTED_TARGET libcap)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
if(BUILD_TESTING)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

add_library(dueq_flags INTERFACE)
target_include_directories(dueq_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_definitions(dueq_flags INTERFACE _GNU_SOURCE DUEQ_VERSION="${PROJECT_VERSION}")
target_compile_options(dueq_flags INTERFACE
    -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
    -Wwrite-strings -Wformat=2 -Wvla -Wundef -Wno-unused-parameter -fno-common
    -fno-omit-frame-pointer -fstack-protector-strong
    $<$<BOOL:${DUEQ_WERROR}>:-Werror>)
if(DUEQ_SANITIZE)
    target_compile_options(dueq_flags INTERFACE -fsanitize=${DUEQ_SANITIZE}
        -fno-sanitize-recover=all)
    target_link_options(dueq_flags INTERFACE -fsanitize=${DUEQ_SANITIZE})
endif()

# `generated` makes all sources that are made: what a check of the sources needs, unbuilt.
add_custom_target(generated)

function(dueq_generated path)
    get_filename_component(name ${path} NAME_WE)
    add_custom_target(${name} DEPENDS ${path})
    add_dependencies(generated ${name})
endfunction()

function(dueq_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC dueq_flags ${ARG_LINK})
    if(DUEQ_FUZZ)
        target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
endfunction()

function(dueq_tests folder)
    if(BUILD_TESTING)
        add_subdirectory(${folder})
    endif()
endfunction()

function(dueq_test name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE dueq_flags ${ARG_LINK} PkgConfig::CMOCKA)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME ${name} COMMAND ${name})
    set(level unit)
    if("${ARG_LINK}" MATCHES "dueq_(redis|zk)_fixture")
        set(level contract)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS ${level})
endfunction()

function(dueq_test_over_tls name)
    add_test(NAME ${name}_over_tls COMMAND ${name})
    set_tests_properties(${name}_over_tls PROPERTIES LABELS unit ENVIRONMENT DUEQ_TEST_TLS=1)
endfunction()

set(DUEQ_FUZZ_SECONDS 10 CACHE STRING "How long ctest runs each fuzzer")
set(DUEQ_FUZZ_SEED 0 CACHE STRING "Where each fuzzer begins; 0 is elsewhere each time")
add_custom_target(fuzzers)

function(dueq_fuzzer name)
    if(NOT DUEQ_FUZZ)
        return()
    endif()
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE dueq_flags ${ARG_LINK})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    add_dependencies(fuzzers ${name})

    # libFuzzer writes what it finds into its first folder: that one is not in git.
    set(found ${CMAKE_BINARY_DIR}/found/${name})
    file(MAKE_DIRECTORY ${found})
    foreach(folder corpus/${name} corpus)
        if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
            set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
            break()
        endif()
    endforeach()
    add_test(NAME ${name} COMMAND ${name} -max_total_time=${DUEQ_FUZZ_SECONDS} -timeout=10
        -seed=${DUEQ_FUZZ_SEED} -print_final_stats=1 -artifact_prefix=${CMAKE_BINARY_DIR}/crash-
        ${found} ${seeds})
    set_tests_properties(${name} PROPERTIES LABELS fuzz)
endfunction()

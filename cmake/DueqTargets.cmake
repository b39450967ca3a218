# The flags every target shares, and the three words the folders use:
#   dueq_library(NAME SOURCES ... LINK ...)   a static library of one layer
#   dueq_test(NAME SOURCES ... LINK ...)      a cmocka unit test, run by ctest
#   dueq_fuzzer(NAME SOURCES ... LINK ...)    a libFuzzer target, only with DUEQ_FUZZ

find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBEVENT REQUIRED IMPORTED_TARGET libevent)
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

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

function(dueq_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC dueq_flags ${ARG_LINK})
    if(DUEQ_FUZZ)
        target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
endfunction()

function(dueq_test name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE dueq_flags ${ARG_LINK} PkgConfig::CMOCKA)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME ${name} COMMAND ${name})
endfunction()

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
endfunction()

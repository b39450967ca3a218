# Turns the scripts into C:
#   cmake -DOUT=FILE -DDIR=lua -DNAMES=push+pop [-DBEFORE=FILE] -P embed.cmake
#
# BEFORE is put in front of each of them, for tests.
#
# Each script becomes one string in the table that encode.h declares: common.lua, then the
# parts that its line "-- USES" names, then itself. A line "-- HERE" in it, or in a part, makes way
# for the parts that it names: a function costs when it is made, and in a branch that is seldom taken
# it seldom is. A part stands in one of the files of lib/, from its line "-- PART" to the next.
#
# Of the packed settings of a topic (node/store/settings.h) there is put in, from their definition
# in base/topic_settings.h:
#   SETTING_TTR, ...  bit, form and first byte of each that is a number: 1, '>I4', 9
#   SETTINGS_OFFSETS  first and last byte of each; SETTINGS_BYTES of all; SETTINGS_LEAST of the
#                     first version; SETTINGS_RULES where max_tries and the backoff begin
# Of a scan's answer (enum scan_field in wire/decode.h):
#   SCAN_MOVED, ...   the number of each field in the array

string(REPLACE "+" ";" names "${NAMES}")

function(c_literal out text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
    set(${out} "\"${text}\"" PARENT_SCOPE)
endfunction()

set(library "")
file(GLOB files ${DIR}/lib/*.lua)
foreach(file IN LISTS files)
    file(READ ${file} text)
    string(APPEND library "${text}\n-- PART\n")
endforeach()

function(read_parts out names)
    set(all "")
    string(REPLACE " " ";" parts "${names}")
    foreach(part IN LISTS parts)
        set(head "\n-- PART ${part}\n")
        string(FIND "${library}" "${head}" at)
        if(at EQUAL -1)
            message(FATAL_ERROR "no \"-- PART ${part}\" in ${DIR}/lib")
        endif()
        string(LENGTH "${head}" length)
        math(EXPR at "${at} + ${length}")
        string(SUBSTRING "${library}" ${at} -1 rest)
        string(FIND "${rest}" "\n-- PART" end)
        string(SUBSTRING "${rest}" 0 ${end} one)
        string(APPEND all "${one}")
    endforeach()
    set(${out} "${all}" PARENT_SCOPE)
endfunction()

set(definition ${CMAKE_CURRENT_LIST_DIR}/../../../../base/topic_settings.h)
set(settings "")
set(at 9)
set(bit 1)
set(offsets "")
set(row_form "X\\(([A-Z_]+), \"[a-z_]+\", [a-z_]+, [A-Z]+, ([0-9]+),")
file(READ ${definition} text)
string(REGEX MATCHALL "${row_form}" rows "${text}")
foreach(row IN LISTS rows)
    string(REGEX REPLACE "${row_form}" "\\1" name "${row}")
    string(REGEX REPLACE "${row_form}" "\\2" bytes "${row}")
    list(APPEND settings ${name})
    set(text_of_${name} "${bit}, '>I${bytes}', ${at}")
    set(at_of_${name} ${at})
    math(EXPR last "${at} + ${bytes} - 1")
    string(APPEND offsets "{${at}, ${last}}, ")
    math(EXPR at "${last} + 1")
    math(EXPR bit "${bit} * 2")
endforeach()
string(REGEX MATCHALL "X\\([A-Z0-9_]+, *\"" all_rows "${text}")
list(LENGTH all_rows expected)
list(LENGTH settings found)
if(NOT found EQUAL expected)
    message(FATAL_ERROR "${definition}: ${found} of ${expected} rows are of the form read here")
endif()
list(SORT settings ORDER DESCENDING) # the longer of two that begin alike comes first
math(EXPR bytes_of_all "${at} - 1")

function(put_settings_in out text)
    foreach(name IN LISTS settings)
        string(REPLACE "SETTING_${name}" "${text_of_${name}}" text "${text}")
    endforeach()
    string(REPLACE "SETTINGS_OFFSETS" "{${offsets}}" text "${text}")
    string(REPLACE "SETTINGS_BYTES" "${bytes_of_all}" text "${text}")
    string(REPLACE "SETTINGS_LEAST" "45" text "${text}")
    string(REPLACE "SETTINGS_RULES" "${at_of_MAX_TRIES}" text "${text}")
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The fields of a scan's answer: their numbers in Lua.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../wire/decode.h text)
string(REGEX MATCH "\nenum scan_field {[^}]*}" text "${text}")
string(REGEX MATCHALL "\n    SCAN_[A-Z_]+" fields "${text}")
set(number 4) # behind code, now, wait
foreach(field IN LISTS fields)
    string(STRIP "${field}" field)
    set(number_of_${field} ${number})
    math(EXPR number "${number} + 1")
endforeach()
list(TRANSFORM fields STRIP)
list(SORT fields ORDER DESCENDING) # as above

function(put_fields_in out text)
    foreach(field IN LISTS fields)
        string(REPLACE "${field}" "${number_of_${field}}" text "${text}")
    endforeach()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(read_script out name)
    file(READ ${DIR}/${name}.lua text)
    if(text MATCHES "\n-- USES +([a-z_ ]+)\n")
        read_parts(parts "${CMAKE_MATCH_1}")
        string(PREPEND text "${parts}")
    endif()
    while(text MATCHES "\n *-- HERE +([a-z_ ]+)\n")
        set(line "${CMAKE_MATCH_0}")
        read_parts(parts "${CMAKE_MATCH_1}")
        string(REPLACE "${line}" "\n${parts}" text "${text}")
    endwhile()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

file(READ ${DIR}/common.lua common)
if(BEFORE)
    file(READ ${BEFORE} before)
    string(PREPEND common "${before}")
endif()
set(rows "")
foreach(name IN LISTS names)
    read_script(text ${name})
    put_settings_in(text "${text}")
    put_fields_in(text "${text}")
    c_literal(literal "${common}${text}")
    string(APPEND rows "    {\"${name}\",\n     ${literal}},\n")
endforeach()

file(WRITE ${OUT} "/* Made by node/store/redis/lua/embed.cmake from the scripts beside it. */
#include \"node/store/redis/wire/encode.h\"

#include <stddef.h>

const struct script_text script_texts[] = {
${rows}    {NULL, NULL},
};
")

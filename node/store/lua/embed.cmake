# Turns the scripts into C: cmake -DOUT=FILE -DDIR=lua -DNAMES=push+pop -P embed.cmake
#
# Each script becomes one string in the table that scripts.h declares: common.lua, then the
# parts that its line "-- USES" names, then itself.

string(REPLACE "+" ";" names "${NAMES}")

function(c_literal out text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
    set(${out} "\"${text}\"" PARENT_SCOPE)
endfunction()

function(read_parts out text)
    set(all "")
    if(text MATCHES "\n-- USES +([a-z_ ]+)\n")
        string(REPLACE " " ";" parts "${CMAKE_MATCH_1}")
        foreach(part IN LISTS parts)
            file(READ ${DIR}/parts/${part}.lua one)
            string(APPEND all "${one}")
        endforeach()
    endif()
    set(${out} "${all}" PARENT_SCOPE)
endfunction()

file(READ ${DIR}/common.lua common)
set(rows "")
foreach(name IN LISTS names)
    file(READ ${DIR}/${name}.lua text)
    read_parts(parts "${text}")
    c_literal(literal "${common}${parts}${text}")
    string(APPEND rows "    {\"${name}\",\n     ${literal}},\n")
endforeach()

file(WRITE ${OUT} "/* Made by node/store/lua/embed.cmake from the scripts beside it. */
#include \"node/store/scripts.h\"

#include <stddef.h>

const struct script_text script_texts[] = {
${rows}    {NULL, NULL},
};
")

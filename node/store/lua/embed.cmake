# Turns the scripts into C: cmake -DOUT=FILE -DDIR=lua -DNAMES=push+pop -P embed.cmake
#
# Each script becomes one string, common.lua first, in the table that scripts.h declares.

string(REPLACE "+" ";" names "${NAMES}")

function(c_literal out text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
    set(${out} "\"${text}\"" PARENT_SCOPE)
endfunction()

file(READ ${DIR}/common.lua common)
set(rows "")
foreach(name IN LISTS names)
    file(READ ${DIR}/${name}.lua text)
    c_literal(literal "${common}${text}")
    string(APPEND rows "    {\"${name}\",\n     ${literal}},\n")
endforeach()

file(WRITE ${OUT} "/* Made by node/store/lua/embed.cmake from the scripts beside it. */
#include \"node/store/scripts.h\"

#include <stddef.h>

const struct script_text script_texts[] = {
${rows}    {NULL, NULL},
};
")

# Turns a text into C: cmake -DIN=openapi.yaml -DOUT=FILE -P embed.cmake

file(READ ${IN} text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE ${OUT} "/* Made by protocol/api/embed.cmake from openapi.yaml. */
#include \"protocol/api/handlers.h\"

const char openapi_text[] =
    \"${text}\";
")

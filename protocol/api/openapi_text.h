/* openapi.yaml as it stands beside this file, built in. */
#ifndef DUEQ_PROTOCOL_API_OPENAPI_TEXT_H
#define DUEQ_PROTOCOL_API_OPENAPI_TEXT_H

extern const char openapi_text[];

#endif

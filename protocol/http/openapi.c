/* /v1/openapi.yaml: what the API looks like, as this very node has it; / and /v1 lead there. */
#include "protocol/http/openapi_text.h"
#include "protocol/http/routes.h"

void openapi_get(struct exchange *x)
{
    exchange_reply(x, 200, "application/yaml", bytes_of_text(openapi_text));
}

void openapi_lead(struct exchange *x)
{
    exchange_add_header(x, "Location", "/v1/openapi.yaml");
    exchange_reply_json(x, 302, BYTES("{\"openapi\":\"/v1/openapi.yaml\"}"));
}

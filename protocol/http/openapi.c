/* /v1/openapi.yaml: what the API looks like, as this very node has it. */
#include "protocol/http/openapi_text.h"
#include "protocol/http/routes.h"

void openapi_get(struct exchange *x)
{
    exchange_reply(x, 200, "application/yaml", bytes_of_text(openapi_text));
}

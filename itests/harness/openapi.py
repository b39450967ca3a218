"""The contract of the HTTP API as a judge of requests and replies. Pure: no sockets.

It goes by the OpenAPI file, and where that has no words, by rules of our own: a reply has no
header that is not described, an error's code fits its status, 405 names exactly the methods of
the path, 429 and 503 say when to try again, and JSON has no member twice.
"""

import json
import re
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

import yaml
from jsonschema import Draft202012Validator, RefResolver

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
PLAIN_HEADERS = {"date", "content-type", "content-length", "connection"}


class Broken(AssertionError):
    """A request or a reply is not as the contract says."""


@lru_cache(maxsize=8)
def contract_of(text):
    return Contract(yaml.load(text, yaml.CSafeLoader))


def parse_json(data):
    """JSON as strict as ours: no member twice, no NaN, no half character."""
    def members(pairs):
        names = [name for name, _ in pairs]
        if len(set(names)) != len(names):
            raise Broken(f"a member comes twice: {names}")
        return dict(pairs)

    def not_a_number(word):
        raise Broken(f"{word} is not JSON")

    try:
        value = json.loads(data, object_pairs_hook=members, parse_constant=not_a_number)
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError) as error:
        raise Broken(f"not JSON: {error}: {data[:200]!r}") from error


class Contract:
    def __init__(self, document):
        self.document = document
        self._resolver = RefResolver("", document)
        self.status_of_code = document["components"]["schemas"]["ErrorCode"]["x-status"]
        self._schema_of_error = {"$ref": "#/components/schemas/Error"}

    # ---- looking things up ----

    def resolve(self, thing):
        while isinstance(thing, dict) and "$ref" in thing:
            thing = self._resolver.resolve(thing["$ref"])[1]
        return thing

    def find_path(self, target):
        """(template, {parameter: decoded value}); (None, {}) when there is none. A literal
        segment wins over a parameter."""
        segments = urlsplit(target).path.split("/")
        found = ((template, _match(template.split("/"), segments))
                 for template in self.document["paths"])
        fitting = [(template, values) for template, values in found if values is not None]
        return min(fitting, key=lambda each: len(each[1]), default=(None, {}))

    def operation(self, template, method):
        """None where the path does not answer to the method. HEAD goes where GET goes."""
        return self.document["paths"][template].get("get" if method == "HEAD" else method.lower())

    def allowed_methods(self, template):
        methods = {name.upper() for name in self.document["paths"][template] if name in METHODS}
        return methods | ({"HEAD"} if "GET" in methods else set())

    def parameters(self, template, operation, place):
        path = self.document["paths"][template]
        listed = map(self.resolve, path.get("parameters", []) + operation.get("parameters", []))
        return {each["name"]: each for each in listed if each["in"] == place}

    def judge(self, schema, value, what):
        errors = Draft202012Validator(schema, resolver=self._resolver).iter_errors(value)
        for error in errors:
            where = "/".join(map(str, error.absolute_path)) or "all of it"
            raise Broken(f"{what}: {where}: {error.message[:600]}")

    # ---- requests ----

    def check_request(self, method, target, body=b""):
        template, values = self.find_path(target)
        operation = self.operation(template, method) if template else None
        if operation is None:
            raise Broken(f"not described: {method} {target}")
        for name, parameter in self.parameters(template, operation, "path").items():
            self._check_parameter(parameter, values[name])
        self._check_query(self.parameters(template, operation, "query"), urlsplit(target).query)
        self._check_request_body(operation, body)

    def _check_query(self, described, text):
        seen = set()
        for name, value in parse_qsl(text.replace("+", "%2B"), keep_blank_values=True):
            if name not in described or name in seen:
                raise Broken(f"unknown, or a second time: {name}")
            seen.add(name)
            self._check_parameter(described[name], value)

    def _check_parameter(self, parameter, text):
        schema = self.resolve(parameter["schema"])
        value = text
        if schema["type"] == "array":
            value = text.split(",")
        self.judge(schema, _number_of(schema, value), f"parameter {parameter['name']}")

    def _check_request_body(self, operation, body):
        described = operation.get("requestBody")
        if described and (body or described.get("required")):
            schema = described["content"]["application/json"]["schema"]
            self.judge(schema, parse_json(body), "request body")
        elif body and not described:
            raise Broken("this request has no body")

    # ---- replies ----

    def check_reply(self, method, target, status, headers, body):
        """`headers` are pairs, as they came. Returns the JSON of the body, None without."""
        names = [name.lower() for name, _ in headers]
        if len(set(names)) != len(names):
            raise Broken(f"a header comes twice: {names}")
        headers = dict(zip(names, (value for _, value in headers)))
        template, _ = self.find_path(target)
        response = self._response(template, method, status)
        self._check_headers(response, headers)
        value = self._check_content(response, method, headers, body)
        self._check_error(template, method, status, headers, value)
        return value

    def _response(self, template, method, status):
        operation = self.operation(template, method) if template else None
        if operation is None:  # no such path or method: what the server says to all of them
            fault = self.document["components"]["responses"]["Fault"]
            return {**fault, "content": {"application/json": {"schema": self._schema_of_error}}}
        responses = operation["responses"]
        return self.resolve(responses.get(str(status), responses["default"]))

    def _check_headers(self, response, headers):
        described = {name.lower(): self.resolve(header)
                     for name, header in response.get("headers", {}).items()}
        for name, header in described.items():
            if name in headers:
                value = _number_of(header["schema"], headers[name])
                self.judge(header["schema"], value, f"header {name}")
            elif header.get("required"):
                raise Broken(f"the header {name} is missing")
        surplus = set(headers) - set(described) - PLAIN_HEADERS - {"retry-after"}
        if surplus:
            raise Broken(f"headers that are not described: {surplus}")

    def _check_content(self, response, method, headers, body):
        content = response.get("content")
        if content is None:
            if body or "content-type" in headers or "content-length" in headers:
                raise Broken(f"a body where none is described: {headers} {body[:200]!r}")
            return None
        kind = headers.get("content-type", "").split(";")[0]
        if kind not in content:
            raise Broken(f"Content-Type {kind!r} is not one of {list(content)}")
        if method == "HEAD":
            if body or "content-length" not in headers:
                raise Broken(f"not a reply to HEAD: {headers} {body[:200]!r}")
            return None
        value = parse_json(body) if kind == "application/json" else body.decode()
        self.judge(content[kind]["schema"], value, "reply")
        return value

    def _check_error(self, template, method, status, headers, value):
        """What a schema cannot say."""
        if status >= 400 and method != "HEAD":
            code = value["error"]["code"] if isinstance(value, dict) and "error" in value else None
            if self.status_of_code.get(code) != status:
                raise Broken(f"status {status} with the code {code!r}")
        if (status in (429, 503)) != ("retry-after" in headers):
            raise Broken(f"status {status}, Retry-After {headers.get('retry-after')}")
        allow = set(headers["allow"].split(", ")) if "allow" in headers else None
        if allow != (self.allowed_methods(template) if status == 405 and template else None):
            raise Broken(f"status {status}, Allow {allow}")


def _match(names, segments):
    """{parameter: value} when a path's segments fit those of a template, else None."""
    if len(names) != len(segments):
        return None
    values = {}
    for name, segment in zip(names, segments):
        if name.startswith("{") and segment:
            values[name[1:-1]] = unquote(segment)
        elif name != segment:
            return None
    return values


def _number_of(schema, text):
    is_number = schema.get("type") == "integer" and re.fullmatch(r"-?[0-9]+", text)
    return int(text) if is_number else text

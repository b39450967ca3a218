"""The OpenAPI file is what it says: OpenAPI 3.1, complete, and true to the node's own tables.

Debian has no meta-schema of 3.1, so the rules that matter stand here.
"""

import re

import pytest
from jsonschema import Draft202012Validator

from harness.http_tables import contract_in_source, error_rows, routes
from harness.openapi import METHODS
from harness.topic_settings import BUILT_IN

CONTRACT = contract_in_source()
DOCUMENT = CONTRACT.document

KEYS = {
    "document": {"openapi", "jsonSchemaDialect", "info", "servers", "security", "tags",
                 "paths", "components"},
    "path": {"parameters", *METHODS},
    "operation": {"operationId", "tags", "summary", "description", "parameters", "requestBody",
                  "responses", "x-roles"},
    "parameter": {"name", "in", "required", "description", "style", "explode", "schema",
                  "example"},
    "request body": {"required", "content"},
    "response": {"description", "headers", "content"},
    "header": {"description", "required", "schema"},
    "content": {"schema", "example", "examples"},
}
REQUIRED = {
    "operation": {"operationId", "tags", "summary", "responses"},
    "parameter": {"name", "in", "description", "schema"},
    "response": {"description", "headers"},
}


def operations():
    for template, path in DOCUMENT["paths"].items():
        for method in METHODS:
            if method in path:
                yield template, method, path[method]


def all_parts():
    """(kind, name, part) of everything in the file that is not a schema."""
    yield "document", "the file", DOCUMENT
    for template, path in DOCUMENT["paths"].items():
        yield "path", template, path
    for template, method, operation in operations():
        name = f"{method} {template}"
        yield "operation", name, operation
        for place in ("path", "query", "header"):
            for each in CONTRACT.parameters(template, operation, place).values():
                yield "parameter", f"{name} {each['name']}", each
        if "requestBody" in operation:
            yield "request body", name, operation["requestBody"]
            yield from _contents(name, operation["requestBody"])
        for status, response in operation["responses"].items():
            response = CONTRACT.resolve(response)
            yield "response", f"{name} {status}", response
            for header, each in response["headers"].items():
                yield "header", f"{name} {status} {header}", CONTRACT.resolve(each)
            yield from _contents(f"{name} {status}", response)


def _contents(name, part):
    for kind, content in part.get("content", {}).items():
        yield "content", f"{name} {kind}", content


def all_schemas():
    for kind, name, part in all_parts():
        if "schema" in part:
            yield f"{kind} {name}", part["schema"]
    for name, schema in DOCUMENT["components"]["schemas"].items():
        yield name, schema


def inner_dicts(thing):
    if isinstance(thing, dict):
        yield thing
        thing = list(thing.values())
    if isinstance(thing, list):
        for each in thing:
            yield from inner_dicts(each)


def test_it_is_openapi_3_1():
    assert DOCUMENT["openapi"].startswith("3.1.")
    assert {"title", "version"} <= set(DOCUMENT["info"])


def test_every_part_has_the_members_it_must_have_and_no_others():
    for kind, name, part in all_parts():
        assert set(part) <= KEYS[kind], f"{kind} {name}"
        assert REQUIRED.get(kind, set()) <= set(part), f"{kind} {name}"


def test_every_reference_leads_somewhere():
    for each in inner_dicts(DOCUMENT):
        if "$ref" in each:
            assert CONTRACT.resolve(each) is not None


def test_every_component_is_used():
    used = {each["$ref"] for each in inner_dicts(DOCUMENT) if "$ref" in each}
    used |= {f"#/components/securitySchemes/{name}" for way in DOCUMENT["security"] for name in way}
    for kind, components in DOCUMENT["components"].items():
        for name in components:
            assert f"#/components/{kind}/{name}" in used, name


def test_every_schema_is_json_schema():
    for _, schema in all_schemas():
        Draft202012Validator.check_schema(schema)


def test_every_object_is_closed():
    for name, schema in all_schemas():
        for each in inner_dicts(schema):
            if each.get("type") == "object":
                others = each.get("additionalProperties")
                assert others is False or "$ref" in others and "properties" not in each, name
                assert set(each.get("required", [])) <= set(each.get("properties", ())), name


def test_every_setting_of_topics_is_where_settings_are():
    settings = DOCUMENT["components"]["schemas"]["Settings"]
    assert list(settings["properties"]) == list(BUILT_IN)
    operation = DOCUMENT["paths"]["/v1/topics/{topic}/settings"]["patch"]
    changes = operation["requestBody"]["content"]["application/json"]["schema"]
    assert changes["properties"] == {name: {"oneOf": [schema, {"type": "null"}]}
                                     for name, schema in settings["properties"].items()}
    effective = DOCUMENT["components"]["schemas"]["TopicSettings"]["properties"]["effective"]
    assert effective["allOf"][1] == {"required": list(BUILT_IN)}


def test_every_example_is_one():
    count = 0
    for kind, name, part in all_parts():
        examples = [each["value"] for each in part.get("examples", {}).values()]
        examples += [part["example"]] if "example" in part else []
        for example in examples:
            CONTRACT.judge(part["schema"], example, f"example of {kind} {name}")
            count += 1
    assert count > 20


def test_every_parameter_of_a_path_is_described_and_required():
    for template, _, operation in operations():
        described = CONTRACT.parameters(template, operation, "path")
        assert sorted(re.findall(r"{(\w+)}", template)) == sorted(described), template
        assert all(each["required"] is True for each in described.values()), template


def test_every_operation_has_a_name_of_its_own_and_a_known_tag():
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(names)) == len(names)
    tags = {tag["name"] for tag in DOCUMENT["tags"]}
    assert {tag for *_, operation in operations() for tag in operation["tags"]} == tags


def test_every_reply_has_a_request_id_and_every_429_and_503_says_when_to_try_again():
    for template, method, operation in operations():
        for status, response in operation["responses"].items():
            headers = CONTRACT.resolve(response)["headers"]
            assert "X-Request-Id" in headers, f"{method} {template} {status}"
            assert ("Retry-After" in headers) == (status in ("429", "503")), \
                f"{method} {template} {status}"


def test_every_operation_says_what_the_server_may_have_against_it():
    for template, method, operation in operations():
        assert {"503", "default"} <= set(operation["responses"]), f"{method} {template}"


def test_error_codes_stand_with_the_status_they_belong_to():
    for template, method, operation in operations():
        for status, response in operation["responses"].items():
            if status < "400" or status == "default":
                continue
            for code in _codes_of(response):
                assert CONTRACT.status_of_code[code] == int(status), f"{method} {template} {code}"


def _codes_of(response):
    content = CONTRACT.resolve(response)["content"]["application/json"]
    code = content["schema"]["allOf"][1]["properties"]["error"]["properties"]["code"]
    return code.get("enum") or [code["const"]]


# ---- what the node's own tables say ----


def test_the_codes_are_those_of_the_nodes_table_with_their_statuses():
    table = {row.code: row.status for row in error_rows()}
    assert len(table) > 15
    assert CONTRACT.status_of_code == table
    assert set(DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"]) == set(table)


def test_every_path_of_the_nodes_table_is_described_and_the_other_way_round():
    described = [(method.upper(), template) for template, method, _ in operations()]
    assert sorted(routes()) == sorted(described)


@pytest.mark.parametrize("path", ["/v1/topics/a/jobs", "/v1/topics/a,b/pop", "/v1/topics/a"])
def test_a_path_finds_one_template(path):
    assert CONTRACT.find_path(path)[0] is not None

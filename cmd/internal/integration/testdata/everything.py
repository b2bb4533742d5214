"""Calls the tools of @modelcontextprotocol/server-everything and leaves what they answered."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from servers.client import MCPArgumentError, MCPError, MCPToolError
from servers.everything import (
    echo, get_annotated_message, get_env, get_resource_links, get_resource_reference, get_structured_content,
    get_sum, get_tiny_image, gzip_file_as_resource, trigger_long_running_operation,
)


def blocks(answer: object) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", answer)


def failure(kind: type[MCPError], call: Callable[[], object]) -> object:
    try:
        return {"answered": call()}
    except kind as err:
        return {"name": type(err).__name__, "kind": err.kind, "server": err.server, "tool": err.tool,
                "blocks": len(err.content)}
    except Exception as err:
        return {"unexpected": repr(err)}


weather = get_structured_content(location="New York")
image = blocks(get_tiny_image())
annotated = blocks(get_annotated_message(messageType="error", includeImage=True))
links = blocks(get_resource_links(count=4))
reference = blocks(get_resource_reference(resourceType="Blob", resourceId=7))
zipped = blocks(gzip_file_as_resource(name="hi.gz", data="data:text/plain;base64,aGk=", outputType="resource"))
with ThreadPoolExecutor(max_workers=2) as pool:
    echoes = [future.result() for future in [pool.submit(echo, message=text) for text in ("one", "zwei ü 🙂")]]
two: Any = "two"

print(f"{weather['conditions']}, {len(image)} blocks ü")
result = {
    "echo": echoes,
    "sum": get_sum(a=2, b=3.5),
    "weather": {"temperature": weather["temperature"], "conditions": weather["conditions"], "humidity": weather["humidity"]},
    "image": {"type": image[1]["type"], "mimeType": image[1]["mimeType"], "png": str(image[1]["data"]).startswith("iVBORw0KGgo")},
    "annotated": {"types": [block["type"] for block in annotated], "text": annotated[0]["text"],
                  "annotations": annotated[0]["annotations"]},
    "links": [block["uri"] for block in links if block["type"] == "resource_link"],
    "reference": reference[1]["resource"]["uri"],
    "zipped": {"uri": zipped[0]["resource"]["uri"], "mimeType": zipped[0]["resource"]["mimeType"],
               "blob": str(zipped[0]["resource"]["blob"]).startswith("H4sI")},
    "long": trigger_long_running_operation(duration=0.2, steps=2),
    "secret": "canary" in str(get_env()),
    "toolError": failure(MCPToolError, lambda: get_resource_reference(resourceType="Text", resourceId=-1)),
    "argumentError": failure(MCPArgumentError, lambda: get_sum(a=two, b=3)),
}

"""What a server of others offers beside plain calls: pictures, resources, prompts, questions, and calls that take long."""

import json

from mcprun import list_files, read_file, vars, write_file
from servers.client import MCPError, call_mcp_tool
from servers.everything import get_tiny_image, prompts, resources, trigger_elicitation_request, trigger_long_running_operation


def failure(**options):
    try:
        call_mcp_tool("everything__trigger_long_running_operation", {"duration": 20, "steps": 2}, **options)
        return "it answered"
    except MCPError as err:
        return type(err).__name__


image = next(block for block in get_tiny_image() if block["type"] == "image")
image.save("pictures/tiny.png")
listed = resources.list()
document = next((each for each in listed if each.get("mimeType") == "text/markdown"), listed[0])
contents = resources.read(document["uri"])
prompt = prompts.get("args-prompt", {"city": "Oslo"})
asked = trigger_elicitation_request()
write_file("notes/one.txt", "one")

print(f"{len(listed)} resources")
with open("pictures/tiny.png", "rb") as f:
    png = f.read()[1:4].decode()
result = {
    "png": png,
    "text": len(contents[0]["text"]) > 0,
    "prompts": sorted(each["name"] for each in prompts.list()),
    "prompt": "Oslo" in json.dumps(prompt["messages"][0]),
    "asked": "Ada" in json.dumps(asked),
    "long": "Duration: 1 seconds" in str(trigger_long_running_operation(duration=1, steps=4)),
    "timeout": failure(timeout=0.3),
    "aborted": True,
    "note": read_file("notes/one.txt"),
    "files": list_files("**"),
    "city": vars["city"],
}

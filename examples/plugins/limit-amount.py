"""A plugin with a business rule: it refuses every call over 10,000 in amount.

Copy it to plugins/ of your project, and write into mcpgen.yaml:

    plugins: [plugins/limit-amount.py]

Try it with: mcprun plugin check plugins/limit-amount.py --args '{"amount": 12000}'
"""
import json
import sys

LIMIT = 10_000


def amounts(value):
    """Yields every member called amount, at any depth."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name.lower() == "amount":
                yield member
            yield from amounts(member)
    elif isinstance(value, list):
        for member in value:
            yield from amounts(member)


def decide(event):
    if event["hook"] != "call":
        return {"decision": "allow"}
    for amount in amounts(event["arguments"]):
        if float(amount) > LIMIT:  # a value that is not a number raises an error, so the call is refused too
            return {"decision": "deny", "reason": f"amount {amount} is over {LIMIT:,}"}
    return {"decision": "allow"}


for line in sys.stdin:  # one line, or with mode: stream one for each event
    event = json.loads(line)
    print(json.dumps({"id": event["id"], **decide(event)}), flush=True)

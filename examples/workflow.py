"""Copies contacts into the CRM, waits, and counts them: a workflow, which goes on where it was if its process dies. Run it with:

mcprun workflow run examples/workflow.py --allow crm__create_record --input names='["Ada", "Grace"]'
"""

from mcprun import vars, workflow
from servers.crm import create_record, query_records

given: dict[str, list[str]] = vars.get("input") or {}
names = given.get("names", ["Ada", "Grace"])
ids: list[str] = []
for name in names:
    # Once it has finished, a step is not run again: no lead is created twice.
    lead = workflow.step("copy", lambda name: create_record(object_type="Lead", data={"Name": name, "Company": "Copied", "Status": "New"}), name)
    ids.append(lead["id"])
workflow.sleep("100ms")  # of a workflow that waits for hours, nothing runs
there = workflow.step("count", lambda: query_records(object_type="Lead", limit=200))
known = {lead["Id"] for lead in there["records"]}
print(f"copied {len(ids)} of {len(names)}; all are there: {known.issuperset(ids)}")
result = ids

# A program that has mcprun read data with tools and run a workflow. It goes on with the data itself, so it asks for no tokens.
#   pip install mcprun_host-….whl; python3 examples/host/leads.py
from mcprun_host import McprunError, Mcprun

CODE = """
from servers.crm import query_records

leads = query_records(object_type="Lead", limit=limit)["records"]
result = [{"name": lead["Name"], "email": lead["Email"]} for lead in leads]
"""

client = Mcprun(pii="off")
try:
    for lead in client.run(CODE, language="python", variables={"limit": 3}, timeout=60).check().result:
        print(lead["name"], lead["email"])
    copied = client.workflows.run("examples/workflow.ts", input={"names": ["Ada", "Grace"]}, options=["--allow=crm__create_record"])
    print(copied.check().output, end="")
    print(client.workflows.show(copied.workflow).state)
except McprunError as error:  # which says what to do
    raise SystemExit(str(error)) from error

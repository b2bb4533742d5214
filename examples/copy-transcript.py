"""Copies a meeting's transcript from the drive into the CRM.

The text, some 50,000 tokens of it, goes from tool to tool inside the sandbox; the model reads one line.
"""

from servers.crm import query_records, update_record
from servers.drive import get_document

document = get_document(document_id="harbor-pine-discovery-transcript")
meetings = query_records(
    object_type="SalesMeeting",
    filters=[{"field": "Name", "operator": "contains", "value": "Harbor & Pine"}],
    limit=1,
)
record_id = str(meetings["records"][0]["Id"])
updated = update_record(object_type="SalesMeeting", record_id=record_id, data={"Notes": document.get("content", "")})
print(f'copied {document.get("word_count")} words of "{document.get("title")}" to {updated["object_type"]} {updated["id"]}')
result = {"record": updated["id"], "words": document.get("word_count")}

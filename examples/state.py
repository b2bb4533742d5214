"""Exports contacts, 20 in each run, and goes on where the last run stopped: files in the workspace survive. Run it twice:

mcprun examples/state.py
"""

from mcprun import load_checkpoint, save_checkpoint, write_file
from servers.crm import query_records

last = load_checkpoint("contacts") or {"next": 0}  # None in the first run
offset: int = last["next"] or 0
page = query_records(object_type="Contact", limit=20, offset=offset)
lines = [f'{contact["Id"]},{contact["Email"]}\n' for contact in page["records"]]
write_file("contacts.csv", "".join(lines), append=offset > 0)
save_checkpoint("contacts", {"next": page["next_offset"]})

done = offset + len(page["records"])
print(f'{done} of {page["total"]} contacts are in contacts.csv')
if page["next_offset"] is None:
    print("that was the last page; the next run begins again")

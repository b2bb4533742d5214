import json

from servers.salesforce import query

leads = query(query="SELECT Id, Email FROM Lead LIMIT 1000")
write_file("leads.json", json.dumps(leads))
print([name for name in list_files() if "leads" in name])
print(len(json.loads(read_file("leads.json"))))
with open("leads.csv", "w") as f:
    for lead in leads:
        f.write(f"{lead['Id']},{lead['Email']}\n")
delete_file("leads.json")
print(sum(1 for _ in open("leads.csv")))

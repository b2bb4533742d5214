"""Uses a saved function, a skill. Save it first, then run this:

mcprun skill save largest examples/largest.py -d "Find the rows with the largest numbers in a field."
mcprun examples/use-skill.py
"""

from servers.crm import query_records
from skills.largest import largest

records = query_records(object_type="Opportunity", limit=500)["records"]
for sale in largest(records, "Amount", 3):
    print(f'{sale["Amount"]}  {sale["Name"]}')

"""Reads a CSV file from the workspace, adds up its columns by region, and writes the sums to another file. Run it with:

mkdir -p workspace && cp examples/sales.csv workspace/ && mcprun examples/files.py
"""

import csv
from collections import defaultdict

with open("sales.csv", newline="") as file:
    sales = list(csv.DictReader(file))
sums: defaultdict[str, float] = defaultdict(float)
for sale in sales:
    sums[sale["region"]] += int(sale["units"]) * float(sale["price"])
with open("revenue.csv", "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["region", "revenue"])
    writer.writerows([region, f"{total:.2f}"] for region, total in sums.items())
print(f"{len(sales)} sales in {len(sums)} regions: see revenue.csv")

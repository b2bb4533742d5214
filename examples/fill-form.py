"""A form that a script fills in from rows. It needs the form: mcprun --forms examples/forms examples/fill-form.py"""

from mcprun import fill_form

rows = [
    {"Full name": "Ann Lee", "Company": "Harbor & Sons", "Mail": "ann.lee@example.com", "Points": 8, "First seen": "2026-11-30"},
    {"Company": "Blue Kettle", "Mail": "info@blue.example", "Points": 5, "First seen": "soon"},
]
for row in rows:
    lead = fill_form("lead", row, ask=False)
    # A form with problems stays open: mcprun form list has it, and a person can complete it.
    why = [p["message"] for p in lead["problems"]] + [f"{field} is missing" for field in lead["missing"]]
    print(row["Company"], lead["status"], "; ".join(why))

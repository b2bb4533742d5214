package main

import (
	"fmt"
	"slices"
	"strings"
)

// manyRecordTasks move or change many records.
func manyRecordTasks() []task {
	return []task{topCustomers(), exportOrders(), contactsBackup(), resellers(), handOver()}
}

func topCustomers() task {
	const statement = "SELECT c.name, c.city, c.country, SUM(t.total_cents) AS cents FROM customers c JOIN order_totals t ON t.customer_id = c.id WHERE t.ordered_at LIKE '2025-%' GROUP BY c.id ORDER BY cents DESC, c.id LIMIT 200"
	columns := []column{{"Name", "string"}, {"City", "string"}, {"Country", "string"}, {"Cents", "number"}}
	return task{
		name: "query-to-sheet", kind: dataHeavy, changes: newSheet("top-customers-2025"),
		prompt: "Make a sheet \"Top customers 2025\" in the drive with the columns Name, City, Country and Cents: the 200 shop customers with the highest sum of total_cents in 2025, highest first, those of equal sums by id (database: customers with id, name, city, country; view order_totals with customer_id, ordered_at, total_cents).",
		needs: []need{
			{"database__query", []string{"run a SQL query and read rows"}},
			{"drive__create_sheet", []string{"create a sheet with columns and rows"}},
		},
		direct: func(m *model) string {
			out := read[rows](m, "database__query", object{"sql": statement, "max_rows": 200})
			var cells [][]any
			for _, r := range out.Rows {
				cells = append(cells, []any{r["name"], r["city"], r["country"], r["cents"]})
			}
			read[object](m, "drive__create_sheet", object{"title": "Top customers 2025", "columns": columns, "rows": cells})
			return "The sheet has 200 rows."
		},
		check: func(j *judge) error {
			list, err := j.sql(j.before, strings.Replace(statement, "LIMIT 200", "", 1))
			if err != nil {
				return err
			}
			want := [][]string{{"Name", "City", "Country", "Cents"}}
			for _, r := range list[:200] {
				want = append(want, []string{cell(r["name"]), cell(r["city"]), cell(r["country"]), fmt.Sprintf("%.0f", r["cents"])})
			}
			return j.hasNewSheet("top-customers-2025", "Top customers 2025", columns, asCSV(want...))
		},
	}
}

func exportOrders() task {
	const statement = "SELECT id, customer_id, status, ordered_at, shipping_cents FROM orders WHERE ordered_at LIKE '2025-01-%' OR ordered_at LIKE '2025-02-%' ORDER BY id"
	export := func(list []object) string {
		out := [][]string{{"id", "customer_id", "status", "ordered_at", "shipping_cents"}}
		for _, r := range list {
			out = append(out, []string{fmt.Sprintf("%.0f", r["id"]), fmt.Sprintf("%.0f", r["customer_id"]), cell(r["status"]), cell(r["ordered_at"]), fmt.Sprintf("%.0f", r["shipping_cents"])})
		}
		return asCSV(out...)
	}
	return task{
		name: "export-to-csv", kind: dataHeavy, changes: delta{"+ filesystem/exports/": 1, "+ filesystem/exports/orders.csv content": 1},
		prompt: "Write the shop's orders of January and February 2025 (database, table orders) to exports/orders.csv with the columns id, customer_id, status, ordered_at, shipping_cents, sorted by id.",
		needs: []need{
			{"database__query", []string{"run a SQL query and read rows"}},
			{"filesystem__write_file", []string{"write a file"}},
		},
		direct: func(m *model) string {
			out := read[rows](m, "database__query", object{"sql": statement, "max_rows": 1000})
			if out.Truncated {
				return "there are more"
			}
			read[object](m, "filesystem__write_file", object{"path": "exports/orders.csv", "content": export(out.Rows)})
			return "exports/orders.csv is written."
		},
		check: func(j *judge) error {
			all, err := j.sql(j.before, "SELECT * FROM orders ORDER BY id")
			if err != nil {
				return err
			}
			early := slices.DeleteFunc(all, func(r object) bool {
				at := cell(r["ordered_at"])
				return !strings.HasPrefix(at, "2025-01") && !strings.HasPrefix(at, "2025-02")
			})
			return j.hasFile("exports/orders.csv", export(early))
		},
	}
}

func contactsBackup() task {
	fields := []string{"Name", "Title", "Email", "Phone", "AccountId"}
	columns := []column{{"Id", "string"}}
	for _, f := range fields {
		columns = append(columns, column{f, "string"})
	}
	cells := func(r object) []string {
		out := []string{cell(r["Id"])}
		for _, f := range fields {
			out = append(out, cell(r[f]))
		}
		return out
	}
	return task{
		name: "contacts-to-sheet", kind: dataHeavy, changes: newSheet("contacts"),
		prompt: "Make a sheet \"Contacts\" in the drive from all contacts of the CRM, sorted by Id, with the text columns Id, Name, Title, Email, Phone, AccountId.",
		needs: []need{
			{"crm__query_records", []string{"find CRM records by conditions"}},
			{"drive__create_sheet", []string{"create a sheet with columns and rows"}},
		},
		direct: func(m *model) string {
			out := read[records](m, "crm__query_records", object{"object_type": "Contact", "fields": fields, "limit": 500})
			var list [][]string
			for _, r := range out.Records {
				list = append(list, cells(r))
			}
			read[object](m, "drive__create_sheet", object{"title": "Contacts", "columns": columns, "rows": list})
			return fmt.Sprintf("The sheet has %d contacts.", len(list))
		},
		check: func(j *judge) error {
			contacts, err := j.crm(j.before, "Contact", nil)
			if err != nil {
				return err
			}
			want := [][]string{append([]string{"Id"}, fields...)}
			for _, r := range contacts {
				want = append(want, cells(r))
			}
			return j.hasNewSheet("contacts", "Contacts", columns, asCSV(want...))
		},
	}
}

func resellers() task {
	const statement = "SELECT name, email FROM customers WHERE segment = 'reseller' ORDER BY id"
	return task{
		name: "create-50-leads", kind: dataHeavy, changes: newItems(50, "crm/Lead/*", "Name", "Email", "Company", "Status", "LeadSource"),
		prompt: "Create a CRM lead for each reseller among the shop's customers (database, table customers: name, email, segment 'reseller'): Name, Email, company \"Reseller\", status New, source Partner.",
		needs: []need{
			{"database__query", []string{"run a SQL query and read rows"}},
			{"crm__create_record", []string{"create a CRM record"}},
		},
		direct: func(m *model) string {
			var requests []request
			for _, r := range read[rows](m, "database__query", object{"sql": statement}).Rows {
				requests = append(requests, request{"crm__create_record", object{"object_type": "Lead", "data": object{
					"Name": r["name"], "Email": r["email"], "Company": "Reseller", "Status": "New", "LeadSource": "Partner"}}})
			}
			for _, r := range m.all(requests...) {
				decoded[object](m, r)
			}
			return fmt.Sprintf("%d leads are created.", len(requests))
		},
		check: func(j *judge) error {
			want, err := j.sql(j.before, "SELECT email, name FROM customers WHERE segment = 'reseller'")
			if err != nil {
				return err
			}
			leads, err := j.crm(j.after, "Lead", object{"Company": "Reseller", "Status": "New", "LeadSource": "Partner"})
			if err != nil {
				return err
			}
			have := map[string]string{}
			for _, l := range leads {
				have[cell(l["Email"])] = cell(l["Name"])
			}
			for _, c := range want {
				if have[cell(c["email"])] != c["name"] {
					return fmt.Errorf("there is no lead for %v", c)
				}
			}
			if len(leads) != len(want) {
				return fmt.Errorf("there are %d leads, want %d", len(leads), len(want))
			}
			return nil
		},
	}
}

func handOver() task {
	const from, to = "Lukas Meier", "Maya Lindholm"
	kinds := []string{"Account", "Contact", "Opportunity", "Lead"}
	return task{
		name: "hand-over-records", kind: dataHeavy, changes: delta{
			"crm/Account/* OwnerName": 8, "crm/Contact/* OwnerName": 24, "crm/Opportunity/* OwnerName": 17, "crm/Lead/* OwnerName": 13,
			"crm/Account/* LastModifiedDate": 8, "crm/Contact/* LastModifiedDate": 24, "crm/Opportunity/* LastModifiedDate": 17, "crm/Lead/* LastModifiedDate": 13,
		},
		prompt: "Lukas Meier leaves. Give all his accounts, contacts, opportunities and leads in the CRM to Maya Lindholm (field OwnerName).",
		needs: []need{
			{"crm__query_records", []string{"find CRM records by conditions"}},
			{"crm__update_record", []string{"update fields of a CRM record"}},
		},
		direct: func(m *model) string {
			var find, change []request
			for _, kind := range kinds {
				find = append(find, request{"crm__query_records", object{"object_type": kind, "filters": []object{{"field": "OwnerName", "value": from}}, "fields": []string{"Id"}, "limit": 500}})
			}
			for i, r := range m.all(find...) {
				for _, record := range decoded[records](m, r).Records {
					change = append(change, request{"crm__update_record", object{"object_type": kinds[i], "record_id": record["Id"], "data": object{"OwnerName": to}}})
				}
			}
			for _, r := range m.all(change...) {
				decoded[object](m, r)
			}
			return fmt.Sprintf("%d records are handed over.", len(change))
		},
		check: func(j *judge) error {
			for _, kind := range kinds {
				his, err := j.crm(j.before, kind, object{"OwnerName": from})
				if err != nil {
					return err
				}
				hers, err := j.crm(j.before, kind, object{"OwnerName": to})
				if err != nil {
					return err
				}
				now, err := j.crm(j.after, kind, object{"OwnerName": to})
				if err != nil {
					return err
				}
				if len(now) != len(his)+len(hers) {
					return fmt.Errorf("she has %d of %s, want %d", len(now), kind, len(his)+len(hers))
				}
			}
			return nil
		},
	}
}

package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// multiStepTasks need several calls that depend on each other, with little data.
func multiStepTasks() []task {
	return []task{climates(), thankYou(), nextStep(), noteToDrive(), winds(), reprice(), todos()}
}

func climates() task {
	cities := []string{"Oslo", "Tokyo", "Berlin", "Sydney", "London", "Madrid", "Rome", "Nairobi"}
	best := func(list []climate) string {
		warm := slices.MaxFunc(list, func(a, b climate) int { return cmp.Compare(a.Months[0].Mean, b.Months[0].Mean) })
		dry := slices.MinFunc(list, func(a, b climate) int { return cmp.Compare(a.Months[0].Precipitation, b.Months[0].Precipitation) })
		return "warmest " + warm.City.Name + ", driest " + dry.City.Name
	}
	return task{
		name: "compare-climates", kind: multiStep,
		prompt: "Which of " + strings.Join(cities, ", ") + " is warmest in July by its mean temperature, and which gets least rain? Answer: warmest X, driest Y.",
		needs:  []need{{"weather__get_climate", []string{"climate normals of a city by month"}}},
		direct: func(m *model) string {
			var requests []request
			for _, city := range cities {
				requests = append(requests, request{"weather__get_climate", object{"city": city, "months": []int{7}}})
			}
			var list []climate
			for _, r := range m.all(requests...) {
				list = append(list, decoded[climate](m, r))
			}
			if m.err != nil {
				return ""
			}
			return best(list)
		},
		check: func(j *judge) error {
			var list []climate
			for _, city := range cities {
				// Read the whole year, and select the month here.
				c, err := ask[climate](j.ctx, j.before, "weather__get_climate", object{"city": city})
				if err != nil {
					return err
				}
				c.Months = c.Months[6:7]
				list = append(list, c)
			}
			return j.answered(best(list))
		},
	}
}

func thankYou() task {
	const statement = "SELECT c.name, c.email, SUM(t.total_cents) AS cents FROM customers c JOIN order_totals t ON t.customer_id = c.id WHERE t.status = 'delivered' GROUP BY c.id ORDER BY cents DESC LIMIT 1"
	return task{
		name: "best-customer-to-crm", kind: multiStep, changes: newItems(1, "crm/Lead/*", "Name", "Email", "Company", "Status", "LeadSource"),
		prompt: "Find the shop customer (database: customers, view order_totals with customer_id, status, total_cents) with the highest sum of delivered orders, and create a CRM lead for them: their name and e-mail, company \"Bicycle shop\", status New, source Referral.",
		needs: []need{
			{"database__query", []string{"run a SQL query and read rows"}},
			{"crm__create_record", []string{"create a CRM record"}},
		},
		direct: func(m *model) string {
			out := read[rows](m, "database__query", object{"sql": statement})
			if len(out.Rows) != 1 {
				return "nobody"
			}
			read[object](m, "crm__create_record", object{"object_type": "Lead", "data": object{
				"Name": out.Rows[0]["name"], "Email": out.Rows[0]["email"], "Company": "Bicycle shop", "Status": "New", "LeadSource": "Referral"}})
			return fmt.Sprintf("Created a lead for %s.", out.Rows[0]["name"])
		},
		check: func(j *judge) error {
			list, err := j.sql(j.before, "SELECT customer_id AS id, SUM(total_cents) AS cents FROM order_totals WHERE status = 'delivered' GROUP BY customer_id")
			if err != nil {
				return err
			}
			best := slices.MaxFunc(list, func(a, b object) int { return cmp.Compare(a["cents"].(float64), b["cents"].(float64)) })
			who, err := j.sql(j.before, fmt.Sprintf("SELECT name, email FROM customers WHERE id = %v", best["id"]))
			if err != nil {
				return err
			}
			leads, err := j.crm(j.after, "Lead", object{"Company": "Bicycle shop", "Status": "New", "LeadSource": "Referral"})
			if err == nil && (len(leads) != 1 || leads[0]["Name"] != who[0]["name"] || leads[0]["Email"] != who[0]["email"]) {
				err = fmt.Errorf("the leads are %v, want one for %v", leads, who)
			}
			return err
		},
	}
}

func nextStep() task {
	const step = "Send the revised offer by Friday"
	return task{
		name: "largest-sale-next-step", kind: multiStep, changes: delta{"crm/Opportunity/* NextStep": 1, "crm/Opportunity/* LastModifiedDate": 1},
		prompt: "In the CRM, set NextStep of Kestrel Telecom's largest opportunity (by Amount) to \"" + step + "\".",
		needs: []need{
			{"crm__query_records", []string{"find CRM records by conditions"}},
			{"crm__update_record", []string{"update fields of a CRM record"}},
		},
		direct: func(m *model) string {
			account := read[records](m, "crm__query_records", object{"object_type": "Account", "filters": []object{{"field": "Name", "value": "Kestrel Telecom"}}, "fields": []string{"Name"}})
			if len(account.Records) != 1 {
				return "no such account"
			}
			sales := read[records](m, "crm__query_records", object{"object_type": "Opportunity", "filters": []object{{"field": "AccountId", "value": account.Records[0]["Id"]}},
				"order_by": object{"field": "Amount", "direction": "desc"}, "fields": []string{"Name", "Amount"}, "limit": 1})
			if len(sales.Records) != 1 {
				return "no sale"
			}
			id := sales.Records[0]["Id"]
			read[object](m, "crm__update_record", object{"object_type": "Opportunity", "record_id": id, "data": object{"NextStep": step}})
			return fmt.Sprintf("Updated %s.", id)
		},
		check: func(j *judge) error {
			accounts, err := j.crm(j.before, "Account", object{"Name": "Kestrel Telecom"})
			if err != nil || len(accounts) != 1 {
				return fmt.Errorf("accounts %v: %w", accounts, err)
			}
			sales, err := j.crm(j.before, "Opportunity", object{"AccountId": accounts[0]["Id"]})
			if err != nil {
				return err
			}
			id := fmt.Sprint(slices.MaxFunc(sales, func(a, b object) int { return cmp.Compare(a["Amount"].(float64), b["Amount"].(float64)) })["Id"])
			changed, err := j.crm(j.after, "Opportunity", object{"NextStep": step})
			if err == nil && (len(changed) != 1 || changed[0]["Id"] != id) {
				err = fmt.Errorf("changed are %v, want %s", changed, id)
			}
			return err
		},
	}
}

func noteToDrive() task {
	return task{
		name: "note-to-drive", kind: multiStep, changes: newDocument("ops-weekly-2-march"),
		prompt: "Copy the note notes/2026-03-02-ops-weekly.md into the drive as the document \"Ops weekly, 2 March\", word for word.",
		needs: []need{
			{"filesystem__read_file", []string{"read a file"}},
			{"drive__create_document", []string{"create a document in the drive"}},
		},
		direct: func(m *model) string {
			out := read[struct{ Content string }](m, "filesystem__read_file", object{"path": "notes/2026-03-02-ops-weekly.md"})
			read[object](m, "drive__create_document", object{"title": "Ops weekly, 2 March", "content": out.Content})
			return "The note is in the drive."
		},
		check: func(j *judge) error {
			text, err := os.ReadFile(j.before.file("filesystem", "notes/2026-03-02-ops-weekly.md"))
			if err != nil {
				return err
			}
			return j.hasDocument("Ops weekly, 2 March", string(text))
		},
	}
}

func winds() task {
	cities := []string{"Oslo", "London", "Berlin", "Madrid"}
	report := func(list []forecast) string {
		out := [][]string{{"city", "wind"}}
		for _, f := range list {
			top := 0.0
			for _, d := range f.Days {
				top = max(top, d.Wind)
			}
			out = append(out, []string{f.City.Name, fmt.Sprint(top)})
		}
		return asCSV(out...)
	}
	return task{
		name: "wind-report", kind: multiStep, changes: newFile("reports/wind.csv"),
		prompt: "Write reports/wind.csv with the columns city and wind: the highest wind speed of the ten days from 1 March 2026 for Oslo, London, Berlin and Madrid, in this order.",
		needs: []need{
			{"weather__get_forecast", []string{"weather forecast for a city"}},
			{"filesystem__write_file", []string{"write a file"}},
		},
		direct: func(m *model) string {
			var requests []request
			for _, city := range cities {
				requests = append(requests, request{"weather__get_forecast", object{"city": city, "days": 10, "start_date": "2026-03-01"}})
			}
			var list []forecast
			for _, r := range m.all(requests...) {
				list = append(list, decoded[forecast](m, r))
			}
			read[object](m, "filesystem__write_file", object{"path": "reports/wind.csv", "content": report(list)})
			return "reports/wind.csv is written."
		},
		check: func(j *judge) error {
			var list []forecast
			for _, city := range cities {
				f, err := ask[forecast](j.ctx, j.before, "weather__get_forecast", object{"city": city, "days": 16, "start_date": "2026-03-01"})
				if err != nil {
					return err
				}
				f.Days = f.Days[:10]
				list = append(list, f)
			}
			return j.hasFile("reports/wind.csv", report(list))
		},
	}
}

func reprice() task {
	const change = "UPDATE products SET price_cents = CAST(ROUND(price_cents * 1.04) AS INTEGER) WHERE discontinued = 0 AND category_id = (SELECT id FROM categories WHERE name = 'Lights')"
	const sum = "SELECT SUM(p.price_cents) AS cents FROM products p JOIN categories c ON c.id = p.category_id WHERE c.name = 'Lights'"
	return task{
		name: "raise-prices", kind: multiStep, changes: delta{"database/products/* price_cents": 3},
		prompt: "Raise the prices of all products of the category Lights that are not discontinued by 4 %, rounded to whole cents (tables products and categories; look at the columns first). Answer with the sum of all prices of Lights afterwards, in cents.",
		needs: []need{
			{"database__describe_table", []string{"columns of a database table"}},
			{"database__execute", []string{"run SQL that changes data"}},
			{"database__query", []string{"run a SQL query and read rows"}},
		},
		direct: func(m *model) string {
			for _, r := range m.all(request{"database__describe_table", object{"table": "products"}}, request{"database__describe_table", object{"table": "categories"}}) {
				decoded[object](m, r)
			}
			read[object](m, "database__execute", object{"sql": change})
			return number(m, read[rows](m, "database__query", object{"sql": sum}).Rows, "cents")
		},
		check: func(j *judge) error {
			const all = "SELECT p.id, p.price_cents, p.discontinued, c.name FROM products p JOIN categories c ON c.id = p.category_id ORDER BY p.id"
			before, err := j.sql(j.before, all)
			if err != nil {
				return err
			}
			after, err := j.sql(j.after, all)
			if err != nil {
				return err
			}
			total := 0
			for i, p := range before {
				price := int(p["price_cents"].(float64))
				if p["name"] == "Lights" && p["discontinued"] == 0.0 {
					price = (price*104 + 50) / 100
				}
				if got := int(after[i]["price_cents"].(float64)); got != price {
					return fmt.Errorf("product %v costs %d, want %d", p["id"], got, price)
				}
				if p["name"] == "Lights" {
					total += price
				}
			}
			return j.answered(fmt.Sprint(total))
		},
	}
}

func todos() task {
	type match struct {
		Line int
		Text string
	}
	type found struct {
		Files []struct {
			Path    string
			Matches []match
		}
	}
	return task{
		name: "collect-todos", kind: multiStep, changes: newFile("reports/todo.txt"),
		prompt: "Write reports/todo.txt with one line \"path:line: text\" for each line that has TODO (upper case) in the files below notes, sorted by path and line.",
		needs: []need{
			{"filesystem__search_files", []string{"search the content of files"}},
			{"filesystem__write_file", []string{"write a file"}},
		},
		direct: func(m *model) string {
			out := read[found](m, "filesystem__search_files", object{"path": "notes", "content": "TODO", "case_sensitive": true})
			var b strings.Builder
			for _, f := range out.Files {
				for _, line := range f.Matches {
					fmt.Fprintf(&b, "%s:%d: %s\n", f.Path, line.Line, line.Text)
				}
			}
			read[object](m, "filesystem__write_file", object{"path": "reports/todo.txt", "content": b.String()})
			return "reports/todo.txt is written."
		},
		check: func(j *judge) error {
			entries, err := os.ReadDir(j.before.file("filesystem", "notes"))
			if err != nil {
				return err
			}
			var b strings.Builder
			for _, e := range entries {
				text, err := os.ReadFile(j.before.file("filesystem", "notes/"+e.Name()))
				if err != nil {
					return err
				}
				for i, line := range strings.Split(string(text), "\n") {
					if strings.Contains(line, "TODO") {
						fmt.Fprintf(&b, "notes/%s:%d: %s\n", e.Name(), i+1, line)
					}
				}
			}
			return j.hasFile("reports/todo.txt", b.String())
		},
	}
}

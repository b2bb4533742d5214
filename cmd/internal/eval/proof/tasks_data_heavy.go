package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// someOrders is the number of rows of the sheet of orders that are read: as many as fit into the context of a model.
const someOrders = 2000

const orderColumns = "Order ID, Date, Customer, Region, Status, Product, Quantity, Unit Price, Amount, Sales Rep, Note are columns A to K of the sheet orders-2026 in the drive; row 1 is the heading. "

// dataHeavyTasks read much, and answer little or write it elsewhere.
func dataHeavyTasks() []task {
	reading := []task{copyTranscript(), speakers(), filterOrders(), revenueByRegion(), joinIndustries(), percentiles(), logSummary()}
	return append(reading, manyRecordTasks()...)
}

func copyTranscript() task {
	return task{
		name: "copy-transcript", kind: dataHeavy, changes: delta{"crm/SalesMeeting/* Notes": 1, "crm/SalesMeeting/* LastModifiedDate": 1},
		prompt: "Copy the transcript harbor-pine-discovery-transcript from the drive, word for word, into the Notes of the sales meeting about Harbor & Pine in the CRM.",
		needs: []need{
			{"drive__get_document", []string{"get a document's content from the drive"}},
			{"crm__query_records", []string{"find CRM records by conditions"}},
			{"crm__update_record", []string{"update fields of a CRM record"}},
		},
		direct: func(m *model) string {
			got := m.all(request{"drive__get_document", object{"document_id": "harbor-pine-discovery-transcript", "fields": []string{"content"}}},
				request{"crm__query_records", object{"object_type": "SalesMeeting", "filters": []object{{"field": "Name", "operator": "contains", "value": "Harbor & Pine"}}, "fields": []string{"Name"}}})
			doc, meetings := decoded[struct{ Content string }](m, got[0]), decoded[records](m, got[1])
			if len(meetings.Records) != 1 {
				return "no such meeting"
			}
			read[object](m, "crm__update_record", object{"object_type": "SalesMeeting", "record_id": meetings.Records[0]["Id"], "data": object{"Notes": doc.Content}})
			return fmt.Sprintf("The transcript is in %s.", meetings.Records[0]["Id"])
		},
		check: func(j *judge) error {
			want, err := os.ReadFile(j.before.file("drive", "documents/harbor-pine-discovery-transcript.md"))
			if err != nil {
				return err
			}
			meetings, err := j.crm(j.after, "SalesMeeting", object{"Name": "Harbor & Pine discovery workshop"})
			if err != nil || len(meetings) != 1 {
				return fmt.Errorf("meetings %v: %w", meetings, err)
			}
			id := fmt.Sprint(meetings[0]["Id"])
			out, err := ask[struct{ Record struct{ Notes string } }](j.ctx, j.after, "crm__get_record", object{"object_type": "SalesMeeting", "record_id": id})
			if err == nil && out.Record.Notes != string(want) {
				err = fmt.Errorf("the notes have %d bytes, want the %d of the transcript", len(out.Record.Notes), len(want))
			}
			return err
		},
	}
}

// shares counts the words of each speaker of a transcript, whose paragraphs are "[00:00:08] Name: words".
func shares(text string) string {
	words := map[string]int{}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "[") {
			continue
		}
		_, rest, _ := strings.Cut(line, "] ")
		who, said, _ := strings.Cut(rest, ": ")
		words[who] += len(strings.Fields(said))
	}
	names := slices.SortedFunc(maps.Keys(words), func(a, b string) int { return cmp.Compare(words[b], words[a]) })
	out := [][]string{{"speaker", "words"}}
	for _, name := range names {
		out = append(out, []string{name, fmt.Sprint(words[name])})
	}
	return asCSV(out...)
}

func speakers() task {
	return task{
		name: "words-per-speaker", kind: dataHeavy, changes: newFile("reports/speakers.csv"),
		prompt: "Count how many words each person says in the transcript harbor-pine-discovery-transcript (drive; lines are \"[time] Name: words\"), and write reports/speakers.csv with the columns speaker and words, most words first.",
		needs: []need{
			{"drive__get_document", []string{"get a document's content from the drive"}},
			{"filesystem__write_file", []string{"write a file"}},
		},
		direct: func(m *model) string {
			doc := read[struct{ Content string }](m, "drive__get_document", object{"document_id": "harbor-pine-discovery-transcript", "fields": []string{"content"}})
			read[object](m, "filesystem__write_file", object{"path": "reports/speakers.csv", "content": shares(doc.Content)})
			return "reports/speakers.csv is written."
		},
		check: func(j *judge) error {
			text, err := os.ReadFile(j.before.file("drive", "documents/harbor-pine-discovery-transcript.md"))
			if err != nil {
				return err
			}
			return j.hasFile("reports/speakers.csv", shares(string(text)))
		},
	}
}

func filterOrders() task {
	large := func(list [][]string) string {
		var ids []string
		for _, r := range list {
			if r[4] == "pending" && cents(r[8]) > 800_000 {
				ids = append(ids, r[0])
			}
		}
		return strings.Join(ids, " ")
	}
	return task{
		name: "filter-2000-rows", kind: dataHeavy,
		prompt: orderColumns + "Which of the first 2,000 orders (rows 2 to 2001) are pending with an amount above 8,000? Answer with their ids, separated by blanks.",
		needs:  []need{{"drive__get_sheet", []string{"get rows of a sheet"}}},
		direct: func(m *model) string {
			out := read[sheet](m, "drive__get_sheet", object{"sheet_id": "orders-2026", "range": "A1:I2001", "format": "csv"})
			list, err := table(out.CSV)
			m.keep(err)
			return large(list)
		},
		check: func(j *judge) error {
			list, err := j.orders(someOrders)
			if err != nil {
				return err
			}
			return j.answered(large(list))
		},
	}
}

func revenueByRegion() task {
	revenue := func(list [][]string, region, status, amount int) string {
		sums := map[string]int{}
		for _, r := range list {
			if r[status] != "cancelled" && r[status] != "refunded" {
				sums[r[region]] += cents(r[amount])
			}
		}
		var out []string
		for _, name := range slices.Sorted(maps.Keys(sums)) {
			out = append(out, name+" "+euros(sums[name]))
		}
		return strings.Join(out, ", ")
	}
	return task{
		name: "revenue-by-region", kind: dataHeavy,
		prompt: orderColumns + "What is the sum of Amount for each Region over the first 2,000 orders (rows 2 to 2001), without those that are cancelled or refunded? Answer \"Region amount\" with two decimal places, sorted by region, separated by commas.",
		needs:  []need{{"drive__get_sheet", []string{"get rows of a sheet"}}},
		direct: func(m *model) string {
			out := read[sheet](m, "drive__get_sheet", object{"sheet_id": "orders-2026", "range": "D1:I2001", "format": "csv"})
			list, err := table(out.CSV)
			m.keep(err)
			return revenue(list, 0, 1, 5)
		},
		check: func(j *judge) error {
			list, err := j.orders(someOrders)
			if err != nil {
				return err
			}
			return j.answered(revenue(list, 3, 4, 8))
		},
	}
}

func joinIndustries() task {
	join := func(accounts []object, list [][]string, customer, status, amount int) string {
		industry := map[string]string{}
		for _, a := range accounts {
			industry[cell(a["Name"])] = cell(a["Industry"])
		}
		sums := map[string]int{}
		for _, r := range list {
			if r[status] == "delivered" && industry[r[customer]] != "" {
				sums[industry[r[customer]]] += cents(r[amount])
			}
		}
		var out []string
		for _, name := range slices.Sorted(maps.Keys(sums)) {
			out = append(out, name+" "+euros(sums[name]))
		}
		return strings.Join(out, ", ")
	}
	return task{
		name: "join-crm-and-sheet", kind: dataHeavy,
		prompt: orderColumns + "Customers are the names of CRM accounts, which have an Industry. What is the sum of Amount of the delivered ones among the first 2,000 orders (rows 2 to 2001) for each industry? Answer \"Industry amount\" with two decimal places, sorted by industry, separated by commas.",
		needs: []need{
			{"drive__get_sheet", []string{"get rows of a sheet"}},
			{"crm__query_records", []string{"find CRM records by conditions"}},
		},
		direct: func(m *model) string {
			got := m.all(request{"drive__get_sheet", object{"sheet_id": "orders-2026", "range": "C1:I2001", "format": "csv"}},
				request{"crm__query_records", object{"object_type": "Account", "fields": []string{"Name", "Industry"}}})
			list, err := table(decoded[sheet](m, got[0]).CSV)
			m.keep(err)
			return join(decoded[records](m, got[1]).Records, list, 0, 2, 6)
		},
		check: func(j *judge) error {
			list, err := j.orders(someOrders)
			if err != nil {
				return err
			}
			accounts, err := j.crm(j.before, "Account", nil)
			if err != nil {
				return err
			}
			return j.answered(join(accounts, list, 2, 4, 8))
		},
	}
}

func percentiles() task {
	type result struct {
		Median      float64
		Percentiles []struct{ Value float64 }
	}
	shown := func(m *model, out result) string {
		if m.err != nil || len(out.Percentiles) != 2 {
			return ""
		}
		return fmt.Sprintf("%.2f %.2f %.2f", out.Median, out.Percentiles[0].Value, out.Percentiles[1].Value)
	}
	return task{
		name: "percentiles", kind: dataHeavy,
		prompt: orderColumns + "What are the median, the 90th and the 99th percentile of Amount over the first 2,000 orders (rows 2 to 2001)? Use the calculator, and answer with the three figures with two decimal places, separated by blanks.",
		needs: []need{
			{"drive__get_sheet", []string{"get rows of a sheet"}},
			{"calculator__statistics", []string{"median and percentiles of numbers"}},
		},
		direct: func(m *model) string {
			out := read[sheet](m, "drive__get_sheet", object{"sheet_id": "orders-2026", "range": "I1:I2001", "format": "csv"})
			list, err := table(out.CSV)
			m.keep(err)
			var values []float64
			for _, r := range list {
				values = append(values, float64(cents(r[0]))/100)
			}
			return shown(m, read[result](m, "calculator__statistics", object{"values": values, "percentiles": []int{90, 99}}))
		},
		check: func(j *judge) error {
			list, err := j.orders(someOrders)
			if err != nil {
				return err
			}
			var values []float64
			for _, r := range list {
				values = append(values, float64(cents(r[8]))/100)
			}
			slices.Sort(values)
			at := func(p float64) float64 { // linear between the two nearest
				i := int(p * float64(len(values)-1))
				return values[i] + (p*float64(len(values)-1)-float64(i))*(values[min(i+1, len(values)-1)]-values[i])
			}
			return j.answered(fmt.Sprintf("%.2f %.2f %.2f", at(0.5), at(0.9), at(0.99)))
		},
	}
}

func logSummary() task {
	summary := func(text string) string {
		levels := map[string]int{}
		for line := range strings.Lines(text) {
			if words := strings.Fields(line); len(words) > 1 {
				levels[words[1]]++
			}
		}
		var out []string
		for _, name := range slices.Sorted(maps.Keys(levels)) {
			out = append(out, fmt.Sprintf("%s %d", name, levels[name]))
		}
		return strings.Join(out, ", ")
	}
	return task{
		name: "log-levels", kind: dataHeavy,
		prompt: "How many lines of each level (second word of a line) has logs/scheduler-2026-02-26.log? Answer \"LEVEL count\", sorted by level, separated by commas.",
		needs:  []need{{"filesystem__read_file", []string{"read a file"}}},
		direct: func(m *model) string {
			return summary(read[struct{ Content string }](m, "filesystem__read_file", object{"path": "logs/scheduler-2026-02-26.log"}).Content)
		},
		check: func(j *judge) error {
			text, err := os.ReadFile(j.before.file("filesystem", "logs/scheduler-2026-02-26.log"))
			if err != nil {
				return err
			}
			return j.answered(summary(string(text)))
		},
	}
}

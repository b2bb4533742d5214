package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// agenda is a short text that a person dictates.
const agenda = `# Kick-off, 9 April 2026

1. Introductions (10 minutes)
2. Goals of the pilot, and how we will know that it worked
3. Depots of the first wave: Rotterdam, Bremen, Gdynia, Leith
4. Data: who exports what, by when, in which format
5. Risks, and who watches each of them
6. Next steps

Please read the pilot plan before the meeting.
`

// oneCallTasks need one call of one tool. A script saves little there.
func oneCallTasks() []task { return slices.Concat(questions(), changes()) }

// questions only read.
func questions() []task {
	return []task{
		{
			name: "compound-interest", kind: oneCall,
			prompt: "What will 12,500 euros at 3.9 % a year, compounded monthly, have grown to after 7 years? Give the amount with two decimal places and nothing else.",
			needs:  []need{{"calculator__evaluate", []string{"evaluate an arithmetic expression"}}},
			direct: func(m *model) string {
				out := read[struct{ Result float64 }](m, "calculator__evaluate", object{"expression": "12500 * (1 + 0.039/12)^(12*7)", "precision": 2})
				return fmt.Sprintf("%.2f", out.Result)
			},
			check: func(j *judge) error { return j.answered(fmt.Sprintf("%.2f", 12500*math.Pow(1+0.039/12, 84))) },
		},
		{
			name: "forecast", kind: oneCall,
			prompt: "What will the highest temperature in Oslo be on each of the three days from 1 July 2026? Give the three figures in °C, separated by blanks.",
			needs:  []need{{"weather__get_forecast", []string{"weather forecast for a city"}}},
			direct: func(m *model) string {
				out := read[forecast](m, "weather__get_forecast", object{"city": "Oslo", "days": 3, "start_date": "2026-07-01"})
				return out.highs()
			},
			check: func(j *judge) error {
				out, err := ask[forecast](j.ctx, j.before, "weather__get_forecast", object{"city": "oslo", "days": 5, "start_date": "2026-06-30"})
				if err != nil {
					return err
				}
				out.Days = out.Days[1:4]
				return j.answered(out.highs())
			},
		},
		{
			name: "read-a-note", kind: oneCall,
			prompt: "How many technicians does the capacity plan (notes/capacity-plan.md) have for Q3? Answer with the number.",
			needs:  []need{{"filesystem__read_file", []string{"read a file"}}},
			direct: func(m *model) string {
				out := read[struct{ Content string }](m, "filesystem__read_file", object{"path": "notes/capacity-plan.md"})
				return thirdQuarter(out.Content)
			},
			check: func(j *judge) error {
				text, err := os.ReadFile(j.before.file("filesystem", "notes/capacity-plan.md"))
				if err != nil {
					return err
				}
				return j.answered(thirdQuarter(string(text)))
			},
		},
		{
			name: "count-returns", kind: oneCall,
			prompt: "How many of the shop's orders of 2025 were returned? (Database, table orders with status and ordered_at in RFC 3339.) Answer with the number.",
			needs:  []need{{"database__query", []string{"run a SQL query and read rows"}}},
			direct: func(m *model) string {
				out := read[rows](m, "database__query", object{"sql": "SELECT COUNT(*) AS n FROM orders WHERE status = 'returned' AND ordered_at LIKE '2025-%'"})
				return number(m, out.Rows, "n")
			},
			check: func(j *judge) error {
				list, err := j.sql(j.before, "SELECT status, ordered_at FROM orders")
				n := 0
				for _, r := range list {
					if r["status"] == "returned" && strings.HasPrefix(fmt.Sprint(r["ordered_at"]), "2025") {
						n++
					}
				}
				if err != nil {
					return err
				}
				return j.answered(fmt.Sprint(n))
			},
		},
	}
}

// changes change data.
func changes() []task {
	return []task{
		{
			name: "close-a-sale", kind: oneCall, changes: delta{"crm/Opportunity/0065f0000000003 StageName": 1, "crm/Opportunity/0065f0000000003 Probability": 1, "crm/Opportunity/0065f0000000003 LastModifiedDate": 1},
			prompt: "Set opportunity 0065f0000000003 in the CRM to stage Closed Won with probability 100.",
			needs:  []need{{"crm__update_record", []string{"update fields of a CRM record"}}},
			direct: func(m *model) string {
				read[object](m, "crm__update_record", object{"object_type": "Opportunity", "record_id": "0065f0000000003", "data": object{"StageName": "Closed Won", "Probability": 100}})
				return "0065f0000000003 is closed as won."
			},
			check: func(j *judge) error {
				const id = "0065f0000000003"
				out, err := ask[struct{ Record object }](j.ctx, j.after, "crm__get_record", object{"object_type": "Opportunity", "record_id": id})
				if err == nil && (out.Record["StageName"] != "Closed Won" || out.Record["Probability"] != 100.0) {
					err = fmt.Errorf("the opportunity is %v", out.Record)
				}
				return err
			},
		},
		{
			name: "write-a-document", kind: oneCall, changes: newDocument("kick-off-agenda"),
			prompt: "Save this in the drive as the document \"Kick-off agenda\":\n\n" + agenda,
			needs:  []need{{"drive__create_document", []string{"create a document in the drive"}}},
			direct: func(m *model) string {
				read[object](m, "drive__create_document", object{"title": "Kick-off agenda", "content": agenda})
				return "The agenda is in the drive."
			},
			check: func(j *judge) error { return j.hasDocument("Kick-off agenda", agenda) },
		},
		{
			name: "append-a-row", kind: oneCall, changes: delta{"drive/sheets/rollout-plan.csv content": 1, "drive/sheets/rollout-plan.json rows": 1, "drive/sheets/rollout-plan.json updated_at": 1},
			prompt: "Add the depot Esbjerg to the sheet rollout-plan: manager Lone Krogh, 12 technicians, wave 4, no go-live date, not confirmed. The columns are Depot, Manager, Technicians, Wave, Go-live, Confirmed.",
			needs:  []need{{"drive__append_rows", []string{"append rows to a sheet"}}},
			direct: func(m *model) string {
				read[object](m, "drive__append_rows", object{"sheet_id": "rollout-plan", "records": []object{{"Depot": "Esbjerg", "Manager": "Lone Krogh", "Technicians": 12, "Wave": 4, "Confirmed": false}}})
				return "Esbjerg is in the rollout plan."
			},
			check: func(j *judge) error {
				before, err := ask[sheet](j.ctx, j.before, "drive__get_sheet", object{"sheet_id": "rollout-plan", "format": "csv"})
				if err != nil {
					return err
				}
				return j.hasSheet("rollout-plan", before.CSV+"Esbjerg,Lone Krogh,12,4,,false\n")
			},
		},
	}
}

// thirdQuarter reads the technicians of Q3 from the table of the capacity plan.
func thirdQuarter(text string) string {
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.TrimSpace(cells[1]) == "Q3" {
			return strings.TrimSpace(cells[2])
		}
	}
	return "not there"
}

// number returns a number in the first row.
func number(m *model, rows []object, column string) string {
	if m.err == nil && len(rows) == 0 {
		m.keep(fmt.Errorf("there is no row with %s", column))
	}
	if m.err != nil {
		return ""
	}
	return fmt.Sprint(rows[0][column])
}

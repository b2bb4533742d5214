package main

import (
	"fmt"
	"os"
	"strings"
)

// errorTasks run into an error first, which says how to continue.
func errorTasks() []task {
	return []task{
		{
			name: "value-not-allowed", kind: withError, changes: delta{"crm/Opportunity/0065f0000000004 StageName": 1, "crm/Opportunity/0065f0000000004 LastModifiedDate": 1},
			prompt: "Set the stage of opportunity 0065f0000000004 in the CRM to Won.",
			needs:  []need{{"crm__update_record", []string{"update fields of a CRM record"}}},
			direct: func(m *model) string {
				for _, stage := range []string{"Won", "Closed Won"} { // the error lists the stages
					if r := m.do("crm__update_record", object{"object_type": "Opportunity", "record_id": "0065f0000000004", "data": object{"StageName": stage}}); r.failed != (stage == "Won") {
						m.keep(fmt.Errorf("stage %s: %s", stage, r.text))
					}
				}
				return "0065f0000000004 is Closed Won."
			},
			check: func(j *judge) error {
				const id = "0065f0000000004"
				won, err := j.crm(j.after, "Opportunity", object{"Id": id, "StageName": "Closed Won"})
				if err == nil && len(won) != 1 {
					err = fmt.Errorf("the stage was not set: %v", won)
				}
				return err
			},
		},
		missingFile(), wrongColumn(), missingField(),
	}
}

func missingFile() task {
	actions := func(text string) string {
		return fmt.Sprint(strings.Count(text, "- [ ]"))
	}
	return task{
		name: "file-is-elsewhere", kind: withError,
		prompt: "How many actions are still open (\"- [ ]\") in notes/ops-weekly.md? Should the file have another name, find it. Answer with the number.",
		needs: []need{
			{"filesystem__read_file", []string{"read a file"}},
			{"filesystem__search_files", []string{"search files by name", "find files below a directory by name"}},
		},
		direct: func(m *model) string {
			if r := m.do("filesystem__read_file", object{"path": "notes/ops-weekly.md"}); !r.failed {
				m.keep(fmt.Errorf("the file is there: %s", r.text))
			}
			found := read[struct{ Files []struct{ Path string } }](m, "filesystem__search_files", object{"name_pattern": "*ops-weekly*"})
			if len(found.Files) != 1 {
				return "not found"
			}
			return actions(read[struct{ Content string }](m, "filesystem__read_file", object{"path": found.Files[0].Path}).Content)
		},
		check: func(j *judge) error {
			text, err := os.ReadFile(j.before.file("filesystem", "notes/2026-03-02-ops-weekly.md"))
			if err != nil {
				return err
			}
			return j.answered(actions(string(text)))
		},
	}
}

func wrongColumn() task {
	const wrong, right = "SELECT SUM(total) AS n FROM order_totals WHERE status = 'pending'", "SELECT SUM(total_cents) AS n FROM order_totals WHERE status = 'pending'"
	return task{
		name: "wrong-column", kind: withError,
		prompt: "What is the total of all pending orders of the shop, in cents? (Database, view order_totals.) Answer with the number.",
		needs: []need{
			{"database__query", []string{"run a SQL query and read rows"}},
			{"database__describe_table", []string{"columns of a database table"}},
		},
		direct: func(m *model) string {
			if r := m.do("database__query", object{"sql": wrong}); !r.failed {
				m.keep(fmt.Errorf("the column is there: %s", r.text))
			}
			read[object](m, "database__describe_table", object{"table": "order_totals"})
			out := read[struct{ Rows []struct{ N float64 } }](m, "database__query", object{"sql": right})
			if len(out.Rows) != 1 {
				return ""
			}
			return fmt.Sprintf("%.0f", out.Rows[0].N)
		},
		check: func(j *judge) error {
			list, err := j.sql(j.before, "SELECT total_cents FROM order_totals WHERE status = 'pending'")
			if err != nil {
				return err
			}
			sum := 0.0
			for _, r := range list {
				sum += r["total_cents"].(float64)
			}
			return j.answered(fmt.Sprintf("%.0f", sum))
		},
	}
}

func missingField() task {
	const name, at = "Alder Lifts second call", "2026-04-14T09:00:00Z"
	return task{
		name: "field-is-missing", kind: withError, changes: newItems(1, "crm/SalesMeeting/*", "Name", "OpportunityId", "StartDateTime", "DurationMinutes"),
		prompt: "Note a sales meeting \"" + name + "\" about opportunity 0065f0000000001 in the CRM: 45 minutes, on 14 April 2026 at 9:00 UTC.",
		needs:  []need{{"crm__create_record", []string{"create a CRM record"}}},
		direct: func(m *model) string {
			// A model that does not know the fields guesses one that does not exist.
			if r := m.do("crm__create_record", object{"object_type": "SalesMeeting", "data": object{"Name": name, "OpportunityId": "0065f0000000001", "Start": at, "DurationMinutes": 45}}); !r.failed {
				m.keep(fmt.Errorf("the field is there: %s", r.text))
			}
			read[object](m, "crm__create_record", object{"object_type": "SalesMeeting", "data": object{"Name": name, "OpportunityId": "0065f0000000001", "StartDateTime": at, "DurationMinutes": 45}})
			return "The meeting is noted."
		},
		check: func(j *judge) error {
			list, err := j.crm(j.after, "SalesMeeting", object{"Name": name, "OpportunityId": "0065f0000000001", "StartDateTime": at, "DurationMinutes": 45})
			if err == nil && len(list) != 1 {
				err = fmt.Errorf("there are %d such meetings", len(list))
			}
			return err
		},
	}
}

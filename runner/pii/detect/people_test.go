package detect_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/detect/known"
)

// marked is a text with what must be found in it.
type marked struct {
	text  string
	wants []detect.Match
}

// readMarked reads a text in which « and » enclose what must be found: a NAME, unless another type and | precede it.
func readMarked(text string) (m marked) {
	for {
		before, rest, ok := strings.Cut(text, "«")
		m.text += before
		if !ok {
			return m
		}
		value, after, _ := strings.Cut(rest, "»")
		typ := detect.Name
		if name, other, ok := strings.Cut(value, "|"); ok {
			typ, value = detect.Type(name), other
		}
		m.wants = append(m.wants, detect.Match{len(m.text), len(m.text) + len(value), typ})
		m.text += value
		text = after
	}
}

// people returns the names, companies and addresses among matches.
func people(matches []detect.Match) []detect.Match {
	return slices.DeleteFunc(matches, func(m detect.Match) bool {
		return m.Type != detect.Name && m.Type != detect.Company && m.Type != detect.Address
	})
}

func readLines(t *testing.T, name string, fields int) (lines [][]string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if line[0] == '#' {
			continue
		}
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", fields)
		if len(parts) != fields {
			t.Fatalf("%s: %q, want %d fields", name, line, fields)
		}
		lines = append(lines, parts)
	}
	return lines
}

// field is the string value of a member of a record.
type field struct {
	country, name string
	marked
}

// readRecords returns the fields of the records, each with what is found in it.
func readRecords(t *testing.T) (fields []field, got [][]detect.Match) {
	for _, line := range slices.Concat(readLines(t, "records.txt", 3), readLines(t, "records2.txt", 3)) {
		var members map[string]any
		if err := json.Unmarshal([]byte(line[2]), &members); err != nil {
			t.Fatalf("%s: %v", line[2], err)
		}
		signs := detect.Signs(0).Inside(line[1])
		for name := range members {
			signs |= detect.MemberSigns(name)
		}
		for name, value := range members {
			if text, ok := value.(string); ok {
				m := readMarked(text)
				fields = append(fields, field{line[0], name, m})
				got = append(got, people(detect.Find(m.text, signs.Hint(name))))
			}
		}
	}
	return fields, got
}

// TestRecords finds names, companies and addresses by the names of members.
func TestRecords(t *testing.T) {
	countries, names := map[string]bool{}, map[string]bool{}
	var wanted []string
	fields, got := readRecords(t)
	for i, f := range fields {
		if !slices.Equal(got[i], f.wants) {
			t.Errorf("%s: %q: %q: got %v, want %v", f.country, f.name, f.text, got[i], f.wants)
		}
		if len(f.wants) > 0 {
			countries[strings.Trim(f.country, "-")], names[f.name] = true, true
			wanted = append(wanted, f.text)
		}
	}
	delete(countries, "")
	t.Logf("%d values in %d fields of %d countries", len(wanted), len(names), len(countries))
	if len(countries) < 25 || len(names) < 45 {
		t.Errorf("%d countries and %d fields, want at least 25 and 45", len(countries), len(names))
	}
}

// TestContext finds names, companies and addresses by the text around them.
func TestContext(t *testing.T) {
	var right, wrong, missing int
	for _, line := range slices.Concat(readLines(t, "texts.txt", 2), readLines(t, "texts2.txt", 2), readLines(t, "texts3.txt", 2)) {
		m := readMarked(strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(line[1]))
		if (line[0] == "-") != (len(m.wants) == 0) {
			t.Fatalf("%q", line)
		}
		got := people(detect.Find(m.text, ""))
		for _, g := range got {
			if slices.Contains(m.wants, g) {
				right++
			} else {
				wrong++
				t.Errorf("%q: found %s %q", m.text, g.Type, m.text[g.Start:g.End])
			}
		}
		for _, w := range m.wants {
			if !slices.Contains(got, w) {
				missing++
				t.Errorf("%q: %s %q is missing", m.text, w.Type, m.text[w.Start:w.End])
			}
		}
	}
	t.Logf("%d right, %d wrong, %d missing", right, wrong, missing)
}

// laterTexts are texts that mention someone, with {} for the name.
var laterTexts = []string{
	"Spoke to {} about the renewal.", "{} signed the contract on 2026-01-15.", "The ticket was opened by {}.", "cc {}, finance", "{}'s order is late.",
	"- {}\n- someone else", "Thanks to {}, it works now.", "| 12 | {} | open |", "Agreed with {} (legal).", "to: {}; re: offer", "He asked \"{}\" about it.",
	"Notes\n=====\n{} called twice.", "Rechnung an {} gesendet.", "Le contrat de {} est prêt.", "La llamada de {} fue breve.", "assigned={},state=open",
	"{}: please review", "<td>{}</td>", "owner:{}", "Встреча: {} в 10:00.", "担当は{}です。", "{}님께 전달했습니다.", "[{}] done", "*{}* wrote:", "\"by\":\"{}\"",
}

// laterForms write a name as later texts do.
var laterForms = []func(name string) string{
	func(name string) string { return name },
	func(name string) string { return name },
	func(name string) string { return strings.ReplaceAll(name, " ", "\n") },
	strings.ToUpper,
	func(name string) string { // Doe, Jane
		if at := strings.LastIndexByte(name, ' '); at > 0 {
			return name[at+1:] + ", " + name[:at]
		}
		return name
	},
}

// TestLearned looks for the names that fields held in 1,000 later texts.
func TestLearned(t *testing.T) {
	const texts, least = 1000, 0.98
	fields, got := readRecords(t)
	var learned known.Values
	var names []string
	for i, f := range fields {
		for _, m := range got[i] {
			learned.Add(m.Type, f.text[m.Start:m.End])
		}
		if len(got[i]) == 1 && got[i][0].Type == detect.Name {
			names = append(names, f.text)
		}
	}
	slices.Sort(names) // the order of members is random
	found := 0
	r := rand.New(rand.NewPCG(30, 1))
	for range texts {
		name := names[r.IntN(len(names))]
		form := laterForms[r.IntN(len(laterForms))](name)
		text := strings.ReplaceAll(laterTexts[r.IntN(len(laterTexts))], "{}", form)
		at := strings.Index(text, form)
		if covered(learned.Find(text), at, at+len(form)) {
			found++
		} else {
			t.Logf("%q is not found in %q", form, text)
		}
	}
	t.Logf("%d of %d: %.1f %%", found, texts, 100*float64(found)/texts)
	if float64(found) < least*texts {
		t.Errorf("%d of %d names are found, want at least %v", found, texts, least)
	}
}

// covered reports whether matches cover the words from start to end.
func covered(matches []detect.Match, start, end int) bool {
	for _, m := range matches {
		if m.Start <= start && m.End >= end {
			return true
		}
		if m.Start <= start && m.End > start {
			start = m.End + 1
		}
	}
	return start >= end
}

func ExampleFind() {
	text := "Dear Ms Whitaker,\nAcme moved to 350 Fifth Avenue, New York, NY 10118. Write to jane@example.com."
	for _, m := range detect.Find(text, "") {
		fmt.Println(m.Type, text[m.Start:m.End])
	}
	// Output:
	// NAME Whitaker
	// ADDRESS 350 Fifth Avenue, New York, NY 10118
	// EMAIL jane@example.com
}

func ExampleSigns() {
	contact := detect.Signs(0).Inside("contacts") | detect.MemberSigns("name") | detect.MemberSigns("email")
	file := detect.Signs(0).Inside("files") | detect.MemberSigns("name") | detect.MemberSigns("size")
	fmt.Printf("%q %q\n", contact.Hint("name"), file.Hint("name"))
	// Output: "NAME" ""
}

// TestTables finds people in tables whose first line names the columns.
func TestTables(t *testing.T) {
	for _, text := range []string{
		"name,email,company\n«Jane Whitaker»,jane@example.com,«COMPANY|Apple»\n\"«Okafor, Tom»\",tom@example.com,\"«COMPANY|Hale, Marks»\"\n",
		"name,email,size\n«Jane Doe»,jd77@example.com,M\n",
		"name\temail\n«jane»\tjane@example.com\n«tom»\ttom@example.com",
		"Found 2:\n\n| Name | Phone | Street |\n|---|---|---|\n| «Hemi Parata» | 555-0100 | «ADDRESS|9 Elm Ct» |\n\nName, all of it, counts.",
		" first_name | last_name \n------------+-----------\n «Jane»       | «Whitaker»\n(1 row)\n",
		"Vorname;Nachname;Firma\r\n«Jürgen»;«Schönfeld»;«COMPANY|Nordwind»\r\n",
		"   salesforceId             email           name  company\n0        003Qy1  jane@example.com  «Jane Whitaker»    «COMPANY|Apple»\n1        003Qy2   tom@example.com     «Tom Okafor»   «COMPANY|Target»",
		"┌─────────┬────────┬─────────┐\n│ (index) │ name   │ company │\n├─────────┼────────┼─────────┤\n│ 0       │ '«Jane Doe»' │ '«COMPANY|Apple»' │\n└─────────┴────────┴─────────┘\n",
		"  name  the name of it\n  company  the company, if any\n  Owner  Somebody Else\n",
		"owner  path\n  Foo  Bar\n",
		"name,size,path\nJane Report,12,/tmp/a\n",
		"name,description\nSend Email,Sends an e-mail\n",
		"The name, the company\nand the rest, as said\n",
		"a := name, company\nb := x, y\n",
	} {
		m := readMarked(text)
		if got := people(detect.Find(m.text, "")); !slices.Equal(got, m.wants) {
			t.Errorf("Find(%q) = %v, want %v", m.text, got, m.wants)
		}
	}
}

// TestMembers finds people in what programs print of objects.
func TestMembers(t *testing.T) {
	for _, text := range []string{
		`[{'salesforceId': '003', 'email': 'jane@example.com', 'name': '«Jane Whitaker»', 'company': '«COMPANY|Apple»'}, {'name': '«Tom»', 'email': 'tom@example.com'}]`,
		"[\n  {\n    salesforceId: '003',\n    email: 'jane@example.com',\n    phone: '555-123-4567',\n    name: '«Jane Whitaker»',\n    company: '«COMPANY|Apple»'\n  }\n]",
		`Contact(name='«Jane Whitaker»', email='jane@example.com', city='Paris')`,
		`Result: {"contacts": [{"id": 1, "name": "«Jane Whitaker»"}]} cut off {"lastName": "«Okafor»`,
		`Result: {"contacts": [{"id": 1, "name": "«Jane Whitaker»"}`,
		`{'street': '«ADDRESS|9 Elm Ct»', 'city': '«ADDRESS|Salem»', 'zip': '«ADDRESS|97301»'} done`,
		`{name: "Send Email", description: "Sends an email", inputSchema: {}} x`,
		`{firstName: "First name", company: "Company", email: "Email"} x`,
		`{name: "main.go", size: 12, owner: "Platform Team"} x`,
		`<input name="Email" type="text" company="">`,
		`const name = "Jane Report"; run({path: "/tmp"})`,
	} {
		m := readMarked(strings.Replace(text, `"«Okafor»`, `"«Okafor»"`, 1))
		if got := people(detect.Find(m.text, "")); !slices.Equal(got, m.wants) {
			t.Errorf("Find(%q) = %v, want %v", m.text, got, m.wants)
		}
	}
}

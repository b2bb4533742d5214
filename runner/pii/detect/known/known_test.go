package known

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
)

// TestLearnedCase says which texts a value is found in.
func TestLearnedCase(t *testing.T) {
	for _, tt := range []struct {
		typ   detect.Type
		value string
		yes   []string
		no    []string
	}{
		{detect.Name, "John Smithson", []string{"John Smithson's", "JOHN SMITHSON", "john smithson", "Smithson, John", "John  Smithson", "John\nSmithson", "Smithson John", "(John Smithson)", "\\nJohn Smithson"},
			[]string{"Johnny Smithson", "John Smithsonian", "John_Smithson", "John and Smithson", "JohnSmithson", "John"}},
		{detect.Name, "Smithson", []string{"Smithson", "SMITHSON", "Smithson's", "smith@x Smithson."}, []string{"smithson", "Smithsonian", "SmithSon"}},
		{detect.Name, "Mark", nil, []string{"Mark", "mark it", "Mark the box"}},
		{detect.Name, "Mark Brown", []string{"Mark Brown", "MARK BROWN", "Brown, Mark"}, []string{"mark brown", "the mark Brown"}},
		{detect.Name, "Anne-Marie O'Neill", []string{"Anne-Marie O'Neill", "Anne Marie O’Neill", "O'Neill, Anne-Marie"}, []string{"Anne"}},
		{detect.Name, "Ana García López", []string{"García López, Ana", "ANA GARCÍA LÓPEZ"}, []string{"García"}},
		{detect.Name, "Jürgen Müllersohn", []string{"Jürgen Müllersohns Auto", "JÜRGEN MÜLLERSOHN"}, []string{"Jürgen Müllers"}},
		{detect.Name, "佐々木健太", []string{"担当は佐々木健太です"}, []string{"佐々木"}},
		{detect.Name, "박지훈", []string{"박지훈님께", "박지훈은"}, []string{"박지"}},
		{detect.Name, "Support", nil, []string{"Support", "Contact Support"}},
		{detect.Name, "12", nil, []string{"12"}},
		{detect.Name, "Li", nil, []string{"Li"}},
		{detect.Company, "Apple", nil, []string{"An Apple a day", "Apple pie", "apple"}},
		{detect.Company, "Microsoft", nil, []string{"Microsoft"}},
		{detect.Company, "Orange", nil, []string{"Orange juice"}},
		{detect.Company, "Contoso", []string{"Contoso", "at Contoso's"}, []string{"contoso", "CONTOSO", "Contosoft"}},
		{detect.Company, "contoso", nil, []string{"contoso"}},
		{detect.Company, "HubSpot", []string{"HubSpot", "(HubSpot)"}, []string{"hubspot", "Hubspot"}},
		{detect.Company, "Nordwind Logistik GmbH", []string{"Nordwind Logistik GmbH", "NORDWIND LOGISTIK GMBH"}, []string{"Nordwind"}},
		{detect.Company, "Acme Inc.", []string{"Acme Inc. is", "ACME Inc"}, []string{"Acme"}},
		{detect.Company, "Best Buy", []string{"Best Buy"}, []string{"the best buy", "Best buy"}},
		{detect.Company, "株式会社青葉商店", []string{"株式会社青葉商店の"}, []string{"青葉商店"}},
		{detect.Address, "12 Baker Street, London", []string{"12 Baker Street\nLondon", "12 baker street, london"}, []string{"112 Baker Street, London", "12 Baker Street"}},
		{detect.Address, "Paris", nil, []string{"Paris"}},
		{detect.Address, "New York", nil, []string{"New York"}},
		{detect.Secret, "hunter2Zebra", []string{"hunter2Zebra", "with hunter2Zebra ok", "'hunter2Zebra'"}, []string{"hunter2zebra", "hunter2Zebras", "xhunter2Zebra"}},
		{detect.Secret, "p@ss$w0rd!", []string{"p@ss$w0rd!", "(p@ss$w0rd!)", "=p@ss$w0rd!!"}, []string{"p@ss", "w0rd!", "up@ss$w0rd!"}},
		{detect.Secret, "postgres://u:p@db-1/x y", nil, []string{"postgres"}},
		{detect.SSN, "536904399", []string{"536904399", "[ '536904399' ]"}, []string{"5369043991", "1536904399"}},
		{detect.Secret, "h7nt2r", nil, []string{"h7nt2r"}},
		{detect.Secret, "rabbitmq", nil, []string{"image: rabbitmq:3"}},
		{detect.Secret, "2024-01-01", nil, []string{"2024-01-01"}},
		{detect.Secret, "123456789", nil, []string{"123456789"}},
		{detect.Secret, "Mot de passe", nil, []string{"Mot de passe"}},
		{detect.Secret, "client_secret_post", nil, []string{"client_secret_post"}},
		{detect.Key, "GITHUB_TOKEN", nil, []string{"GITHUB_TOKEN"}},
		{detect.Secret, "Support", nil, []string{"Support"}},
		{detect.Secret, "!!!!!!!!", nil, []string{"!!!!!!!!"}},
		{detect.Name, "a b c d e f g h i j k l m n o p q r", nil, []string{"a b c"}},
		{detect.Name, "...", nil, []string{"..."}},
		{detect.Name, "", nil, []string{""}},
	} {
		var l Values
		if got, want := l.Add(tt.typ, tt.value), tt.yes != nil || tt.value == "Mark" || tt.value == "Li"; got != want {
			t.Errorf("Add(%s, %q) = %v, want %v", tt.typ, tt.value, got, want)
		}
		for _, text := range tt.yes {
			if got := l.Find("x " + text); len(got) != 1 || got[0].Type != tt.typ {
				t.Errorf("%s %q: Find(%q) = %v, want one match", tt.typ, tt.value, text, got)
			}
		}
		for _, text := range tt.no {
			if got := l.Find("x " + text); len(got) != 0 {
				t.Errorf("%s %q: Find(%q) = %v, want none", tt.typ, tt.value, text, got)
			}
		}
	}
}

// TestExactValues: of values with the same words, the longest is found; a name in a value does not hide it; what has no word that few others have
// is not learned.
func TestExactValues(t *testing.T) {
	var l Values
	l.Add(detect.Name, "Mark")
	for _, value := range []string{"1-abcdefgh", "11-abcdefgh", "11-abcdefgh-2", "Mark-Hunter2024x"} {
		if !l.Add(detect.Secret, value) {
			t.Errorf("%q is not learned", value)
		}
	}
	for text, want := range map[string]string{
		"x 11-abcdefgh y": "11-abcdefgh", "x 11-abcdefgh-2 y": "11-abcdefgh-2", "he uses Mark-Hunter2024x": "Mark-Hunter2024x",
	} {
		got := l.Find(text)
		if len(got) != 1 || text[got[0].Start:got[0].End] != want {
			t.Errorf("Find(%q) = %v, want %q", text, got, want)
		}
	}
	for n := range 2 * maxAnchored {
		if got, want := l.AddExact(detect.Secret, strings.Repeat("!", n+1)+"abcdefghi9"), n < maxAnchored; got != want {
			t.Errorf("AddExact of value %d = %v, want %v", n, got, want)
		}
	}
	if l.AddExact(detect.Secret, strings.Repeat("a", maxExact+1)) {
		t.Error("a value over the limit is learned")
	}
	start := time.Now()
	text := strings.Repeat("!!!!!!!!!!!!abcdefghi9 11-abcdefgh ", 1<<15)
	if got := l.Find(text); len(got) != 2<<15 {
		t.Errorf("%d matches, want %d", len(got), 2<<15)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("1 MiB took %v", took)
	}
}

// TestLearnedPhone: a number that only its field made a phone number is found again, with its plus or parenthesis.
func TestLearnedPhone(t *testing.T) {
	var l Values
	for text, want := range map[string]bool{"+00 53 820239": true, "(030) 12 34 56": true, "0001234567": true, "1234567": false, "12 34": false} {
		if got := l.Add(detect.Phone, text); got != want {
			t.Errorf("Add(%q) = %v, want %v", text, got, want)
		}
	}
	const text = "call +00 53 820239, (030) 12 34 56 or 030/123456; 1234567 is order 0001234567.+00 53 820239"
	var got []string
	for _, m := range l.Find(text) {
		got = append(got, text[m.Start:m.End])
	}
	if want := []string{"+00 53 820239", "(030) 12 34 56", "0001234567", "+00 53 820239"}; !slices.Equal(got, want) {
		t.Errorf("Find(%q) = %q, want %q", text, got, want)
	}
}

// TestLearnedBeside finds ordinary words that are names where several are together.
func TestLearnedBeside(t *testing.T) {
	var l Values
	for _, name := range []string{"Mark", "Brown", "Jane", "Whitaker"} {
		l.Add(detect.Name, name)
	}
	for text, want := range map[string][]string{
		"Mark Brown called":   {"Mark", "Brown"},
		"Brown, Mark":         {"Brown", "Mark"},
		"Jane Brown":          {"Jane", "Brown"},
		"Mark Whitaker":       {"Mark", "Whitaker"},
		"Mark. Brown":         nil,
		"Brown bread, Mark":   nil,
		"Jane likes Brown":    {"Jane"},
		"mark brown":          nil,
		"Mark x Mark Mark":    {"Mark", "Mark"},
		"Mark Jane, not Mark": {"Mark", "Jane"},
	} {
		var got []string
		for _, m := range l.Find(text) {
			got = append(got, text[m.Start:m.End])
		}
		if !slices.Equal(got, want) {
			t.Errorf("Find(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestLearnedLinear searches for values that begin alike in texts that repeat their beginnings.
func TestLearnedLinear(t *testing.T) {
	var l Values
	for i := range 20_000 {
		l.Add(detect.Name, fmt.Sprintf("John John John John Smith%c%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i/17576))
		l.Add(detect.Address, strings.Repeat("5 Main Street ", 5)+fmt.Sprint(i))
	}
	l.Add(detect.Name, "Mark")
	for _, piece := range []string{"John ", "John, ", "5 Main Street ", "Mark ", "王", "\\n", "'", "a"} {
		text := strings.Repeat(piece, (1<<18)/len(piece))
		start := time.Now()
		l.Find(text)
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("%q repeated to 256 KiB took %v, want at most %v", piece, took, 4*time.Second)
		}
	}
}

// TestLearnedLimits learns no more than it may, and lets texts be searched at the same time.
func TestLearnedLimits(t *testing.T) {
	var l Values
	if l.Find("Jane") != nil {
		t.Error("an empty Learned finds something")
	}
	for i := range maxLearned {
		l.Add(detect.Name, manyNames(i))
	}
	if l.Len() != maxLearned || l.Add(detect.Name, "Jane Whitaker") {
		t.Errorf("%d values are learned, want %d and no more", l.Len(), maxLearned)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if text := manyNames(i); len(l.Find("by "+text)) != 1 {
				t.Errorf("%q is not found", text)
			}
		})
	}
	wg.Wait()
}

// manyNames returns a different name for each number.
func manyNames(i int) string {
	syllables := []string{"ba", "ko", "mi", "ru", "ten", "sha", "vo", "li", "dar", "nes"}
	var b [6]string
	for n := range b {
		b[n] = syllables[i%10]
		i /= 10
	}
	return "Q" + b[0] + b[1] + b[2] + " Z" + b[3] + b[4] + b[5]
}

func FuzzLearned(f *testing.F) {
	f.Add("Jane Doe", "by Doe, Jane's")
	f.Fuzz(func(t *testing.T, value, text string) {
		var l Values
		for _, typ := range []detect.Type{detect.Name, detect.Company, detect.Address} {
			l.Add(typ, value)
		}
		at := 0
		for _, m := range l.Find(text) {
			if m.Start < at || m.End <= m.Start || m.End > len(text) {
				t.Fatalf("Find returned %d to %d after %d", m.Start, m.End, at)
			}
			at = m.End
		}
	})
}

// recordsText is an answer of a tool as it is read most.
func recordsText() string {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, `{"id":"003Qy%08dXYZAB","name":"%s","email":"person.%d@example.com","phone":"+1 212-555-%04d","amount":%d.25,"active":true,`+
			`"createdAt":"2026-01-%02dT10:%02d:00.000Z","url":"https://crm.example.com/contacts/%d?tab=notes","tags":["customer","emea","2026-q1"],`+
			`"notes":"Spoke about the renewal on 2026-01-15.\nThey want %d seats; see the document for the details, then follow up with %s."}`+"\n",
			i, manyNames(i), i, i%10000, i*7, i%28+1, i%60, i, i%90, manyNames(i*31))
	}
	return b.String()
}

func BenchmarkFind(b *testing.B) {
	text := recordsText()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		detect.Find(text, "")
	}
}

func BenchmarkLearned(b *testing.B) {
	text := recordsText()
	var l Values
	for i := range maxLearned {
		l.Add(detect.Name, manyNames(i))
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		l.Find(text)
	}
}

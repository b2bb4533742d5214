package pii

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestMaskJSON(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{`{"to":"alice@example.com","n":1.50,"big":9007199254740993,"cc":["bob@example.com","alice@example.com"]}`,
			`{"to":"[EMAIL_1]","n":1.50,"big":9007199254740993,"cc":["[EMAIL_2]","[EMAIL_1]"]}`},
		{` { "text" : "a\nb@example.com \"x\" \u003c" , "same\u0020" : "\u003c\/" } `, ` { "text" : "a\n[EMAIL_1] \"x\" \u003c" , "same\u0020" : "\u003c\/" } `},
		{`"a\n+49 30 901820"`, `"a\n[PHONE_1]"`},
		{`{"alice@example.com":{"card":4111111111111111,"id":4111111111111112}}`, `{"[EMAIL_1]":{"card":"[CARD_1]","id":4111111111111112}}`},
		// names of members
		{`{"phone":2125550123,"mobilePhone":"07700900123","id":"2125550123","at":2125550123}`, `{"phone":"[PHONE_1]","mobilePhone":"[PHONE_2]","id":"2125550123","at":2125550123}`},
		{`{"ssn":"536228726","phones":["2125550123","030 901820"],"x":"2125550123"}`, `{"ssn":"[SSN_1]","phones":["[PHONE_1]","[PHONE_2]"],"x":"2125550123"}`},
		{`{"password":"correct horse","api_key":"abc","clientSecret":"","token_type":"x","nextPageToken":"abcdef123456"}`,
			`{"password":"[SECRET_1]","api_key":"[SECRET_2]","clientSecret":"","token_type":"x","nextPageToken":"abcdef123456"}`},
		{`{"password":{"type":"string","description":"your password"},"secret":"string","pwd":true}`, ""},
		{`{"phone":{"id":"2125550123"},"list":[{"phone":null},"2125550123"]}`, ""},
		// JSON in strings
		{`{"type":"text","text":"{\"password\":\"hunter2\",\"n\":[1]}"}`, `{"type":"text","text":"{\"password\":\"[SECRET_1]\",\"n\":[1]}"}`},
		{`not json: alice@example.com`, `not json: [EMAIL_1]`},
		{`[]`, ""}, {`null`, ""}, {``, ""}, {`{"a":"[EMAIL_1]"}`, ""}, {`[-1e400,0.4111111111111111,"é\ud83d\ude00\ud800"]`, ""},
	} {
		want := tt.want
		if want == "" {
			want = tt.raw
		}
		tok := New()
		got := string(tok.MaskJSON([]byte(tt.raw)))
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", tt.raw, got, want)
		}
		if again := string(tok.MaskJSON([]byte(got))); again != got {
			t.Errorf("masking %s again gives %s", got, again)
		}
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	if got := New().MaskJSON([]byte(deep)); string(got) != deep {
		t.Errorf("deep nesting is changed, want string(got) %v", deep)
	}
}

// TestMaskNames: the members around a member decide whether it holds the name of a person.
func TestMaskNames(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{`{"project":{"name":"Blue Harvest","client":{"name":"Jane Doe","email":"jane@example.com"}}}`,
			`{"project":{"name":"Blue Harvest","client":{"name":"[NAME_1]","email":"[EMAIL_1]"}}}`},
		{`{"Users":[{"Username":"x","Attributes":[{"Name":"email","Value":"jane@example.com"},{"Name":"sub","Value":"1"}]}]}`,
			`{"Users":[{"Username":"x","Attributes":[{"Name":"email","Value":"[EMAIL_1]"},{"Name":"sub","Value":"1"}]}]}`},
		{`{"contact":{"properties":[{"name":"Favorite color","value":"green"}]}}`, `{"contact":{"properties":[{"name":"Favorite color","value":"green"}]}}`},
		// values in objects
		{`{"name":"Jane Doe","phone":[{"label":"work","value":"5551234567"},{"value":5559876543}]}`, `{"name":"[NAME_1]","phone":[{"label":"work","value":"[PHONE_1]"},{"value":"[PHONE_2]"}]}`},
		{`{"names":[{"displayName":"Jane Doe"}],"phoneNumbers":[{"value":"0151 2345678","type":"mobile"}]}`,
			`{"names":[{"displayName":"[NAME_1]"}],"phoneNumbers":[{"value":"[PHONE_1]","type":"mobile"}]}`},
		{`{"properties":{"firstname":{"value":"Jane"},"lastname":{"value":"Doe"},"days":{"value":"Jane"}}}`, `{"properties":{"firstname":{"value":"[NAME_1]"},"lastname":{"value":"[NAME_2]"},"days":{"value":"Jane"}}}`},
		{`{"assigned_to":{"display_value":"Beth Anglin","link":"x"},"ticket":{"content":"Call +1 212-555-0123"}}`,
			`{"assigned_to":{"display_value":"[NAME_1]","link":"x"},"ticket":{"content":"Call [PHONE_1]"}}`},
		{`{"properties":{"Email":{"email":"jane@example.com"},"Name":{"type":"title","title":[{"type":"text","text":{"content":"Jane Doe"},"plain_text":"Jane Doe"}]}}}`,
			`{"properties":{"Email":{"email":"[EMAIL_1]"},"Name":{"type":"title","title":[{"type":"text","text":{"content":"[NAME_1]"},"plain_text":"[NAME_1]"}]}}}`},
		{`{"properties":{"Due":{},"Name":{"title":[{"plain_text":"Buy Milk"}]}}}`, `{"properties":{"Due":{},"Name":{"title":[{"plain_text":"Buy Milk"}]}}}`},
		{`{"owner":{"title":"Senior Engineer","id":"5551234567"}}`, `{"owner":{"title":"Senior Engineer","id":"5551234567"}}`},
		{`{"charge":{"shipping":{"name":"Jane Doe","address":{"country":"US"}}}}`, `{"charge":{"shipping":{"name":"[NAME_1]","address":{"country":"US"}}}}`},
	} {
		if got := string(New().MaskJSON([]byte(tt.raw))); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.raw, got, tt.want)
		}
	}
}

func TestTokenizer(t *testing.T) {
	tok := New()
	tok.max = 1
	for _, tt := range [][2]string{
		{"a@b.com", "[EMAIL_1]"},
		{"c@d.com a@b.com", "[EMAIL] [EMAIL_1]"}, // no room for more
	} {
		if got := tok.Mask(tt[0]); got != tt[1] {
			t.Errorf("Mask(%q) = %q, want %q", tt[0], got, tt[1])
		}
	}
}

func TestTokensAreStableAcrossGoroutines(t *testing.T) {
	tok := New()
	var wg sync.WaitGroup
	got := make([]string, 16)
	for i := range got {
		wg.Go(func() {
			for n := range 100 {
				got[i] = tok.Mask(fmt.Sprintf("u%d@example.com", n%7))
			}
		})
	}
	wg.Wait()
	for _, s := range got[1:] {
		if s != got[0] {
			t.Errorf("%q and %q for one value", s, got[0])
		}
	}
	if len(tok.tokens) != 7 {
		t.Errorf("%d values are remembered, want 7", len(tok.tokens))
	}
}

func FuzzMaskJSON(f *testing.F) {
	f.Add([]byte(`{"password":"x","a":["a@b.com",4111111111111111,"{\"b\":\"+49 30 901820\"}"]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		out := New().MaskJSON(raw)
		if json.Valid(raw) && !json.Valid(out) {
			t.Fatalf("%q becomes %q", raw, out)
		}
	})
}

// ordinary is a typical answer of a tool: records with a few pieces of personal data, and text.
func ordinary(records int) []byte {
	var b strings.Builder
	b.WriteString(`{"records":[`)
	for i := range records {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"003Qy%08dXYZAB","name":"Person %d","email":"person.%d@example.com","phone":"+1 212-555-%04d","amount":%d.25,"active":true,`+
			`"createdAt":"2026-01-%02dT10:%02d:00.000Z","url":"https://crm.example.com/contacts/%d?tab=notes","tags":["customer","emea","2026-q1"],`+
			`"notes":"Spoke about the renewal on 2026-01-15.\nThey want %d seats; see document 550e8400-e29b-41d4-a716-%012d for the details, then follow up."}`,
			i, i, i, i%10000, i*7, i%28+1, i%60, i, i%90, i)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func BenchmarkMaskJSON(b *testing.B) {
	raw := ordinary(5000)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if tok := New(); len(tok.MaskJSON(raw)) == len(raw) {
			b.Fatal("nothing was found")
		}
	}
}

func BenchmarkMaskText(b *testing.B) {
	text := string(ordinary(5000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		New().Mask(text)
	}
}

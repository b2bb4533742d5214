package learn

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// observe adds replies of one tool.
func observe(t testing.TB, traffic *Traffic, tool string, replies ...string) {
	t.Helper()
	for _, reply := range replies {
		o := &Observation{Tool: Tool{"s", tool}, Digest: "d", Reply: Reply{Value: json.RawMessage(reply), Text: true}, Words: func() map[string]bool {
			return Words("Gets the forecast. Example: 'anna' or \"bob\". Returns sunrise and feels_like.", nil, tool)
		}}
		if err := traffic.Observe(o); err != nil {
			t.Fatalf("%s: %v", reply, err)
		}
	}
}

// proposed returns the schema of the only tool, joined with one that is known.
func proposed(t testing.TB, traffic *Traffic, before string) string {
	t.Helper()
	all := traffic.Proposals()
	if len(all) != 1 {
		t.Fatalf("%d proposals, want 1", len(all))
	}
	var known json.RawMessage
	if before != "" {
		known = json.RawMessage(before)
	}
	out, err := all[0].Schema(known)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func repeated(n int, format string) []string {
	var out []string
	for i := range n {
		out = append(out, strings.ReplaceAll(format, "%", fmt.Sprint(i)))
	}
	return out
}

func TestTrafficOf(t *testing.T) {
	for name, c := range map[string]struct {
		replies []string
		want    string
	}{
		"a record": {repeated(5, `{"id":%,"title":"t%","done":false,"owner":null}`),
			`{"type":"object","properties":{"id":{"type":"integer"},"title":{"type":"string"},"done":{"type":"boolean"},"owner":{"type":"null"}},"required":["id","title","done","owner"]}`},
		"a name that is sometimes missing": {append(repeated(3, `{"id":%,"title":"t","due":"x"}`), `{"id":1,"title":null}`),
			`{"type":"object","properties":{"id":{"type":"integer"},"title":{"type":["string","null"]},"due":{"type":"string"}},"required":["id","title"]}`},
		"a list in one reply": {[]string{`{"items":[{"id":1,"name":"a"},{"id":2.5,"name":"b"}],"total":2}`, `{"items":[],"total":0}`},
			`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"id":{"type":"number"},"name":{"type":"string"}},"required":["id","name"]}},"total":{"type":"integer"}},"required":["items","total"]}`},
		"words of the definition":          {repeated(3, `{"sunrise":"%","feelsLike":"x"}`), `{"type":"object","properties":{"sunrise":{"type":"string"},"feelsLike":{"type":"string"}},"required":["sunrise","feelsLike"]}`},
		"people, always the same":          {repeated(20, `{"anna":{"age":%},"bob":{"age":2}}`), `{"type":"object","additionalProperties":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}}`},
		"numbers of people":                {repeated(20, `{"anna":%,"bob":2}`), `{"type":"object","additionalProperties":{"type":"integer"}}`},
		"one person, always the same":      {repeated(20, `{"anna":{"age":%}}`), `{"type":"object","additionalProperties":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}}`},
		"a person's name that is a word":   {repeated(20, `{"page":{"age":%},"anna":{"age":1},"bob":{"age":1}}`), `{"type":"object","additionalProperties":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}}`},
		"addresses beside a total":         {repeated(20, `{"total":%,"count":2,"ada@example.org":1,"bob@example.org":2}`), `{"type":"object","properties":{"total":{"type":"integer"},"count":{"type":"integer"}},"required":["total","count"],"additionalProperties":{"type":"integer"}}`},
		"a name once":                      {append(repeated(3, `{"id":1,"name":"x"}`), `{"id":1,"name":"x","owner":true}`), `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"required":["id","name"]}`},
		"a name in two replies":            {append(repeated(3, `{"id":1,"name":"x"}`), repeated(2, `{"id":1,"name":"x","owner":true}`)...), `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"},"owner":{"type":"boolean"}},"required":["id","name"]}`},
		"a name that is no known word":     {repeated(20, `{"id":1,"name":"x","zorp":true}`), `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"required":["id","name"],"additionalProperties":{"type":"boolean"}}`},
		"a text":                           {[]string{`"hello"`}, `{"type":"string"}`},
		"columns of people":                {repeated(20, `[{"date":"x","anna":%,"bob":2,"carl":3},{"date":"x","anna":1,"bob":2,"carl":3}]`), `{"type":"array","items":{"type":"object","additionalProperties":{"type":["string","integer"]}}}`},
		"values that are too deep":         {repeated(3, strings.Repeat("[", 20)+strings.Repeat("]", 20)), strings.Repeat(`{"type":"array","items":`, 16) + "{}" + strings.Repeat("}", 16)},
		"many names that never come again": {repeated(100, `{"id":1,"name":"x","total":1,"words`+"%x"+`":"a"}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			traffic := NewTraffic()
			observe(t, traffic, "get", c.replies...)
			if got := proposed(t, traffic, ""); c.want != "" && !sameSchema(t, got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// sameSchema compares without the order of keywords.
func sameSchema(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	left, _ := json.Marshal(x)
	right, _ := json.Marshal(y)
	return string(left) == string(right)
}

func TestTrafficWidensWhatIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		before  string
		replies []string
		want    string
	}{
		"a known name needs no second sight": {`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`, []string{`{"title":null,"id":1,"name":"x"}`},
			`{"type":"object","properties":{"title":{"type":["string","null"]}},"required":["title"]}`},
		"a name that traffic can't keep stays": {`{"type":"object","properties":{"anna":{"type":"string"},"bob":{"type":"string"}},"required":["anna","bob"]}`, repeated(5, `{"anna":"%","bob":"y"}`),
			`{"type":"object","properties":{"anna":{"type":"string"},"bob":{"type":"string"}},"required":["anna","bob"]}`},
		"a name that is missing is optional": {`{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}},"required":["id","name"]}`, repeated(3, `{"id":"%","title":"x"}`),
			`{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},"title":{"type":"string"}},"required":["id"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			traffic := NewTraffic()
			observe(t, traffic, "get", c.replies...)
			if got := proposed(t, traffic, c.before); !sameSchema(t, got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// What is read back goes on where it was, and two processes agree.
func TestTrafficMerges(t *testing.T) {
	a := NewTraffic()
	observe(t, a, "get", `{"id":1,"name":"x"}`, `{"id":2,"name":"x","owner":true}`)
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "owner") || !strings.Contains(string(raw), `"name"`) {
		t.Errorf(`kept after two replies: %s, want no "owner" in it and %q in it`, raw, `"name"`)
	}
	var b Traffic
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	observe(t, a, "get", `{"id":1,"name":"x","owner":true}`) // the second sight
	observe(t, &b, "get", `{"id":1.5,"name":"x","due":"x"}`) // in the other process
	a.Merge(&b)
	const want = `{"type":"object","properties":{"id":{"type":"number"},"name":{"type":"string"},"owner":{"type":"boolean"}},"required":["id","name"]}`
	if got := proposed(t, a, ""); !sameSchema(t, got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTrafficOfAChangedTool(t *testing.T) {
	traffic := NewTraffic()
	observe(t, traffic, "get", repeated(3, `{"id":1}`)...)
	if err := traffic.Observe(&Observation{Tool: Tool{"s", "get"}, Digest: "other", Reply: Reply{Value: json.RawMessage(`"x"`)}}); err != nil {
		t.Fatal(err)
	}
	if got := proposed(t, traffic, ""); got != `{"type":"string"}` {
		t.Errorf("got %s, want %q", got, `{"type":"string"}`)
	}
}

func TestTrafficIsBounded(t *testing.T) {
	traffic := NewTraffic()
	for i := range 300 { // hostile replies: ever new names at every depth
		var b strings.Builder
		for depth := range 8 {
			for j := range 20 {
				fmt.Fprintf(&b, `{"id":1,"name":"x","size":2,"w%s":`, strings.Repeat(string(rune('a'+(i+j+depth)%26)), 1+i%7))
				if j == 0 {
					break
				}
			}
		}
		text := b.String() + "1" + strings.Repeat("}", strings.Count(b.String(), "{"))
		observe(t, traffic, "get", text)
	}
	raw, err := json.Marshal(traffic)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 200_000 {
		t.Errorf("%d bytes are kept, want at most 200_000", len(raw))
	}
	if err := traffic.Observe(&Observation{Tool: Tool{"s", "bad"}, Reply: Reply{Value: json.RawMessage(`nope`)}}); err == nil {
		t.Error("no error of what is not JSON: got no error, want an error")
	}
}

// secrets returns names, addresses, numbers and tokens as they occur as keys and values.
func secrets(n int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of string) string { all := strings.Fields(of); return all[r.IntN(len(all))] }
	const given = `Anna Bob Carla Dmitri Emeka Fatima Giulia Hans Ingrid Jorge Keiko Lars Maria Nadia Olu Priya Quentin Rosa Sven Tomoko Uma Viktor Wei Xavier Yusuf Zoe
		Mark Will Grant Bill Frank Max John Mary James Linda Robert Susan David Karen`
	const family = `Mueller Smith Okafor Tanaka Garcia Rossi Ivanov Nguyen Kowalski Hansen Dubois Silva Khan Novak Berg Jansen Moreau Haddad Price Page Stone Field`
	digits := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(byte('0' + r.IntN(10)))
		}
		return b.String()
	}
	random := func(alphabet string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	const hex, lower = "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz"
	const mixed = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	word := func() string { // that could be a field's name, and is not known
		var b strings.Builder
		for range 3 + r.IntN(2) {
			b.WriteByte("bdfgklmnprstvz"[r.IntN(14)])
			b.WriteByte("aeiou"[r.IntN(5)])
		}
		return b.String()
	}
	kinds := []func() string{
		func() string {
			return strings.ToLower(pick(given)) + "." + strings.ToLower(pick(family)) + digits(3) + "@example.org"
		},
		func() string { return pick(given) + " " + pick(family) + " " + digits(2) },
		func() string {
			return strings.ToLower(pick(given)) + "_" + strings.ToLower(pick(family)) + "_" + word()
		},
		func() string { return strings.ToLower(pick(given)) + pick(family) + word() },
		func() string { return strings.ToLower(pick(given) + pick(family) + random(lower, 3)) },
		word, word, word,
		func() string { return word() + "_" + word() },
		func() string { return "DE" + digits(20) },
		func() string { return "+49" + digits(9) },
		func() string { return "0" + digits(9) },
		func() string {
			return random(hex, 8) + "-" + random(hex, 4) + "-4" + random(hex, 3) + "-a" + random(hex, 3) + "-" + random(hex, 12)
		},
		func() string { return random(hex, 40) },
		func() string { return "sk_live_" + random(mixed, 24) },
		func() string { return "ghp_" + random(mixed, 36) },
		func() string { return "AKIA" + strings.ToUpper(random(mixed, 16)) },
		func() string { return random(mixed, 22) },
		func() string { return random(lower, 12) },
		func() string { return "cust_" + random(mixed, 10) },
		func() string { return "INV-" + digits(6) },
		func() string { return word() + "-corp-" + word() },
		func() string { return word() + ".internal.example.com" },
		func() string { return fmt.Sprintf("10.%d.%d.%d", r.IntN(250), r.IntN(250), r.IntN(250)) },
		func() string {
			return "20" + digits(2) + "-0" + digits(1) + "-1" + digits(1) + "T" + digits(2) + ":" + digits(2)
		},
		func() string { return "/home/" + strings.ToLower(pick(given)) + "/" + word() },
		func() string { return random(lower+"äöüß", 4) + "ü" + word() },
		func() string { // an app's password
			return random(lower, 4) + "-" + random(lower, 4) + "-" + random(lower, 4) + "-" + random(lower, 4)
		},
		func() string { return random(lower, 16) },
		func() string { return word() + digits(2) },
		func() string { return pick("token page stone order state value user") + digits(2+r.IntN(4)) },
		func() string { return strings.ToLower(pick(given)) + "_" + strings.ToLower(pick(family)) },
		func() string { return "xoxb-" + digits(8) + "-" + random(mixed, 12) },
	}
	seen := map[string]bool{}
	var out []string
	for len(out) < n {
		s := kinds[len(out)%len(kinds)]()
		if len(s) < 6 || seen[s] || isKnown(s, func(string) bool { return false }) {
			continue
		}
		seen[s] = true
		out = append(out, s)
	}
	return out
}

// plant puts a secret into a reply, as a key or a value, in one of the ways in which servers have keys of data.
func plant(i int, s string, next func() string) string {
	q := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	switch i % 10 {
	case 0: // a record with values
		return fmt.Sprintf(`{"id":%d,"name":%s,"email":%s,"tags":[%s]}`, i, q(s), q(next()), q(next()))
	case 1: // objects by name
		return fmt.Sprintf(`{%s:{"age":1,"role":"x"},%s:{"age":2,"role":"y"}}`, q(s), q(next()))
	case 2: // numbers by name
		return fmt.Sprintf(`{%s:1,%s:2,%s:3}`, q(s), q(next()), q(next()))
	case 3: // one by name
		return fmt.Sprintf(`{%s:{"id":1,"name":"x"}}`, q(s))
	case 4: // below an envelope
		return fmt.Sprintf(`{"count":2,"result":{"users":{%s:{"id":1},%s:{"id":2}}}}`, q(s), q(next()))
	case 5: // in the items of a list
		return fmt.Sprintf(`{"items":[{"id":1,%s:true},{"id":2,%s:"x"}]}`, q(s), q(next()))
	case 6: // a member of a record
		return fmt.Sprintf(`{"id":1,"name":"x","status":"open","owner":null,%s:{"created":"x"}}`, q(s))
	case 7: // lists by name
		return fmt.Sprintf(`{%s:["a"],%s:[]}`, q(s), q(next()))
	case 8: // by name, with values of several kinds
		return fmt.Sprintf(`{%s:1,%s:"x",%s:null,%s:[1]}`, q(s), q(next()), q(next()), q(next()))
	default: // keys below keys
		return fmt.Sprintf(`{"total":1,%s:{%s:{%s:%s}}}`, q(s), q(next()), q(next()), q(next()))
	}
}

// Of 10,000 secrets as keys and values, none is in what is kept or proposed.
func TestTrafficKeepsNoSecret(t *testing.T) {
	all := secrets(10_000)
	traffic := NewTraffic()
	at, planted := 0, 0
	next := func() string { at++; planted++; return all[(at-1)%len(all)] }
	for at < len(all) {
		tool := fmt.Sprintf("tool_%d", at%7)
		observe(t, traffic, tool, plant(at, next(), next))
	}
	once := planted
	// The same once more, each in 20 replies.
	for i := range 10 {
		for of := range 40 {
			var reply string
			for range 20 {
				at = (i*40 + of) * 20
				reply = plant(i, next(), next)
				observe(t, traffic, fmt.Sprintf("again_%d_%d", i, of), reply)
			}
		}
	}
	raw, err := json.Marshal(traffic)
	if err != nil {
		t.Fatal(err)
	}
	kept := string(raw)
	known := 0
	for _, p := range traffic.Proposals() {
		schema, err := p.Schema(nil)
		if err != nil {
			t.Fatal(err)
		}
		kept += string(schema)
		known += strings.Count(string(schema), `"properties"`)
	}
	found := 0
	for _, s := range all {
		if strings.Contains(kept, s) {
			if found++; found < 20 {
				t.Errorf("%q is kept: got %v, want at least 20", s, found)
			}
		}
	}
	if known == 0 {
		t.Error("nothing at all was learned")
	}
	t.Logf("%d of %d secrets, planted once %d times and in recurring replies %d times, are in %d bytes", found, len(all), once, planted-once, len(kept))
}

func BenchmarkObserve(b *testing.B) {
	item := `{"id":%,"title":"Printer on floor 3 is jammed","status":"open","assignee":{"name":"x","email":"y"},"tags":["a","b"],"created":"2026-01-02T03:04:05Z"}`
	reply := func(n int) string { return `{"tickets":[` + strings.Join(repeated(n, item), ",") + `],"total":3}` }
	for _, c := range []struct {
		name  string
		reply string
	}{{"record", strings.ReplaceAll(item, "%", "1")}, {"10-items", reply(10)}, {"100-items", reply(100)}, {"1MB", reply(7000)}, {"text", `"done"`},
		{"map", `{` + strings.Join(repeated(60, `"user%x":{"id":1,"name":"x"}`), ",") + `}`}} {
		b.Run(c.name, func(b *testing.B) {
			traffic := NewTraffic()
			o := &Observation{Tool: Tool{"s", "t"}, Digest: "d", Reply: Reply{Value: json.RawMessage(c.reply)}}
			b.ReportAllocs()
			before := processTime()
			for i := 0; b.Loop(); i++ {
				if i%knownReplies == 0 { // later ones cost less
					traffic = NewTraffic()
				}
				if err := traffic.Observe(o); err != nil {
					b.Fatal(err)
				}
			}
			if before > 0 {
				b.ReportMetric(float64(processTime()-before)/float64(b.N), "cpu-ns/op")
			}
		})
	}
}

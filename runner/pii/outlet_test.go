package pii

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
)

// newOutlet returns an outlet on a new vault.
func newOutlet(t *testing.T, s OutletSettings) (*Outlet, *Vault) {
	t.Helper()
	v := newVault(t)
	return NewOutlet(func() (*Vault, error) { return v, nil }, s), v
}

// reopened returns an outlet on the same log, as another process has one.
func reopened(t *testing.T, v *Vault, s OutletSettings) *Outlet {
	t.Helper()
	return NewOutlet(func() (*Vault, error) { return openIn(t, v.store.Place()) }, s)
}

func TestOutletMask(t *testing.T) {
	o, v := newOutlet(t, OutletSettings{})
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"nothing here", "nothing here"},
		{"to ann@example.com and bob@example.com", "to [EMAIL_1] and [EMAIL_2]"},
		{"[EMAIL_1] is ann@example.com", "[EMAIL_1] is [EMAIL_1]"},
		{"[EMAIL_9] and [STEP_1] and [email_1] and [EMAIL]", "[LITERAL_1] and [STEP_1] and [email_1] and [EMAIL]"},
		{`{"password":"hunter2x","card":4111111111111111}`, `{"password":"[SECRET_1]","card":"[CARD_1]"}`},
		{`{"lastName":"[NAME]"}`, `{"lastName":"[NAME]"}`},
		// JSON in a text, and lines of JSON
		{`rows: [{"fullName":"Ann Miller","phone":2125550123}], done`, `rows: [{"fullName":"[NAME_1]","phone":"[PHONE_1]"}], done`},
		{"{\"fullName\":\"Ann Miller\"}\n{\n \"fullName\": \"Bob Stone\"\n}\n", "{\"fullName\":\"[NAME_1]\"}\n{\n \"fullName\": \"[NAME_2]\"\n}\n"},
		{`["x {\"fullName\":\"Ann Miller\"}"]`, `["x {\"fullName\":\"[NAME_1]\"}"]`},
		// once a field held it, it is found in texts, also before the field in the same one
		{"Then Ann Miller called", "Then [NAME_1] called"},
		{`{"notes":"Carla Jensen agrees","fullName":"Carla Jensen"}`, `{"notes":"[NAME_3] agrees","fullName":"[NAME_3]"}`},
		{`{"fullName":"Dr. [NAME_1]"}`, `{"fullName":"Dr. [NAME_1]"}`},
		// rows that are lists
		{`{"values":[["Name","Email","Company"],["Zoë","ann@example.com","Apple"],["Mark",null,"Orange"]]}`,
			`{"values":[["Name","Email","Company"],["[NAME_4]","[EMAIL_1]","[COMPANY_1]"],["[NAME_5]",null,"[COMPANY_2]"]]}`},
		{`{"columns":["id","first_name"],"rows":[[1,"Zoë"],[2,"Will"]],"other":["green"]}`, `{"columns":["id","first_name"],"rows":[[1,"[NAME_4]"],[2,"[NAME_6]"]],"other":["green"]}`},
		{`[["red","green"],["Apple","Orange"]]`, `[["red","green"],["Apple","Orange"]]`},
	} {
		got := o.Mask(c.text)
		if got != c.want {
			t.Errorf("Mask(%q)\n got %q\nwant %q", c.text, got, c.want)
		}
		if again := o.Mask(got); again != got {
			t.Errorf("masking %q again gives %q", got, again)
		}
		if other := reopened(t, v, OutletSettings{}).Mask(c.text); other != got {
			t.Errorf("another process has %q for %q, want %q", other, c.text, got)
		}
	}
	if err := o.Trouble(); err != nil {
		t.Errorf("Trouble() = %v, want none", err)
	}
	for text, want := range map[string]string{"[EMAIL_1]": "[EMAIL_1]", "[EMAIL_9] [LITERAL_1] [EMAIL_1]": "[LITERAL_1]", "[EMAIL_9]": "", "[EMAIL]": "", "x": ""} {
		if got := o.FindToken(text); got != want {
			t.Errorf("FindToken(%s) = %q, want %q", text, got, want)
		}
	}
}

// TestGuessedNames: what was only found in a text is not looked for elsewhere, until a field holds it.
func TestGuessedNames(t *testing.T) {
	o, v := newOutlet(t, OutletSettings{})
	other := reopened(t, v, OutletSettings{})
	for _, c := range []struct{ text, want string }{
		{"Hello Zorblat!", "Hello [NAME_1]!"},
		{"a Zorblat server", "a Zorblat server"},
		{`{"lastName":"Zorblat"}`, `{"lastName":"[NAME_1]"}`},
		{"a Zorblat server", "a [NAME_1] server"},
		{`{"note":"Hello Wembley!","lastName":"Wembley"}`, `{"note":"Hello [NAME_2]!","lastName":"[NAME_2]"}`},
		{"a Wembley server", "a [NAME_2] server"},
	} {
		for _, o := range []*Outlet{o, other} {
			if got := o.Mask(c.text); got != c.want {
				t.Errorf("Mask(%q) = %q, want %q", c.text, got, c.want)
			}
		}
	}
	if got := reopened(t, v, OutletSettings{}).Mask("a Zorblat server"); got != "a [NAME_1] server" {
		t.Errorf("a later process has %q", got)
	}
	o.Mask("Dear Ms Quellbrink,")
	o.Learn([]byte(`{"lastName":"Quellbrink"}`))
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := reopened(t, v, OutletSettings{}).Mask("Quellbrink called"); got != "[NAME_3] called" {
		t.Errorf("what was learned later: %q", got)
	}
}

// TestForeignTokens: a server that sends a token gets back the token, not what it stands for.
func TestForeignTokens(t *testing.T) {
	o, _ := newOutlet(t, OutletSettings{})
	o.Mask("ann@example.com")
	const sent = `{"text":"[EMAIL_1] [EMAIL_7]","a":"bob@example.com"}`
	got := o.MaskForeign([]byte(sent))
	if want := `{"text":"[LITERAL_1] [LITERAL_2]","a":"[EMAIL_2]"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if back, err := o.Restore(got); err != nil || string(back) != sent {
		t.Errorf("it comes back as %s, %v, want %s", back, err, sent)
	}
	shut := NewOutlet(func() (*Vault, error) { return nil, errors.New("no key") }, OutletSettings{})
	if got := shut.MaskForeign([]byte(`["[EMAIL_1]"]`)); string(got) != `["[LITERAL]"]` || shut.Trouble() == nil {
		t.Errorf("without a vault it becomes %s", got)
	}
	if got := o.MaskForeign([]byte("x [EMAIL_1]")); string(got) != "x [LITERAL_1]" {
		t.Errorf("a text becomes %s", got)
	}
}

func TestLearn(t *testing.T) {
	o, v := newOutlet(t, OutletSettings{Fields: map[string]Type{"ansprech_partner": detect.Name, "full-name": ""}})
	o.Learn([]byte(`{"rows":[{"lastName":"Oyelaran","company":"Fjordkraft Handel","fullName":"Not Learned"}],"text":"{\"Ansprech Partner\":\"Ülker Demirören\"}"}`))
	const text = "Oyelaran of Fjordkraft Handel met Ülker Demirören and Not Learned"
	want := "[NAME_1] of [COMPANY_1] met [NAME_2] and Not Learned"
	if got := o.Mask(text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := reopened(t, v, OutletSettings{}).Mask(text); got != want {
		t.Errorf("another process: got %q, want %q", got, want)
	}
	// What is learned shortly after is known here at once, and elsewhere once it is written.
	o.Learn([]byte(`{"lastName":"Brzezinska"}`))
	o.Learn([]byte(`{"lastName":"Wojciechowski"}`))
	other := reopened(t, v, OutletSettings{})
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*Outlet{"here": o, "elsewhere": other} {
		if got := o.Mask("Brzezinska, Wojciechowski"); strings.Contains(got, "ski") {
			t.Errorf("%s: %q", name, got)
		}
	}
	o.Learn([]byte(`not JSON`))
	if err := o.Trouble(); err != nil {
		t.Errorf("Trouble() = %v, want none", err)
	}
}

// TestLearnLeavesRoom: a script that pages through a large table does not fill the vault.
func TestLearnLeavesRoom(t *testing.T) {
	o, v := newOutlet(t, OutletSettings{})
	v.maxValues = 10
	for i := range 10 {
		o.Learn(fmt.Appendf(nil, `{"lastName":"Oyelaran%c"}`, 'a'+i))
		if err := o.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(v.ledger.entries); n != 5 {
		t.Errorf("%d values were written, want 5", n)
	}
	if got := o.Mask("Oyelaranj"); got != "[NAME_6]" {
		t.Errorf(`got %s, want "[NAME_6]": it is known here`, got)
	}
}

// TestOneOutput: a large table that is printed does not fill the vault, whether it comes at once or line by line, and what is shown later still
// has numbers.
func TestOneOutput(t *testing.T) {
	const shown = RunValues / shownPart
	for name, print := range map[string]func(*Outlet, string) string{
		"at once": (*Outlet).Mask,
		"a stream": func(o *Outlet, text string) string {
			var out strings.Builder
			w := o.Writer(&out)
			for text != "" {
				n := min(len(text), 1<<15)
				_, _ = io.WriteString(w, text[:n])
				text = text[n:]
			}
			_ = w.Close()
			return out.String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, v := newOutlet(t, OutletSettings{})
			v.maxValues = 4 * shown
			rows := func(of string, n int) string {
				var b strings.Builder
				for i := range n {
					fmt.Fprintf(&b, "%s%d@example.com\n", of, i)
				}
				return b.String()
			}
			if got := print(o, rows("a", 2*shown)); strings.Contains(got, "[EMAIL]") || strings.Contains(got, "@") || o.Trouble() != nil {
				t.Errorf("of a vault that is less than half full, %d values got %d without a number", 2*shown, strings.Count(got, "[EMAIL]"))
			}
			got := print(o, rows("b", 2*shown))
			if n := strings.Count(got, "[EMAIL]"); n != shown || strings.Contains(got, "@") {
				t.Errorf("of a vault that is half full, %d values got %d without a number, want %d", 2*shown, n, shown)
			}
			if err := o.Trouble(); err == nil || !strings.Contains(err.Error(), "half full") {
				t.Errorf("Trouble() = %v, want the reason", err)
			}
			if got := print(o, "ann@example.com\n"); !strings.HasPrefix(got, "[EMAIL_") {
				t.Errorf("a later output has %q, want a number", got)
			}
		})
	}
}

// TestHeldValues: what a field, or a cell of a table, held is found where it stands alone.
func TestHeldValues(t *testing.T) {
	for result, c := range map[string]struct{ text, want string }{
		`{"contact":{"password":"hunter2Zebra","ssn":"536904399"}}`: {"to db with hunter2Zebra ok, ['536904399']", "to db with [SECRET_1] ok, ['[SSN_1]']"},
		`{"phone":4930901820}`:                                {"4930901820", "[PHONE_1]"},
		`{"assignee":"Jane Doerringer"}`:                      {"first is Jane Doerringer", "first is [NAME_1]"},
		`"id,name,email\n1,Jane Doerringer,jd@example.com\n"`: {"[ 'Jane Doerringer' ]", "[ '[NAME_1]' ]"},
		`{"kunde":"x-77-y-88"}`:                               {"for x-77-y-88.", "for [SECRET_1]."},
		`{"token":"<your token>","password":"password"}`:      {"<your token> password", "<your token> password"},
	} {
		for _, learns := range []bool{true, false} {
			o, _ := newOutlet(t, OutletSettings{Fields: map[string]Type{"kunde": detect.Secret}})
			if learns {
				o.Learn([]byte(result))
			} else {
				o.MaskJSON([]byte(result))
			}
			got := o.Mask(c.text)
			if !learns {
				got = strings.ReplaceAll(got, "_2]", "_1]") // a number has a token of its own, and an address may come first
			}
			if got != c.want {
				t.Errorf("after %s (Learn: %v), %q becomes %q, want %q", result, learns, c.text, got, c.want)
			}
		}
	}
}

// TestChangedTokens: in arguments of calls, tokens that a program has changed are errors; elsewhere they are text.
func TestChangedTokens(t *testing.T) {
	o, _ := newOutlet(t, OutletSettings{})
	o.Mask("ann@example.com")
	for _, c := range []struct {
		raw  string
		opt  ArgumentOptions
		want string
	}{
		{`{"to":" [email_1] "}`, ArgumentOptions{FromTokens: true}, "[email_1]"},
		{`{"to":" [email_1] "}`, ArgumentOptions{}, ""},
		{`{"to":"[Email_1] [email_2] [email_01]"}`, ArgumentOptions{FromTokens: true}, ""},
		{`{"url":"/%5BEMAIL_1%5d?"}`, ArgumentOptions{}, "%5BEMAIL_1%5d"},
		{`{"url":"/%5BEMAIL_2%5D?"}`, ArgumentOptions{}, ""},
	} {
		out, _, err := o.RestoreArguments([]byte(c.raw), c.opt)
		unknown, ok := errors.AsType[*UnknownTokenError](err)
		if want := (UnknownTokenError{Token: c.want, Issued: "[EMAIL_1]"}); c.want != "" && (!ok || unknown.Token != want.Token || unknown.Issued != want.Issued || !strings.Contains(err.Error(), "it was EMAIL_1")) {
			t.Errorf("RestoreArguments(%s, %+v) = %v, want an error that names %s", c.raw, c.opt, err, c.want)
		}
		if c.want == "" && (err != nil || string(out) != c.raw) {
			t.Errorf("RestoreArguments(%s, %+v) = %s, %v, want it as it is", c.raw, c.opt, out, err)
		}
		if out, err := o.Restore([]byte(c.raw)); err != nil || string(out) != c.raw {
			t.Errorf("Restore(%s) = %s, %v, want it as it is", c.raw, out, err)
		}
	}
}

// TestLargeTable: to look for the cells of a table takes linear time.
func TestLargeTable(t *testing.T) {
	o := New()
	var b strings.Builder
	b.WriteString("name,company\n")
	for range 40_000 {
		b.WriteString("Jane Doerringer,Fjordkraft GmbH\n")
	}
	start := time.Now()
	if got := o.Mask(b.String()); strings.Contains(got, "Doerringer") || strings.Contains(got, "Fjordkraft") {
		t.Error("names are shown")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("40,000 rows took %v", took)
	}
}

// TestForTool: the name of a tool counts in each part of the result of a call.
func TestForTool(t *testing.T) {
	const items = `{"items":[{"id":1,"name":"Jane Dovecott"}]}`
	raw := `{"content":[{"type":"text","text":` + strconv.Quote(items) + `}],"structuredContent":` + items + `}`
	for tool, want := range map[string]bool{"list_contacts": false, "list_files": true} {
		o, _ := newOutlet(t, OutletSettings{})
		if got := string(o.For(tool).MaskForeign([]byte(raw))); strings.Contains(got, "Jane") != want {
			t.Errorf("a result of %s is %s, want the name: %v", tool, got, want)
		}
	}
}

// TestWith: what stood for tokens in the arguments of a call is a token in its answer, also a word that would be no name.
func TestWith(t *testing.T) {
	o, _ := newOutlet(t, OutletSettings{})
	o.MaskJSON([]byte(`[{"firstName":"Will","company":"Apple"},{"phone":4930901820,"email":"ann@example.com"}]`))
	_, used, err := o.RestoreArguments([]byte(`{"a":"[NAME_1]","b":"[COMPANY_1] [NAME_1]","c":"[PHONE_1]"}`), ArgumentOptions{})
	if err != nil || !used.HasNumber() {
		t.Fatalf("RestoreArguments = %v, %v", used, err)
	}
	with := o.With(used)
	for text, want := range map[string]string{
		`got string "Will", not Willow`: `got string "[NAME_1]", not Willow`,
		`stored Apple, Will`:            `stored [COMPANY_1], [NAME_1]`,
		`{"slot":"Will","x":["Apple"]}`: `{"slot":"[NAME_1]","x":["[COMPANY_1]"]}`,
		`got number 4930901820`:         `got number [PHONE_2]`,
		`{"id":4930901820,"n":1}`:       `{"id":"[PHONE_1]","n":1}`,
		`[EMAIL_1]`:                     `[LITERAL_1]`,
	} {
		if got := string(with.MaskForeign([]byte(text))); got != want {
			t.Errorf("MaskForeign(%s) = %s, want %s", text, got, want)
		}
		if got := string(with.Quote([]byte(text))); got != want {
			t.Errorf("Quote(%s) = %s, want %s", text, got, want)
		}
	}
	if got := string(o.MaskForeign([]byte("stored Will"))); got != "stored Will" {
		t.Errorf("another call has %q", got)
	}
}

func TestOutletFields(t *testing.T) {
	o, _ := newOutlet(t, OutletSettings{Fields: map[string]Type{"Customer_Ref": detect.Name, "code": detect.SSN, "email": "", "password": ""}})
	raw := `{"customerRef":["Blue","ann@example.com"],"code":[12,-1.5e3,"x"],"email":"bob@example.com","password":"hunter2x","e":" ","customer ref":" "}`
	want := `{"customerRef":["[NAME_1]","[NAME_2]"],"code":["[SSN_1]","[SSN_2]","[SSN_3]"],"email":"bob@example.com","password":"hunter2x","e":" ","customer ref":" "}`
	got := o.MaskJSON([]byte(raw))
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if back, err := o.Restore(got); err != nil || string(back) != raw {
		t.Errorf("it comes back as %s, %v, want %s", back, err, raw)
	}
}

func TestOutletRestore(t *testing.T) {
	o, v := newOutlet(t, OutletSettings{})
	o.Mask("ann@example.com bob@example.com")
	o.MaskJSON([]byte(`{"card":4111111111111111,"fullName":"Ann \"A\" Miller"}`))
	for _, c := range []struct{ raw, want string }{
		{`{"to":"[EMAIL_1]","n":"[CARD_1]","[EMAIL_2]":["Hello [NAME_1], write to [EMAIL_1]"]}`,
			`{"to":"ann@example.com","n":4111111111111111,"bob@example.com":["Hello Ann \"A\" Miller, write to ann@example.com"]}`},
		{`{"body":"{\"to\":\"[EMAIL_1]\",\"n\":\"[CARD_1]\"}"}`, `{"body":"{\"to\":\"ann@example.com\",\"n\":4111111111111111}"}`},
		{`{"a":"[STEP_1] [email_7] [EMAIL_01] [EMAIL]"}`, `{"a":"[STEP_1] [email_7] [EMAIL_01] [EMAIL]"}`},
	} {
		if got, err := o.Restore([]byte(c.raw)); err != nil || string(got) != c.want {
			t.Errorf("Restore(%s)\n got %s, %v\nwant %s", c.raw, got, err, c.want)
		}
	}
	for raw, want := range map[string]UnknownTokenError{
		`{"a":[{"b":"[EMAIL_1] [EMAIL_9]"}]}`: {Token: "[EMAIL_9]", Pointer: "/a/0/b"},
		`{"a":"{\"b\":\"[PHONE_1]\"}","c":1}`: {Token: "[PHONE_1]", Pointer: "/a"},
		`["\u005bSSN_3]"]`:                    {Token: "[SSN_3]", Pointer: "/0"},
		`{"[NAME_77]":1}`:                     {Token: "[NAME_77]", Pointer: "/[NAME_77]"},
	} {
		_, err := o.Restore([]byte(raw))
		unknown, ok := errors.AsType[*UnknownTokenError](err)
		if !ok || *unknown != want || unknown.Hint() == "" || !strings.Contains(err.Error(), strings.Trim(want.Token, "[]")) {
			t.Errorf("Restore(%s): %v, want %v", raw, err, want)
		}
		if said := fmt.Sprint(err); o.Mask(said) != said {
			t.Errorf("the error %q is masked to %q", said, o.Mask(said))
		}
	}
	if _, err := o.RestoreText("see [EMAIL_9]"); err == nil || !strings.Contains(err.Error(), "EMAIL_9") {
		t.Errorf("RestoreText() = %v, want an error that names the token", err)
	}
	if got, err := o.RestoreText(`see [EMAIL_1] in {"n":"[CARD_1]"}`); err != nil || got != `see ann@example.com in {"n":4111111111111111}` {
		t.Errorf("RestoreText() = %q, %v", got, err)
	}
	if _, err := o.Restore([]byte(`{"a":`)); err == nil {
		t.Error("what is not JSON is restored: got no error, want an error")
	}
	if got, _, err := o.RestoreArguments([]byte(`{"a":"[CARD_1]"}`), ArgumentOptions{NumbersAsText: true}); err != nil || string(got) != `{"a":"4111111111111111"}` {
		t.Errorf("with numbers as text, RestoreArguments() = %s, %v", got, err)
	}
	v.maxRestored = 10
	if _, err := o.Restore([]byte(`"[EMAIL_1]"`)); err == nil {
		t.Error("a text is restored without bound: got no error, want an error")
	}
}

// TestOutletFailsClosed: whatever is wrong with the vault, no value leaves, and the reason is said once.
func TestOutletFailsClosed(t *testing.T) {
	const text = `{"to":"ann@example.com","card":4111111111111111,"text":"carl@example.com and [EMAIL_1]"}`
	const closed = `{"to":"[EMAIL]","card":"[CARD]","text":"[EMAIL] and [EMAIL_1]"}`
	over := errors.New("the disk is full")
	damaged := func(t *testing.T) (*Outlet, string) {
		o, v := newOutlet(t, OutletSettings{})
		o.Mask("ann@example.com")
		overwrite(t, v, []byte("hello"), []byte("hello"))
		return o, closed
	}
	for name, c := range map[string]struct {
		outlet func(*testing.T) (o *Outlet, want string)
		reason string
	}{
		"no key": {func(*testing.T) (*Outlet, string) {
			return NewOutlet(func() (*Vault, error) { return nil, errors.New("the key is gone") }, OutletSettings{}), closed
		}, "the key is gone"},
		"damaged": {damaged, "its beginning is wrong"},
		"full": {func(t *testing.T) (*Outlet, string) {
			o, v := newOutlet(t, OutletSettings{})
			v.maxValues = 2
			o.Mask("ann@example.com")
			return o, `{"to":"[EMAIL_1]","card":"[CARD_1]","text":"[EMAIL] and [EMAIL_1]"}`
		}, "is full"},
		"disk full": {func(t *testing.T) (*Outlet, string) {
			o, v := newOutlet(t, OutletSettings{})
			v.Limit(func(int64) error { return over })
			return o, `{"to":"[EMAIL]","card":"[CARD]","text":"[EMAIL] and [LITERAL]"}`
		}, over.Error()},
		"no database": {func(t *testing.T) (*Outlet, string) {
			v := newVault(t)
			if err := v.store.Close(); err != nil {
				t.Fatal(err)
			}
			return NewOutlet(func() (*Vault, error) { return v, nil }, OutletSettings{}), closed
		}, "database is closed"},
		"another key": {func(t *testing.T) (*Outlet, string) {
			v := newVault(t)
			mustTokenize(t, v, "ann@example.com")
			return NewOutlet(func() (*Vault, error) {
				return OpenVault(t.Context(), v.store, testCustomer, []byte(strings.Repeat("k", keySize)), testOwner)
			}, OutletSettings{}), closed
		}, "sealed with another key"},
	} {
		t.Run(name, func(t *testing.T) {
			o, want := c.outlet(t)
			for range 2 {
				if got := o.MaskJSON([]byte(text)); string(got) != want {
					t.Errorf("got %s\nwant %s", got, want)
				}
			}
			if err := o.Trouble(); err == nil || strings.Count(err.Error(), c.reason) != 1 {
				t.Errorf("Trouble() = %v, want %q once", err, c.reason)
			}
			if err := o.Trouble(); err != nil {
				t.Errorf("Trouble() = %v the second time, want nil", err)
			}
		})
	}
}

// TestOutletKnowsNames: names that fields hold are found in texts also while the vault cannot be used, and written once it can.
func TestOutletKnowsNames(t *testing.T) {
	v, opens := newVault(t), false
	o := NewOutlet(func() (*Vault, error) {
		if !opens {
			return nil, errors.New("the keyring is locked")
		}
		return v, nil
	}, OutletSettings{})
	o.Learn([]byte(`{"lastName":"Oyelaran"}`))
	if got := o.Mask("Oyelaran called"); got != "[NAME] called" {
		t.Errorf("got %q, want a token", got)
	}
	if got := o.MaskJSON([]byte(`{"note":"Zorblat called","lastName":"Zorblat"}`)); string(got) != `{"note":"[NAME] called","lastName":"[NAME]"}` {
		t.Errorf("got %s, want tokens", got)
	}
	opens, o.retry = true, time.Now()
	if got := o.Mask("Oyelaran called"); got != "[NAME_1] called" {
		t.Errorf("with a vault: %q", got)
	}
	if got := reopened(t, v, OutletSettings{}).Mask("Oyelaran called"); got != "[NAME_1] called" {
		t.Errorf("another process: %q", got)
	}
	overwrite(t, v, []byte("damaged"), []byte("damaged"), []byte("damaged"))
	if got := o.Mask("Oyelaran called"); got != "[NAME] called" {
		t.Errorf("with a damaged vault: %q", got)
	}
}

// TestOutletRestoresNothingLost: what took the place of a value that could not be kept does not reach a server.
func TestOutletRestoresNothingLost(t *testing.T) {
	o, v := newOutlet(t, OutletSettings{})
	o.Mask("ann@example.com")
	v.Limit(func(int64) error { return errors.New("the disk is full") })
	const letter = `{"to":"[EMAIL_1]","text":"Dear [NAME], yours, [COMPANY]"}`
	if _, err := o.Restore([]byte(letter)); err != nil {
		t.Errorf("a template is refused: %v", err)
	}
	if got := o.Mask("bob@example.com"); got != "[EMAIL]" {
		t.Fatalf("got %q, want [EMAIL]", got)
	}
	for raw, want := range map[string]UnknownTokenError{
		`{"a":"[EMAIL_1]","b":["[EMAIL]"]}`: {Token: "[EMAIL]", Pointer: "/b/0"},
		`["x ` + unchecked + `"]`:           {Token: unchecked, Pointer: "/0"},
	} {
		_, err := o.Restore([]byte(raw))
		if unknown, ok := errors.AsType[*UnknownTokenError](err); !ok || *unknown != want || !strings.Contains(err.Error(), "could not be kept") {
			t.Errorf("Restore(%s): %v, want %v", raw, err, want)
		}
	}
}

// TestRestoreWithoutVault: arguments without tokens are sent as they are.
func TestRestoreWithoutVault(t *testing.T) {
	o := NewOutlet(func() (*Vault, error) { return nil, errors.New("the keyring is locked") }, OutletSettings{})
	for raw, ok := range map[string]bool{
		`{"list":["a","b"],"text":"say \"hello\"\n\u00e4 [x]"}`: true,
		`["[EMAIL_1]"]`:      false,
		`["\u005bEMAIL_1]"]`: false,
		`["[EM\u0041IL_1]"]`: false,
	} {
		if got, err := o.Restore([]byte(raw)); (err == nil) != ok || ok && string(got) != raw {
			t.Errorf("Restore(%s) = %s, %v, want an error: %v", raw, got, err, !ok)
		}
	}
}

// TestOutletWritesAgain: while the vault cannot be written, not every text tries to; later all that was learned meanwhile is written.
func TestOutletWritesAgain(t *testing.T) {
	o, v := newOutlet(t, OutletSettings{})
	tries := 0
	v.Limit(func(int64) error { tries++; return errors.New("no space") })
	for range 3 {
		if got := o.Mask("ann@example.com"); got != "[EMAIL]" {
			t.Errorf("got %s, want [EMAIL]", got)
		}
	}
	o.Learn([]byte(`{"fullName":"Ann Miller"}`))
	if tries != 1 {
		t.Errorf("%d attempts, want 1", tries)
	}
	v.Limit(nil)
	o.keepAgain = time.Now()
	if got := o.Mask("ann@example.com"); got != "[EMAIL_1]" {
		t.Errorf("got %s, want [EMAIL_1]", got)
	}
	if got := reopened(t, v, OutletSettings{}).Mask("Ann Miller"); got != "[NAME_1]" {
		t.Errorf("got %s, want [NAME_1]", got)
	}
}

// TestOutletTriesAgain: a vault that could not be opened is opened later, and not with every text.
func TestOutletTriesAgain(t *testing.T) {
	v, calls := newVault(t), 0
	o := NewOutlet(func() (*Vault, error) {
		if calls++; calls == 1 {
			return nil, errors.New("the keyring is locked")
		}
		return v, nil
	}, OutletSettings{})
	o.Mask("ann@example.com")
	if got := o.Mask("ann@example.com"); got != "[EMAIL]" || calls != 1 {
		t.Errorf("got %s after %d calls, want [EMAIL] and 1", got, calls)
	}
	o.retry = time.Now()
	if got := o.Mask("ann@example.com"); got != "[EMAIL_1]" {
		t.Errorf("got %s, want [EMAIL_1]", got)
	}
}

// TestOutletAtOnce: goroutines and processes that mask the same values have the same tokens for them.
func TestOutletAtOnce(t *testing.T) {
	o, v := newOutlet(t, OutletSettings{})
	outlets := []*Outlet{o, o, reopened(t, v, OutletSettings{}), reopened(t, v, OutletSettings{})}
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "{\"fullName\":\"Ann Mc%c%c\",\"email\":\"u%d@example.com\"}\n", 'a'+i%26, 'a'+i/26, i)
	}
	got := make([]string, len(outlets))
	var wg sync.WaitGroup
	for i, o := range outlets {
		wg.Go(func() {
			for line := range strings.Lines(text.String()) {
				got[i] += o.Mask(line)
				o.Learn([]byte(line))
			}
		})
	}
	wg.Wait()
	for i, text := range got {
		if text != got[0] || strings.Contains(text, "Ann") || strings.Contains(text, "@") {
			t.Errorf("%d: %s\nwant %s", i, text, got[0])
		}
	}
}

func TestForget(t *testing.T) {
	o, v := newOutlet(t, OutletSettings{})
	o.Mask(`{"a":"ann@example.com bob@example.com carl@example.com 203.0.113.7","fullName":"Ann Miller"}`)
	other := reopened(t, v, OutletSettings{})
	forget := func(want int, f Forget) {
		t.Helper()
		if n, err := v.Forget(t.Context(), f); err != nil || n != want {
			t.Errorf("Forget(%v) = %d, %v, want %d", f, n, err, want)
		}
	}
	unknown := func(o *Outlet, token string) {
		t.Helper()
		_, err := o.RestoreText("x " + token)
		if e, ok := errors.AsType[*UnknownTokenError](err); !ok || !e.Forgotten || !strings.Contains(err.Error(), "forgotten") {
			t.Errorf("%s: %v, want an error that it was forgotten", token, err)
		}
	}
	forget(0, Forget{Values: []string{"nobody@example.com"}})
	forget(2, Forget{Values: []string{"ann@example.com", "[EMAIL_2]"}})
	for _, o := range []*Outlet{o, other} {
		unknown(o, "[EMAIL_1]")
		unknown(o, "[EMAIL_2]")
		if got := o.Mask("[EMAIL_1] carl@example.com ann@example.com"); got != "[EMAIL_1] [EMAIL_3] [EMAIL_4]" {
			t.Errorf("got %s, want [EMAIL_1] [EMAIL_3] [EMAIL_4]", got)
		}
	}
	if got := mustTokenize(t, v, "[EMAIL_1]"); got != "[LITERAL_1]" { // it does not come to stand for itself
		t.Errorf("got %s, want [LITERAL_1]", got)
	}
	forget(1, Forget{Types: []Type{detect.Name}})
	if got := other.Mask("Ann Miller"); got != "Ann Miller" {
		t.Errorf("a forgotten name is still looked for: %s", got)
	}
	forget(4, Forget{All: true})
	unknown(other, "[IP_1]")
	if got := other.Mask("203.0.113.7"); got != "[IP_2]" {
		t.Errorf("got %s, want [IP_2]", got)
	}
	v.Limit(func(int64) error { return nil })
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := v.Forget(ended, Forget{All: true}); err == nil {
		t.Error("it forgets after its context has ended: got no error, want an error")
	}
	if got, err := o.RestoreText("[IP_2]"); err != nil || got != "203.0.113.7" {
		t.Errorf("what could not be written is forgotten: %s, %v", got, err)
	}
}

// TestRetention: a value is forgotten when it was not used for some time, and masking and restoring it are uses.
func TestRetention(t *testing.T) {
	const days = 24 * time.Hour
	v := newVault(t)
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	v.now = func() time.Time { return at }
	o := NewOutlet(func() (*Vault, error) { return v, nil }, OutletSettings{Retention: 90 * days})
	o.Mask("ann@example.com bob@example.com carl@example.com dora@example.com")
	number := v.number
	at = at.Add(6 * days)
	o.Mask("ann@example.com")
	if v.number != number {
		t.Error("a use is written again within a week")
	}
	at = at.Add(54 * days)
	o.Mask("ann@example.com")
	if _, err := o.Restore([]byte(`"[EMAIL_2]"`)); err != nil {
		t.Fatal(err)
	}
	reopen(t, v)
	at = at.Add(38 * days) // 98 days after the first use, 38 after the second
	if got := o.Mask("ann@example.com carl@example.com"); got != "[EMAIL_1] [EMAIL_5]" {
		t.Errorf("got %s, want [EMAIL_1] [EMAIL_5]", got)
	}
	if got, err := o.RestoreText("[EMAIL_2]"); err != nil || got != "bob@example.com" {
		t.Errorf("RestoreText() = %s, %v, want bob@example.com", got, err)
	}
	if _, err := o.RestoreText("[EMAIL_4]"); err == nil {
		t.Error("a value is kept for ever: got no error, want an error")
	}
	for range 2 {
		o.Learn([]byte(`{"lastName":"Oyelaran"}`))
		if err := o.Flush(); err != nil {
			t.Fatal(err)
		}
		at = at.Add(60 * days)
	}
	if got := o.Mask("Oyelaran called"); got != "[NAME_1] called" {
		t.Errorf("got %q, want the token of a name that was learned again", got)
	}
	if err := o.Trouble(); err != nil {
		t.Errorf("Trouble() = %v, want none", err)
	}
}

// TestOlderVault: values without a day, which an older program wrote, are not forgotten at once.
func TestOlderVault(t *testing.T) {
	v := newVault(t)
	mustTokenize(t, v, "ann@example.com")
	v.ledger.entries[0].Used = 0
	for range 2 {
		if n, err := v.Forget(t.Context(), Forget{All: true, Unused: time.Hour}); n != 0 || err != nil {
			t.Errorf("Forget() = %d, %v, want 0 and no error", n, err)
		}
	}
	if again := reopen(t, v); again.ledger.entries[0].Used != v.today() {
		t.Error("the day was not written")
	}
}

func BenchmarkOutlet(b *testing.B) {
	v := newVault(b)
	o := NewOutlet(func() (*Vault, error) { return v, nil }, OutletSettings{})
	for i := range 1000 {
		o.Learn(fmt.Appendf(nil, `{"fullName":"Ann%c%c Miller%c"}`, 'a'+i%26, 'a'+i/26%26, 'a'+i/676))
	}
	raw := ordinary(5000)
	o.MaskJSON(raw)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		o.MaskJSON(raw)
	}
}

// TestMaskAgain: masking what was masked changes nothing, in any line with labels.
func TestMaskAgain(t *testing.T) {
	o, _ := newOutlet(t, OutletSettings{})
	files, err := filepath.Glob("testdata/labels/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		lines := readLabels(t, filepath.Base(file))
		var texts []string
		for _, l := range lines {
			texts = append(texts, l.text)
		}
		all, err := json.Marshal(texts)
		if err != nil {
			t.Fatal(err)
		}
		o.MaskJSON(all) // which writes most values at once
		for _, l := range lines {
			once := o.Mask(l.text)
			if again := o.Mask(once); again != once {
				t.Errorf("%s: %q\nbecomes %q\n   then %q", l.place, l.text, once, again)
			}
		}
	}
}

package pii

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

var testKey = bytes.Repeat([]byte{7}, keySize)

const (
	testCustomer = "acme"
	testOwner    = "customer acme"
)

// openStore opens the database at a path.
func openStore(t testing.TB, path string) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// openIn opens the vault in a database.
func openIn(t testing.TB, path string) (*Vault, error) {
	t.Helper()
	return OpenVault(t.Context(), openStore(t, path), testCustomer, testKey, testOwner)
}

func newVault(t testing.TB) *Vault {
	t.Helper()
	v, err := openIn(t, filepath.Join(t.TempDir(), "in", "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// reopen opens the vault as another process does.
func reopen(t testing.TB, v *Vault) *Vault {
	t.Helper()
	again, err := openIn(t, v.store.Place())
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// lines returns the lines of a vault's log.
func lines(t testing.TB, v *Vault) (all []store.Line) {
	t.Helper()
	if err := v.store.Lines(t.Context(), v.log, 0, func(l store.Line) error { all = append(all, l); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// overwrite changes a vault's log as somebody who edits the database does.
func overwrite(t testing.TB, v *Vault, values ...[]byte) {
	t.Helper()
	if err := v.store.DeleteLog(t.Context(), v.log); err != nil {
		t.Fatal(err)
	}
	for i, value := range values {
		if err := v.store.AppendLineAt(t.Context(), v.log, int64(i+1), value); err != nil {
			t.Fatal(err)
		}
	}
}

func mustTokenize(t *testing.T, v *Vault, text string) string {
	t.Helper()
	out, _, err := v.Tokenize(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestVaultText(t *testing.T) {
	v := newVault(t)
	for _, c := range []struct{ text, want string }{
		{"nothing here", "nothing here"},
		{"", ""},
		{"to ann@example.com, ann@example.com and bob@example.com", "to [EMAIL_1], [EMAIL_1] and [EMAIL_2]"},
		{"ann@example.com is [EMAIL_1]", "[EMAIL_1] is [LITERAL_1]"}, // here it is an ordinary text
		{"a text of [EMAIL_3] and carl@example.com [EMAIL_3]", "a text of [EMAIL_3] and [EMAIL_4] [EMAIL_3]"},
		{"[LITERAL_1] [LITERAL_2]", "[LITERAL_2] [LITERAL_3]"},
		{"[email_1] [EMAIL_01] [EMAIL_] [EMAIL_0] [EMAIL 1] [EMAIL_1 ] [NAME_1] EMAIL_1 [EMAIL_1x] [EMAIL_9999999999]", ""},
		{"[[EMAIL_1]] [EMAIL_[EMAIL_2]", "[[LITERAL_1]] [EMAIL_[LITERAL_4]"},
		{"[ann@example.com](mailto:ann@example.com)", "[[EMAIL_1]](mailto:[EMAIL_1])"},
		{"\xff ann@example.com \xed\xa0\x80 é", "\xff [EMAIL_1] \xed\xa0\x80 é"},
	} {
		want := c.want
		if want == "" {
			want = c.text
		}
		got := mustTokenize(t, v, c.text)
		if got != want {
			t.Errorf("%q\n got %q\nwant %q", c.text, got, want)
		}
		if back, err := v.Restore(got); err != nil || back != c.text {
			t.Errorf("%q comes back as %q, %v", c.text, back, err)
		}
	}
}

func TestVaultJSON(t *testing.T) {
	v := newVault(t)
	for _, c := range []struct{ raw, want string }{
		{`{ "z" : 1.50, "a":[ "ann@example.com", 9007199254740993, null, true ], "z":-0 }`, `{ "z" : 1.50, "a":[ "[EMAIL_1]", 9007199254740993, null, true ], "z":-0 }`},
		{`{"card":4111111111111111,"text":"4111111111111111"}`, `{"card":"[CARD_1]","text":"[CARD_2]"}`},
		{`{"ann@example.com":{"k\u0065y \/":"x\u0040example.com \u0041 \/"}}`, `{"[EMAIL_1]":{"k\u0065y \/":"[EMAIL_2] \u0041 \/"}}`},
		{`["\ud800 ann@example.com \udc00", "\ud83d\ude00ann@example.com"]`, ``},
		{`{"password":"a\"b\\c\n\u0001<\u00e9\ud800"}`, `{"password":"[SECRET_1]"}`},
		{`{"text":"{\"password\":\"hun\\\"ter2\",\"n\":[1.0]}"}`, `{"text":"{\"password\":\"[SECRET_2]\",\"n\":[1.0]}"}`},
		{`"[EMAIL_1] is a text, and so is [CARD_1]"`, `"[LITERAL_1] is a text, and so is [LITERAL_2]"`},
		{`{"[CARD_1]":"[CARD_1]"}`, `{"[LITERAL_2]":"[LITERAL_2]"}`},
		{`{"key":"[\"-----BEGIN PRIVATE ` + `KEY-----\nabc\n-----END PRIVATE KEY-----\"]"}`, `{"key":"[SECRET_3]"}`}, // would become JSON with the token in it
		{`{"password":"ab\u00001a\\u0062"}`, ``}, {`{"password":"a\u0062"}`, ``},                                     // different values, however they are written
		{`12`, `12`}, {`"x"`, `"x"`}, {`4111111111111111`, `"[CARD_1]"`}, {` [] `, ` [] `},
	} {
		got, _, err := v.TokenizeJSON(json.RawMessage(c.raw))
		if err != nil || c.want != "" && string(got) != c.want || !json.Valid(got) {
			t.Errorf("%s\n got %s, %v\nwant %s", c.raw, got, err, c.want)
		}
		back, err := v.RestoreJSON(got)
		if err != nil || string(back) != c.raw {
			t.Errorf("%s comes back as %s, %v", c.raw, back, err)
		}
	}
	if _, _, err := v.TokenizeJSON(json.RawMessage(`{`)); err == nil {
		t.Error("TokenizeJSON accepts invalid JSON: got no error, want an error")
	}
	text := mustTokenize(t, v, ` {"card":4111111111111111}`)
	if text != ` {"card":"[CARD_1]"}` {
		t.Errorf("JSON as a text: %s, want %q", text, ` {"card":"[CARD_1]"}`)
	}
	if back, err := v.Restore(text); err != nil || back != ` {"card":4111111111111111}` {
		t.Errorf("%s, %v, want %q and no error", back, err, ` {"card":4111111111111111}`)
	}
}

// TestVaultEscapes restores JSON texts byte for byte, however their strings are escaped.
func TestVaultEscapes(t *testing.T) {
	v := newVault(t)
	for _, text := range []string{
		`{"to":"ann\u0040example.com","cc":"ann@example.com","bcc":"\u0061nn@example.com"}`,
		`{"password":"a\/b\u00e9\t1","note":"\u003cann@example.com\u003e"}`,
		`["{\"to\":\"ann\\u0040example.com\",\"x\":\"\u003c\"}"]`,
		`["{\"to\":\"ann\u0040example.com\"}","[\"a\\/b \\ud800 +49 30\\u00a0901820\"]"]`,
		`{"to":"ann@example.com","cc":"","":["",{}]}`,
		`{"ann\u0040example.com":"\ud83d\ude00 4111 1111 1111 1111 \b\f"}`,
	} {
		hidden := mustTokenize(t, v, text)
		if strings.Contains(hidden, "ann") {
			t.Errorf("Tokenize(%s) = %s, want no address", text, hidden)
		}
		if back, err := v.Restore(hidden); err != nil || back != text {
			t.Errorf("Restore(%s) = %s, %v, want %s", hidden, back, err, text)
		}
	}
	hidden := mustTokenize(t, v, `["ann\u0040example.com"]`)
	token := strings.Trim(hidden, `[]"`)
	if back, err := v.Restore("mail [" + token + "]"); err != nil || back != "mail ann@example.com" {
		t.Errorf("Restore in a text = %q, %v, want the address without escapes", back, err)
	}
}

func TestVaultTypes(t *testing.T) {
	v := newVault(t)
	const text = "ann@example.com 4111111111111111 [CARD_1] password=s3cret[EMAIL_1]x"
	got, found, err := v.Tokenize(text, detect.Email)
	if err != nil || got != "[EMAIL_1] 4111111111111111 [CARD_1] password=s3cret[LITERAL_1]x" || found[detect.Email] != 1 || len(found) != 1 {
		t.Errorf(`%s %v %v, want "[EMAIL_1] 4111111111111111 [CARD_1] password=s3cret[LITERAL_1]x", found[detect.Email] 1, len(found) 1 and no error`, got, found, err)
	}
	if back, err := v.Restore(got); err != nil || back != text {
		t.Errorf("%s, %v, want %s and no error", back, err, text)
	}
	got, found, err = v.Tokenize("4111111111111111 ann@example.com ann@example.com")
	if err != nil || got != "[CARD_2] [EMAIL_1] [EMAIL_1]" || found[detect.Email] != 2 || found[detect.Card] != 1 {
		t.Errorf(`%s %v %v, want "[CARD_2] [EMAIL_1] [EMAIL_1]", found[detect.Email] 2, found[detect.Card] 1 and no error`, got, found, err)
	}
}

// TestUnknownTokens checks that a token that the vault did not issue stays, and that the others are restored.
func TestUnknownTokens(t *testing.T) {
	v := newVault(t)
	mustTokenize(t, v, "ann@example.com")
	for text, want := range map[string]string{
		"[EMAIL_2]":                             "[EMAIL_2]",
		"[EMAIL_2] [EMAIL_1]":                   "[EMAIL_2] ann@example.com",
		`{"a":["[EMAIL_2]","[EMAIL_1]"]}`:       `{"a":["[EMAIL_2]","ann@example.com"]}`,
		`["{\"a\":\"x [EMAIL_2] [EMAIL_1]\"}"]`: `["{\"a\":\"x [EMAIL_2] ann@example.com\"}"]`,
		`["\u005bEMAIL_2]"]`:                    `["\u005bEMAIL_2]"]`,
	} {
		if out, err := v.Restore(text); err != nil || out != want {
			t.Errorf("Restore(%s) = %q, %v, want %q", text, out, err, want)
		}
		if !json.Valid([]byte(text)) {
			continue
		}
		if raw, err := v.RestoreJSON(json.RawMessage(text)); err != nil || string(raw) != want {
			t.Errorf("RestoreJSON(%s) = %q, %v, want %q", text, raw, err, want)
		}
	}
}

// TestVaultLasts opens the vault again, and looks for values in its log.
func TestVaultLasts(t *testing.T) {
	v := newVault(t)
	const text = "ann@example.com [EMAIL_2] 4111111111111111"
	out := mustTokenize(t, v, text)
	for range 2 {
		again := reopen(t, v)
		if back, err := again.Restore(out); err != nil || back != text {
			t.Errorf("%s, %v, want %s and no error", back, err, text)
		}
		if got := mustTokenize(t, again, text); got != out {
			t.Errorf("%s becomes %s, and was %s", text, got, out)
		}
		if got := mustTokenize(t, again, "bob@example.com"); got != "[EMAIL_3]" {
			t.Errorf(`got %s, want "[EMAIL_3]"`, got)
		}
	}
	if back, err := v.Restore("[EMAIL_3]"); err != nil || back != "bob@example.com" {
		t.Errorf(`what another one gave out: %q, %v, want "bob@example.com" and no error`, back, err)
	}
	all := lines(t, v)
	if len(all) != 2 {
		t.Errorf("the log has %d lines, want one for each change", len(all))
	}
	for _, l := range all {
		if bytes.Contains(l.Value, []byte("ann")) || bytes.Contains(l.Value, []byte("EMAIL")) {
			t.Errorf("line %d can be read", l.Number)
		}
	}
}

// TestDamagedVaults changes the log as somebody who edits the database may. Every operation fails, and the log stays as it is.
func TestDamagedVaults(t *testing.T) {
	v := newVault(t)
	out := mustTokenize(t, v, "ann@example.com")
	mustTokenize(t, v, "bob@example.com")
	mustTokenize(t, v, "carl@example.com")
	var good [][]byte
	for _, l := range lines(t, v) {
		good = append(good, l.Value)
	}
	first := good[0]
	flipped := func(i int) [][]byte {
		b := bytes.Clone(first)
		b[i] ^= 1
		return [][]byte{b}
	}
	other := newVault(t) // with the same key, for the same owner
	mustTokenize(t, other, "dora@example.com")
	mustTokenize(t, other, "emil@example.com")
	foreign := lines(t, other)[1].Value
	for name, c := range map[string]struct {
		log  [][]byte
		key  []byte
		want string
	}{
		"empty":             {[][]byte{nil}, testKey, "its end is missing"},
		"no vault":          {[][]byte{[]byte("hello")}, testKey, "its beginning is wrong"},
		"short":             {[][]byte{first[:20]}, testKey, "its end is missing"},
		"shorter":           {[][]byte{first[:namesSize]}, testKey, "its end is missing"},
		"cut":               {[][]byte{first[:len(first)-1]}, testKey, "its seal is broken"},
		"longer":            {[][]byte{append(bytes.Clone(first), 0)}, testKey, "its seal is broken"},
		"newer":             {[][]byte{bytes.Replace(first, []byte("vault 3"), []byte("vault 4"), 1)}, testKey, "version is unknown"},
		"key":               {good, bytes.Repeat([]byte{8}, keySize), "sealed with another key"},
		"kind":              {flipped(namesSize), testKey, "its seal is broken"},
		"nonce":             {flipped(namesSize + 1), testKey, "its seal is broken"},
		"text":              {flipped(len(first) - 20), testKey, "its seal is broken"},
		"name of keys":      {flipped(magicSize), testKey, "sealed with another key"},
		"name of who":       {flipped(magicSize + keyIDSize), testKey, "for another customer"},
		"removed":           {[][]byte{good[0], good[2]}, testKey, "its seal is broken"},
		"without the first": {good[1:], testKey, "its seal is broken"},
		"other order":       {[][]byte{good[0], good[2], good[1]}, testKey, "its seal is broken"},
		"twice":             {[][]byte{good[0], good[0]}, testKey, "its seal is broken"},
		"of another log":    {[][]byte{good[0], foreign}, testKey, "its seal is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := newVault(t)
			damaged.key.key = c.key
			var err error
			if damaged.seal, err = newSealer(damaged.key); err != nil {
				t.Fatal(err)
			}
			overwrite(t, damaged, c.log...)
			_, opened := OpenVault(t.Context(), damaged.store, testCustomer, c.key, testOwner)
			_, _, tokenized := damaged.Tokenize("bob@example.com")
			_, restored := damaged.Restore(out)
			_, forgot := damaged.Forget(t.Context(), Forget{All: true})
			for _, err := range []error{opened, tokenized, restored, forgot} {
				bad, ok := errors.AsType[*VaultError](err)
				if !ok || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), damaged.store.Place()) || bad.Hint() == "" {
					t.Errorf("%v, want %q", err, c.want)
				}
			}
			if errors.Is(opened, ErrForeignKey) != strings.Contains(c.want, "another key") {
				t.Errorf("%v", opened)
			}
			if left := lines(t, damaged); !slices.EqualFunc(left, c.log, func(l store.Line, b []byte) bool { return bytes.Equal(l.Value, b) }) {
				t.Errorf("the log was changed: %d lines, want %d", len(left), len(c.log))
			}
		})
	}
	if _, err := OpenVault(t.Context(), v.store, "", []byte("short"), testOwner); err == nil {
		t.Error("a short key is taken: got no error, want an error")
	}
}

// TestVaultLines: a line that is damaged while the vault is open is an error, and the vault works again when the line is put back.
func TestVaultLines(t *testing.T) {
	v := newVault(t)
	mustTokenize(t, v, "ann@example.com")
	mustTokenize(t, v, "bob@example.com")
	all := lines(t, v)
	again := reopen(t, v)
	overwrite(t, v, all[0].Value, all[1].Value, []byte("mcprun vault 3"))
	for range 2 {
		if _, _, err := again.Tokenize("ann@example.com"); err == nil {
			t.Error("Tokenize() beside a damaged line: got no error, want an error")
		}
	}
	overwrite(t, v, all[0].Value, all[1].Value)
	if got := mustTokenize(t, again, "carl@example.com ann@example.com"); got != "[EMAIL_3] [EMAIL_1]" {
		t.Errorf(`got %s, want "[EMAIL_3] [EMAIL_1]"`, got)
	}
}

// TestVaultGetsShorter: when the lines are much longer than what they hold, one takes their place, also for those who have read some of them.
func TestVaultGetsShorter(t *testing.T) {
	v, at := newVault(t), 20000
	v.now = func() time.Time { return time.Unix(int64(at)*86400, 0) }
	other := reopen(t, v)
	const text = "ann@example.com bob@example.com"
	out := mustTokenize(t, v, text)
	longest, whole := 0, 0
	for range 1500 { // the use of both is noted once in a while
		at += useStep
		if err := v.keep(nil, []string{"[EMAIL_1]", "[EMAIL_2]"}); err != nil {
			t.Fatal(err)
		}
		if v.added == 0 {
			whole++
		}
		longest = max(longest, int(v.bytes))
	}
	if longest > 2*minAdded || whole < 1 {
		t.Errorf("the log had up to %d bytes and was written again %d times, want less than %d and at least once", longest, whole, 2*minAdded)
	}
	if got := mustTokenize(t, v, "carl@example.com"); got != "[EMAIL_3]" {
		t.Errorf(`got %s, want "[EMAIL_3]"`, got)
	}
	for _, v := range []*Vault{v, other, reopen(t, v)} {
		if back, err := v.Restore(out + " [EMAIL_3]"); err != nil || back != text+" carl@example.com" || v.ledger.entries[0].Used != at {
			t.Errorf("Restore() = %s, %v with %d, want the values and %d", back, err, v.ledger.entries[0].Used, at)
		}
		if got := len(lines(t, v)); int64(got) >= v.number {
			t.Errorf("the log has %d lines of %d, want fewer", got, v.number)
		}
	}
}

func TestVaultBounds(t *testing.T) {
	v := newVault(t)
	v.maxValues, v.maxBytes, v.maxRestored = 3, 60, 100
	mustTokenize(t, v, "ann@example.com bob@example.com")
	out, _, err := v.Tokenize("carl@example.com dora@example.com ann@example.com")
	full, ok := errors.AsType[*FullError](err)
	if !ok || out != "" || full.Hint() == "" {
		t.Errorf("%q, %v", out, err)
	}
	if got := mustTokenize(t, v, "dora@example.com"); got != "[EMAIL_3]" { // nothing of the failed attempt is kept
		t.Errorf(`got %q, want "[EMAIL_3]"`, got)
	}
	if _, _, err := v.Tokenize("[IP_1]"); err == nil {
		t.Error("a text that looks like a token is kept without bound: got no error, want an error")
	}
	if got := mustTokenize(t, v, "ann@example.com"); got != "[EMAIL_1]" {
		t.Errorf(`a full vault gives %q, want "[EMAIL_1]"`, got)
	}
	if _, err := v.Restore(strings.Repeat("[EMAIL_1]", 7)); err == nil || !strings.Contains(err.Error(), "more than 100 bytes") {
		t.Errorf(`%v, want an error and "more than 100 bytes" in it`, err)
	}
	v = newVault(t)
	v.maxBytes = 20
	if _, _, err := v.Tokenize("ann@example.com x@example.com"); err == nil {
		t.Error("values are kept without bound: got no error, want an error")
	}
}

func TestVaultRoom(t *testing.T) {
	v := newVault(t)
	left := int64(700)
	tight := errors.New("no room")
	v.Limit(func(more int64) error {
		if left -= more; left < 0 {
			left += more
			return tight
		}
		return nil
	})
	mustTokenize(t, v, "ann@example.com")
	if _, _, err := v.Tokenize(strings.Repeat("x", 200) + " " + strings.Repeat("bob", 20) + "@example.com password=" + strings.Repeat("a1b2", 60)); !errors.Is(err, tight) {
		t.Errorf("%v, want %v", err, tight)
	}
	if got := mustTokenize(t, v, "ann@example.com bob@example.com"); got != "[EMAIL_1] [EMAIL_2]" {
		t.Errorf(`got %s, want "[EMAIL_1] [EMAIL_2]"`, got)
	}
	if got := reopen(t, v).bytes; got != 700-left {
		t.Errorf("the log has %d bytes, %d left", got, left)
	}
}

// TestVaultLost removes the log: values get new tokens, and old tokens are unknown.
func TestVaultLost(t *testing.T) {
	v := newVault(t)
	mustTokenize(t, v, "ann@example.com bob@example.com")
	overwrite(t, v)
	if got := mustTokenize(t, v, "carl@example.com bob@example.com"); got != "[EMAIL_1] [EMAIL_2]" {
		t.Errorf(`got %s, want "[EMAIL_1] [EMAIL_2]"`, got)
	}
	if got, err := v.Restore("[EMAIL_1] [EMAIL_3]"); err != nil || got != "carl@example.com [EMAIL_3]" {
		t.Errorf(`Restore() = %s, %v, want "carl@example.com [EMAIL_3]" and no error`, got, err)
	}
	// A database that is closed: an error, and only stored values are known.
	blocked := newVault(t)
	if err := blocked.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := blocked.Tokenize("ann@example.com"); err == nil {
		t.Error("no error")
	}
	if got, err := blocked.Restore("[EMAIL_1]"); err == nil {
		t.Errorf("a token that was never given out is known: %s", got)
	}
}

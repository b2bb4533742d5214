package pii

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
)

var testKey = bytes.Repeat([]byte{7}, keySize)

const testOwner = "customer acme"

func newVault(t *testing.T) *Vault {
	t.Helper()
	v, err := OpenVault(filepath.Join(t.TempDir(), "in", "vault"), testKey, testOwner)
	if err != nil {
		t.Fatal(err)
	}
	return v
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

// TestVaultLasts opens the file again, and looks for values in it.
func TestVaultLasts(t *testing.T) {
	v := newVault(t)
	const text = "ann@example.com [EMAIL_2] 4111111111111111"
	out := mustTokenize(t, v, text)
	for range 2 {
		again, err := OpenVault(v.path, testKey, testOwner)
		if err != nil {
			t.Fatal(err)
		}
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
	file, err := os.ReadFile(v.path)
	if err != nil || bytes.Contains(file, []byte("ann")) || bytes.Contains(file, []byte("EMAIL")) {
		t.Errorf("the file can be read: %v", err)
	}
	info, err := os.Stat(v.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestDamagedVaults(t *testing.T) {
	v := newVault(t)
	out := mustTokenize(t, v, "ann@example.com")
	good, err := os.ReadFile(v.path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(i int) []byte {
		b := bytes.Clone(good)
		b[i] ^= 1
		return b
	}
	for name, c := range map[string]struct {
		file []byte
		key  []byte
		want string
	}{
		"empty":        {nil, testKey, "its end is missing"},
		"no vault":     {[]byte("hello"), testKey, "its beginning is wrong"},
		"short":        {good[:20], testKey, "its end is missing"},
		"cut":          {good[:len(good)-1], testKey, "its seal is broken"},
		"longer":       {append(bytes.Clone(good), 0), testKey, "its seal is broken"},
		"newer":        {bytes.Replace(good, []byte("vault 2"), []byte("vault 3"), 1), testKey, "version is unknown"},
		"key":          {good, bytes.Repeat([]byte{8}, keySize), "sealed with another key"},
		"salt":         {flipped(headSize - 1), testKey, "its seal is broken"},
		"nonce":        {flipped(headSize), testKey, "its seal is broken"},
		"text":         {flipped(len(good) - 20), testKey, "its seal is broken"},
		"name of keys": {flipped(len(magic)), testKey, "sealed with another key"},
		"name of who":  {flipped(len(magic) + keyIDSize), testKey, "for another customer"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "vault")
			v := &Vault{path: path, key: sealKey{c.key, testOwner}, maxValues: 10, maxBytes: 1000, maxRestored: 1000, now: time.Now, ledger: newLedger()}
			if err := os.WriteFile(path, c.file, 0o600); err != nil {
				t.Fatal(err)
			}
			_, opened := OpenVault(path, c.key, testOwner)
			_, _, tokenized := v.Tokenize("bob@example.com")
			_, restored := v.Restore(out)
			for _, err := range []error{opened, tokenized, restored} {
				bad, ok := errors.AsType[*VaultError](err)
				if !ok || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) || bad.Hint() == "" {
					t.Errorf("%v", err)
				}
			}
			if errors.Is(opened, ErrForeignKey) != strings.Contains(c.want, "another key") {
				t.Errorf("%v", opened)
			}
			if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, c.file) {
				t.Errorf("the file was changed: %v, want %v and no error", err, c.file)
			}
		})
	}
	if _, err := OpenVault(filepath.Join(t.TempDir(), "x"), []byte("short"), testOwner); err == nil {
		t.Error("a short key is taken: got no error, want an error")
	}
	dir := t.TempDir()
	if err := os.Symlink(v.path, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenVault(filepath.Join(dir, "link"), testKey, testOwner); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf(`a link: %v, want an error and "not a regular file" in it`, err)
	}
	odd, err := OpenVault(filepath.Join(dir, "odd"), testKey, testOwner)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "odd.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := odd.Tokenize("ann@example.com"); err == nil || !strings.Contains(err.Error(), "lock file") {
		t.Errorf(`a lock that is no file: %v, want an error and "lock file" in it`, err)
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
	left := int64(400)
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
	if info, err := os.Stat(v.path); err != nil || info.Size() != 400-left {
		t.Errorf("%v, %d left", info, left)
	}
}

// TestVaultLost removes the file: values get new tokens, and old tokens are unknown.
func TestVaultLost(t *testing.T) {
	v := newVault(t)
	mustTokenize(t, v, "ann@example.com bob@example.com")
	if err := os.Remove(v.path); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Restore("[EMAIL_1]"); err != nil || got != "[EMAIL_1]" {
		t.Errorf(`a token of a vault that is gone is turned back: %s, %v, want "[EMAIL_1]" and no error`, got, err)
	}
	if got := mustTokenize(t, v, "bob@example.com"); got != "[EMAIL_1]" {
		t.Errorf(`got %s, want "[EMAIL_1]"`, got)
	}
	if _, err := os.Stat(v.path); err != nil {
		t.Error(err)
	}
	// A folder that cannot be written to: an error, and only stored values are known.
	blocked := &Vault{path: "/proc/nowhere/vault", key: sealKey{testKey, testOwner}, maxValues: 9, maxBytes: 99, maxRestored: 99, now: time.Now, ledger: newLedger()}
	if _, _, err := blocked.Tokenize("ann@example.com"); err == nil {
		t.Error("no error")
	}
	if got, err := blocked.Restore("[EMAIL_1]"); err == nil && got != "[EMAIL_1]" {
		t.Errorf("a token that was never given out is known: %s", got)
	}
}

package pii

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const helperVariable = "PII_VAULT_OF_HELPER"

// TestVaultOfManyProcesses lets processes, and goroutines in each, tokenize the same values at once.
func TestVaultOfManyProcesses(t *testing.T) {
	if path := os.Getenv(helperVariable); path != "" {
		useVault(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "vault")
	outs := make([]string, 4)
	var wg sync.WaitGroup
	for i := range outs {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVaultOfManyProcesses$", "-test.v")
			cmd.Env = append(os.Environ(), helperVariable+"="+path)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			for line := range strings.Lines(string(out)) {
				if rest, ok := strings.CutPrefix(line, "given: "); ok {
					outs[i] = rest
				}
			}
		})
	}
	wg.Wait()
	for _, out := range outs[1:] {
		if out != outs[0] || out == "" {
			t.Errorf("%q and %q for the same values", outs[0], out)
		}
	}
	v, err := OpenVault(path, testKey, testOwner)
	if err != nil || len(v.ledger.entries) != helperValues {
		t.Fatalf("%d values, %v, want %d and no error", len(v.ledger.entries), err, helperValues)
	}
}

const helperValues = 40

func useVault(t *testing.T, path string) {
	var wg sync.WaitGroup
	got := make([]string, helperValues)
	for i := range 2 {
		wg.Go(func() {
			v, err := OpenVault(path, testKey, testOwner)
			if err != nil {
				t.Error(err)
				return
			}
			for n := range helperValues / 2 {
				n := 2*n + i
				value := fmt.Sprintf("u%d@example.com", n)
				out, _, err := v.Tokenize(value)
				if err != nil {
					t.Error(err)
					return
				}
				if back, err := v.Restore(out); err != nil || back != value {
					t.Errorf("%s comes back as %s, %v", value, back, err)
				}
				got[n] = out
			}
		})
	}
	wg.Wait()
	fmt.Printf("given: %s\n", strings.Join(got, " "))
}

func FuzzVault(f *testing.F) {
	f.Add(`{"password":"x","a":["a@b.com",4111111111111111,"{\"b\":\"+49 30 901820\"}"]}`)
	f.Add("[EMAIL_1] a@b.com [LITERAL_1]")
	f.Fuzz(func(t *testing.T, text string) {
		v := &Vault{path: filepath.Join(t.TempDir(), "v"), key: sealKey{testKey, testOwner}, maxValues: 100000, maxBytes: 1 << 30, maxRestored: 1 << 30, now: time.Now, ledger: newLedger()}
		mustTokenize(t, v, "x@y.com 4111111111111111 [LITERAL_7]")
		out := mustTokenize(t, v, text)
		back, err := v.Restore(out)
		if err != nil || back != text {
			t.Fatalf("%q becomes %q, which becomes %q, %v", text, out, back, err)
		}
		if json.Valid([]byte(text)) {
			raw, _, err := v.TokenizeJSON(json.RawMessage(text))
			if err != nil || !json.Valid(raw) {
				t.Fatalf("%q becomes %q, %v", text, raw, err)
			}
			if again, err := v.RestoreJSON(raw); err != nil || string(again) != text {
				t.Fatalf("%q becomes %q, which becomes %q, %v", text, raw, again, err)
			}
		}
	})
}

package customers

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// vaultTest is a folder of state, in which commands about a vault run.
type vaultTest struct {
	t     *testing.T
	state string
	key   []byte
}

func newVaultTest(t *testing.T) *vaultTest {
	t.Helper()
	w := &vaultTest{t: t, state: t.TempDir()}
	var err error
	if w.key, err = pii.LoadKey(w.file(keyFile), nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// file returns the path of a file in the folder of vaults.
func (w *vaultTest) file(name string) string {
	return filepath.Join(w.state, "mcpgen", vaultFolder, name)
}

func (w *vaultTest) db() string { return filepath.Join(w.state, "state.db") }

// vault opens the project's vault.
func (w *vaultTest) vault() *pii.Vault {
	w.t.Helper()
	s, err := sqlite.Open(w.t.Context(), w.db(), sqlite.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	v, err := pii.OpenVault(w.t.Context(), s, "", w.key, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// recorded returns the bodies of the rows of the record.
func (w *vaultTest) recorded() (bodies string) {
	w.t.Helper()
	s, err := sqlite.Open(w.t.Context(), w.db(), sqlite.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	err = s.Rows(w.t.Context(), store.Range{Kinds: []string{"access"}}, func(r store.Row) error {
		body, _, _ := strings.Cut(strings.TrimPrefix(string(r.Content), `{"body":`), `,"index"`)
		bodies += body + " "
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return bodies
}

func (w *vaultTest) run(terminal bool, args ...string) (stdout, stderr string, code int) {
	var out, said bytes.Buffer
	app := &cli.App{Name: "mcprun", FailCode: 125, Dir: w.state, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Terminal: cli.Terminal{Stdout: terminal}}
	app.LookupEnv = func(name string) (string, bool) {
		v, ok := map[string]string{"XDG_STATE_HOME": w.state, "MCPGEN_KEYRING": "off", "MCPRUN_STATE": w.db()}[name]
		return v, ok
	}
	code = app.Run(w.t.Context(), NewPIICommand(app), args)
	return out.String(), said.String(), code
}

// TestPIIShow: in a terminal, each token is shown with its value in one line. Unknown and forgotten tokens are errors.
func TestPIIShow(t *testing.T) {
	w := newVaultTest(t)
	run, v := w.run, w.vault()
	if got, _, err := v.TokenizeJSON([]byte(`{"email":"ann@example.com","address":"Main Street 1\nOslo"}`)); err != nil || string(got) != `{"email":"[EMAIL_1]","address":"[ADDRESS_1]"}` {
		t.Fatalf("%s, %v, want the first tokens", got, err)
	}
	const shown = "[EMAIL_1]  ann@example.com\n[ADDRESS_1]  Main Street 1\\nOslo\n"
	if got, said, code := run(true, "show", "EMAIL_1", "[ADDRESS_1]"); got != shown || code != 0 {
		t.Errorf("code %d, %q, %q, want %q", code, got, said, shown)
	}
	if got, said, code := run(false, "show", "EMAIL_1"); got != "" || !strings.Contains(said, "only in a terminal") || code != 125 {
		t.Errorf("without a terminal: code %d, %q, %q, want an error", code, got, said)
	}
	if _, said, code := run(true, "forget", "ADDRESS_1"); code != 0 {
		t.Fatal(said)
	}
	if got, said, code := run(true, "show", "EMAIL_1", "ADDRESS_1", "NAME_7"); got != "" || !strings.Contains(said, "not in the vault: [ADDRESS_1], [NAME_7]") || code != 1 {
		t.Errorf("unknown tokens: code %d, %q, %q, want an error that names both", code, got, said)
	}
	if _, said, code := run(true, "forget", "ann@example.com"); code != 0 {
		t.Fatal(said)
	}
	want := `{"action":"pii show","count":2,"names":["[EMAIL_1]","[ADDRESS_1]"]} {"action":"pii forget","count":1,"names":["[ADDRESS_1]"]} {"action":"pii forget","count":1,"names":[]} `
	if got := w.recorded(); got != want {
		t.Errorf("the record has %s, want %s", got, want)
	}
	for name, text := range map[string]string{"mcpgen.yaml": "version: 1\nrun: {audit: false}\n", ".mcp.json": `{"mcpServers":{}}`} {
		if err := os.WriteFile(filepath.Join(w.state, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, said, code := run(true, "forget", "--all"); code != 0 {
		t.Fatal(said)
	}
	if got := w.recorded(); got != want {
		t.Errorf("with audit: false, the record has %s, want %s", got, want)
	}
}

// TestPIIMoves: what an earlier version has written is moved to the state, once, and one line says so: the project's vault, and a customer's.
func TestPIIMoves(t *testing.T) {
	w := newVaultTest(t)
	key := `{"version":1,"key":"` + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)) + `"}` // of the files in testdata of package pii
	if err := os.WriteFile(w.file(keyFile), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := customer.OpenRoot(filepath.Join(w.state, "workspaces"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	own, err := root.Customer("acme")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		old  string
		args []string
	}{
		"project": {w.file(cli.ProjectName(w.state) + ".vault"), nil},
		"acme":    {filepath.Join(own.Vault(), vaultFile), []string{"--customer", "acme"}},
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "runner", "pii", "testdata", "vault", name+".vault"))
		if err == nil {
			err = os.WriteFile(c.old, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			got, said, code := w.run(true, append([]string{"show", "NAME_1", "EMAIL_1"}, c.args...)...)
			if want := "[NAME_1]  Ann Miller\n[EMAIL_1]  ann@example.com\n"; got != want || code != 0 {
				t.Errorf("%s: code %d, %q, %q, want %q", name, code, got, said, want)
			}
			if strings.Contains(said, c.old) != (i == 0) || strings.Count(said, "\n") != 1-i {
				t.Errorf("%s: run %d said %q, want one line about %s from the first", name, i, said, c.old)
			}
		}
		if _, err := os.Stat(c.old + ".moved"); err != nil {
			t.Error(err)
		}
	}
}

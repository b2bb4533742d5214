package customers

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/pii"
)

// TestPIIShow: in a terminal, each token is shown with its value in one line. Unknown and forgotten tokens are errors.
func TestPIIShow(t *testing.T) {
	state := t.TempDir()
	run := func(terminal bool, args ...string) (stdout, stderr string, code int) {
		var out, said bytes.Buffer
		app := &cli.App{Name: "mcprun", FailCode: 125, Dir: state, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Terminal: cli.Terminal{Stdout: terminal}}
		app.LookupEnv = func(name string) (string, bool) {
			v, ok := map[string]string{"XDG_STATE_HOME": state, "MCPGEN_KEYRING": "off"}[name]
			return v, ok
		}
		code = app.Run(t.Context(), NewPIICommand(app), args)
		return out.String(), said.String(), code
	}
	key, err := pii.LoadKey(filepath.Join(state, "mcpgen", vaultFolder, keyFile), nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := pii.OpenVault(vaultPath(filepath.Join(state, "mcpgen", vaultFolder), state, nil), key, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := v.TokenizeJSON([]byte(`{"email":"ann@example.com","address":"Main Street 1\nOslo"}`)); err != nil || string(got) != `{"email":"[EMAIL_1]","address":"[ADDRESS_1]"}` {
		t.Fatalf("%s, %v, want the first tokens", got, err)
	}
	const want = "[EMAIL_1]  ann@example.com\n[ADDRESS_1]  Main Street 1\\nOslo\n"
	if got, said, code := run(true, "show", "EMAIL_1", "[ADDRESS_1]"); got != want || code != 0 {
		t.Errorf("code %d, %q, %q, want %q", code, got, said, want)
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
}

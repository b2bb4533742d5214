package pii_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// What leaves has tokens, and what comes back has values.
func ExampleOutlet() {
	dir, err := os.MkdirTemp("", "vault-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	state, err := sqlite.Open(context.Background(), filepath.Join(dir, "state.db"), sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer state.Close()
	o := pii.NewOutlet(func() (*pii.Vault, error) {
		return pii.OpenVault(context.Background(), state, "acme", make([]byte, 32), "customer acme") // a real key is random
	}, pii.OutletSettings{})

	result := []byte(`{"contacts":[{"name":"Jane Whitaker","email":"jane@example.com"}]}`)
	fmt.Println(string(o.MaskJSON(result)))
	fmt.Println(o.Mask("Jane Whitaker called."))
	arguments, err := o.Restore([]byte(`{"to":"[EMAIL_1]","text":"Dear [NAME_1], …"}`))
	fmt.Println(string(arguments), err)
	_, err = o.Restore([]byte(`{"to":"[EMAIL_2]"}`))
	fmt.Println(err)
	// Output:
	// {"contacts":[{"name":"[NAME_1]","email":"[EMAIL_1]"}]}
	// [NAME_1] called.
	// {"to":"jane@example.com","text":"Dear Jane Whitaker, …"} <nil>
	// unknown token EMAIL_2 at /to: it stands for no value
}

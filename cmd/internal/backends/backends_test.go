package backends

import (
	"testing"
)

func TestNames(t *testing.T) {
	list, err := List(Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range list {
		if got, want := b.Name(), Names()[i]; got != want {
			t.Errorf("List()[%d].Name() = %q, want %q", i, got, want)
		}
		_ = b.Close()
	}
}

package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

func Example() {
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	key := store.Key{Customer: "acme", Kind: "note", Name: "hello"}
	if _, err := s.SetDocument(ctx, &store.Document{Key: key, Value: []byte("world")}); err != nil {
		log.Fatal(err)
	}
	d, err := s.Document(ctx, key)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, version %d\n", d.Value, d.Version)
	// Output: world, version 1
}

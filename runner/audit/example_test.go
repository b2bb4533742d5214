package audit_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/note"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

func Example() {
	dir, err := os.MkdirTemp("", "audit")
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
	key, err := audit.CreateKey(filepath.Join(dir, "operator.key"), "shop")
	if err != nil {
		log.Fatal(err)
	}
	heads := filepath.Join(dir, "heads.txt")
	l, err := audit.Open(s, audit.Options{Who: audit.Who{User: "ann"}, Key: key, Publish: audit.PublishFile(heads)})
	if err != nil {
		log.Fatal(err)
	}

	// The intent is durable before the call is sent; the end may follow a few milliseconds later.
	if err := l.Append(ctx, audit.Entry{Kind: audit.KindCall, Run: "run-1", Body: audit.CallStart{Call: 1, Tool: "crm__list"}}); err != nil {
		log.Fatal(err)
	}
	l.Later(audit.Entry{Kind: audit.KindCallEnd, Run: "run-1", Body: audit.CallEnd{Call: 1, Tool: "crm__list", Outcome: "ok"}})
	if err := l.Close(); err != nil {
		log.Fatal(err)
	}

	verifier, err := note.NewVerifier(key.Verifier())
	if err != nil {
		log.Fatal(err)
	}
	published, err := os.ReadFile(heads)
	if err != nil {
		log.Fatal(err)
	}
	v, err := audit.Verify(ctx, s, audit.VerifyOptions{Keys: []note.Verifier{verifier}, Heads: published})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("intact:", v.Finding == nil, "rows:", v.Rows, "published:", v.Published)

	proof, err := audit.Prove(ctx, s, 1)
	if err != nil {
		log.Fatal(err)
	}
	row, err := audit.CheckProof(proof, verifier)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("proven:", row.Index, row.Kind, row.Who.User)
	// Output:
	// intact: true rows: 2 published: 2
	// proven: 1 call.end ann
}

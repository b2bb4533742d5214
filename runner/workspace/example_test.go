package workspace_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/workspace"
)

func ExampleWritten() {
	temp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(temp)
	dir, err := workspace.Open(filepath.Join(temp, "workspace"))
	if err != nil {
		log.Fatal(err)
	}
	before, err := workspace.Take(dir)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "report.csv"), []byte("a,b\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	after, err := workspace.Take(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(workspace.Written(before, after))
	// Output: [report.csv]
}

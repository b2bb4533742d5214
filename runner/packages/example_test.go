package packages_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/packages"
)

// A requirements file without hashes is refused, with what to do about it.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "packages-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(file, []byte("# tables\npandas==2.1.4\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	_, err = packages.Open(dir, packages.Spec{Python: file})
	if e, ok := errors.AsType[*packages.Error](err); ok {
		fmt.Println(filepath.Base(e.Place)+":", e.Problem)
		fmt.Println(e.Remedy)
	}
	// Output:
	// requirements.txt:2: "pandas" has no hash
	// make the file with hashes: uv pip compile --universal --python-version 3.11 --generate-hashes requirements.in -o requirements.txt
}

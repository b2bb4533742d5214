package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func TestSplit(t *testing.T) {
	os.Chdir("/work/main")
	be, err := newBench(context.Background(), []string{"embedded", "process"})
	if err != nil { t.Fatal(err) }
	defer be.Close()
	be.runner = instantRunner(be)
	wrapped := sequential(sandbox.LangTypeScript, 1000)
	raw := strings.NewReplacer(`import { add } from "./servers/calculator";`, `const add = (a: any) => (globalThis as any)[Symbol.for("mcprun.transport")].call("calculator__add", a);`).Replace(wrapped)
	for range 3 {
	for i, code := range []string{wrapped, raw} {
	for _, x := range be.backends {
		if x.Name() != "embedded" && x.Name() != "process" { continue }
		var s []float64
		if err := be.run(t.Context(), x, sandbox.LangTypeScript, code, nil, &s); err != nil { t.Fatal(err) }
		fmt.Println(x.Name(), []string{"wrapped", "raw"}[i], quantile(s, .1), quantile(s, .5), quantile(s, .9))
	}
	}
	}
}

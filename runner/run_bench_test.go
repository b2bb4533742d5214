package runner_test

import (
	"fmt"
	"testing"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// BenchmarkRun is what a run costs beside its sandbox: a guest that takes its job and ends at once.
func BenchmarkRun(b *testing.B) {
	r, err := runner.New(&runner.Options{Tree: "../servers"})
	if err != nil {
		b.Fatal(err)
	}
	backend := &fakeBackend{name: "docker", guest: func(g *guest) sandbox.Exit {
		g.begin()
		g.done(nil)
		return sandbox.Exit{}
	}}
	for _, c := range []struct {
		name string
		lang sandbox.Language
		code func(i int) string
	}{
		{"python", sandbox.LangPython, func(int) string { return "print(1)" }},
		{"typescript", sandbox.LangTypeScript, func(i int) string { return fmt.Sprintf("console.log(%d)", i) }},
		{"typescript-again", sandbox.LangTypeScript, func(int) string { return "console.log(1)" }},
	} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			i := 0
			for b.Loop() {
				i++
				if _, err := r.Run(b.Context(), runner.Script{Name: "s.ts", Code: c.code(i), Language: c.lang, Backend: backend, Workspace: dir}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

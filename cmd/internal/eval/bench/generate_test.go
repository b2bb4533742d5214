package main

import (
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/python"
	"github.com/mcpgen/mcpgen/gen/render/typescript"
)

// BenchmarkGenerate generates and verifies wrappers of recorded tools in both languages, for profiles.
func BenchmarkGenerate(b *testing.B) {
	servers, err := (&bench{root: filepath.Join("..", "..", "..", "..")}).lists()
	if err != nil {
		b.Fatal(err)
	}
	tools := 0
	for _, s := range servers {
		tools += len(s.Tools)
	}
	for b.Loop() {
		if err := generateOnce(servers, []*render.Language{typescript.Language(), python.Language()}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(tools), "µs/tool")
}

package main

import (
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner"
)

func instantRunner(b *bench) *runner.Runner {
	r, _ := runner.New(&runner.Options{Tree: filepath.Join(b.root, "servers"), Upstreams: instant{}})
	return r
}

package docker_test

import (
	"fmt"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
	"github.com/mcpgen/mcpgen/runner/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) { conformance(t, false) }

// TestConformanceWarm runs the cases in containers that were started before there was a script.
func TestConformanceWarm(t *testing.T) { conformance(t, true) }

func conformance(t *testing.T, warm bool) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	sandboxtest.Run(t, b, sandboxtest.Options{
		Warm: warm,
		Leftovers: func(id string) []string {
			var left []string
			for _, c := range containers(t, id) {
				left = append(left, fmt.Sprintf("container %v: %s", c.Names, c.Status))
			}
			return left
		},
	})
}

package docker_test

import (
	"fmt"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/sandboxtest"
)

func TestRemoteConformance(t *testing.T) {
	sandboxtest.Run(t, remoteBackend(t), sandboxtest.Options{
		Column: "docker remote", Elsewhere: true,
		Leftovers: func(id string) []string {
			var left []string
			for _, c := range containers(t, id) {
				left = append(left, fmt.Sprintf("container %v: %s", c.Names, c.Status))
			}
			return append(left, volumes(t, id)...)
		},
	})
}

//go:build !linux

package docker

import (
	"errors"

	"github.com/moby/moby/api/types/container"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// inside is a container as its kernel knows it; on this system, containers run on another kernel.
type inside struct{}

func lookInside(string, int, string) (*inside, error) { return nil, errors.ErrUnsupported }

func (*inside) wait()                                       {}
func (*inside) kill() error                                 { return errors.ErrUnsupported }
func (*inside) close()                                      {}
func (*inside) count() (counters, bool)                     { return counters{}, false }
func (*inside) limit(sandbox.Limits, int64, int, int) error { return errors.ErrUnsupported }
func (*inside) show(sandbox.Spec, sandbox.Limits) error     { return errors.ErrUnsupported }

func (*inside) bound(sandbox.Limits, bool) {}

func canWatch() bool { return false }

func watchedUlimits(sandbox.Limits, sandbox.Runtime) []*container.Ulimit { return nil }

func canEnter() error { return errors.ErrUnsupported }

func (*inside) tryLimit(sandbox.Limits, int, int) error { return errors.ErrUnsupported }

func (*inside) pids() []int { return nil }

func (*inside) manyWatches() bool { return false }

func (*inside) pauser() func() func() { return nil }

func mostProcesses() (int64, bool) { return 0, false }

func mostSignals() (int64, bool) { return 0, false }

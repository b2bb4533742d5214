//go:build !linux

package docker

import (
	"errors"

	"github.com/moby/moby/api/types/container"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// kernelView is a container as its kernel knows it; on this system, containers run on another kernel.
type kernelView struct{}

func openKernelView(string, int, string) (*kernelView, error) { return nil, errors.ErrUnsupported }

func (*kernelView) wait()                                           {}
func (*kernelView) kill() error                                     { return errors.ErrUnsupported }
func (*kernelView) close()                                          {}
func (*kernelView) count() (counters, bool)                         { return counters{}, false }
func (*kernelView) limit(sandbox.Limits, int64, int, int) error     { return errors.ErrUnsupported }
func (*kernelView) mountFolders(sandbox.Spec, sandbox.Limits) error { return errors.ErrUnsupported }

func (*kernelView) bound(sandbox.Limits, bool) {}

func canWatch() bool { return false }

func watchedUlimits(sandbox.Limits, sandbox.Runtime) []*container.Ulimit { return nil }

func mountsAvailable() error { return errors.ErrUnsupported }

func (*kernelView) checkLimits(sandbox.Limits, int, int) error { return errors.ErrUnsupported }

func (*kernelView) pids() []int { return nil }

func (*kernelView) manyWatches() bool { return false }

func (*kernelView) pauser() func() func() { return nil }

func maxProcesses() (int64, bool) { return 0, false }

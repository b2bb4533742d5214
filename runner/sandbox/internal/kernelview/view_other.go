//go:build !linux

package kernelview

import (
	"errors"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// View is a running container. On this system containers run on another kernel, so there are none.
type View struct{}

// Open fails on this system.
func Open(string, int, string) (*View, error) { return nil, errors.ErrUnsupported }

func (*View) Wait()                      {}
func (*View) Kill() error                { return errors.ErrUnsupported }
func (*View) Close() error               { return nil }
func (*View) Measure() Counters          { return Counters{} }
func (*View) Last() (Counters, bool)     { return Counters{}, false }
func (*View) Rebase()                    {}
func (*View) PIDs() []int                { return nil }
func (*View) ManyWatches() bool          { return false }
func (*View) Bound(sandbox.Limits, bool) {}

func (*View) Limit(sandbox.Limits, int64, int, int) error     { return errors.ErrUnsupported }
func (*View) MountFolders(sandbox.Spec, sandbox.Limits) error { return errors.ErrUnsupported }

// CanMeasure reports false on this system.
func CanMeasure() bool { return false }

// MountsAvailable returns why this process cannot enter containers.
func MountsAvailable() error { return errors.ErrUnsupported }

// MaxProcesses knows no limit on this system.
func MaxProcesses() (int64, bool) { return 0, false }

// MaxUserProcesses knows no limit on this system.
func MaxUserProcesses(sandbox.Limits) (int64, bool) { return 0, false }

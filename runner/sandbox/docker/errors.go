package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"

	"github.com/mcpgen/mcpgen/gen/exit"
)

// EngineError reports that no usable engine was found.
type EngineError struct {
	Host string
	Err  error
	hint string
}

func (e *EngineError) Error() string {
	if e.hint == "" && errors.Is(e.Err, syscall.ENOENT) {
		return "no docker engine at " + e.Host
	}
	if e.hint == "" {
		return fmt.Sprintf("docker engine at %s does not answer: %v", e.Host, rootCause(e.Err))
	}
	return fmt.Sprintf("docker engine at %s cannot be used: %v", e.Host, e.Err)
}

func (e *EngineError) Unwrap() error { return e.Err }

// Hint returns what a person can do about it.
func (e *EngineError) Hint() string {
	switch {
	case e.hint != "":
		return e.hint
	case denied(e.Err):
		return "join the socket's group (sudo usermod -aG docker $USER, then log in again; members have root's power), or use a rootless engine or another sandbox"
	}
	return "start Docker (sudo systemctl start docker), check that you may use it (docker version), or choose another sandbox"
}

// ExitCode returns mcprun's code for a sandbox that is not available.
func (e *EngineError) ExitCode() int { return exit.NoBackend }

var (
	errNoAnswer     = errors.New("no answer in time")
	errEngineClosed = errors.New("the engine closed the connection")
)

// EngineLostError reports that the engine went away during a run, which ended the run.
type EngineLostError struct {
	Host string
	Err  error
}

func (e *EngineLostError) Error() string {
	return fmt.Sprintf("docker engine at %s went away while the script was running, so the script was stopped: %v", e.Host, e.Err)
}

func (e *EngineLostError) Unwrap() error { return e.Err }

// Hint is what a person can do about it.
func (e *EngineLostError) Hint() string {
	return "check why it stopped (journalctl -u docker), wait until it is up, then run the script again"
}

var errStuck = errors.New("it did not end after it was killed")

// ImageError reports that the image to run from is missing, or not suitable.
type ImageError struct {
	Image  string
	Reason string
	hint   string
}

func (e *ImageError) Error() string { return fmt.Sprintf("sandbox image %s %s", e.Image, e.Reason) }

// Hint returns what a person can do about it.
func (e *ImageError) Hint() string { return e.hint }

// ExitCode returns mcprun's code for a sandbox that is not available.
func (e *ImageError) ExitCode() int { return exit.NoBackend }

// rootCause returns the operating system's error without the client's text.
func rootCause(err error) error {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno
	case denied(err):
		return fs.ErrPermission
	case isSlow(err):
		return errNoAnswer
	}
	return err
}

// denied reports whether the system does not let this user reach the engine. The client keeps only the text of that error.
func denied(err error) bool {
	return err != nil && (errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), fs.ErrPermission.Error()))
}

// gone reports whether err means that the requested thing does not exist.
func gone(err error) bool { return errdefs.IsNotFound(err) }

// isSlow reports whether an engine is silent, rather than refusing or absent.
func isSlow(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// contextErr returns why ctx ended; a connection may see the deadline first.
func contextErr(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

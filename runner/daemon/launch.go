package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// logName is the file in the daemon's folder for the daemon's output, which says why it did not start or how it ended.
const logName = "daemon.log"

func logPath(dir string) string { return filepath.Join(dir, logName) }

// EmptyFolder creates an empty folder and returns its path. A daemon uses it as its working directory, so that relative paths of a command
// find nothing, and the daemon keeps no file system from being unmounted.
func EmptyFolder(dir string) (string, error) {
	if err := makePrivate(dir); err != nil {
		return "", err
	}
	empty := filepath.Join(dir, "empty")
	if err := os.RemoveAll(empty); err != nil {
		return "", fmt.Errorf("create an empty folder: %w", err)
	}
	if err := os.Mkdir(empty, 0o700); err != nil {
		return "", fmt.Errorf("create an empty folder: %w", err)
	}
	return empty, nil
}

// OpenLog creates the file for a daemon's output, replacing an earlier one. Only its owner can read it.
func OpenLog(dir string) (*os.File, error) {
	if err := makePrivate(dir); err != nil {
		return nil, err
	}
	path := logPath(dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("create the daemon's log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the daemon's log: %w", err)
	}
	return f, nil
}

// launchAndWait starts the process and waits until it is ready or has ended.
func (c *Client) launchAndWait(ctx context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	defer r.Close()
	err = c.launch(w)
	w.Close()
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	if err := r.SetReadDeadline(time.Now().Add(startTime)); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Now()) })
	defer stop()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("start the daemon: it is not ready after %v", startTime)
	}
	return nil
}

package cli

import (
	"context"
	"os"
	"os/exec"
	"runtime"
)

// OpenBrowser starts the user's browser and reports whether there is one to start. The address must begin with https:// or
// http://, so that it cannot be mistaken for an option.
func (a *App) OpenBrowser(ctx context.Context, address string) bool {
	var command []string
	switch runtime.GOOS {
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	case "darwin":
		command = []string{"open", address}
	default:
		if a.Env("DISPLAY") == "" && a.Env("WAYLAND_DISPLAY") == "" && a.Env("BROWSER") == "" {
			return false
		}
		command = []string{"xdg-open", address}
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = os.Environ()
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "BROWSER"} {
		if value := a.Env(name); value != "" { // the client's, if this is the daemon
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Cancel = func() error { return nil } // a browser that was opened stays open
	if cmd.Start() != nil {
		return false
	}
	go func() { _ = cmd.Wait() }() // whether the page was visited is up to the person
	return true
}

package main

import (
	"context"
	"os/exec"
	"runtime"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// openBrowser starts the person's browser and reports whether there is one to start. The address begins with https://
// or http://, so it can be no option.
func openBrowser(ctx context.Context, app *cli.App, address string) bool {
	var command []string
	switch runtime.GOOS {
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	case "darwin":
		command = []string{"open", address}
	default:
		if app.Env("DISPLAY") == "" && app.Env("WAYLAND_DISPLAY") == "" && app.Env("BROWSER") == "" {
			return false
		}
		command = []string{"xdg-open", address}
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return nil } // a browser that was opened stays open
	if cmd.Start() != nil {
		return false
	}
	go func() { _ = cmd.Wait() }() // what becomes of it shows in whether the person comes back
	return true
}

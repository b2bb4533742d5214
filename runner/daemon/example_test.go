//go:build linux || darwin

package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/daemon"
)

// A client has a daemon run a command. Here the daemon is a goroutine; a Launcher would start a process.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	opt := daemon.Options{Dir: filepath.Join(dir, "d"), Build: "1"}
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- daemon.Serve(ctx, daemon.ServeOptions{
			Options: opt,
			Ready:   func() { close(ready) },
			Handler: func(_ context.Context, w *daemon.Work) int {
				fmt.Fprintln(w.Stdout, "hello,", w.Args[0])
				return 3
			},
		})
	}()
	<-ready
	code, err := daemon.NewClient(opt, nil).Run(ctx, &daemon.Job{Args: []string{"world"}}, daemon.Streams{Stdout: os.Stdout})
	fmt.Println(code, err)
	stop()
	fmt.Println(<-ended)
	// Output:
	// hello, world
	// 3 <nil>
	// <nil>
}

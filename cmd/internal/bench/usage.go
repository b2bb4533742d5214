package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// usage is what a program used.
type usage struct {
	Took time.Duration
	// Memory is its largest resident set, in MiB.
	Memory float64
}

// usageFile is the environment variable that makes this program run the command that its arguments are, and write the
// command's usage into the file of that name.
const usageFile = "BENCH_USAGE_FILE"

// runMeasured never returns in a process that was started by [measure].
func runMeasured() {
	file := os.Getenv(usageFile)
	if file == "" {
		return
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	err := cmd.Run()
	var text []byte
	if err == nil {
		text, err = json.Marshal(usage{time.Since(start), maxMemory(cmd.ProcessState)})
	}
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// measure runs a command, which has not been started, by way of a small process: to a system that counts memory, a new
// process begins with what the one that started it had.
func measure(cmd *exec.Cmd) (usage, error) {
	f, err := os.CreateTemp("", "mcpgen-bench-usage-")
	if err != nil {
		return usage{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	self, err := os.Executable()
	if err != nil {
		return usage{}, err
	}
	cmd.Args = append([]string{self, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = self
	cmd.Env = append(cmd.Environ(), usageFile+"="+f.Name())
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return usage{}, fmt.Errorf("run %v: %w: %s", cmd.Args[1:], err, said.Bytes())
	}
	var out usage
	return out, json.NewDecoder(f).Decode(&out)
}

package integration

import (
	"bufio"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestBusyContainersGo checks that containers end when mcprun is killed, without another start of mcprun. A container is not
// a child of mcprun, and an endless loop keeps its interpreter from reading the connection.
func TestBusyContainersGo(t *testing.T) {
	t.Parallel()
	for where, code := range map[place]string{
		{"docker", "typescript"}: `console.log("up"); for (;;);`,
		{"docker", "python"}: `import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
print("up", flush=True)
sys.setswitchinterval(1000)
while True: pass`,
	} {
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newProject(t, map[string]server{"calculator": {Command: binary("mcpdemo"), Args: []string{"calculator"}}})
			p.sync()
			cmd := p.command(t.Context(), "mcprun", "--sandbox", where.sandbox, "--language", where.language, "--timeout", "300", "-e", code)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			p.start(cmd)
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatalf("%q, %v", line, err)
			}
			kill(t, cmd)
			p.goneWithin(t, nil, 30*time.Second)
		})
	}
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := syscall.Kill(cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}

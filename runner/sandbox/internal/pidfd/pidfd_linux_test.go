package pidfd

import (
	"os/exec"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Ended() || p.WaitUntil(time.Now().Add(10*time.Millisecond)) {
		t.Error("a live process counts as ended")
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	p.Wait()
	if !p.Ended() || !p.WaitUntil(time.Now().Add(time.Second)) {
		t.Error("a killed process counts as alive")
	}
	_ = cmd.Wait()
	if err := p.Kill(); err != nil {
		t.Errorf("Kill() of one that has ended = %v", err)
	}
}

func TestCloseEndsWait(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { p.Close() })
	p.Wait()
}

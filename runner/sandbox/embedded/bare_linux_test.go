package embedded

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestWithoutNamespaces runs other tests again without namespaces: in a user namespace that allows no more of them.
func TestWithoutNamespaces(t *testing.T) {
	if raw, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err == nil && string(raw) == "0\n" {
		return // the other tests have run like this, or this is the inner run
	}
	cmd := exec.Command("/bin/sh", "-c", `echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" -test.run='^(TestRun|TestProbe|TestFilesAreBounded|TestTmpIsBounded|TestLimitsOfTheRun|TestConformance)$/unjailed=false,warm=true'`, os.Args[0])
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
}

package tree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// killedIn is the environment variable that makes this test binary write a large tree into a folder.
const killedIn = "TREE_TEST_WRITE_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedIn); dir != "" {
		p, err := MakePlan(dir, large("new"), options(large("old")))
		if err == nil {
			err = p.Apply(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func large(name string) Tree {
	text := header + name
	t := Tree{".meta/lock": []byte(text)}
	for i := range 300 {
		t[fmt.Sprintf("%s%d/file%d", name, i%7, i)] = []byte(text)
		t[fmt.Sprintf("same%d", i)] = []byte(text)
	}
	return t
}

// A real process is killed with SIGKILL as soon as its work is visible, at several stages, and the tree is repaired from the lock and from
// the files themselves.
func TestKilledProcess(t *testing.T) {
	for _, until := range []int{1, 50, 150, 299} {
		dir := t.TempDir()
		apply(t, dir, large("old"), options(nil))
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killedIn+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		for running := true; running; {
			select {
			case <-ended:
				running = false
			default:
				temps, _ := filepath.Glob(filepath.Join(dir, ".meta", "*"))
				moved, _ := filepath.Glob(filepath.Join(dir, "new*", "*"))
				if len(temps) > until || len(moved) >= until {
					_ = cmd.Process.Kill()
					<-ended
					running = false
				}
			}
		}
		o := options(large("old"))
		want := large("new")
		apply(t, dir, want, o)
		files := map[string]string{}
		for name, content := range want {
			files[name] = string(content)
		}
		if diff := cmp.Diff(files, read(t, dir)); diff != "" {
			t.Errorf("killed after %d: (-want +got):\n%s", until, diff)
		}
	}
}

package script

import (
	"errors"
	"syscall"
	"testing"
)

// TestWorkerMemory: a process whose bundle would take all memory ends by itself, however long that takes on a busy machine.
func TestWorkerMemory(t *testing.T) {
	w, err := startWorker(ownProgram())
	if err != nil {
		t.Fatal(err)
	}
	defer w.kill()
	if a, err := w.do(t.Context(), task{Src: typescript(doubling(40), "")}); !errors.Is(err, errTooLarge) {
		t.Errorf("the answer is %+v, %v; want that the process ended", a, err)
	}
	<-w.ended
	if used := w.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; used > maxWorkerData+256<<20 {
		t.Errorf("the process used %d bytes, want at most %d and its program", used, maxWorkerData)
	}
}

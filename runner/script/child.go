package script

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Limits of a child process, in bytes. The process ends itself when its heap exceeds the first. The system enforces the
// second where it can, since memory can grow very fast between two measurements.
const (
	maxWorkerHeap  = 512 << 20
	maxWorkerData  = 1 << 30
	maxWorkerStack = 64 << 20
	largeWorker    = 256 << 20 // a process that has used more ends after its bundle
	watchEvery     = 10 * time.Millisecond
)

// Child makes bundles and then ends the process, if a [Bundler] started it. In any other process it does nothing. A program
// that uses a Bundler must call it first in main.
func Child() {
	if len(os.Args) == 1 && os.Args[0] == workerName {
		os.Exit(workerMain(os.Stdin, os.Stdout))
	}
}

// workerMain makes bundles until its input ends. It then ends even in the middle of a bundle, since nobody waits for it any
// more.
func workerMain(in io.Reader, out io.Writer) int {
	debug.SetMaxStack(maxWorkerStack)
	debug.SetMemoryLimit(maxWorkerHeap * 3 / 4)
	answers := json.NewEncoder(out)
	if limitWorker(maxWorkerData) != nil || answers.Encode(true) != nil {
		return 1
	}
	tasks := make(chan task)
	go func() {
		for from := json.NewDecoder(in); ; {
			var t task
			if from.Decode(&t) != nil {
				os.Exit(0)
			}
			tasks <- t
		}
	}()
	for idle := time.Minute; ; {
		select {
		case t := <-tasks:
			if answers.Encode(t.answer()) != nil {
				return 1
			}
			idle = t.Idle
		case <-time.After(idle):
			return 0
		}
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.Sys > largeWorker {
			return 0
		}
	}
}

// answer makes the bundle. It ends the process if the bundle takes too much memory.
func (t task) answer() *answer {
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-time.After(watchEvery):
				if heapSize() > maxWorkerHeap {
					os.Exit(1)
				}
			case <-done:
				return
			}
		}
	}()
	made, err := t.bundle()
	if bad, ok := errors.AsType[*Error](err); ok {
		return &answer{Bundle: made, Problems: bad.Problems}
	}
	if err != nil {
		return &answer{Failure: err.Error()}
	}
	return &answer{Bundle: made}
}

// heapSize returns the size of the objects on this process's heap, in bytes.
func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

package script

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Bounds of a process that makes bundles, in bytes. The first is what it ends itself at, the second what the system
// gives it where it knows how: between two looks one text can become very large.
const (
	maxWorkerHeap  = 512 << 20
	maxWorkerData  = 1 << 30
	maxWorkerStack = 64 << 20
	// largeWorker is what it may have taken without being replaced.
	largeWorker = 256 << 20
)

// exitTooMuch is the exit code of a process that ended itself for its memory.
const exitTooMuch = 77

// Child must be called first in the main of a program that has a [Bundler]. In a process that one started it makes
// bundles and ends the process; in any other it does nothing.
func Child() {
	if len(os.Args) == 1 && os.Args[0] == workerName {
		os.Exit(workerMain(os.Stdin, os.Stdout))
	}
}

// workerMain makes the bundles that it is asked for until its input ends, be it in the middle of one: then nobody waits
// for it any more.
func workerMain(in io.Reader, out io.Writer) int {
	debug.SetMaxStack(maxWorkerStack)
	debug.SetMemoryLimit(maxWorkerHeap * 3 / 4)
	if err := limitWorker(); err != nil {
		_, _ = io.WriteString(os.Stderr, "limit the memory: "+err.Error()+"\n")
		return 1
	}
	if err := writeFrame(out, frameReady, nil); err != nil {
		return 1
	}
	go watchWorker()
	tasks := make(chan []byte)
	go func() {
		from := bufio.NewReaderSize(in, 64<<10)
		for {
			kind, body, err := readFrame(from, maxTaskFrame)
			if err != nil || kind != frameTask {
				os.Exit(0)
			}
			tasks <- body
		}
	}()
	for body := range tasks {
		var t task
		if err := json.Unmarshal(body, &t); err != nil {
			return 1
		}
		if err := answerTask(out, t); err != nil {
			return 1
		}
	}
	return 0
}

// answerTask makes one bundle and sends it.
func answerTask(out io.Writer, t task) error {
	var mu sync.Mutex // the bundler loads modules from many goroutines
	seen := newReads()
	made, err := t.bundle(seen, func(id, text string) error {
		if !dubious(id, text) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		return writeFrame(out, frameModule, []byte(id))
	})
	a := &answer{}
	a.note(seen)
	var bad *Error
	switch {
	case errors.As(err, &bad):
		a.Problems = bad.Problems
	case err != nil:
		a.Failed = err.Error()
	default:
		a.Modules, a.code = made.modules, []byte(made.code)
	}
	var m runtime.MemStats
	if heap, _ := inUse(); heap > largeWorker/4 {
		runtime.ReadMemStats(&m)
		a.Large = m.Sys > largeWorker
	}
	head, err := json.Marshal(a)
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := writeFrame(out, frameAnswer, head); err != nil {
		return err
	}
	return writeFrame(out, frameCode, a.code)
}

// watchWorker ends this process when it has grown too much.
func watchWorker() {
	for range time.Tick(watchEvery) {
		if heap, _ := inUse(); heap > maxWorkerHeap {
			os.Exit(exitTooMuch)
		}
	}
}

// note puts into the answer what the bundle stands on.
func (a *answer) note(r *reads) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, there := range r.there {
		a.Files = append(a.Files, fileRead{Place: p, Looked: true, There: there})
	}
	for p, sum := range r.content {
		a.Files = append(a.Files, fileRead{Place: p, Sum: sum[:]})
	}
	for p, names := range r.lists {
		a.Lists = append(a.Lists, listRead{p, names})
	}
}

// reads is what note put there.
func (a *answer) reads() *reads {
	r := newReads()
	for _, f := range a.Files {
		if f.Looked {
			r.there[f.Place] = f.There
		} else {
			r.content[f.Place] = [32]byte(append(f.Sum, make([]byte, 32)...))
		}
	}
	for _, l := range a.Lists {
		r.lists[l.Place] = l.Names
	}
	return r
}

// add adds what other knows. A nil one keeps nothing.
func (r *reads) add(other *reads) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, there := range other.there {
		r.there[p] = there
	}
	for p, sum := range other.content {
		r.content[p] = sum
	}
	for p, names := range other.lists {
		r.lists[p] = names
	}
}

package script

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// workerName is argv[0] of the processes that make bundles.
const workerName = "mcprun-bundle"

// What a worker says, in frames of a kind, a length and that many bytes. It is told tasks in frames of kind frameTask.
const (
	frameTask   = 't'
	frameReady  = 'r' // the first: it makes bundles
	frameModule = 'm' // the id of a module that is about to be read and that may be to blame for what comes
	frameAnswer = 'a' // an answer, as JSON
	frameCode   = 'c' // what follows a good answer: the bundle
)

// Bounds of frames in bytes. What a worker sends is bounded by its memory, too.
const (
	maxTaskFrame   = 64 << 20
	maxAnswerFrame = 512 << 20
)

// answer is what a worker made.
type answer struct {
	Problems []Problem         `json:",omitempty"` // of an *Error
	Failed   string            `json:",omitempty"` // another error
	Modules  map[string]module // nil: none
	Files    []fileRead
	Lists    []listRead
	Large    bool // it has taken much memory

	code []byte
}

type fileRead struct {
	Place  place
	There  bool   // with Looked
	Sum    []byte `json:",omitempty"` // of a file that was read
	Looked bool
}

type listRead struct {
	Place place
	Names string
}

// bundle is what the answer comes to.
func (a *answer) bundle() (*bundle, error) {
	switch {
	case len(a.Problems) > 0:
		return nil, &Error{Problems: a.Problems}
	case a.Failed != "":
		return nil, errors.New(a.Failed)
	}
	return &bundle{code: string(a.code), modules: a.Modules}, nil
}

// worker is a child process that makes bundles, one at a time.
type worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	pipe   *os.File // what out reads
	out    *bufio.Reader
	said   *tail
	ended  chan struct{} // closed when it has ended
	once   sync.Once
	rest   *time.Timer // while it is idle
	ready  bool        // it has said so
	loaded []string    // modules of the task that are likely to blame, the last at the end
}

// maxLoaded bounds how many modules are kept of those that may be to blame.
const maxLoaded = 64

// startWorker starts a process. It inherits nothing but the way to the script's files.
func startWorker(exe string) (*worker, error) {
	w := &worker{cmd: exec.Command(exe), said: &tail{}, ended: make(chan struct{})}
	w.cmd.Args, w.cmd.Env = []string{workerName}, workerEnv()
	w.cmd.Stderr = w.said
	w.cmd.WaitDelay = time.Second
	setWorkerAttributes(w.cmd)
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the bundler's process: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("start the bundler's process: %w", err)
	}
	w.cmd.Stdout = write
	err = w.cmd.Start()
	write.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the bundler's process: %w", err), in.Close(), read.Close())
	}
	w.in, w.pipe, w.out = in, read, bufio.NewReaderSize(read, 64<<10)
	go func() {
		defer close(w.ended)
		_ = w.cmd.Wait() // its state says how it ended
	}()
	return w, nil
}

// retire lets an idle process end.
func (w *worker) retire() {
	w.in.Close()
	select {
	case <-w.ended:
	case <-time.After(time.Second):
	}
	w.kill()
}

// kill ends the process and waits for its end.
func (w *worker) kill() {
	w.once.Do(func() { _ = w.cmd.Process.Kill() })
	w.in.Close()
	<-w.ended
	w.pipe.Close()
}

// errWorkerGone is what a process comes to that ended without a reason that is known.
var errWorkerGone = errors.New("the bundler's process ended")

// do has the process make one bundle. After an error the process must be ended.
func (w *worker) do(ctx context.Context, t task) (*answer, error) {
	w.loaded = nil
	stop := context.AfterFunc(ctx, func() { w.once.Do(func() { _ = w.cmd.Process.Kill() }) })
	defer stop()
	text, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("write down a script to be bundled: %w", err)
	}
	if err := writeFrame(w.in, frameTask, text); err != nil {
		return nil, errWorkerGone
	}
	var a *answer
	for {
		kind, body, err := readFrame(w.out, maxAnswerFrame)
		if err != nil {
			return nil, errWorkerGone
		}
		switch {
		case kind == frameReady:
			w.ready = true
		case kind == frameModule:
			if w.loaded = append(w.loaded, string(body)); len(w.loaded) > maxLoaded {
				w.loaded = w.loaded[1:]
			}
		case kind == frameAnswer && a == nil:
			a = &answer{}
			if err := json.Unmarshal(body, a); err != nil {
				return nil, fmt.Errorf("read the bundler's answer: %w", err)
			}
		case kind == frameCode && a != nil:
			a.code = body
			if !stop() {
				return nil, errWorkerGone // it was ended just now
			}
			return a, nil
		default:
			return nil, errors.New("read the bundler's answer: it is none")
		}
	}
}

// judge says what the end of a process means for the script. Fresh tells that it was started for it.
func (t task) judge(ctx context.Context, w *worker, fresh bool, err error) error {
	if !errors.Is(err, errWorkerGone) {
		return err
	}
	if ctx.Err() != nil {
		err := context.Cause(ctx)
		if errors.Is(err, errTooCostly) {
			return t.blame(w.loaded, errTooCostly)
		}
		return err
	}
	state, said := w.cmd.ProcessState, w.said.String()
	switch {
	case strings.Contains(said, "stack exceeds") || strings.Contains(said, "stack overflow"):
		return t.blame(w.loaded, errTooDeep)
	case state != nil && state.ExitCode() == exitTooMuch, strings.Contains(said, "out of memory"), strings.Contains(said, "cannot allocate memory"):
		return t.blame(w.loaded, errTooMuchText)
	case strings.Contains(said, "fatal error:"), strings.Contains(said, "panic:"):
		line, _, _ := strings.Cut(said[max(strings.Index(said, "fatal error:"), strings.Index(said, "panic:")):], "\n")
		return t.blame(w.loaded, fmt.Errorf("the bundler broke on it: %.200s", line))
	}
	if w.ready && !fresh {
		return errWorkerGone // it may have ended while it waited, which says nothing about the script
	}
	if w.ready {
		return t.blame(w.loaded, errTooMuch)
	}
	return fmt.Errorf("make a bundle: %w: %v", errWorkerGone, state)
}

func writeFrame(to io.Writer, kind byte, body []byte) error {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	if len(body) < 4<<10 {
		_, err := to.Write(append(head, body...))
		return err
	}
	if _, err := to.Write(head); err != nil {
		return err
	}
	_, err := to.Write(body)
	return err
}

func readFrame(from io.Reader, most int) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if int64(size) > int64(most) {
		return 0, nil, fmt.Errorf("a frame of %d bytes", size)
	}
	var b bytes.Buffer
	if n, err := io.CopyN(&b, from, int64(size)); err != nil {
		return 0, nil, fmt.Errorf("%d of %d bytes: %w", n, size, err)
	}
	return head[0], b.Bytes(), nil
}

// tail keeps the beginning of what a process says when it ends.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), 8<<10-len(t.text))]...)
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

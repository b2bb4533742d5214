package eager

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // on one processor nothing is taken
	os.Exit(m.Run())
}

const long = 20 * time.Second

func always() bool { return true }

// kinds calls f with each kind of connection, and what writes to it.
func kinds(t *testing.T, f func(t *testing.T, c *Conn, peer io.WriteCloser)) {
	made := func(t *testing.T, from File, peer io.WriteCloser) {
		c, err := New(from)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		defer peer.Close()
		f(t, c, peer)
	}
	t.Run("pipe", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		made(t, r, w)
	})
	t.Run("socket", func(t *testing.T) {
		ours, theirs := sockets(t)
		made(t, ours, theirs)
	})
}

func sockets(t *testing.T) (ours, theirs *net.UnixConn) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if theirs, err = net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr)); err != nil {
		t.Fatal(err)
	}
	if ours, err = l.AcceptUnix(); err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// read reads in the background, from a boundary on.
func read(c *Conn) <-chan string {
	got := make(chan string, 1)
	c.Boundary()
	go func() {
		b := make([]byte, 1<<20)
		n, err := c.Read(b)
		if err != nil {
			got <- err.Error()
		} else {
			got <- string(b[:n])
		}
	}()
	return got
}

func send(t *testing.T, w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil {
		t.Error(err)
	}
}

func TestTakerComesFirst(t *testing.T) {
	kinds(t, func(t *testing.T, c *Conn, peer io.WriteCloser) {
		got := read(c)
		for range 3 {
			answered := func() bool { // who asks is in the reader's place before anything can arrive
				go send(t, peer, "answer")
				return true
			}
			taken := ""
			if !c.Take(long, answered, func(b []byte) bool { taken = string(b); return true }) || taken != "answer" {
				t.Fatalf("taken %q", taken)
			}
		}
		if c.Take(time.Millisecond, always, func([]byte) bool { return true }) {
			t.Error("took what is not there")
		}
		if c.Take(long, func() bool { return false }, nil) {
			t.Error("waited for what nobody wants")
		}
		send(t, peer, "other")
		if text := <-got; text != "other" {
			t.Errorf("read %q", text)
		}
		if c.Take(long, always, nil) { // the reader has not said that it is at a boundary
			t.Error("took in the middle of a message")
		}
	})
}

func TestGivenBack(t *testing.T) {
	kinds(t, func(t *testing.T, c *Conn, peer io.WriteCloser) {
		got := read(c)
		send(t, peer, "not for you")
		if c.Take(long, always, func([]byte) bool { return false }) {
			t.Error("taken")
		}
		if text := <-got; text != "not for you" {
			t.Errorf("read %q", text)
		}
		got = read(c)
		large := strings.Repeat("x", most+100) // more than is taken at once
		go send(t, peer, large)
		if c.Take(long, always, func(b []byte) bool { return len(b) > most }) {
			t.Error("taken")
		}
		whole := <-got
		for len(whole) < len(large) {
			whole += <-read(c)
		}
		if whole != large {
			t.Errorf("read %d bytes", len(whole))
		}
	})
}

func TestEndWhileTaking(t *testing.T) {
	kinds(t, func(t *testing.T, c *Conn, peer io.WriteCloser) {
		got := read(c)
		go peer.Close()
		if c.Take(long, always, func([]byte) bool { return true }) {
			t.Error("took the end")
		}
		if text := <-got; text != io.EOF.Error() {
			t.Errorf("read %q", text)
		}
	})
}

func TestCloseEndsAll(t *testing.T) {
	kinds(t, func(t *testing.T, c *Conn, peer io.WriteCloser) {
		got := read(c)
		taken := make(chan bool, 1)
		go func() { taken <- c.Take(100*time.Millisecond, always, func([]byte) bool { return true }) }()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if text := <-got; text != os.ErrClosed.Error() {
			t.Errorf("read %q", text)
		}
		if <-taken {
			t.Error("took from what is closed")
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("read: %v", err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
			t.Errorf("write: %v", err)
		}
		if err := c.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("close: %v", err)
		}
	})
}

// TestCloseEndsWrite: a write that waits for the other side ends.
func TestCloseEndsWrite(t *testing.T) {
	ours, theirs := sockets(t)
	defer theirs.Close()
	c, err := New(ours)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		for {
			if _, err := c.Write(make([]byte, 1<<20)); err != nil {
				ended <- err
				return
			}
		}
	}()
	for { // until it has begun
		if _, err := theirs.Read(make([]byte, 1)); err == nil {
			break
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("written to what is closed")
	}
}

// TestOrder has one reader and many takers for a stream of numbers. What they count with is guarded by nothing else.
func TestOrder(t *testing.T) {
	kinds(t, func(t *testing.T, c *Conn, peer io.WriteCloser) {
		const total = 5000
		next, taken := uint64(0), 0
		var takers sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			takers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					c.Take(200*time.Microsecond, func() bool { return next < total }, func(b []byte) bool {
						if len(b) != 8 || binary.BigEndian.Uint64(b) != next || next%7 == 0 { // some are given back
							return false
						}
						next++
						taken++
						return true
					})
				}
			})
		}
		go func() {
			for i := range uint64(total) {
				if _, err := peer.Write(binary.BigEndian.AppendUint64(nil, i)); err != nil {
					t.Error(err)
					return
				}
				if i%3 == 0 {
					runtime.Gosched()
				}
				if i%5 == 0 {
					time.Sleep(50 * time.Microsecond) // so that they catch up, and wait
				}
			}
			peer.Close()
		}()
		in := bufio.NewReader(c)
		var number [8]byte
		for {
			if in.Buffered() == 0 {
				c.Boundary()
			}
			if _, err := io.ReadFull(in, number[:]); err != nil {
				if err != io.EOF {
					t.Error(err)
				}
				break
			}
			if got := binary.BigEndian.Uint64(number[:]); got != next {
				t.Fatalf("number %d, want %d", got, next)
			}
			next++
		}
		close(stop)
		takers.Wait()
		if next != total {
			t.Errorf("%d of %d numbers", next, total)
		}
		if taken == 0 {
			t.Error("none was taken")
		}
	})
}

// TestSignals do not end a wait before its time.
func TestSignals(t *testing.T) {
	kinds(t, func(t *testing.T, c *Conn, peer io.WriteCloser) {
		got := read(c)
		waiting := make(chan int, 1)
		go func() {
			pid, tid := os.Getpid(), <-waiting
			for range 20 {
				time.Sleep(time.Millisecond)
				_ = unix.Tgkill(pid, tid, unix.SIGURG) // with which the runtime interrupts, and which it takes for nothing
			}
			send(t, peer, "answer")
		}()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		wanted := func() bool { waiting <- unix.Gettid(); return true }
		if !c.Take(long, wanted, func(b []byte) bool { return string(b) == "answer" }) {
			t.Error("the wait was given up")
		}
		peer.Close()
		<-got
	})
}

// TestIdle: nobody is busy while nothing happens.
func TestIdle(t *testing.T) {
	kinds(t, func(t *testing.T, c *Conn, peer io.WriteCloser) {
		got := read(c)
		c.Take(time.Millisecond, always, func([]byte) bool { return false })
		before := spent(t)
		time.Sleep(200 * time.Millisecond)
		if used := spent(t) - before; used > 100*time.Millisecond {
			t.Errorf("%v of a processor in 200 ms of nothing", used)
		}
		peer.Close()
		<-got
	})
}

func spent(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package bridge_test

import (
	"net"
	"testing"
	"time"
)

// A guest that is told that there is no job yet prepares itself, stays, and runs the job like any other guest, whether the job arrives
// during the preparation or long after it.
func TestGuestWaitsForItsJob(t *testing.T) {
	const py = "import sys\nprint('asyncio' in sys.modules, __name__)\n"
	const ts = "console.log(process.cwd().length > 1, process.listenerCount('beforeExit'), typeof vars);\nexport default 7;\n"
	for _, c := range []struct {
		name, lang, code, want string
		wait                   time.Duration
	}{
		{"python, at once", "python", "print('here')\n", "here\n", 0},
		{"python, later", "python", py, "True __main__\n", 2 * time.Second},
		{"typescript, at once", "typescript", ts, "true 1 undefined\n", 0},
		{"typescript, later", "typescript", ts, "true 1 undefined\n", 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := func(wait time.Duration) ended {
				return guestRun{lang: c.lang, code: c.code, early: func(net.Conn) { time.Sleep(wait) }}.run(t)
			}
			e := run(c.wait)
			for wait := 2 * c.wait; e.stdout == "False __main__\n" && wait < time.Minute; wait *= 2 {
				e = run(wait) // a busy machine takes longer to prepare
			}
			if e.err != nil || e.exit != 0 || e.stdout != c.want || e.stderr != "" {
				t.Errorf("code %d, error %v, printed %q and %q, want %q", e.exit, e.err, e.stdout, e.stderr, c.want)
			}
		})
	}
}

// If the host goes away while a guest waits for its job, the guest ends.
func TestGuestWaitsForNobody(t *testing.T) {
	for _, lang := range []string{"python", "typescript"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			e := guestRun{lang: lang, early: func(host net.Conn) {
				time.Sleep(100 * time.Millisecond)
				host.Close()
			}}.run(t)
			if e.err == nil || e.exit != 125 || time.Since(began) > time.Minute {
				t.Errorf("exit code %d, error %v after %v: %s, want an error, 125 and at most %v", e.exit, e.err, time.Since(began), e.stderr, time.Minute)
			}
		})
	}
}

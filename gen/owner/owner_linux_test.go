package owner

import (
	"errors"
	"os/exec"
	"testing"
	"time"
)

// zombie starts a process that ends, but is not waited for until the test ends.
func zombie(t *testing.T) (Owner, error) {
	t.Helper()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	o, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	o.PID = cmd.Process.Pid
	if o.Start, err = started(o.PID); err != nil {
		t.Fatal(err)
	}
	in.Close()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := started(o.PID); err != nil {
			return o, nil
		}
	}
	return o, errors.New("the process did not end within a minute")
}

func TestJudge(t *testing.T) {
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if back, ok := Parse(me.String()); !ok || back != me {
		t.Errorf("Parse(%v) = %v, %v, want the same", me, back, ok)
	}
	user := me
	user.UID = 1000
	for name, c := range map[string]struct {
		change func(*Owner)
		by     Owner
		want   State
	}{
		"myself":             {func(*Owner) {}, me, Alive},
		"reused number":      {func(o *Owner) { o.Start = "1" }, me, Dead},
		"no such process":    {func(o *Owner) { o.PID = 1 << 30 }, me, Dead},
		"another boot":       {func(o *Owner) { o.Boot = "x" }, me, Unknown},
		"another namespace":  {func(o *Owner) { o.Space = "1" }, me, Unknown},
		"another user's":     {func(o *Owner) { o.UID, o.PID = 1001, 1<<30 }, user, Unknown},
		"a dead one of mine": {func(o *Owner) { o.UID, o.PID = 1000, 1<<30 }, user, Dead},
	} {
		o := me
		c.change(&o)
		if got := o.Judge(c.by); got != c.want {
			t.Errorf("%s: Judge() = %v, want %v", name, got, c.want)
		}
	}
	if o, err := zombie(t); err != nil || o.Judge(me) != Dead {
		t.Errorf("Judge() of a zombie = %v (%v), want %v", o.Judge(me), err, Dead)
	}
	for _, s := range []string{"", "a/b", "a/b/c/d/e", "a/b/1/2"} {
		if o, ok := Parse(s); ok {
			t.Errorf("Parse(%q) = %v, true, want false", s, o)
		}
	}
}

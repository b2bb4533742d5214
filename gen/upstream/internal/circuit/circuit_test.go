package circuit

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := func(c *Circuit) bool { return !c.RetryAt().IsZero() }
		c := New()
		for i := range MaxFailures {
			if open(c) {
				t.Fatalf("open after %d failures", i)
			}
			if d, want := c.StartDelay(), firstDelay<<max(0, i-2); i < 2 && d != 0 || i >= 2 && (d < want/2 || d > 2*want) {
				t.Errorf("StartDelay() after %d failures = %v, want about %v", i, d, want)
			}
			time.Sleep(time.Second)
			c.Fail("it fell over")
		}
		if got, want := c.RetryAt(), time.Now().Add(OpenTime); !got.Equal(want) || c.LastFailure() != "it fell over" {
			t.Fatalf("RetryAt() = %v after %q, want %v", got, c.LastFailure(), want)
		}
		// One more try, which fails: it opens again at once.
		time.Sleep(OpenTime + time.Second)
		if open(c) {
			t.Errorf("still open after %v", OpenTime)
		}
		if c.Fail("again"); !open(c) {
			t.Error("closed after another failure, want open")
		}
		// And one that succeeds.
		time.Sleep(OpenTime + time.Second)
		c.Succeed()
		if c.Fail("once"); open(c) || c.StartDelay() != 0 {
			t.Errorf("open %v, StartDelay() = %v after an answer, want neither", open(c), c.StartDelay())
		}
		// Failures far apart never open it, nor do some among many answers.
		c = New()
		for range 20 {
			time.Sleep(failureWindow / 3)
			c.Fail("now and then")
		}
		time.Sleep(2 * failureWindow)
		for range 20 {
			c.Succeed()
			c.Succeed()
			c.Fail("rarely")
		}
		if open(c) {
			t.Error("open, want closed")
		}
	})
}

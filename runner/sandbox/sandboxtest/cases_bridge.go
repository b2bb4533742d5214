package sandboxtest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func bridgeCases() []testCase {
	code := programs("raw-frames")
	var list []testCase
	add := func(what string, c testCase) {
		c.name, c.args, c.code = "bridge: "+what, []string{what}, code
		list = append(list, c)
	}
	for _, what := range []string{"not JSON", "a giant", "one byte too many", "deep", "a member twice", "a member twice, escaped", "an argument twice",
		"its own approval", "a reply", "a job", "hello again", "an old call again", "a falling number", "a number beyond all", "a cancel of nothing",
		"half a surrogate", "not UTF-8", "empty frames", "a flood of calls"} {
		add(what, testCase{timeout: time.Minute, check: brokeOff})
	}
	add("descriptors", testCase{timeout: 30 * time.Second, check: func(t *recorder, w *world, r *result) {
		if r.stdout == "speaking\nthere is no such call\n" {
			held(t, w, r) // the kernel does not let it pass
			return
		}
		brokeOff(t, w, r)
	}})
	list[len(list)-1].code = only(code, sandbox.LangPython) // node cannot send any
	add("a flood of arguments", testCase{heavy: true, timeout: time.Minute, check: brokeOff})
	for _, what := range []string{"a call after the end", "two ends"} {
		add(what, testCase{timeout: 4 * time.Second, check: ended})
	}
	for _, what := range []string{"half a frame", "half a length", "replies that nobody reads"} {
		add(what, testCase{timeout: 1500 * time.Millisecond, check: held})
	}
	for _, what := range []string{"half an end", "a hang-up", "as a child", "as many"} {
		add(what, testCase{timeout: 3 * time.Second, check: held})
		list[len(list)-1].code = forked(code)
		if what == "as a child" {
			list[len(list)-1].check = brokeOff
		}
	}
	return list
}

// only returns the entry of one language.
func only[T any](code map[sandbox.Language]T, lang sandbox.Language) map[sandbox.Language]T {
	return map[sandbox.Language]T{lang: code[lang]}
}

// forked returns a script in Python whose children have the bridge. The guest program closes its descriptor in them, but a
// malicious script has kept a duplicate.
func forked(code map[sandbox.Language]string) map[sandbox.Language]string {
	return python("import os\nkept = os.dup(3)\nos.register_at_fork(after_in_child=lambda: os.dup2(kept, 3))\n" + code[sandbox.LangPython])
}

// brokeOff checks that the host detected the violation, ended the run at once, and made no forged call.
func brokeOff(t *recorder, w *world, r *result) {
	if noMeans(t, r) {
		return
	}
	held(t, w, r)
	violation := new(bridge.ViolationError)
	if !errors.As(r.bridgeErr, &violation) {
		t.Errorf("the bridge ended with %v, want a violation", r.bridgeErr)
	}
}

// ended checks that the host ignored everything after the end.
func ended(t *recorder, w *world, r *result) {
	if noMeans(t, r) {
		return
	}
	held(t, w, r)
	if !r.outcome.Done || strings.Contains(string(r.outcome.Result), "2") {
		t.Errorf("outcome %+v", r.outcome)
	}
}

// held checks that no forged call was made, the host works, and the run ended in time.
func held(t *recorder, w *world, r *result) {
	if !strings.HasPrefix(r.stdout, "speaking") {
		t.Errorf("the script did not start")
	}
	if noMeans(t, r) {
		return
	}
	if strings.Contains(r.stdout, "EBADF") || strings.Contains(r.stdout, "Bad file descriptor") {
		t.Errorf("the script did not reach the bridge")
	}
	if slices.Contains(w.called(), "test__forged") {
		t.Errorf("a forged call was made")
	}
	if strings.Contains(r.stdout, "let through") {
		t.Errorf("the host continued after a violation")
	}
	if r.elapsed > 50*time.Second { // the longest time limit is a minute
		t.Errorf("took %v", r.elapsed)
	}
}

func resultCases() []testCase {
	list := []testCase{
		{name: "tools that look alike", check: func(t *recorder, w *world, r *result) {
			nothing(t, w, r)
			if slices.Contains(w.called(), "test__forged") {
				t.Errorf("a forged call was made")
			}
		}},
	}
	code := programs("forged-results")
	for _, f := range []struct {
		what string
		exit int
		code map[sandbox.Language]string
	}{
		{"success, then failure", 3, code}, {"success, then a crash", 139, code}, {"success of a child", 4, forked(code)}, {"a kill", 137, code},
		{"a kill's code", 137, code}, {"no word", 0, code}, {"an abort", 134, code}, {"words of ours", 5, code},
	} {
		list = append(list, testCase{name: "forged: " + f.what, args: []string{f.what}, code: f.code, timeout: 20 * time.Second,
			check: func(t *recorder, _ *world, r *result) {
				if noMeans(t, r) {
					return
				}
				// After the guest reported its end, it may first notice that the host has closed the connection.
				lost := strings.HasPrefix(f.what, "success") && r.exit.Code == 125
				if r.exit.Code != f.exit && !lost || r.exit.Killed != "" {
					t.Errorf("exit %+v, want code %d and no limit named", r.exit, f.exit)
				}
				if strings.HasPrefix(f.what, "success") && !lost && !r.outcome.Done {
					t.Errorf("the host did not receive the forged success")
				}
				if f.what == "no word" && r.outcome.Done {
					t.Errorf("an end was reported that was never sent")
				}
			}})
	}
	return list
}

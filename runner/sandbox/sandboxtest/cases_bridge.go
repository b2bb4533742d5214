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
		add(what, testCase{timeout: 30 * time.Second, check: brokeOff})
	}
	add("descriptors", testCase{timeout: 30 * time.Second, check: brokeOff})
	list[len(list)-1].code = only(code, sandbox.LangPython) // node cannot send any
	add("a flood of arguments", testCase{serial: true, timeout: 30 * time.Second, check: brokeOff})
	for _, what := range []string{"a call after the end", "two ends"} {
		add(what, testCase{timeout: 3 * time.Second, check: ended})
	}
	for _, what := range []string{"half a frame", "half a length", "replies that nobody reads"} {
		add(what, testCase{timeout: 1500 * time.Millisecond, check: held})
	}
	for _, what := range []string{"half an end", "a hang-up", "as a child", "as many"} {
		add(what, testCase{timeout: 3 * time.Second, check: held})
		list[len(list)-1].code = only(code, sandbox.LangPython)
	}
	return list
}

// only keeps one language.
func only[T any](code map[sandbox.Language]T, lang sandbox.Language) map[sandbox.Language]T {
	return map[sandbox.Language]T{lang: code[lang]}
}

// brokeOff: the host saw the violation, ended the run at once, and made no forged call.
func brokeOff(t *judge, w *world, r *result) {
	if strings.Contains(r.stdout, "there is no such") {
		return // the engine has no descriptors, or the kernel does not let the call through
	}
	held(t, w, r)
	violation := new(bridge.ViolationError)
	if !errors.As(r.bridgeErr, &violation) {
		t.Errorf("the bridge ended with %v, want a violation", r.bridgeErr)
	}
	if r.elapsed > 20*time.Second {
		t.Errorf("took %v", r.elapsed)
	}
}

// ended: nothing after the end counts.
func ended(t *judge, w *world, r *result) {
	if strings.Contains(r.stdout, "there is no such") {
		return
	}
	held(t, w, r)
	if !r.outcome.Done || strings.Contains(string(r.outcome.Result), "2") {
		t.Errorf("outcome %+v", r.outcome)
	}
}

// held: no forged call was made, the host is well, and the run ended in time.
func held(t *judge, w *world, r *result) {
	if !strings.HasPrefix(r.stdout, "speaking") {
		t.Errorf("the script did not start")
	}
	if strings.Contains(r.stdout, "there is no such") {
		return
	}
	if slices.Contains(w.called(), "test__forged") {
		t.Errorf("a forged call was made")
	}
	if strings.Contains(r.stdout, "let through") {
		t.Errorf("the host went on as if nothing had been")
	}
	if r.elapsed > 25*time.Second {
		t.Errorf("took %v", r.elapsed)
	}
}

func resultCases() []testCase {
	list := []testCase{
		{name: "tools that look alike", check: func(t *judge, w *world, r *result) {
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
		{"success, then failure", 3, code}, {"success, then a crash", 139, code}, {"success of a child", 4, only(code, sandbox.LangPython)}, {"a kill", 137, code},
		{"a kill's code", 137, code}, {"no word", 0, code}, {"an abort", 134, code}, {"words of ours", 5, code},
	} {
		list = append(list, testCase{name: "forged: " + f.what, args: []string{f.what}, code: f.code, timeout: 20 * time.Second,
			check: func(t *judge, _ *world, r *result) {
				if strings.Contains(r.stdout, "there is no such") {
					return
				}
				// After the end was said, the guest may notice first that the host has hung up.
				lost := strings.HasPrefix(f.what, "success") && r.exit.Code == 125
				if r.exit.Code != f.exit && !lost || r.exit.Killed != "" {
					t.Errorf("exit %+v, want code %d and no limit named", r.exit, f.exit)
				}
				if f.what == "no word" && r.outcome.Done {
					t.Errorf("an end was reported that nobody had said")
				}
			}})
	}
	return list
}

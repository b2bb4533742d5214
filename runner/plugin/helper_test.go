package plugin

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// be is this test program as a plugin.
func be(behaviour string) {
	in := bufio.NewReader(os.Stdin)
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	switch behaviour {
	case "hang":
		notePID(os.Getpid())
		time.Sleep(time.Hour)
	case "grandchild", "leaves":
		child := exec.Command("sleep", "600")
		if setsid, err := exec.LookPath("setsid"); err == nil { // outside our process group
			child = exec.Command(setsid, "sleep", "600")
		}
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			panic(err)
		}
		notePID(child.Process.Pid)
		if behaviour == "grandchild" {
			notePID(os.Getpid())
			time.Sleep(time.Hour)
		}
		say(`{"decision":"allow"}`)
		return
	case "never reads":
		say(`{"decision":"allow"}`)
		return
	case "silent":
		_, _ = in.ReadString('\n')
		return
	}
	var held []Event
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			panic(err)
		}
		var args struct{ Amount int }
		_ = json.Unmarshal(e.Arguments, &args)
		switch behaviour {
		case "limit":
			switch {
			case args.Amount > 10_000:
				say(`{"id":%d,"decision":"deny","reason":"over 10,000"}`, e.ID)
			case args.Amount < 0:
				say(`{"id":%d,"decision":"change","value":{"amount":0}}`, e.ID)
			default:
				say(`{"id":%d,"decision":"allow"}`, e.ID)
			}
		case "reversed":
			if held = append(held, e); len(held) < 10 {
				continue
			}
			for _, e := range slices.Backward(held) {
				_ = json.Unmarshal(e.Arguments, &args)
				decision := Allow
				if args.Amount > 10_000 {
					decision = Deny
				}
				say(`{"id":%d,"decision":"%s"}`, e.ID, decision)
			}
		case "answers once":
			say(`{"id":%d,"decision":"allow"}`, e.ID)
			return
		case "crashes at first":
			if _, err := os.Stat(os.Args[3]); err != nil {
				_ = os.WriteFile(os.Args[3], nil, 0o600)
				os.Exit(3)
			}
			say(`{"id":%d,"decision":"allow"}`, e.ID)
		case "crash":
			fmt.Fprintln(os.Stderr, "Traceback (most recent call last):\n  File \"x.py\"\nKeyError: 'amount'")
			os.Exit(3)
		case "environment":
			say(`{"id":%d,"decision":"deny","reason":%q}`, e.ID, strings.Join(names(), " "))
		case "flood":
			for text := strings.Repeat("y", 64<<10); ; {
				if _, err := fmt.Print(text); err != nil {
					return
				}
			}
		case "deep":
			say(`{"id":%d,"decision":"change","value":%s}`, e.ID, strings.Repeat(`{"a":`, 100_000))
		case "noise":
			for range 100_000 {
				fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 20))
			}
			say(`{"id":%d,"decision":"allow"}`, e.ID)
		case "hang after reading":
			notePID(os.Getpid())
			time.Sleep(time.Hour)
		default:
			say(map[string]string{
				"nonsense": "Hello!", "array": "[]", "wrong types": `{"id":1,"decision":true}`, "maybe": `{"id":1,"decision":"maybe"}`, "empty": `{"id":1}`,
				"no value": `{"id":1,"decision":"change"}`, "number": `{"id":1,"decision":"change","value":7}`, "wrong id": `{"id":77,"decision":"allow"}`,
				"allows a value": `{"id":1,"decision":"allow","value":{"amount":0}}`,
			}[behaviour])
		}
	}
}

// names returns the names of all variables.
func names() (out []string) {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		out = append(out, name)
	}
	return out
}

// notePID adds a process to the file that the third argument names.
func notePID(pid int) {
	if len(os.Args) < 4 {
		return
	}
	f, err := os.OpenFile(os.Args[3], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, pid)
		f.Close()
	}
}

// pids returns the processes that a plugin has noted.
func pids(t *testing.T, file string) (out []int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the plugin was not started: %v", err)
	}
	for word := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, pid)
	}
	return out
}

// running reports whether a process runs, and is not just waiting to be reaped. One that was killed gets a moment to end.
func running(pid int) bool {
	for range 100 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		if _, rest, ok := strings.Cut(string(text), ") "); ok && strings.HasPrefix(rest, "Z") {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}

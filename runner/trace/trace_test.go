package trace_test

import (
	"bytes"
	"cmp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/trace"
)

func sample() *runner.Result {
	return &runner.Result{DurationMS: 1234, CallCount: 3, Calls: []chain.CallRecord{
		{Call: 1, Tool: "drive__get_document", StartMS: 0, DurationMS: 250, ResultBytes: 12_345, Outcome: "ok"},
		{Call: 2, Tool: "crm__update_record", StartMS: 250, DurationMS: 750, QueueMS: 500, Retries: 1, Outcome: "ok"},
		{Call: 3, Tool: "crm__x\x1b[2J\u202e<script>", StartMS: 999, DurationMS: 1, Outcome: "timeout", Error: "<b>no answer</b>"},
	}}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := trace.Text(&b, "report.ts", sample(), 80); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
report.ts: 3 calls, run 1.2 s
1  drive__get_document  █████████                             250 ms ok
2  crm__update_record            ░░░░░░░░░░░░░░░░░████████    750 ms ok, 1 retry
3  crm__x[2J<script>                                     █    1.0 ms timeout
`, "\n")
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTextFits(t *testing.T) {
	r := sample()
	r.Calls[0].Tool = strings.Repeat("é", 300)
	for range 300 {
		r.Calls = append(r.Calls, r.Calls[1])
	}
	r.CallCount = 20_000
	for _, width := range []int{0, 32, 40, 50, 60, 79, 200} {
		var b bytes.Buffer
		if err := trace.Text(&b, strings.Repeat("n", 300), r, width); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > cmp.Or(width, 80) {
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
		}
		if last := lines[len(lines)-1]; len(lines) != 202 || last != "and 19800 more" {
			t.Errorf(`%d lines, the last %q, want 202 and "and 19800 more"`, len(lines), last)
		}
	}
}

// TestTextIsReadableInANarrowTerminal: bars that would be unreadable leave their space to the names.
func TestTextIsReadableInANarrowTerminal(t *testing.T) {
	var b bytes.Buffer
	if err := trace.Text(&b, "report.ts", sample(), 40); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
report.ts: 3 calls, run 1.2 s
1  drive__get_docu…    250 ms ok
2  crm__update_rec…    750 ms ok, 1 ret…
3  crm__x[2J<scrip…    1.0 ms timeout
`, "\n")
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestHTML(t *testing.T) {
	res := sample()
	res.StartMS, res.Sandbox = 250, "docker"
	const hostile = "</pre></style><script>alert(1)</script><img src=x onerror=alert(2)>"
	res.Calls[0].Details = &chain.CallDetails{At: "report.ts:7", Line: `await getDocument({ id: "</pre>" });`, Arguments: `{"id":"` + hostile + `"}`, Result: `{"text":"\u001b[2J` + "\u202e" + hostile + strings.Repeat("x", 100)}
	res.Calls[2].Details = &chain.CallDetails{At: "helper.ts:9\"><script>", Error: "<b>no answer</b> for [EMAIL_1]"}
	var b bytes.Buffer
	if err := trace.HTML(&b, "lib/report.ts", res); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script", "<img", "<b>no answer", "\x1b", "\u202e", "http://", "https://", "ZgotmplZ", `9"`} {
		if strings.Contains(page, bad) {
			t.Errorf("%q is in the page", bad)
		}
	}
	for _, good := range []string{
		"default-src &#39;none&#39;", "report.ts: 3 calls", "sandbox docker, ready after 250 ms; exit code 0",
		"left:40.000%;width:40.000%",                                                 // call 2 waits from 500 to 1000 of 1250 ms
		`<i class="begin" style="left:0;width:20.000%">`,                             // the sandbox
		`<details class="call tool-2"><summary class="row"><span class="number n">1`, // the tool that took second longest
		`<details class="call tool-3 failed">`, "ok, 1 retry", "12.3 kB", "no answer&lt;/b&gt; for [EMAIL_1]",
		`<span class="at">line 7</span>`, "&#34;id&#34;: &#34;&lt;/pre&gt;", "<small>the beginning</small>", "helper.ts:9",
		"body:has(#tool-3:checked) .call:not(.tool-3)", `<td class="n">3</td><td class="n">1</td><td class="n">1.0 s</td>`, // all: 3 calls, 1 failed
	} {
		if !strings.Contains(page, good) {
			t.Errorf("%q is not in the page", good)
		}
	}
	b.Reset()
	if err := trace.HTML(&b, "s.py", &runner.Result{}); err != nil || !strings.Contains(b.String(), "made no call") {
		t.Errorf(`%v %s, want "made no call" in it and no error`, err, &b)
	}
	b.Reset()
	if err := trace.Text(&b, "s.py", &runner.Result{DurationMS: 3}, 80); err != nil || b.String() != "s.py: 0 calls, run 3.0 ms\n" {
		t.Errorf("%v %q, want b.String() %q and no error", err, &b, "s.py: 0 calls, run 3.0 ms\n")
	}
}

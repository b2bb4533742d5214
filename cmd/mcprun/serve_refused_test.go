package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestServeRecordsRefusals checks that the record lists, in words, with the customer and the client, what a server refused before there was a run or a
// call: for lack of room, and by its arguments. Many refusals in a minute have one row together.
func TestServeRecordsRefusals(t *testing.T) {
	w := newRecorded(t)
	serve := w.command(t.Context(), "serve", "--customer", "acme", "--tools", "all", "--parallel", "1", "--queue-time", "2s")
	session, err := mcp.NewClient(&mcp.Implementation{Name: "ide", Version: "7"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: serve}, nil)
	if err != nil {
		t.Fatal(err)
	}
	send := func(tool string, args map[string]any) (refused string, err error) {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || !res.IsError {
			return "", err
		}
		return res.Content[0].(*mcp.TextContent).Text, nil
	}
	held := make(chan error, 1)
	go func() {
		_, err := send("execute_code", map[string]any{"code": `import { hold } from "./servers/rec"; await hold({ to: "x" });`, "timeout_seconds": 6})
		held <- err
	}()
	if _, err := w.wait(); err != nil { // it has the only place
		t.Fatal(err)
	}
	type answer struct {
		refused string
		err     error
	}
	answers := make(chan answer, 3)
	for range cap(answers) { // one waits for the place, and the others for their turn
		go func() {
			refused, err := send("execute_code", map[string]any{"code": "1"})
			answers <- answer{refused, err}
		}()
	}
	busy := 0
	for range cap(answers) {
		if a := <-answers; a.err != nil {
			t.Error(a.err)
		} else if strings.Contains(a.refused, "no place became free for 2s") {
			busy++
		}
	}
	if busy == 0 {
		t.Error("the client was never told that the server is busy")
	}
	err = <-held // then there is room for requests with wrong arguments
	_, failed := send("call_tool", map[string]any{"arguments": map[string]any{}})
	err = errors.Join(err, failed)
	for range 30 {
		_, failed := send("execute_code", map[string]any{"code": "1", "language": "ben@example.org"})
		err = errors.Join(err, failed)
	}
	if err = errors.Join(err, session.Close()); err != nil {
		t.Error(err)
	}
	out, err := w.command(t.Context(), "audit", "list", "--failed", "--customer", "acme", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Runs []struct {
			Action, Name, Client, ClientVersion, Sandbox, Outcome, Error string
			ExitCode                                                     int
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("%v in %.500s", err, out)
	}
	got := map[string]int{}
	for _, r := range list.Runs {
		if r.Outcome == "refused" {
			r.Error = regexp.MustCompile(`in \d+ s\.$`).ReplaceAllString(r.Error, "in N s.")
			r.Error = strings.NewReplacer("[EMAIL #1]", "TOKEN", "[EMAIL_1]", "TOKEN", "[EMAIL_2]", "TOKEN").Replace(r.Error)
			got[fmt.Sprintf("%s %q of %s %s: %d %s", r.Action, r.Name, r.Client, r.ClientVersion, r.ExitCode, r.Error)]++
		}
	}
	const script, language = `execute_code "script" of ide 7: 126 `, `execute_code: language "TOKEN" is not one of: typescript`
	want := map[string]int{
		script + "the server is busy: no place became free for 2s. Nothing was run; try again in N s.": busy,
		`call_tool "" of ide 7: 126 call_tool: tool is missing or empty`:                               1,
		script + language: 19 - busy,
		script + fmt.Sprintf("%d requests were refused, the last one: ", 11+busy) + language: 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("the record has\n%v\nwant\n%v", got, want)
	}
}

package upstream

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

func TestQuestionsThatNobodyIsAsked(t *testing.T) {
	inEveryWay(t, func(t *testing.T, s *Session) {
		never := func(_ context.Context, q *Question) (*Reply, error) {
			t.Errorf("somebody was asked %+v", q)
			return nil, nil
		}
		for tool, args := range map[string][]string{
			upstreamtest.ToolForm: {
				`{}`, `{"schema":{"$ref":"#"}}`, `{"schema":{"type":"object","properties":{"a":{"type":"object","properties":{}}}}}`,
				`{"schema":{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}}}}`,
			},
			upstreamtest.ToolPage: {
				`{}`, `{"url":"file:///etc/passwd"}`, `{"url":"javascript:alert(1)"}`, `{"url":"https://example.com@evil.test/"}`,
				`{"url":"https://example.com/\u0000"}`, `{"url":"/login"}`, `{"url":"https:///x"}`, `{"url":"https://\u202eexample.com/"}`,
			},
		} {
			for _, a := range args {
				var reasons []string
				res, err := s.Call(testContext(t), tool, json.RawMessage(a), &CallOptions{Elicit: never, Declined: func(why string) { reasons = append(reasons, why) }})
				if err != nil || string(res.Structured) != `{"answers":[{"action":"decline"}]}` {
					t.Errorf("%s %s: %v, %v, want string(res.Structured) %q and no error", tool, a, res, err, `{"answers":[{"action":"decline"}]}`)
				}
				if len(reasons) != 1 || !strings.HasPrefix(reasons[0], "a question of the server was declined: ") {
					t.Errorf(`%s %s: %q, want len(reasons) 1 and "a question of the server was declined: " at its start`, tool, a, reasons)
				}
			}
		}
		// Without anybody who could answer.
		if res := mustCall(t, s, upstreamtest.ToolPage, `{"url":"https://example.com"}`); string(res.Structured) != `{"answers":[{"action":"decline"}]}` {
			t.Errorf("%s, want %q", res.Structured, `{"answers":[{"action":"decline"}]}`)
		}
	})
}

package upstream

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// TestCallsPastTheSDK say what the SDK's calls say.
func TestCallsPastTheSDK(t *testing.T) {
	const args = `{"a":"<&>","n":9007199254740993}`
	for name, test := range map[string]struct {
		mode upstreamtest.Mode
		opts *Options
	}{
		"newer": {upstreamtest.Rich, testOptions()}, "newer, with somebody to ask": {upstreamtest.Rich, asking()},
		"older": {upstreamtest.RichLegacy, testOptions()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := make(chan []byte, 1)
			fake := upstreamtest.NewHTTP(t, test.mode, nil)
			s := open(t, inFront(t, fake, methodCallTool, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				sent <- body
				http.Error(w, "no", http.StatusTeapot)
			}), test.opts)
			_, _ = s.sdk.CallTool(testContext(t), &mcp.CallToolParams{Meta: mcp.Meta{"x": 1}, Name: upstreamtest.ToolEcho, Arguments: json.RawMessage(args)})
			ours, err := s.callParams(mcp.Meta{"x": 1}, upstreamtest.ToolEcho, json.RawMessage(args))
			if err != nil {
				t.Fatal(err)
			}
			var theirs struct{ Params json.RawMessage }
			if err := json.Unmarshal(<-sent, &theirs); err != nil {
				t.Fatal(err)
			}
			var got, want any
			if json.Unmarshal(ours, &got) != nil || json.Unmarshal(theirs.Params, &want) != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got  %s\nwant %s", ours, theirs.Params)
			}
		})
	}
}

// TestPlainAnswer reads what it reads as the SDK does.
func TestPlainAnswer(t *testing.T) {
	for text, plain := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{"a":[1,"}"]}}`: true, ` { "result" : null , "id" : 1000000001 , "jsonrpc" : "2.0" } `: true,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1.0e2,"é\n":"\ud800"}}`: true, `{"jsonrpc":"2.0","id":-1,"result":{}}`: true,
		`{"jsonrpc":"2.0","id":"1","result":{}}`: false, `{"jsonrpc":"2.0","id":1.5,"result":{}}`: false, `{"jsonrpc":"2.0","id":99999999999999999999,"result":{}}`: false,
		`{"jsonrpc":"2.0","id":null,"result":{}}`: false, `{"jsonrpc":"2.0","result":{}}`: false, `{"jsonrpc":"1.0","id":1,"result":{}}`: false,
		`{"id":1,"result":{}}`: false, `{"jsonrpc":"2.0","id":1}`: false, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`: false,
		`{"jsonrpc":"2.0","id":1,"result":{},"id":2}`: false, `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`: false,
		`{"jsonrpc":"2.0","id":1,"result":{},"method":"x"}`: false, `{"jsonrpc":"2.0","id":1,"Result":{}}`: false,
		`{"jsonrpc":"2.0","id":1,"result":{}} {}`: false, `{"jsonrpc":"2.0","id":1,"result":{}`: false, `[]`: false, ``: false,
		`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting) + `}`: false,
	} {
		got, ok := plainAnswer([]byte(text))
		if ok != plain {
			t.Errorf("%.100s: %v", text, ok)
		}
		if !ok {
			continue
		}
		want, err := jsonrpc.DecodeMessage([]byte(text))
		if err != nil || !reflect.DeepEqual(got.ID, want.(*jsonrpc.Response).ID) || string(got.Result) != string(want.(*jsonrpc.Response).Result) {
			t.Errorf("%s: %+v, the SDK has %+v, %v", text, got, want, err)
		}
	}
}

func TestEncodeMessage(t *testing.T) {
	id, err := jsonrpc.MakeID(float64(firstPiped + 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{methodCallTool, methodListTools} {
		msg := &jsonrpc.Request{ID: id, Method: method, Params: json.RawMessage(`{"name":"a","arguments":{"b":[1,"\u00e9"]}}`)}
		got, err := encodeMessage(msg)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jsonrpc.EncodeMessage(msg)
		if err != nil || string(got) != string(want) {
			t.Errorf("got  %s\nwant %s, %v", got, want, err)
		}
	}
}

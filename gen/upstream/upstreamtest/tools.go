package upstreamtest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// arguments are the arguments of all tools.
type arguments struct {
	MS    *int    `json:"ms"`
	Bytes int     `json:"bytes"`
	Text  string  `json:"text"`
	Where *string `json:"where"`
}

// call answers tools/call.
func (f *fake) call(m message, p peer) reply {
	var params struct {
		Name           string                     `json:"name"`
		Arguments      json.RawMessage            `json:"arguments"`
		InputResponses map[string]json.RawMessage `json:"inputResponses"`
		RequestState   string                     `json:"requestState"`
	}
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return failure(-32602, "the parameters are not an object")
	}
	if params.InputResponses != nil && params.RequestState != askedState && params.RequestState != "s1" {
		return failure(-32602, "the state is not the one that was given")
	}
	var args arguments
	_ = json.Unmarshal(params.Arguments, &args)
	switch params.Name {
	case ToolEcho:
		return structured(string(params.Arguments))
	case ToolSlow:
		wait := 100
		if args.MS != nil {
			wait = *args.MS
		}
		time.Sleep(time.Duration(wait) * time.Millisecond)
		return content(`{"type":"text","text":"done"}`)
	case ToolFail:
		return reply{result: `{"resultType":"complete","isError":true,"content":[{"type":"text","text":"out of paper"}]}`}
	case ToolRPCError:
		return reply{err: `{"code":-32050,"message":"the printer is on fire","data":{"retry":9007199254740993}}`}
	case ToolBigInt:
		return reply{result: `{"resultType":"complete","content":[],"structuredContent":{"n":9007199254740993,"x":1e400}}`}
	case ToolWeird:
		return content(`{"type":"text","text":"look"},{"type":"hologram","voxels":[1,2,3]}`)
	case ToolCrash:
		p.crash()
		return reply{}
	case ToolHang:
		f.hangs.Add(1)
		<-p.gone
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.protocol == modernVersion { // the end of the request is what cancels it
			f.cancelled++
		}
		return reply{}
	case ToolCancelled:
		f.mu.Lock()
		defer f.mu.Unlock()
		return structured(fmt.Sprintf(`{"count":%d,"hanging":%d}`, f.cancelled, f.hangs.Load()))
	case ToolLarge:
		return content(`{"type":"text","text":"` + strings.Repeat("x", args.Bytes) + `"}`)
	case ToolAsk:
		return askAll(p)
	case ToolRegion:
		return f.region(p, args)
	}
	if r, ok := f.speak(m, p, params.Name, params.Arguments, params.InputResponses); ok {
		return r
	}
	return f.inspect(params.Name, args)
}

// inspect answers the tools that describe the server itself.
func (f *fake) inspect(name string, args arguments) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch name {
	case ToolEnv:
		env := make(map[string]string)
		for _, entry := range os.Environ() {
			key, value, _ := strings.Cut(entry, "=")
			env[key] = value
		}
		cwd, _ := os.Getwd() // an empty one fails the test that asks
		text, _ := json.Marshal(map[string]any{"env": env, "cwd": cwd, "args": os.Args[1:]})
		return structured(string(text))
	case ToolLists:
		return structured(fmt.Sprintf(`{"count":%d}`, f.lists))
	case ToolPIDs:
		text, _ := json.Marshal(map[string]any{"pids": f.pids})
		return structured(string(text))
	case ToolSession:
		return structured(fmt.Sprintf(`{"protocol":%q,"capabilities":%s}`, f.protocol, f.capabilities))
	case ToolStderr:
		fmt.Fprint(os.Stderr, args.Text)
		return content(`{"type":"text","text":"written"}`)
	}
	return failure(-32602, "unknown tool: "+name)
}

// askAll asks the client for features that our client does not offer.
func askAll(p peer) reply {
	codes := []int{}
	for _, method := range []string{"sampling/createMessage", "roots/list", "whatever/else"} {
		var failed struct {
			Code int `json:"code"`
		}
		_ = json.Unmarshal(p.ask(method, `{"messages":[],"maxTokens":1}`).Error, &failed) // none is no error
		codes = append(codes, failed.Code)
	}
	text, _ := json.Marshal(map[string]any{"codes": codes})
	return structured(string(text))
}

// region demands that an argument is repeated in a header.
func (f *fake) region(p peer, args arguments) reply {
	if p.overHTTP && args.Where != nil && p.region != *args.Where {
		return failure(-32020, "header mismatch: Mcp-Param-Region")
	}
	return structured(fmt.Sprintf(`{"region":%q}`, p.region))
}

package upstreamtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// askArguments are those of the tools that ask a person or notify of something.
type askArguments struct {
	Steps   int             `json:"steps"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema"`
	URL     string          `json:"url"`
	Times   int             `json:"times"`
}

// speak answers the tools that notify the client or ask it for more than one thing; ok is false for any other tool.
func (f *fake) speak(m message, p peer, name string, raw json.RawMessage, responses map[string]json.RawMessage) (r reply, ok bool) {
	var args askArguments
	_ = json.Unmarshal(raw, &args)
	switch name {
	case ToolProgress:
		f.progress(m, p, args.Steps)
		return content(`{"type":"text","text":"done"}`), true
	case ToolForm:
		schema := args.Schema
		if schema == nil {
			schema = json.RawMessage(`null`)
		}
		text, _ := json.Marshal(args.Message)
		return f.question(p, `{"message":`+string(text)+`,"requestedSchema":`+string(schema)+`}`, args.Times, responses), true
	case ToolPage:
		address, _ := json.Marshal(args.URL)
		return f.question(p, `{"mode":"url","message":"visit","elicitationId":"e1","url":`+string(address)+`}`, args.Times, responses), true
	case ToolVisit:
		return f.visit(args), true
	case ToolChange:
		f.mu.Lock()
		f.changes++
		modern, subscribers := f.protocol == modernVersion, maps.Clone(f.subscribers)
		f.mu.Unlock()
		for id, tell := range subscribers {
			tell("notifications/tools/list_changed", `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`}}`)
		}
		if !modern { // in the newer era only those hear of it who asked to
			p.notify("notifications/tools/list_changed", `{}`)
		}
		return content(`{"type":"text","text":"changed"}`), true
	}
	return reply{}, false
}

// subscribe answers subscriptions/listen, for as long as the client listens.
func (f *fake) subscribe(m message, p peer) reply {
	var params struct {
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
		Notifications struct {
			Tools bool `json:"toolsListChanged"`
		} `json:"notifications"`
	}
	if json.Unmarshal(m.Params, &params) != nil || params.Meta.Version != modernVersion || !params.Notifications.Tools {
		return failure(-32602, "nothing to tell")
	}
	id := string(m.ID)
	f.mu.Lock()
	if f.subscribers == nil {
		f.subscribers = make(map[string]func(method, params string))
	}
	f.subscribers[id] = p.tell
	f.mu.Unlock()
	p.tell("notifications/subscriptions/acknowledged", `{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`}}`)
	<-p.gone
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subscribers, id)
	return reply{}
}

// progress sends as many notifications as there are steps, if the client wants them.
func (f *fake) progress(m message, p peer, steps int) {
	var params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params)
	if params.Meta.Token == nil {
		return
	}
	p.notify("notifications/progress", `{"progressToken":"nobody","progress":1}`)
	for i := 1; i <= steps; i++ {
		p.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d,"message":"step %d"}`, params.Meta.Token, i, steps, i))
	}
}

// askedState is what a client has to repeat; it comes with more escapes than that takes.
const askedState = "ab<c\"\n"

// question asks "times" times, at least once, in whatever way the era has, and answers with {"answers":[…]}.
func (f *fake) question(p peer, params string, times int, responses map[string]json.RawMessage) reply {
	f.mu.Lock()
	modern := f.protocol == modernVersion
	f.mu.Unlock()
	times = max(times, 1)
	var answers []string
	if modern {
		if responses == nil {
			var requests []string
			for i := range times {
				requests = append(requests, fmt.Sprintf(`"q%d":{"method":"elicitation/create","params":%s}`, i, params))
			}
			return reply{result: `{"resultType":"input_required","requestState":"a\u0062<c\"\n","inputRequests":{` + strings.Join(requests, ",") + `}}`}
		}
		for i := range times {
			answers = append(answers, string(responses[fmt.Sprintf("q%d", i)]))
		}
	} else {
		for range times {
			answer := p.ask("elicitation/create", params)
			if answer.Result == nil {
				answer.Result = json.RawMessage(`null`)
			}
			answers = append(answers, string(answer.Result))
		}
	}
	return structured(`{"answers":[` + strings.Join(answers, ",") + `]}`)
}

// visit refuses what was asked of it until the page was visited, which is "times" tries later.
func (f *fake) visit(args askArguments) reply {
	f.mu.Lock()
	f.visits++
	tries := f.visits
	f.mu.Unlock()
	if tries > max(args.Times, 1) {
		return structured(fmt.Sprintf(`{"tries":%d}`, tries))
	}
	return reply{err: `{"code":-32042,"message":"log in first","data":{"elicitations":[{"mode":"url","elicitationId":"v1","message":"log in","url":"https://example.com/login"}]}}`}
}

// offers answers what servers have besides tools; ok is false for any other method, and in other modes than Rich.
func (f *fake) offers(m message) (r reply, ok bool) {
	if f.mode != Rich && f.mode != RichLegacy {
		return reply{}, false
	}
	var params struct {
		Cursor    *string           `json:"cursor"`
		URI       string            `json:"uri"`
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	_ = json.Unmarshal(m.Params, &params)
	const kept = `{"resultType":"complete","ttlMs":60000,"cacheScope":"private",`
	switch m.Method {
	case "resources/list":
		if params.Cursor == nil {
			return reply{result: kept + `"resources":[{"uri":"demo://one","name":"one","size":9007199254740993},null],"nextCursor":""}`}, true
		}
		return reply{result: kept + `"resources":[{"name":"two","uri":"demo://two"}]}`}, true
	case "resources/templates/list":
		return reply{result: kept + `"resourceTemplates":[{"uriTemplate":"demo://{n}","name":"any"}]}`}, true
	case "resources/read":
		if params.URI == "demo://missing" {
			return failure(-32602, "no such resource"), true
		}
		if params.URI == "demo://odd" {
			return reply{result: `{"resultType":"complete","contents":{}}`}, true
		}
		uri, _ := json.Marshal(params.URI)
		return reply{result: kept + `"contents":[{"uri":` + string(uri) + `,"text":"a text","_meta":{"n":9007199254740993}}]}`}, true
	case "prompts/list":
		return reply{result: kept + `"prompts":[{"name":"greet","description":"Greets.","arguments":[{"name":"who","required":true}]}]}`}, true
	case "prompts/get":
		if params.Name != "greet" {
			return failure(-32602, "no such prompt"), true
		}
		text, _ := json.Marshal("Hello " + params.Arguments["who"])
		return reply{result: `{"resultType":"complete","description":"A greeting","messages":[{"role":"user","content":{"type":"text","text":` + string(text) + `}}]}`}, true
	}
	return reply{}, false
}

// capabilities are those that the server declares.
func (f *fake) declared() string {
	if f.mode == Rich || f.mode == RichLegacy {
		return `{"tools":{"listChanged":true},"resources":{},"prompts":{}}`
	}
	return `{"tools":{}}`
}

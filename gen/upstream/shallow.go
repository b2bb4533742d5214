package upstream

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxNesting is how deep a list of tools is decoded. The SDK refuses a message that is nested 1,000 levels deep, and
// with it every tool of the list; what is deeper than this is taken out before, so that only the tool that it belongs to
// is refused, later and by its depth. Answers to calls are not touched: of those nothing may be missing.
const maxNesting = 900

// shallow takes what is nested too deep out of JSON that comes in pieces. A 0 stands in its place.
type shallow struct {
	depth, lineEnds   int
	inString, escaped bool
}

// filter returns p without what is too deep. It overwrites p.
func (s *shallow) filter(p []byte) []byte {
	out := p[:0]
	for i := 0; i < len(p); i++ {
		if n := s.plain(p[i:]); n > 0 {
			if s.depth <= maxNesting {
				out = append(out, p[i:i+n]...)
			}
			if i += n; i == len(p) {
				break
			}
		}
		c := p[i]
		if c == '\n' {
			s.lineEnds++
		} else if c != '\r' {
			s.lineEnds = 0
		}
		if s.lineEnds == 2 { // an event of a stream is over; in JSON there is no line end in a string
			s.inString, s.escaped = false, false
		}
		deep := s.depth > maxNesting
		switch {
		case s.inString && s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped, s.inString = c == '\\', c != '"'
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			if s.depth++; s.depth == maxNesting+1 {
				out = append(out, '0')
			}
			deep = s.depth > maxNesting
		case c == '}' || c == ']':
			s.depth = max(0, s.depth-1)
		}
		if !deep {
			out = append(out, c)
		}
	}
	return out
}

// plain returns how many bytes from here on change nothing of what is known: most of them.
func (s *shallow) plain(p []byte) int {
	if s.escaped || s.lineEnds > 0 {
		return 0
	}
	for i, c := range p {
		switch c {
		case '"', '\\', '{', '}', '[', ']', '\n', '\r':
			return i
		}
	}
	return len(p)
}

// shallowTools decodes a message that is nested too deep. It is nil unless it is a list of tools.
func shallowTools(raw []byte) jsonrpc.Message {
	msg, err := jsonrpc.DecodeMessage(new(shallow).filter(bytes.Clone(raw)))
	if err != nil {
		return nil
	}
	resp, ok := msg.(*jsonrpc.Response)
	var result struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if !ok || json.Unmarshal(resp.Result, &result) != nil || result.Tools == nil {
		return nil
	}
	return msg
}

// shallowBody is the body of an answer to a request for tools.
type shallowBody struct {
	io.ReadCloser
	shallow shallow
}

func (b *shallowBody) Read(p []byte) (int, error) {
	for {
		n, err := b.ReadCloser.Read(p)
		if kept := len(b.shallow.filter(p[:n])); kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// asksForTools reports whether a request is one for a list of tools.
func asksForTools(req *http.Request) bool {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	var message struct {
		Method string `json:"method"`
	}
	return json.NewDecoder(io.LimitReader(body, 1<<16)).Decode(&message) == nil && message.Method == "tools/list"
}

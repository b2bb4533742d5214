package learn

import (
	"encoding/json"
	"regexp"
)

// Answer is an answer of a tool.
type Answer struct {
	// Raw is the answer, in any form that [ReadReply] knows.
	Raw json.RawMessage
	// Masked is [Reply.Masked].
	Masked bool
}

// Recording is what is in replies that may be of a recording.
type Recording struct {
	// Answers are those of the tool, and replies that were not recorded.
	Answers []Answer
	// Found says that there are recorded calls, or that there is a recording's beginning; Calls is how many are of the tool,
	// also of those that were not answered.
	Found bool
	Calls int
}

// line is one of a recording, of the calls of a run (--record).
type line struct {
	Kind  string          `json:"mcprun"`
	Call  int             `json:"call"`
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args"`
	Raw   bool            `json:"raw"`
	MS    *float64        `json:"ms"`
	Value json.RawMessage `json:"value"`
	As    string          `json:"as"`
	Text  bool            `json:"text"`
	Error *struct {
		Kind string `json:"kind"`
	} `json:"error"`
}

// isCall reports whether a line is a recorded call. Without a beginning before it, as in a part of a recording, it must have
// all that is always written.
func (l *line) isCall(begun bool) bool {
	return l.Tool != "" && l.Args != nil && (l.Value == nil) != (l.Error == nil) && (begun || l.Call > 0 && l.MS != nil)
}

// Recorded replaces what mcprun recorded of runs (--record), whole or in part, by the answers of one tool. Other replies
// stay as they are.
func Recorded(replies []json.RawMessage, tool string) Recording {
	var out Recording
	begun := false
	for _, raw := range replies {
		var l line
		known := json.Unmarshal(raw, &l) == nil
		switch {
		case known && l.Kind == "recording":
			begun, out.Found = true, true
			continue
		case !known || !l.isCall(begun):
			begun = false
			out.Answers = append(out.Answers, Answer{Raw: raw})
			continue
		}
		out.Found = true
		if l.Tool != tool {
			continue
		}
		out.Calls++
		if l.Error == nil || l.Error.Kind == "tool" {
			out.Answers = append(out.Answers, Answer{Raw: l.answer(), Masked: true})
		}
	}
	return out
}

// answer is the answer as the server gave it.
func (l *line) answer() json.RawMessage {
	switch {
	case l.Error != nil:
		return json.RawMessage(`{"content":[],"isError":true}`)
	case l.Raw, string(l.Value) == "null":
		return l.Value
	case l.As == "content":
		return joined(`{"content":`, l.Value, `}`)
	case l.Value[0] == '"':
		return joined(`{"content":[{"type":"text","text":`, l.Value, `}]}`)
	case l.Text:
		text, _ := json.Marshal(string(l.Value)) // a string: cannot fail
		return joined(`{"content":[{"type":"text","text":`, text, `}]}`)
	}
	return joined(`{"structuredContent":`, l.Value, `}`)
}

func joined(before string, value json.RawMessage, after string) json.RawMessage {
	return append(append([]byte(before), value...), after...)
}

// token is what stands in a recording for what was personal or secret: [EMAIL_1], or a variable's name in brackets.
var token = regexp.MustCompile(`\[[A-Za-z_.][A-Za-z0-9_. -]*\]`)

// hasToken reports whether a name has a part that is not its own.
func hasToken(name string) bool { return token.MatchString(name) }

// ofText is a token for what is never a number.
var ofText = regexp.MustCompile(`^\[(EMAIL|IBAN|IP)_[0-9]+\]$`)

// maskedAny reports whether a text is all of it a token that may stand for a number, too.
func maskedAny(text string) bool {
	at := token.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text) && !ofText.MatchString(text)
}

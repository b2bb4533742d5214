package learn

import (
	"encoding/json"
	"regexp"
)

// Answer is one answer of a tool.
type Answer struct {
	// Raw is the answer, in any format that [ReadReply] reads.
	Raw json.RawMessage
	// Masked is [Reply.Masked].
	Masked bool
}

// Recording is the result of [Recorded].
type Recording struct {
	// Answers are the answers of the tool, and replies that are not part of a recording.
	Answers []Answer
	// Found is true if there are recorded calls or the first line of a recording. Calls is the number of recorded calls of
	// the tool, with or without an answer.
	Found bool
	Calls int
}

// line is one line of a recording of a run's calls (--record).
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

// isCall reports whether a line is a recorded call. If the first line of the recording is missing (begun is false), the call
// must have all fields that are always written.
func (l *line) isCall(begun bool) bool {
	return l.Tool != "" && l.Args != nil && (l.Value == nil) != (l.Error == nil) && (begun || l.Call > 0 && l.MS != nil)
}

// Recorded replaces recordings of runs (mcprun --record), complete or in part, by the answers of one tool in them. Other
// replies stay unchanged.
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

// answer returns the answer as the server sent it.
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

// token matches a token, which replaces personal data or a secret in a recording: [EMAIL_1], or a variable's name in brackets.
var token = regexp.MustCompile(`\[[A-Za-z_.][A-Za-z0-9_. -]*\]`)

// hasToken reports whether part of a name is a token.
func hasToken(name string) bool { return token.MatchString(name) }

// ofText matches a token for a value that is never a number.
var ofText = regexp.MustCompile(`^\[(EMAIL|IBAN|IP)_[0-9]+\]$`)

// maskedAny reports whether the whole text is a token that may replace a value of any type.
func maskedAny(text string) bool {
	at := token.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text) && !ofText.MatchString(text)
}

package upstream

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Conceal takes the values of the configuration's variables, and the tokens of a login, out of a text of the server's
// that is to be kept: a server may repeat a token it was given. Each becomes its name in brackets.
func (s *Session) Conceal(text string) string {
	conceal := s.why.secret.concealer()
	if conceal == nil {
		return text
	}
	return conceal.Replace(text)
}

// Conceal does so with what every configured server's variables hold, connected or not, and the tokens of those that were;
// and with what the configuration itself has under a name that says it is a secret.
func (p *Pool) Conceal(text string) string {
	for _, secret := range p.secrets() {
		if conceal := secret.recorder(); conceal != nil {
			text = conceal.Replace(text)
		}
	}
	return text
}

// secrets returns the secrets of all servers, by their names.
func (p *Pool) secrets() []*redactor {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*redactor, 0, len(p.members))
	for _, key := range slices.Sorted(maps.Keys(p.members)) {
		m := p.members[key]
		if m.secret == nil {
			_, m.secret, _ = expand(m.srv, p.opts.Lookup) // a variable without a value hides nothing; connecting says so
		}
		out = append(out, m.secret)
	}
	return out
}

// ConcealIn does what [Session.Conceal] does in the strings of a JSON text, whatever their escapes; every other byte stays. Names, and
// what a schema compares values with, stay too: they are what a call sends.
func (s *Session) ConcealIn(raw json.RawMessage) json.RawMessage {
	if s.why.secret.concealer() == nil {
		return raw
	}
	var out bytes.Buffer
	keys := []string{""} // of the objects around the place, the innermost last
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{':
			keys = append(keys, "")
		case '}':
			keys = keys[:max(1, len(keys)-1)]
		case '"':
			end := stringEnd(raw, i)
			literal, rest := raw[i:end], bytes.TrimLeft(raw[end:], " \t\r\n")
			i = end - 1
			if len(rest) > 0 && rest[0] == ':' {
				_ = json.Unmarshal(literal, &keys[len(keys)-1]) // it is valid: the message was
			} else if !comparing(keys[len(keys)-1]) {
				literal = s.concealString(literal)
			}
			out.Write(literal)
			continue
		}
		out.WriteByte(raw[i])
	}
	return out.Bytes()
}

// stringEnd returns where the string literal that begins at start is over.
func stringEnd(raw []byte, start int) int {
	for i := start + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// concealString returns the literal itself where there is nothing to conceal: encoding it anew could change it.
func (s *Session) concealString(literal []byte) []byte {
	var text string
	if json.Unmarshal(literal, &text) != nil {
		return literal
	}
	clean := s.Conceal(text)
	if clean == text {
		return literal
	}
	encoded, err := json.Marshal(clean)
	if err != nil {
		return literal
	}
	return encoded
}

// comparing reports whether the strings at a key name or compare something.
func comparing(key string) bool {
	switch key {
	case "name", "type", "enum", "const", "required", "pattern", "format",
		"$ref", "$dynamicRef", "$schema", "$id", "$anchor", "$dynamicAnchor":
		return true
	}
	return false
}

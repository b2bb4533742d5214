package audit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	// MaxBody bounds an entry's body in canonical form, in bytes. Of a larger one, each large member is cut, and says so.
	MaxBody = 256 << 10
	// maxMember is what a member of a body that is too large keeps, in bytes.
	maxMember = 16 << 10
	// maxName is the length of a run and of each member of Who, in bytes. A client chooses some of them.
	maxName = 256
	// timeForm is RFC 3339 with microseconds, as databases keep them.
	timeForm = "2006-01-02T15:04:05.000000Z"
)

// canonical is RFC 8785, with two exceptions, so that the record has what happened: integers keep all their digits, and a script's JSON
// with an invalid character or a repeated name is no error. The character becomes U+FFFD.
var canonical = []jsontext.Options{jsontext.CanonicalizeRawInts(false), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}

// Names in the content of a row.
const (
	bodyName  = `{"body":`
	indexName = `,"index":`
)

// content is a row's content without its index, which is known only when the row is written.
type content struct {
	row  store.Row // without index and content
	text []byte    // the content, without its index
	gap  int       // where in text the index belongs

	entry Entry // with its time and who it was
	later bool  // it was given to Later
}

// encode encodes an entry.
func encode(e Entry, defaults Who) (content, error) {
	if e.Kind == "" || len(e.Run) > maxName {
		return content{}, fmt.Errorf("an entry of the record has the kind %q and a run of %d bytes", e.Kind, len(e.Run))
	}
	body, err := encodeBody(e.Body)
	if err != nil {
		return content{}, fmt.Errorf("record an entry of kind %q: %w", e.Kind, err)
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	c := content{row: store.Row{Time: e.Time.UTC().Truncate(time.Microsecond), Kind: string(e.Kind), Run: strings.ToValidUTF8(e.Run, "\uFFFD")}}
	b := make([]byte, 0, len(body)+512)
	b = append(append(b, bodyName...), body...)
	b = append(b, indexName...)
	c.gap = len(b)
	b, _ = jsontext.AppendQuote(append(b, `,"kind":`...), c.row.Kind)
	b, _ = jsontext.AppendQuote(append(b, `,"run":`...), c.row.Run)
	b = c.row.Time.AppendFormat(append(b, `,"time":"`...), timeForm)
	e.Who = e.Who.or(defaults)
	b = e.Who.appendJSON(append(b, `","who":`...))
	c.text, c.entry = append(b, '}'), e
	return c, nil
}

// or returns w with the members of other where w has none.
func (w Who) or(other Who) Who {
	for _, m := range []struct {
		to   *Text
		from Text
	}{
		{&w.User, other.User}, {&w.Customer, other.Customer}, {&w.Session, other.Session}, {&w.Client, other.Client},
		{&w.ClientVersion, other.ClientVersion}, {&w.Model, other.Model}, {&w.ModelVersion, other.ModelVersion},
	} {
		if *m.to == "" {
			*m.to = m.from
		}
	}
	return w
}

// appendJSON appends w in canonical form.
func (w Who) appendJSON(b []byte) []byte {
	for _, m := range []struct {
		name string
		text Text
	}{
		{`{"client":`, w.Client}, {`,"clientVersion":`, w.ClientVersion}, {`,"customer":`, w.Customer}, {`,"model":`, w.Model},
		{`,"modelVersion":`, w.ModelVersion}, {`,"session":`, w.Session}, {`,"user":`, w.User},
	} {
		b = appendText(append(b, m.name...), Text(ident.Clip(string(m.text), maxName)))
	}
	return append(b, '}')
}

// appendJSON implements [canonicalBody].
func (c CallStart) appendJSON(b []byte) (_ []byte, ok bool) {
	b = append(b, `{"arguments":`...)
	if b, ok = appendArguments(b, c.Arguments); !ok {
		return b, false
	}
	b = appendText(append(b, `,"by":`...), c.By)
	b = strconv.AppendInt(append(b, `,"call":`...), int64(c.Call), 10)
	b = appendText(append(b, `,"effect":`...), c.Effect)
	b = appendText(append(b, `,"hint":`...), c.Hint)
	b = appendText(append(b, `,"rule":`...), c.Rule)
	b, _ = jsontext.AppendQuote(append(b, `,"tool":`...), c.Tool)
	return append(b, '}'), true
}

// appendJSON implements [canonicalBody] for a call with an intent.
func (c CallEnd) appendJSON(b []byte) (_ []byte, ok bool) {
	if c.Arguments != nil || c.By+c.Effect+c.Rule != "" || c.DurationMS < 1e-6 && c.DurationMS != 0 || c.DurationMS >= 1e21 {
		return b, false
	}
	b = strconv.AppendInt(append(b, `{"call":`...), int64(c.Call), 10)
	b = strconv.AppendFloat(append(b, `,"durationMs":`...), c.DurationMS, 'f', -1, 64)
	b = appendText(append(b, `,"error":`...), c.Error)
	b = appendText(append(b, `,"hint":`...), c.Hint)
	b, _ = jsontext.AppendQuote(append(b, `,"outcome":`...), c.Outcome)
	b = strconv.AppendInt(append(b, `,"resultBytes":`...), int64(c.ResultBytes), 10)
	b, _ = jsontext.AppendQuote(append(b, `,"tool":`...), c.Tool)
	return append(b, '}'), true
}

// appendText appends a text, or null. An invalid character becomes U+FFFD.
func appendText(b []byte, t Text) []byte {
	if t == "" {
		return append(b, "null"...)
	}
	b, _ = jsontext.AppendQuote(b, string(t))
	return b
}

// appendArguments appends JSON in canonical form. ok is false if it is not JSON.
func appendArguments(b []byte, raw json.RawMessage) (_ []byte, ok bool) {
	if raw == nil {
		return append(b, "null"...), true
	}
	v := jsontext.Value(raw).Clone()
	if v.Canonicalize(canonical...) != nil {
		return b, false
	}
	return append(b, v...), true
}

// at returns the row with its index.
func (c content) at(index int64) store.Row {
	row := c.row
	row.Index = index
	row.Content = c.appendAt(make([]byte, 0, len(c.text)+20), index)
	return row
}

// appendAt appends the content with its index.
func (c content) appendAt(b []byte, index int64) []byte {
	b = append(b, c.text[:c.gap]...)
	b = strconv.AppendInt(b, index, 10)
	return append(b, c.text[c.gap:]...)
}

// body returns the body in canonical form.
func (c content) body() []byte { return c.text[len(bodyName) : c.gap-len(indexName)] }

// canonicalBody is a body that is written so often that it does not pay for reflection.
type canonicalBody interface {
	// appendJSON appends it in canonical form. ok is false if it cannot.
	appendJSON(b []byte) (out []byte, ok bool)
}

// encodeBody returns a body in canonical form, cut if it is too large.
func encodeBody(body any) (jsontext.Value, error) {
	if c, is := body.(canonicalBody); is {
		if v, ok := c.appendJSON(make([]byte, 0, 512)); ok && len(v) <= MaxBody {
			return v, nil
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	v := jsontext.Value(text)
	if err := v.Canonicalize(canonical...); err != nil {
		return nil, err
	}
	if len(v) <= MaxBody {
		return v, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(v, &members) != nil {
		return cut(v)
	}
	for name, member := range members {
		if members[name], err = cut(member); err != nil {
			return nil, err
		}
	}
	short := jsontext.Value{}
	if short, err = json.Marshal(members); err == nil {
		err = short.Canonicalize(canonical...)
	}
	if err == nil && len(short) > MaxBody { // it has many large members
		return cut(v)
	}
	return short, err
}

// cut returns a JSON value of at most maxMember bytes or so, of the same type: of a text the beginning, of an array the first elements, and
// of an object nothing. It says how long the value was, and its SHA-256.
func cut(value []byte) ([]byte, error) {
	if len(value) <= maxMember {
		return value, nil
	}
	mark := fmt.Sprintf("[cut: %d bytes of JSON with the SHA-256 %x]", len(value), sha256.Sum256(value))
	switch value[0] {
	case '"':
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, err
		}
		return json.Marshal(ident.Head(text, maxMember) + mark)
	case '[':
		var elements, kept []json.RawMessage
		if err := json.Unmarshal(value, &elements); err != nil {
			return nil, err
		}
		for size := 0; len(kept) < len(elements); {
			next := elements[len(kept)]
			if size += len(next); size > maxMember {
				break
			}
			kept = append(kept, next)
		}
		text, err := json.Marshal(mark)
		if err != nil {
			return nil, err
		}
		return json.Marshal(append(kept, text))
	default:
		return json.Marshal(map[string]string{"cut": mark})
	}
}

package poison

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// tool reads every string of a definition, keys included.
func (s *scan) tool(server string, t catalog.Tool) {
	s.definition(server+"/"+clipKey(t.Name)+"#", t.Raw)
}

// definition reads every string of a JSON value, keys included.
func (s *scan) definition(place string, raw json.RawMessage) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	w := &walker{scan: s, dec: dec, place: []byte(place)}
	w.value(0) // what is not JSON ends the walk
}

// walker goes through one JSON value without recursion deeper than the decoder allows.
type walker struct {
	scan  *scan
	dec   *json.Decoder
	place []byte
}

// maxDepth bounds the walk; the catalog has refused deeper definitions already.
const maxDepth = 1000

func (w *walker) value(depth int) bool {
	tok, err := w.dec.Token()
	if err != nil || depth > maxDepth {
		return false
	}
	switch tok := tok.(type) {
	case string:
		w.scan.text(string(w.place), tok, string(w.place[max(0, len(w.place)-6):]) == "#/name")
	case json.Delim:
		return w.inside(tok == '{', depth)
	}
	return true
}

// inside reads the members of an object, or the elements of an array.
func (w *walker) inside(object bool, depth int) bool {
	here := len(w.place)
	for i := 0; w.dec.More(); i++ {
		token := strconv.Itoa(i)
		if object {
			tok, err := w.dec.Token()
			if err != nil {
				return false
			}
			token, _ = tok.(string)
		}
		w.place = append(append(w.place, '/'), escape(token)...)
		if object && !vocabulary(token) {
			w.scan.text(string(w.place), token, true)
		}
		if !w.value(depth + 1) {
			return false
		}
		w.place = w.place[:here]
	}
	_, err := w.dec.Token()
	return err == nil
}

// escape writes a key for a JSON pointer (RFC 6901), cut where it is unreasonably long.
func escape(key string) string {
	key = clipKey(key)
	if strings.ContainsAny(key, "~/") {
		return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	}
	return key
}

func clipKey(key string) string {
	const longest = 200
	if len(key) > longest {
		return strings.ToValidUTF8(key[:longest], "") + "…"
	}
	return key
}

// vocabulary reports whether a key is one word of plain letters, which says nothing to anybody.
func vocabulary(key string) bool {
	if len(key) > 24 {
		return false
	}
	for i := range len(key) {
		if c := key[i] | 0x20; (c < 'a' || c > 'z') && key[i] != '$' {
			return false
		}
	}
	return true
}

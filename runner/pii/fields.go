package pii

import (
	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/internal/rawjson"
)

// hint is what the place of a value in JSON means for it.
type hint struct {
	typ Type // for detect.Find
	set bool // the settings decide: the whole value is of the type, or never personal data if the type is ""
}

// fields tells the hints of members. It caches them, because the members of records have the same names again and again.
type fields struct {
	settings map[string]hint // by plain name
	members  map[string]detect.Signs
	hints    map[memberKey]hint
	insides  map[memberKey]detect.Signs
}

// memberKey is the name of a member, as JSON writes it, and the signs that it depends on.
type memberKey struct {
	name  string
	signs detect.Signs
}

// maxFields bounds the memory of one text.
const maxFields = 1000

func newFields(settings map[string]hint) *fields {
	return &fields{settings, map[string]detect.Signs{}, map[memberKey]hint{}, map[memberKey]detect.Signs{}}
}

// count returns how many results are kept.
func (f *fields) count() int { return len(f.hints) + len(f.insides) + len(f.members) }

// settingsOf returns the hints that settings give, by plain name.
func settingsOf(types map[string]Type) map[string]hint {
	out := map[string]hint{}
	for name, typ := range types {
		out[detect.PlainName(name)] = hint{typ, true}
	}
	return out
}

// hint returns what the name of a member means for its value in an object with these signs.
func (f *fields) hint(raw string, object detect.Signs) hint {
	return cached(f.hints, memberKey{raw, object}, func() hint {
		name := rawjson.Unescape(raw, nil)
		if h, ok := f.settings[detect.PlainName(name)]; ok && len(f.settings) > 0 {
			return h
		}
		return hint{typ: object.Hint(name)}
	})
}

// inside returns the signs that objects in a member have.
func (f *fields) inside(raw string, container detect.Signs) detect.Signs {
	return cached(f.insides, memberKey{raw, container}, func() detect.Signs { return container.Inside(rawjson.Unescape(raw, nil)) })
}

// objects returns what the names of members tell about each object of a text of valid JSON, in the order of their beginnings.
func (f *fields) objects(text string) []detect.Signs {
	var signs []detect.Signs
	var open []int // objects around the place
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			open = append(open, len(signs))
			signs = append(signs, 0)
		case '}':
			open = open[:len(open)-1]
		case '"':
			end, _ := stringEnd(text, i)
			if after := skipSpace(text, end); after < len(text) && text[after] == ':' {
				raw := text[i+1 : end-1]
				signs[open[len(open)-1]] |= cached(f.members, raw, func() detect.Signs { return detect.MemberSigns(rawjson.Unescape(raw, nil)) })
			}
			i = end - 1
		}
	}
	return signs
}

// cached returns the value of a key, and calculates it if it is not known.
func cached[K comparable, V any](values map[K]V, key K, calculate func() V) V {
	v, ok := values[key]
	if !ok {
		v = calculate()
		if len(values) < maxFields {
			values[key] = v
		}
	}
	return v
}

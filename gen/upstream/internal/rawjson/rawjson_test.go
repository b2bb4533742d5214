package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzMembersAndElements(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, ` { "a" : 1 , "b\u0022" : [ "x,]}" , {"c":null} ] } `, `{"a":1,"a":2}`, `[1,"\\",[],{},true,-1e5,"\"\\\""]`, `"text"`, `7`, `null`,
		`{"structuredContent":{"a":[1,2,{"b":"}"}]},"content":[{"type":"text","text":"[\\\"{"}]}`, `{`, `[1`, `{"a"`, `{"a":}`, `[,]`, `{"":""}`, `}`, `["`, `["\`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		object, objectErr := Members(raw)
		list, listErr := Elements(raw)
		if !json.Valid(raw) {
			return // it has only to come to an end
		}
		var wantObject map[string]json.RawMessage
		if err := json.Unmarshal(raw, &wantObject); (err == nil && wantObject != nil) != (objectErr == nil) {
			t.Fatalf("%s: %v, %v", raw, objectErr, err)
		}
		var wantList []json.RawMessage
		if err := json.Unmarshal(raw, &wantList); (err == nil && wantList != nil) != (listErr == nil) {
			t.Fatalf("%s: %v, %v", raw, listErr, err)
		}
		if objectErr == nil && len(object) != len(wantObject) || listErr == nil && len(list) != len(wantList) {
			t.Fatalf("%s: %d and %d, want %d and %d", raw, len(object), len(list), len(wantObject), len(wantList))
		}
		for name, want := range wantObject {
			if got := object[name]; !bytes.Equal(got, want) {
				t.Fatalf("%s: %q is %s, want %s", raw, name, got, want)
			}
		}
		for i, want := range wantList {
			if !bytes.Equal(list[i], want) {
				t.Fatalf("%s: element %d is %s, want %s", raw, i, list[i], want)
			}
		}
	})
}

package learn

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const beginning = `{"mcprun":"recording","version":1}`

func rawLines(lines ...string) (out []json.RawMessage) {
	for _, line := range lines {
		out = append(out, json.RawMessage(line))
	}
	return out
}

func TestRecorded(t *testing.T) {
	recording := []string{
		beginning,
		`{"call":1,"tool":"s__get","args":{},"ms":1,"value":{"a":1,"content":[]}}`,
		`{"call":2,"tool":"s__get","args":{},"ms":1,"value":"{\"a\":2}"}`,
		`{"call":3,"tool":"s__put","args":{},"ms":1,"value":{"b":1}}`,
		`{"call":4,"tool":"s__get","args":{},"raw":true,"ms":1,"value":{"content":[],"structuredContent":{"a":3}}}`,
		`{"call":5,"tool":"s__get","args":{},"ms":1,"value":[{"type":"text","text":"x"},{"type":"text","text":"y"}],"as":"content"}`,
		`{"call":6,"tool":"s__get","args":{},"ms":1,"error":{"kind":"tool","message":"no"}}`,
		`{"call":7,"tool":"s__get","args":{},"ms":1,"error":{"kind":"timeout","message":"no"}}`,
		`{"call":8,"tool":"s__get","args":{},"ms":0.5,"value":{"a": "<\n>"},"text":true}`,
		`{"call":9,"tool":"s__get","args":{},"ms":0,"value":null}`,
	}
	answers := []string{
		`{"a":1,"content":[]} masked`, `{"a":2} text masked`, `{"a":3} masked`, `[{"type":"text","text":"x"},{"type":"text","text":"y"}] masked`,
		ErrFailed.Error(), `{"a": "<\n>"} text masked`, `null masked`,
	}
	before, after := []string{`{"a":0}`, `{"tool":"s__get","args":{},"value":1}`}, []string{`{"a":8}`, `{"call":1,"tool":"s__get","args":{},"ms":1}`}
	for name, lines := range map[string][]string{"whole": recording, "without its beginning": recording[1:], "the other part first": append(append(recording[6:], recording[0]), recording[1:6]...)} {
		found := Recorded(rawLines(append(append(before, lines...), after...)...), "s__get")
		var got []string
		for _, answer := range found.Answers {
			r, err := ReadReply(answer.Raw)
			text := string(r.Value)
			if r.Text {
				text += " text"
			}
			if answer.Masked {
				text += " masked"
			}
			if err != nil {
				text = err.Error()
			}
			got = append(got, text)
		}
		want := append(append(before, answers...), after...)
		if name == "the other part first" {
			want = append(append(append(before, answers[4:]...), answers[:4]...), after...)
		}
		if diff := cmp.Diff(want, got); diff != "" || !found.Found || found.Calls != 8 {
			t.Errorf("%s: %d calls (-want +got):\n%s", name, found.Calls, diff)
		}
	}
	if found := Recorded(rawLines(before...), "s__get"); found.Found || len(found.Answers) != 2 {
		t.Errorf("%+v", found)
	}
	if found := Recorded(rawLines(recording[3]), "s__get"); !found.Found || len(found.Answers) != 0 || found.Calls != 0 {
		t.Errorf("%+v", found)
	}
	if found := Recorded(rawLines(beginning, `{"tool":"s__get","args":{},"value":1}`), "s__get"); found.Calls != 1 {
		t.Errorf("an entry that a person wrote: %+v, want Calls 1", found)
	}
}

// TestNothingIsLearnedOfTheMask: what was taken out of a recording may have been of another kind, and a name may have been
// data.
func TestNothingIsLearnedOfTheMask(t *testing.T) {
	for value, want := range map[string]string{
		`{"phone":"[PHONE_1]","note":"call [PHONE_1]","tags":["[TOKEN]","[]","[PHONE_1][PHONE_2]"]}`: `{"type":"object","properties":{"phone":{},"note":{"type":"string"},"tags":{"type":"array","items":{}}},"required":["phone","note","tags"]}`,
		`{"[EMAIL_1]":{"n":1},"all":{"n":2}}`:                                                        `{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`,
		`{"users":{"of-[API_TOKEN]":true}}`:                                                          `{"type":"object","properties":{"users":{"type":"object","additionalProperties":{"type":"boolean"}}},"required":["users"]}`,
		`"{\"card\":\"[CARD]\",\"[EMAIL_2]\":1}"`:                                                    `{"type":"object","additionalProperties":{}}`,
		`["[EMAIL_1]","[IBAN_2]","[IP_13]"]`:                                                         `{"type":"array","items":{"type":"string"}}`,
		`"[client secret]"`:                                                                          `{}`,
		`"[true]"`:                                                                                   `{"type":"array","items":{"type":"boolean"}}`,
	} {
		found := Recorded(rawLines(fmt.Sprintf(`{"call":1,"tool":"s__get","args":{},"ms":1,"value":%s}`, value)), "s__get")
		reply, err := ReadReply(found.Answers[0].Raw)
		if err != nil {
			t.Fatal(err)
		}
		reply.Masked = found.Answers[0].Masked
		if got, err := Infer([]Reply{reply}, nil); err != nil || string(got) != want {
			t.Errorf("of %s\ngot  %s %v\nwant %s", value, got, err, want)
		}
	}
	if got := infer(t, `{"field[name]":"[draft]"}`); got != `{"type":"object","properties":{"field[name]":{"type":"string"}},"required":["field[name]"]}` {
		t.Errorf("of what was not recorded: %s, want %q", got, `{"type":"object","properties":{"field[name]":{"type":"string"}},"required":["field[name]"]}`)
	}
}

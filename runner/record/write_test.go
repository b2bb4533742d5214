package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestRecordingIsBounded: otherwise a script could fill the disk with calls that fail.
func TestRecordingIsBounded(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Mask{})
	if err != nil {
		t.Fatal(err)
	}
	w.left = 200
	first := error(nil)
	for i := range 10 {
		err := w.Write(Entry{Call: i + 1, Tool: "no__such", Args: json.RawMessage(`{"a":"` + strings.Repeat("x", 50) + `"}`)})
		if first == nil {
			first = err
		}
		if first != err {
			t.Errorf("call %d: %v, after %v", i+1, err, first)
		}
	}
	if !errors.Is(first, errTooLarge) || out.Len() > 300 || bytes.Count(out.Bytes(), []byte("\n")) < 2 {
		t.Errorf("%v, %d bytes", first, out.Len())
	}
}

// TestWhatIsRecordedCanBeRead, however long a line is; a file that exceeds the bound of recordings is rejected as a whole.
func TestWhatIsRecordedCanBeRead(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Mask{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(Entry{Call: 1, Tool: "a__b", Args: json.RawMessage(`{}`), Value: json.RawMessage(`"` + strings.Repeat("x", 65<<20) + `"`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&file, false, Mask{}); err != nil {
		t.Error(err)
	}
	if _, err := Read(blank{}, false, Mask{}); !errors.Is(err, errTooLarge) {
		t.Error(err)
	}
}

// blank is an endless file of blank lines.
type blank struct{}

func (blank) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	p[len(p)-1] = '\n'
	return len(p), nil
}

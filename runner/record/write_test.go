package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestRecordingIsBounded: a script could fill the disk by calls that come to nothing.
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

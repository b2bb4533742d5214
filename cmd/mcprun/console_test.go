package main

import (
	"bytes"
	"os"
	"testing"
)

func TestAnOpenLineIsEnded(t *testing.T) {
	for _, c := range []struct {
		name             string
		shared           bool
		out, err         string
		wantOut, wantErr string
	}{
		{"nothing", false, "", "", "", ""},
		{"an error cut off", false, "", "half", "", "half\n"},
		{"an error that ends", false, "", "whole\n", "", "whole\n"},
		{"output cut off, elsewhere", false, "half", "whole\n", "half", "whole\n"},
		{"output cut off, same place", true, "half", "", "half\n", ""},
		{"output cut off, then an error that ends", true, "half", "whole\n", "halfwhole\n", ""},
	} {
		var stdout, stderr bytes.Buffer
		s, out, errs := newStreams(&stdout, &stderr)
		if c.shared {
			s, out, errs = newStreams(&stdout, &stdout)
		}
		for _, w := range []struct {
			to   interface{ Write([]byte) (int, error) }
			text string
		}{{out, c.out}, {errs, c.err}} {
			if _, err := w.to.Write([]byte(w.text)); err != nil {
				t.Fatal(err)
			}
		}
		s.endLine()
		s.endLine()
		if stdout.String() != c.wantOut || stderr.String() != c.wantErr {
			t.Errorf("%s: stdout %q, stderr %q", c.name, stdout.String(), stderr.String())
		}
	}
}

func TestSameFile(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if !sameFile(w, w) || sameFile(w, null) || sameFile(w, &bytes.Buffer{}) {
		t.Error("files are not told apart")
	}
}

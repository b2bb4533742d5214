package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChart checks that the chart is written beside the page, shows the numbers of the tables, and needs nothing else.
func TestChart(t *testing.T) {
	r := &report{Sizes: []int{20, 50, 500}}
	for _, tools := range r.Sizes {
		for _, k := range kinds() {
			for i, w := range ways() {
				r.Tasks = append(r.Tasks, measured{Tools: tools, Task: "a", Kind: k, Way: w, In: 200*tools + 1000*i, Definitions: 200 * tools})
			}
		}
	}
	page := filepath.Join(t.TempDir(), "tokens.md")
	if err := os.WriteFile(page, []byte(pageBegin+"\n"+pageEnd+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.intoPage(page); err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadFile(strings.TrimSuffix(page, ".md") + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(bytes.NewReader(drawn))
	for err == nil {
		_, err = dec.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("not XML: %v, want %v", err, io.EOF)
	}
	for _, want := range []string{">50 tools<", ">500 tools<", ">all definitions<", ">1 tasks with much data<", ">10k<", ">100k<", ">101k<", "prefers-color-scheme: dark", "var(--ink)"} {
		if !strings.Contains(string(drawn), want) {
			t.Errorf("%q is not in the chart", want)
		}
	}
	for _, bad := range []string{"href=", "url(", "<script"} {
		if strings.Contains(string(drawn), bad) {
			t.Errorf("%q is in the chart", bad)
		}
	}
}

// TestNoChart checks that a page with other sizes has no chart.
func TestNoChart(t *testing.T) {
	page := filepath.Join(t.TempDir(), "tokens.md")
	if err := os.WriteFile(page, []byte(pageBegin+"\n"+pageEnd+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (&report{Sizes: []int{20}}).intoPage(page); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSuffix(page, ".md") + ".svg"); !os.IsNotExist(err) {
		t.Errorf("a chart without its sizes: %v", err)
	}
}

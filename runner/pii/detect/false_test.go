package detect_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/detect/known"
)

// mostFalse is the number of names, companies and addresses that may be found in 100 KB of code, which has hardly any.
const mostFalse = 1.0

// ownFiles calls visit for each text file of this repository that is code or a document, except those of package pii, which are about names.
func ownFiles(t *testing.T, visit func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "node_modules" || d.Name() == "build" || strings.HasSuffix(path, filepath.Join("runner", "pii"))) {
				return fs.SkipDir
			}
			return err
		}
		switch filepath.Ext(path) {
		case ".go", ".ts", ".py", ".js", ".mjs", ".md", ".txtar", ".tmpl", ".yml", ".json":
		default:
			return nil
		}
		raw, err := os.ReadFile(path)
		if err == nil && utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0 {
			visit(path, string(raw))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rateFalse fails if too many matches were found in size bytes.
func rateFalse(t *testing.T, found, size int) {
	t.Helper()
	rate := float64(found) / float64(size) * 100_000
	t.Logf("%d in %.1f MB: %.2f in 100 KB", found, float64(size)/1e6, rate)
	if size < 4_000_000 {
		t.Errorf("%d bytes were searched, want at least 4 MB", size)
	}
	if rate > mostFalse {
		t.Errorf("%.2f matches in 100 KB, want at most %v", rate, mostFalse)
	}
}

// TestFalseNames searches the code and the documents of this repository for names, companies and addresses. There are none in most files, so
// what is found counts as false.
func TestFalseNames(t *testing.T) {
	var size, found int
	ownFiles(t, func(path, text string) {
		size += len(text)
		for _, m := range people(detect.Find(text, "")) {
			found++
			t.Logf("%s: %s %q in %q", path, m.Type, text[m.Start:m.End], text[max(0, m.Start-30):min(len(text), m.End+10)])
		}
	})
	rateFalse(t, found, size)
}

// wordNames are names of people, and of companies, that are words of code and documents too.
const wordNames = `Mark Will Grace Brown White Black Green Young King Cook Baker Hill Wood Stone Page Key Case Cross Price Long Bill Jack Max Art Rose Hope
	Faith Joy May June April Dean Grant Chase Drew Frank Gray Hall Hunt Lane Law Little Love Mason Miles Nick North Park Penny Pierce Porter Power
	Ray Reed Rich River Robin Root Ruby Sandy Snow Sky Summer Swift Terry Tom Ward Waters West Wise Wolf Apple Amazon Target Oracle Shell Meta`

// TestFalseLearned searches the same files for what records held, and for names that are ordinary words.
func TestFalseLearned(t *testing.T) {
	var learned known.Values
	fields, got := readRecords(t)
	for i, f := range fields {
		for _, m := range got[i] {
			learned.Add(m.Type, f.text[m.Start:m.End])
		}
	}
	for w := range strings.FieldsSeq(wordNames) {
		learned.Add(detect.Name, w)
		learned.Add(detect.Company, w)
	}
	var size, found int
	ownFiles(t, func(path, text string) {
		size += len(text)
		for _, m := range learned.Find(text) {
			found++
			t.Logf("%s: %s %q in %q", path, m.Type, text[m.Start:m.End], text[max(0, m.Start-30):min(len(text), m.End+10)])
		}
	})
	rateFalse(t, found, size)
}

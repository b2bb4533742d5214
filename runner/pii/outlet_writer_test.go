package pii

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestOutletWriter writes a stream in two chunks, cut at each byte, and byte by byte.
func TestOutletWriter(t *testing.T) {
	o, _ := newOutlet(t, OutletSettings{})
	const stream = "to ann@example.com\r\n10%\r20%\n{\n  \"fullName\": \"Ann Miller\",\n  \"card\": 4111111111111111\n}\nthen [EMAIL_1] and Ann Miller\n" +
		"-----BEGIN PRIVATE " + "KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE " + "KEY-----\nbob@example.com"
	const want = "to [EMAIL_1]\r\n10%\r20%\n{\n  \"fullName\": \"[NAME_1]\",\n  \"card\": \"[CARD_1]\"\n}\nthen [EMAIL_1] and [NAME_1]\n[API_KEY_1]\n[EMAIL_2]"
	var chunks [][]string
	for i := range stream {
		chunks = append(chunks, []string{stream[:i], stream[i:]})
	}
	chunks = append(chunks, strings.Split(stream, ""))
	for _, c := range chunks {
		var out strings.Builder
		w := o.Writer(&out)
		for _, chunk := range c {
			if n, err := w.Write([]byte(chunk)); n != len(chunk) || err != nil {
				t.Fatalf("Write() = %d, %v, want %d", n, err, len(chunk))
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("in %d chunks, the first of %d bytes:\n got %q\nwant %q", len(c), len(c[0]), out.String(), want)
		}
	}
}

// TestOutletWriterIsPrompt: what is complete is passed on soon.
func TestOutletWriterIsPrompt(t *testing.T) {
	o, _ := newOutlet(t, OutletSettings{})
	out := &buffer{}
	w := o.Writer(out)
	for _, c := range []struct{ chunk, want string }{
		{"start\nab", "start\n"},
		{"c\r", "start\nabc\r"},
		{"[1/3] loading {\n", "start\nabc\r"}, // it may be an object
		{"x\n", "start\nabc\r[1/3] loading {\nx\n"},
		{"[INFO] a [\"x\", y]\n", "start\nabc\r[1/3] loading {\nx\n[INFO] a [\"x\", y]\n"},
	} {
		if _, err := w.Write([]byte(c.chunk)); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); out.String() != c.want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("after %q: %q, want %q", c.chunk, out.String(), c.want)
			}
		}
	}
}

// buffer is a strings.Builder for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestOutletWriterIsFast: not every line with a new value is a write of the vault.
func TestOutletWriterIsFast(t *testing.T) {
	o, v := newOutlet(t, OutletSettings{})
	writes := 0
	v.Limit(func(int64) error { writes++; time.Sleep(5 * time.Millisecond); return nil })
	var out strings.Builder
	w := o.Writer(&out)
	const lines = 2000
	for i := range lines {
		if _, err := fmt.Fprintf(w, "u%d@example.com is here\n", i); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || writes > lines/10 {
		t.Errorf("%d writes for %d lines, %v", writes, lines, err)
	}
	if got := strings.Count(out.String(), "] is here\n"); got != lines || !strings.HasSuffix(out.String(), fmt.Sprintf("[EMAIL_%d] is here\n", lines)) {
		t.Errorf("%d lines, want %d", got, lines)
	}
}

// TestOutletWriterTables: the rows of a table may come one by one.
func TestOutletWriterTables(t *testing.T) {
	for _, c := range []struct{ stream, want string }{
		{"first_name,Company,seats\r\nZoë,\"Fjordkraft, AS\",3\r\nMark,Apple,5\r\nseats, 12\r\n", "first_name,Company,seats\r\n[NAME_1],\"[COMPANY_1]\",3\r\n[NAME_2],[COMPANY_2],5\r\nseats, 12\r\n"},
		{"| Company | n |\n|---|---|\n| Apple | 1 |\n| Orange | 2 |\nApple | 1\n", "| Company | n |\n|---|---|\n| [COMPANY_1] | 1 |\n| [COMPANY_2] | 2 |\nApple | 1\n"},
	} {
		o, _ := newOutlet(t, OutletSettings{})
		if got := o.Mask(c.stream); got != c.want {
			t.Errorf("at once:\n got %q\nwant %q", got, c.want)
		}
		for size := 1; size < len(c.stream); size += 7 {
			var out strings.Builder
			w := o.Writer(&out)
			for chunk := range slices.Chunk([]byte(c.stream), size) {
				if _, err := w.Write(chunk); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil || out.String() != c.want {
				t.Errorf("in chunks of %d:\n got %q, %v\nwant %q", size, out.String(), err, c.want)
			}
		}
	}
}

// TestOutletWriterBound: a line without end is passed on, and no value in it is cut.
func TestOutletWriterBound(t *testing.T) {
	o, _ := newOutlet(t, OutletSettings{})
	var out strings.Builder
	w := o.Writer(&out)
	const item = `{"email":"ann@example.com"}, `
	for n := 0; n < 3*maxHeld; n += len(item) {
		if _, err := w.Write([]byte(item)); err != nil {
			t.Fatal(err)
		}
		if len(w.held) > maxHeld {
			t.Fatalf("%d bytes are held back, want at most %d", len(w.held), maxHeld)
		}
	}
	if _, err := w.Write([]byte("[" + strings.Repeat(`"`+strings.Repeat("x", 999)+`",`, 2*maxHeld/1000))); err != nil || len(w.held) > maxHeld {
		t.Errorf("%d bytes of a list are held back, %v", len(w.held), err)
	}
	if err := w.Flush(); err != nil || strings.Contains(out.String(), "ann") || strings.Contains(out.String(), "@") {
		t.Errorf("an address was cut: %v", err)
	}
	if _, err := o.Writer(failing{}).Write([]byte("x\n")); err == nil {
		t.Error("the error of the writer below is lost: got no error, want an error")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("closed") }

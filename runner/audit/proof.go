package audit

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/store"
)

// proofHeader begins a proof; see c2sp.org/tlog-proof.
const proofHeader = "c2sp.org/tlog-proof@v1"

// maxProof bounds a proof, in bytes.
const maxProof = 1 << 20

// UnsignedError says that no head covers a row yet.
type UnsignedError struct {
	Index int64
	Keyed bool // there are signed heads
}

func (e *UnsignedError) Error() string {
	return fmt.Sprintf("row %d is not covered by a signed head", e.Index)
}

// Hint says what to do.
func (e *UnsignedError) Hint() string {
	if e.Keyed {
		return "heads are signed a second after rows were added, and when mcprun ends: try again then"
	}
	return "no head of this record was ever signed: see the key audit: in mcpgen.yaml"
}

// Prove returns a proof that the record has a row: a text that anybody can check offline with the operator's public key; see [CheckProof]. It
// has the form c2sp.org/tlog-proof@v1, with the row's content as extra data, and is usually kept in a file *.tlog-proof.
func Prove(ctx context.Context, s store.Record, index int64) ([]byte, error) {
	var row *store.Row
	err := s.Rows(ctx, store.Range{After: index, Limit: 1}, func(r store.Row) error {
		r.Content = bytes.Clone(r.Content)
		row = &r
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case row == nil || row.Index != index:
		return nil, fmt.Errorf("the record has no row %d: %w", index, store.ErrNotFound)
	case row.Content == nil:
		return nil, fmt.Errorf("the content of row %d was removed after its retention time", index)
	}
	head, err := s.NewestHead(ctx)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if head.Size <= index {
		return nil, &UnsignedError{index, head.Size > 0}
	}
	t, err := openHead(head.Text, nil)
	if err != nil {
		return nil, fmt.Errorf("the newest head in the store is not valid (%w): run mcprun audit verify", err)
	}
	proof, err := tlog.ProveRecord(t.N, index, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) { return s.Hashes(ctx, indexes) }))
	if err == nil {
		err = tlog.CheckRecord(proof, t.N, t.Hash, index, tlog.RecordHash(row.Content))
	}
	if err != nil {
		return nil, fmt.Errorf("the record was changed (%w): run mcprun audit verify", err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\nextra %s\nindex %d\n", proofHeader, base64.StdEncoding.EncodeToString(row.Content), index)
	for _, hash := range proof {
		fmt.Fprintf(&b, "%s\n", hash)
	}
	fmt.Fprintf(&b, "\n%s", head.Text)
	return b.Bytes(), nil
}

// RowOfRun returns the index of the row that has the most about a run: the one with its end, or else the one with its start.
func RowOfRun(ctx context.Context, s store.Record, run string) (index int64, err error) {
	index = -1
	err = s.Rows(ctx, store.Range{Run: run, Kinds: []string{string(KindRun), string(KindRunEnd)}}, func(r store.Row) error {
		if index < 0 || r.Kind == string(KindRunEnd) {
			index = r.Index
		}
		return nil
	})
	if err == nil && (index < 0 || run == "") {
		err = fmt.Errorf("the record has no run %q: %w", ident.Clip(run, maxName), store.ErrNotFound)
	}
	return index, err
}

// Proven is what a proof has proven: that the holder of a key has signed a record in which this row has this place.
type Proven struct {
	Row
	Content []byte // the row, in its canonical form
	Rows    int64  // of the record when its head was signed
}

// CheckProof checks a proof with the operator's public key. It needs neither the record nor a network.
func CheckProof(proof []byte, key note.Verifier) (*Proven, error) {
	if len(proof) > maxProof {
		return nil, fmt.Errorf("the proof has more than %d bytes", maxProof)
	}
	top, head, ok := strings.Cut(string(proof), "\n\n")
	lines := strings.Split(top, "\n")
	if !ok || len(lines) < 3 || lines[0] != proofHeader {
		return nil, fmt.Errorf("it is not a proof: it does not begin with %s and have a head after a blank line", proofHeader)
	}
	extra, isExtra := strings.CutPrefix(lines[1], "extra ")
	content, err := base64.StdEncoding.DecodeString(extra)
	if !isExtra || err != nil {
		return nil, errors.New("the proof has no row: its second line is not \"extra \" and base64")
	}
	number, isIndex := strings.CutPrefix(lines[2], "index ")
	index, err := strconv.ParseInt(number, 10, 64)
	if !isIndex || err != nil || index < 0 || strconv.FormatInt(index, 10) != number {
		return nil, errors.New("the proof has no index: its third line is not \"index \" and a number")
	}
	var hashes tlog.RecordProof
	for _, line := range lines[3:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return nil, fmt.Errorf("the proof is damaged: %w", err)
		}
		hashes = append(hashes, hash)
	}
	t, err := openHead([]byte(head), []note.Verifier{key})
	if err != nil {
		return nil, fmt.Errorf("the head in the proof is not valid: %w", err)
	}
	if err := tlog.CheckRecord(hashes, t.N, t.Hash, index, tlog.RecordHash(content)); err != nil {
		return nil, fmt.Errorf("the signed record does not have this row at place %d: %w", index, err)
	}
	row, err := Decode(store.Row{Index: index, Content: content})
	if err == nil && row.Index != index {
		err = fmt.Errorf("the row says that it has place %d", row.Index)
	}
	if err != nil {
		return nil, err
	}
	return &Proven{row, content, t.N}, nil
}

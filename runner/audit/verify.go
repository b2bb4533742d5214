package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/store"
)

// verifyPage is how many rows are verified with one query.
const verifyPage = 500

// VerifyOptions say what a record is compared with.
type VerifyOptions struct {
	// Keys are those that may have signed heads: the operator's, and earlier ones. Empty: signatures are not verified, and whoever changed
	// the store may have changed its heads.
	Keys []note.Verifier
	// Heads are published heads, as [PublishFile] writes them: the evidence that is not in the store. May be empty.
	Heads []byte
	// Kept is the text of [Options.HeadFile]: the newest head that this user has signed. Empty: whoever can write the store may have changed
	// any row, and removed the heads there.
	Kept []byte
}

// Verification is what Verify has found.
type Verification struct {
	Rows      int64     `json:"rows"`      // that are intact; with a finding, those before it
	Forgotten int64     `json:"forgotten"` // of which the content was removed, as a later row says
	Root      tlog.Hash `json:"root"`      // of the tree of all rows, if they are intact
	// Signed is how many rows the largest head in the store covers, Kept that in VerifyOptions.Kept, and Published the largest of
	// VerifyOptions.Heads. Rows behind them can be changed unnoticed by somebody who computes all hashes again.
	Signed    int64 `json:"signed"`
	Kept      int64 `json:"kept"`
	Published int64 `json:"published"`
	Heads     int   `json:"heads"` // that fit
	// Others counts the published heads of other records, by their names: those of none of VerifyOptions.Keys. They were not compared.
	Others map[string]int `json:"others"`
	// Finding is the first one. Nil: the record is intact.
	Finding *Finding `json:"finding"`
}

// Damage is what happened to a record.
type Damage string

// Kinds of damage.
const (
	Edited    Damage = "edited"
	Removed   Damage = "removed"
	Reordered Damage = "reordered"
	Inserted  Damage = "inserted"
	CutOff    Damage = "cut off"
	Forked    Damage = "forked" // a head was signed over other rows
	BadHead   Damage = "bad head"
)

// Finding is damage of the record.
type Finding struct {
	Damage Damage `json:"damage"`
	// First and Last are the indexes of the rows of which the first changed one is one. They differ where only hashes over several rows
	// show it. Of a BadHead, they are -1.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// Time, Kind and Run are those that the store has for the row First. Zero: it has no such row.
	Time time.Time `json:"time,omitzero"`
	Kind Kind      `json:"kind,omitempty"`
	Run  string    `json:"run,omitempty"`
	// Explanation says in a sentence how it shows.
	Explanation string `json:"explanation"`
}

// String returns the finding in a sentence or two.
func (f *Finding) String() string {
	var what string
	switch rows := fmt.Sprintf("rows %d to %d", f.First, f.Last); {
	case f.First < 0:
		return "a signed head was changed: " + f.Explanation
	case f.First == f.Last:
		what = fmt.Sprintf("row %d was %s", f.First, f.Damage)
	case f.Damage == Removed || f.Damage == CutOff:
		what = rows + " were " + string(f.Damage)
	case f.Damage == Forked:
		what = "one of the " + rows + " was changed"
	default:
		what = fmt.Sprintf("one of the %s was %s", rows, f.Damage)
	}
	return what + ": " + f.Explanation
}

// Verify computes the whole tree again and compares it with the hashes in the store and with all heads. Rows that are added meanwhile are not
// verified. It returns an error if the store cannot be read or a head in opt.Heads not be parsed; a change of the record is no error.
func Verify(ctx context.Context, s store.Record, opt VerifyOptions) (*Verification, error) {
	v := &verifier{ctx: ctx, store: s, keys: opt.Keys, codes: map[string]int64{}, result: Verification{Others: map[string]int{}}}
	if err := v.readHeads(opt); err != nil {
		return nil, err
	}
	finding, err := v.verify()
	if err != nil {
		return nil, err
	}
	if code, err := v.verifyCodes(finding); err != nil {
		return nil, err
	} else if code != nil {
		finding = code
	}
	if finding == nil {
		finding = v.badHead
	}
	v.result.Root, v.result.Rows, v.result.Finding = v.tree.root(), v.tree.size, finding
	if finding == nil || finding.First < 0 {
		return &v.result, nil
	}
	v.result.Rows = min(v.result.Rows, finding.First)
	err = s.Rows(ctx, store.Range{After: finding.First, Limit: 1}, func(r store.Row) error {
		if r.Index == finding.First {
			finding.Time, finding.Kind, finding.Run = r.Time, Kind(r.Kind), r.Run
		}
		return nil
	})
	if _, damaged := errors.AsType[*store.DamagedError](err); damaged {
		err = nil
	}
	return &v.result, err
}

// verifier is a verification in progress.
type verifier struct {
	ctx    context.Context
	store  store.Record
	keys   []note.Verifier
	result Verification

	heads   []signedHead // by size; those that were compared are removed
	badHead *Finding     // the first one, if any
	tree    tree         // of the rows so far
	fits    int64        // rows that a head covers which fits
	page    page
	added   []tlog.Hash // by the last row

	removed []span           // rows without content
	forgets []forgetRow      // in their order
	codes   map[string]int64 // digest → the first row that refers to it
}

// forgetRow is a row of kind forget.
type forgetRow struct {
	index   int64
	covers  tlog.Tree // whose contents may be missing
	invalid error     // why it covers nothing
}

// span is the rows from a first to a last one.
type span struct{ first, last int64 }

// signedHead is a head that is compared with the tree.
type signedHead struct {
	tlog.Tree
	from   string // where it is, for people
	covers *int64 // the rows that heads of its kind cover
}

// readHeads reads all heads.
func (v *verifier) readHeads(opt VerifyOptions) error {
	add := func(t tlog.Tree, err error, from string, covers *int64) {
		if err == nil {
			v.heads = append(v.heads, signedHead{t, from, covers})
		} else if v.badHead == nil {
			v.badHead = badHead("%s is not valid: %v", from, err)
		}
	}
	if len(opt.Kept) > 0 {
		t, err := openHead(opt.Kept, nil) // only the owner of the key can write it
		add(t, err, "the head that is kept beside the key", &v.result.Kept)
	}
	given, err := v.ofThisRecord(opt)
	if err != nil {
		return err
	}
	for i, text := range given {
		if text != nil {
			t, err := openHead(text, opt.Keys)
			add(t, err, fmt.Sprintf("published head %d", i+1), &v.result.Published)
		}
	}
	ofStore := func(h store.Head) error {
		t, err := openHead(h.Text, opt.Keys)
		if err == nil && t.N != h.Size {
			err = fmt.Errorf("the store says that it covers %d rows, and it covers %d", h.Size, t.N)
		}
		add(t, err, fmt.Sprintf("the head of %s in the store", h.Time.UTC().Format(time.RFC3339)), &v.result.Signed)
		return nil
	}
	if err = v.store.Heads(v.ctx, ofStore); err != nil && v.answers() {
		add(tlog.Tree{}, err, "the list of heads in the store", nil)
		err = nil
	}
	slices.SortStableFunc(v.heads, func(a, b signedHead) int { return cmp.Compare(a.N, b.N) })
	return err
}

// answers reports whether the store answers: what could not be read there is damaged then.
func (v *verifier) answers() bool {
	_, err := v.store.Size(v.ctx)
	return err == nil
}

// ofThisRecord returns the published heads, with nil in the place of those of other records, which it counts.
func (v *verifier) ofThisRecord(opt VerifyOptions) (heads [][]byte, err error) {
	if heads, err = splitHeads(opt.Heads); err != nil {
		return nil, err
	}
	names := map[string]int{}
	for i, text := range heads {
		line, _, _ := strings.Cut(string(text), "\n")
		names[line]++
		if len(opt.Keys) > 0 && !slices.ContainsFunc(opt.Keys, func(k note.Verifier) bool { return k.Name() == line }) {
			v.result.Others[ident.Clip(line, maxName)]++
			heads[i] = nil
		}
	}
	if len(opt.Keys) == 0 && len(names) > 1 {
		return nil, fmt.Errorf("the published heads are of %d records, as several databases were used with one file: name the public key of this one", len(names))
	}
	return heads, nil
}

// verify verifies rows and heads in their order.
func (v *verifier) verify() (*Finding, error) {
	end, err := v.store.Size(v.ctx)
	if err != nil {
		return nil, err
	}
	for v.tree.size < end {
		finding, err := v.verifyPage(min(v.tree.size+verifyPage, end))
		if finding != nil || err != nil {
			return finding, err
		}
	}
	if f := v.compareHeads(); f != nil {
		return f, nil
	}
	if f, err := v.cutOff(); f != nil || err != nil {
		return f, err
	}
	return v.checkForgotten()
}

// checkForgotten looks for contents that were removed otherwise than by [Log.Forget].
func (v *verifier) checkForgotten() (*Finding, error) {
	var forged *forgetRow
	to := int64(0) // rows below it may have no content
	for _, f := range v.forgets {
		if f.invalid == nil {
			root, err := tlog.TreeHash(f.covers.N, hashesOf(v.ctx, v.store))
			if err != nil {
				return nil, err
			}
			if root != f.covers.Hash {
				f.invalid = fmt.Errorf("it was signed for %d other rows", f.covers.N)
			}
		}
		if f.invalid == nil {
			to = max(to, f.covers.N)
		} else if forged == nil {
			forged = &f
		}
	}
	for _, s := range v.removed {
		first := max(s.first, to)
		switch {
		case first > s.last:
		case forged != nil:
			return found(Removed, first, first, "its content was removed, and row %d of kind %q is not valid: %v", forged.index, KindForget, forged.invalid), nil
		default:
			return found(Removed, first, first, "its content was removed, and no later row of kind %q covers it", KindForget), nil
		}
	}
	if forged != nil {
		return found(Inserted, forged.index, forged.index, "it is of kind %q, and not valid: %v", KindForget, forged.invalid), nil
	}
	return nil, nil
}

// badHead makes a finding of a head.
func badHead(format string, args ...any) *Finding { return found(BadHead, -1, -1, format, args...) }

// found makes a finding.
func found(d Damage, first, last int64, format string, args ...any) *Finding {
	return &Finding{Damage: d, First: first, Last: last, Explanation: fmt.Sprintf(format, args...)}
}

// verifyPage verifies the rows up to an index.
func (v *verifier) verifyPage(to int64) (finding *Finding, err error) {
	if v.page, err = v.readPage(v.tree.size, to); err != nil {
		return nil, err
	}
	var suspect *store.Row
	rows := store.Range{After: v.tree.size, Limit: int(to - v.tree.size)}
	err = v.store.Rows(v.ctx, rows, func(r store.Row) error {
		if finding = v.compareHeads(); finding == nil {
			finding, suspect = v.verifyRow(r)
		}
		if finding != nil || suspect != nil {
			return errFound
		}
		return nil
	})
	damaged, _ := errors.AsType[*store.DamagedError](err)
	switch {
	case suspect != nil:
		return v.classify(*suspect)
	case finding != nil:
		return finding, nil
	case damaged != nil && damaged.Index == v.tree.size:
		return found(Edited, damaged.Index, damaged.Index, "it cannot be read: %v", damaged.Err), nil
	case damaged != nil && damaged.Index > v.tree.size:
		return found(Removed, v.tree.size, damaged.Index-1, "there is no row with this index"), nil
	case err != nil && !errors.Is(err, errFound):
		return nil, err
	case v.tree.size < to:
		return found(Removed, v.tree.size, to-1, "there is no row with this index"), nil
	}
	return nil, nil
}

// verifyRow adds a row to the tree. A row whose content is not what the tree or its columns say is suspect.
func (v *verifier) verifyRow(r store.Row) (f *Finding, suspect *store.Row) {
	i := v.tree.size
	switch {
	case r.Index > i:
		return found(Removed, i, r.Index-1, "there is no row with this index"), nil
	case r.Index < i:
		return found(Inserted, r.Index, r.Index, "there are several rows with this index"), nil
	}
	leaf, ok := v.page.hash(tlog.StoredHashIndex(0, i))
	if !ok {
		return found(Edited, i, i, "the tree has no hash of it"), nil
	}
	if r.Content != nil {
		row, err := Decode(r)
		if err != nil || row.Index != i || tlog.RecordHash(r.Content) != leaf {
			r.Content = bytes.Clone(r.Content)
			return nil, &r
		}
		if f := v.compareColumns(r, row); f != nil {
			return f, nil
		}
		v.note(row)
	} else if n := len(v.removed); n > 0 && v.removed[n-1].last == i-1 {
		v.removed[n-1].last = i
	} else {
		v.removed = append(v.removed, span{i, i})
	}
	if r.Content == nil {
		v.result.Forgotten++
	}
	v.added = v.tree.add(leaf, v.added[:0])
	for level, hash := range v.added {
		if stored, ok := v.page.hash(tlog.StoredHashIndex(level, i>>level)); !ok || stored != hash {
			v.tree.size-- // for the result; nothing is added any more
			return found(Edited, max(i+1-1<<level, v.fits), i, "the hash over the rows %d to %d is not that of their contents", i+1-1<<level, i), nil
		}
	}
	return nil, nil
}

// compareColumns compares the columns of a row with its content.
func (v *verifier) compareColumns(r store.Row, row Row) *Finding {
	for _, c := range []struct{ name, column, content string }{
		{"time", r.Time.UTC().Format(timeForm), row.Time.UTC().Format(timeForm)},
		{"kind", r.Kind, string(row.Kind)},
		{"run", r.Run, row.Run},
	} {
		if c.column != c.content {
			return found(Edited, r.Index, r.Index, "its column %s has %q, and its content %q", c.name, ident.Clip(c.column, 80), ident.Clip(c.content, 80))
		}
	}
	return nil
}

// note keeps what later checks need of a row.
func (v *verifier) note(row Row) {
	switch row.Kind {
	case KindForget:
		t, err := openForget(row, v.keys)
		v.forgets = append(v.forgets, forgetRow{row.Index, t, err})
	case KindRun, KindRunEnd:
		var body struct{ Code Text }
		if err := json.Unmarshal(row.Body, &body); err != nil || body.Code == "" {
			return
		}
		if _, known := v.codes[string(body.Code)]; !known {
			v.codes[string(body.Code)] = row.Index
		}
	}
}

// compareHeads compares the tree with the heads of its size.
func (v *verifier) compareHeads() *Finding {
	size, fits := v.tree.size, v.fits
	for len(v.heads) > 0 && v.heads[0].N == size {
		h := v.heads[0]
		v.heads = v.heads[1:]
		if v.tree.root() != h.Hash {
			return found(Forked, v.fits, max(v.fits, size-1), "%s was signed over %d other rows", h.from, size)
		}
		v.result.Heads++
		*h.covers = size
		fits = size // later, as another head of this size may not fit
	}
	v.fits = fits
	return nil
}

// cutOff looks for traces of rows behind the last one.
func (v *verifier) cutOff() (*Finding, error) {
	end := v.tree.size
	if len(v.heads) > 0 { // they were read before the rows
		h := v.heads[len(v.heads)-1]
		return found(CutOff, end, h.N-1, "%s covers %d rows, and there are %d", h.from, h.N, end), nil
	}
	_, err := v.store.Hashes(v.ctx, []int64{tlog.StoredHashIndex(0, end)})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	cut := err == nil
	if cut { // or another process has just added it
		err = v.store.Rows(v.ctx, store.Range{After: end, Limit: 1}, func(store.Row) error { cut = false; return nil })
	}
	if err != nil || !cut {
		return nil, err
	}
	return found(CutOff, end, end, "the tree has a hash of it, and there are %d rows", end), nil
}

// verifyCodes verifies the codes of the rows before a finding.
func (v *verifier) verifyCodes(before *Finding) (finding *Finding, err error) {
	for digest, row := range v.codes {
		if before != nil && row >= before.First || finding != nil && row >= finding.First {
			continue
		}
		code, err := v.store.Code(v.ctx, digest)
		sum := sha256.Sum256(code)
		switch {
		case errors.Is(err, store.ErrNotFound):
			finding = found(Removed, row, row, "its code %s is missing", ident.Clip(digest, 80))
		case err != nil && !v.answers():
			return nil, err
		case err != nil:
			finding = found(Edited, row, row, "its code %s cannot be read: %v", ident.Clip(digest, 80), err)
		case hex.EncodeToString(sum[:]) != digest:
			finding = found(Edited, row, row, "its code does not have the SHA-256 %s", ident.Clip(digest, 80))
		}
	}
	return finding, nil
}

// classify says what happened to a row whose content is not the one that the tree has at its place.
func (v *verifier) classify(r store.Row) (*Finding, error) {
	i := v.tree.size
	from := place(r.Content) // the place that the content had
	if from >= 0 && from != i {
		p := tlog.StoredHashIndex(0, i)
		hashes, err := v.store.Hashes(v.ctx, []int64{p, tlog.StoredHashIndex(0, from)})
		if errors.Is(err, store.ErrNotFound) { // the row came with its hash, if it did
			hashes, err = v.store.Hashes(v.ctx, []int64{p})
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(hashes, tlog.RecordHash(r.Content)) {
			from = -1 // its index was edited, too
		}
	}
	to := int64(-1) // the place that the content has now which belongs here
	err := v.store.Rows(v.ctx, store.Range{After: i + 1}, func(r store.Row) error {
		if place(r.Content) == i {
			to = r.Index
			return errFound
		}
		return nil
	})
	_, damaged := errors.AsType[*store.DamagedError](err)
	switch {
	case err != nil && !damaged && !errors.Is(err, errFound):
		return nil, err
	case to >= 0 && from > i:
		return found(Reordered, i, i, "it has the content of row %d, and row %d has its own", from, to), nil
	case to >= 0:
		return found(Inserted, i, i, "its content does not belong to the record, and row %d has the one that does", to), nil
	case from > i:
		return found(Removed, i, from-1, "in its place is the row that was number %d", from), nil
	case from >= 0 && from < i:
		return found(Edited, i, i, "it has the content of row %d", from), nil
	}
	return found(Edited, i, i, "its content does not have the hash that the tree has"), nil
}

// place returns the index that a content says, or -1.
func place(content []byte) int64 {
	row := struct{ Index *int64 }{}
	if json.Unmarshal(content, &row) != nil || row.Index == nil {
		return -1
	}
	return *row.Index
}

// page is hashes in the order of their storage.
type page struct {
	first  int64
	hashes []tlog.Hash
	gaps   map[int64]bool // those that are missing
}

// readPage reads the hashes that a range of rows has added.
func (v *verifier) readPage(from, to int64) (page, error) {
	p := page{first: tlog.StoredHashCount(from)}
	indexes := make([]int64, tlog.StoredHashCount(to)-p.first)
	for i := range indexes {
		indexes[i] = p.first + int64(i)
	}
	var err error
	if p.hashes, err = v.store.Hashes(v.ctx, indexes); !errors.Is(err, store.ErrNotFound) {
		return p, err
	}
	p.hashes, p.gaps = make([]tlog.Hash, len(indexes)), map[int64]bool{}
	for i, index := range indexes {
		switch hash, err := v.store.Hashes(v.ctx, []int64{index}); {
		case err == nil:
			p.hashes[i] = hash[0]
		case errors.Is(err, store.ErrNotFound):
			p.gaps[index] = true
		default:
			return p, err
		}
	}
	return p, nil
}

// hash returns the hash with a storage index of the page.
func (p page) hash(index int64) (tlog.Hash, bool) {
	return p.hashes[index-p.first], !p.gaps[index]
}

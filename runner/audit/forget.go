package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/store"
)

// forgetTitle begins what is signed about removed contents. No key can have this name, and so no head is such a statement, or the other way
// round.
const forgetTitle = "contents removed\n"

// Forget removes the contents of the rows before the first one that is not older than a time, with a row of kind [KindForget] that says so
// and is signed with the key. The hashes stay, so that the rest can be verified. It returns how many contents it removed. It removes nothing
// from a record that was changed.
func (l *Log) Forget(ctx context.Context, before time.Time) (removed int64, err error) {
	if l == nil {
		return 0, nil
	}
	if l.opt.Key == nil {
		return 0, errors.New("only a log with a key removes contents of the record")
	}
	if err := l.Flush(ctx); err != nil {
		return 0, err
	}
	verifier, err := note.NewVerifier(l.opt.Key.verifier)
	if err != nil {
		return 0, err
	}
	covered, t, err := l.older(ctx, verifier, before)
	if err != nil {
		return 0, err
	}
	if t.N > covered {
		if err := l.checkOlder(ctx, t); err != nil {
			return 0, err
		}
		signed, err := sign(forgetTitle, t, l.opt.Key.signer)
		if err != nil {
			return 0, err
		}
		if err := l.Append(ctx, Entry{Kind: KindForget, Body: Forget{Before: t.N, Signed: string(signed)}}); err != nil {
			return 0, err
		}
	}
	return l.store.Forget(ctx, t.N) // again, if a process died in between
}

// older returns how many rows are already covered by a row of kind forget, and the tree of those and of the older rows behind them. It reads
// the times in the contents: whoever can write the database can change the column.
func (l *Log) older(ctx context.Context, key note.Verifier, before time.Time) (covered int64, _ tlog.Tree, err error) {
	for tried := int64(-1); ; tried = covered {
		if covered, err = forgotten(ctx, l.store, key); err != nil {
			return 0, tlog.Tree{}, err
		}
		t, err := readTree(covered, hashesOf(ctx, l.store))
		if err != nil {
			return 0, tlog.Tree{}, err
		}
		gap := false
		err = l.store.Rows(ctx, store.Range{After: covered}, func(r store.Row) error {
			row, err := Decode(r)
			if err != nil {
				return err
			}
			if gap = row.Forgotten; gap || row.Index != t.size || !row.Time.Before(before) {
				return errFound
			}
			t.add(tlog.RecordHash(r.Content), nil)
			return nil
		})
		switch {
		case err != nil && !errors.Is(err, errFound):
			return 0, tlog.Tree{}, err
		case !gap:
			return covered, tlog.Tree{N: t.size, Hash: t.root()}, nil
		case tried == covered: // otherwise another process may have removed it
			return 0, tlog.Tree{}, fmt.Errorf("row %d has no content, and no row of kind %q that the key %s has signed covers it: run mcprun audit verify", t.size, KindForget, key.Name())
		}
	}
}

// checkOlder reports a difference between contents that are to be removed, of which t is the tree, and the hashes of the record.
func (l *Log) checkOlder(ctx context.Context, t tlog.Tree) error {
	root, err := tlog.TreeHash(t.N, hashesOf(ctx, l.store))
	if err != nil {
		return err
	}
	if root != t.Hash {
		return fmt.Errorf("%w: the contents of the first %d rows do not have the hashes of the tree: run mcprun audit verify", ErrChanged, t.N)
	}
	_, err = l.checkKept(ctx, t)
	return err
}

// forgotten returns the index before which contents were removed, as rows of kind forget that the key has signed say. Others are left to
// Verify.
func forgotten(ctx context.Context, s store.Record, key note.Verifier) (before int64, err error) {
	err = s.Rows(ctx, store.Range{Kinds: []string{string(KindForget)}, NewestFirst: true}, func(r store.Row) error {
		row, err := Decode(r)
		var body Forget
		if err != nil || row.Forgotten || json.Unmarshal(row.Body, &body) != nil || body.Before <= before {
			return nil // it covers nothing more; most are older than the first one, and need not be verified
		}
		t, err := openForget(row, []note.Verifier{key})
		if err != nil {
			return nil // it covers nothing
		}
		root, err := tlog.TreeHash(t.N, hashesOf(ctx, s))
		if err == nil && root == t.Hash {
			before = t.N
		}
		return err
	})
	return before, err
}

// openForget returns the tree of the rows of which a row of kind forget says that their contents were removed. Without keys, signatures are
// not verified.
func openForget(row Row, keys []note.Verifier) (tlog.Tree, error) {
	var body Forget
	if err := json.Unmarshal(row.Body, &body); err != nil {
		return tlog.Tree{}, err
	}
	if body.Signed == "" {
		return tlog.Tree{}, errors.New("nobody has signed it")
	}
	t, err := openSigned(forgetTitle, []byte(body.Signed), keys)
	switch {
	case err != nil:
		return tlog.Tree{}, err
	case t.N != body.Before:
		return tlog.Tree{}, fmt.Errorf("it says %d, and was signed for %d", body.Before, t.N)
	case t.N > row.Index:
		return tlog.Tree{}, errors.New("it is about later rows")
	}
	return t, nil
}

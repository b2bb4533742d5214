package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	laterWithin  = 5 * time.Millisecond // an entry given to Later waits so long for a batch
	againAfter   = time.Second          // a batch whose entries are in write-ahead files is tried again so long after it failed
	maxQueued    = 8 << 20              // more bytes than this wait in memory for nobody: Later waits for its batch then
	maxLost      = 10_000               // runs whose lost entries are remembered
	writeTime    = 10 * time.Second     // bounds the writing of a batch
	publishEvery = time.Second
)

// Errors of a Log; use errors.Is. A full disk is [store.ErrFull].
var (
	ErrClosed = errors.New("the record is closed")
	// ErrShorter says that rows were removed while the log was open.
	ErrShorter = errors.New("the record has fewer rows than this process has seen: run mcprun audit verify")
	// ErrChanged says that the record does not go on from the head that was signed last. No further head is signed.
	ErrChanged = errors.New("the record was changed")
)

// Options configure a Log.
type Options struct {
	// Who is added to every entry, where the entry does not say it.
	Who Who
	// Warn is called when an entry given to [Log.Later] could not be written, or a head not be published. May be nil. It must not block.
	Warn func(error)
	// Key signs the heads of the tree. Nil: they are not signed, and an edited record whose hashes were recomputed is not found.
	Key *Key
	// HeadFile keeps the newest signed head, in a folder where only the owner of the key can write. Processes of one user share it. A tree that
	// does not go on from that head is not signed: Warn gets [ErrChanged], once. It may not exist yet: the first tree is believed then. Empty:
	// every tree is believed.
	HeadFile string
	// Publish gets each signed head, at most one a second, so that it is kept where nobody can change it who can change the store. See
	// [PublishFile] and [PublishCommand]. Nil: heads are kept only in the store.
	Publish func(ctx context.Context, head []byte) error
	// Ahead is how the paths of write-ahead files begin, on a local disk: what [Log.Intend] writes is there until the store has it. All
	// processes that share the store give the same, and no other store has it. Empty: Intend writes to the store.
	Ahead string
	// Written gets each entry once it is in the store, with its time and who it was, in the order of the rows. May be nil. It must not block.
	Written func(Entry)
}

// Log writes the record. It is safe for concurrent use. A nil Log keeps nothing, and its methods succeed.
//
// Entries that are given while a batch is being written become the next batch, in the order in which they were given. A caller that finds
// no batch in progress writes its own, so that a single caller does not pay for a change of goroutines.
type Log struct {
	store store.Record
	opt   Options

	mu      sync.Mutex
	next    *batch // collects entries
	writing bool   // somebody writes a batch, and will look at the next
	closed  bool
	lost    error            // the first of an entry given to Later, since the last Flush
	lostOf  map[string]error // the same by run, since the last FlushRun
	tree    tree             // after the last batch
	ahead   *ahead
	failing bool  // the last batch could not be written: nothing more goes to the write-ahead files
	later   timer // writes the next batch
	publish timer // publishes a head

	publishing sync.Mutex
	signed     int64 // size of the newest head in the store
	published  int64 // size of the newest head that was published
	changed    bool  // ErrChanged was returned
}

// batch is what one transaction writes.
type batch struct {
	entries []content
	bytes   int
	later   bool          // some of the entries were given to Later
	awaited bool          // somebody waits for it
	file    int           // the write-ahead file that has the first entries
	ahead   int           // how many these are
	done    chan struct{} // closed when err is set
	err     error
}

// timer calls a function once, some time after it was armed.
type timer struct {
	*time.Timer
	armed bool
}

func (t *timer) arm(after time.Duration, f func()) {
	switch {
	case t.armed:
		return
	case t.Timer == nil:
		t.Timer = time.AfterFunc(after, f)
	default:
		t.Reset(after)
	}
	t.armed = true
}

func (t *timer) stop() {
	if t.Timer != nil {
		t.Stop()
	}
	t.armed = true // for good
}

// Open returns the log of a store, once it has added what killed processes have left in their write-ahead files. The caller closes it before
// the store.
func Open(s store.Record, opt Options) (*Log, error) {
	l := &Log{store: s, opt: opt, next: newBatch(0), lostOf: map[string]error{}}
	if opt.Ahead == "" {
		return l, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	if err := l.recoverAhead(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func newBatch(file int) *batch { return &batch{done: make(chan struct{}), file: file} }

// Append writes entries, and returns when they are durable. With an error, none of them is, unless the connection to the database broke
// while it answered. It does not end early if ctx is cancelled, so that what is written and what is reported do not differ.
func (l *Log) Append(ctx context.Context, entries ...Entry) error {
	if l == nil || len(entries) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	contents := make([]content, len(entries))
	for i, e := range entries {
		var err error
		if contents[i], err = encode(e, l.opt.Who); err != nil {
			return err
		}
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	return l.wait(l.add(contents...))
}

// Intend writes an entry of something that is about to happen, and returns when it is durable against the death of the process: in the
// write-ahead file, with all that were given before, or in the store. The store has it within a fraction of a second. Its errors are those
// of Append.
func (l *Log) Intend(ctx context.Context, e Entry) error {
	if l == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := encode(e, l.opt.Who)
	if err != nil {
		return err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	b := l.add(c)
	if l.ahead == nil && l.opt.Ahead != "" && !l.failing {
		if l.ahead, err = createAhead(l.opt.Ahead); err != nil {
			l.opt.Ahead = "" // the store says whether it is full
		}
	}
	if !l.writeAhead(b) {
		return l.wait(b)
	}
	l.mu.Unlock()
	return nil
}

// writeAhead writes the entries of the next batch b to its write-ahead file. It reports whether they are there: not if somebody waits for the
// batch, who is told whether it was written. l.mu is held.
func (l *Log) writeAhead(b *batch) bool {
	if l.ahead == nil || l.failing || b.awaited || b.bytes > maxQueued || l.ahead.write(b.file, b.entries[b.ahead:]) != nil {
		return false
	}
	b.ahead = len(b.entries)
	switch {
	case l.writing:
	case b.bytes > maxAhead:
		l.writing = true
		go l.write()
	default:
		l.later.arm(aheadWithin, l.writeLater)
	}
	return true
}

// Later writes an entry with the next batch, within some milliseconds, behind those that were given before.
func (l *Log) Later(e Entry) {
	if l == nil {
		return
	}
	c, err := encode(e, l.opt.Who)
	l.mu.Lock()
	if l.closed {
		err = cmp.Or(err, ErrClosed)
	}
	if err != nil {
		l.mu.Unlock()
		l.lose(err, e.Run)
		return
	}
	c.later = true
	b := l.add(c)
	b.later = true
	if l.writeAhead(b) {
		l.mu.Unlock()
		return
	}
	if b.bytes > maxQueued {
		_ = l.wait(b) // lose has the error
		return
	}
	if !l.writing {
		l.later.arm(laterWithin, l.writeLater)
	}
	l.mu.Unlock()
}

// add adds contents to the next batch. l.mu is held.
func (l *Log) add(contents ...content) *batch {
	l.next.entries = append(l.next.entries, contents...)
	for _, c := range contents {
		l.next.bytes += len(c.text)
	}
	return l.next
}

// wait waits until the next batch b is written, or writes it. l.mu is held, and released.
func (l *Log) wait(b *batch) error {
	b.awaited = true
	if l.writing {
		l.mu.Unlock()
		<-b.done
		return b.err
	}
	l.writing = true
	l.mu.Unlock()
	l.write()
	return b.err
}

// writeLater writes the next batch if nobody else has.
func (l *Log) writeLater() {
	l.mu.Lock()
	l.later.armed = l.closed
	if l.writing || len(l.next.entries) == 0 {
		l.mu.Unlock()
		return
	}
	l.writing = true
	l.mu.Unlock()
	l.write()
}

// write writes the next batch. The caller has set l.writing. If others wait for the batch behind it, a goroutine writes that one, and the
// caller returns.
func (l *Log) write() {
	l.mu.Lock()
	b := l.next
	l.next = newBatch(1 - b.file)
	l.mu.Unlock()
	if b.err = l.extend(b.entries); b.err != nil && (b.later || b.ahead > 0) {
		var runs []string
		for _, c := range b.entries[b.ahead:] {
			if c.later {
				runs = append(runs, c.row.Run)
			}
		}
		l.lose(b.err, runs...)
	}
	l.written(b)
	if b.err == nil && l.opt.Written != nil {
		for _, c := range b.entries {
			l.opt.Written(c.entry)
		}
	}
	close(b.done)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.next.awaited:
		go l.write()
	case len(l.next.entries) > 0:
		l.writing = false
		l.later.arm(l.pause(), l.writeLater)
	default:
		l.writing = false
	}
}

// pause returns how long the next batch waits. l.mu is held.
func (l *Log) pause() time.Duration {
	switch {
	case l.failing:
		return againAfter
	case l.next.ahead > 0:
		return aheadWithin
	}
	return laterWithin
}

// written clears the write-ahead file of a batch, or puts what it has back into the next batch if the store does not have it.
func (l *Log) written(b *batch) {
	if l.ahead == nil {
		return
	}
	l.mu.Lock()
	failing := l.failing
	if b.err != nil {
		l.failing = l.failing || b.ahead > 0
		n := l.next
		n.entries = slices.Concat(b.entries[:b.ahead], n.entries)
		n.ahead += b.ahead
		for _, c := range b.entries[:b.ahead] {
			n.bytes += len(c.text)
		}
	}
	l.mu.Unlock()
	if b.err != nil {
		return
	}
	l.ahead.clear(b.file)
	if failing {
		l.ahead.clear(1 - b.file)
		l.mu.Lock()
		l.failing = false
		l.mu.Unlock()
	}
}

// extend adds entries to the store in one transaction.
func (l *Log) extend(entries []content) error {
	if len(entries) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	var t tree
	err := l.store.Extend(ctx, func(size int64, stored tlog.HashReader) (add store.Addition, err error) {
		switch t = l.tree; { // only the writer of a batch changes it
		case size < t.size:
			return add, fmt.Errorf("%w (%d instead of %d)", ErrShorter, size, t.size)
		case size > t.size: // another process has added some
			if t, err = readTree(size, stored); err != nil {
				return add, err
			}
		}
		add = store.Addition{Rows: make([]store.Row, len(entries)), Hashes: make([]tlog.Hash, 0, 2*len(entries)+len(t.edge))}
		for i, c := range entries {
			add.Rows[i] = c.at(t.size)
			add.Hashes = t.add(tlog.RecordHash(add.Rows[i].Content), add.Hashes)
		}
		return add, nil
	})
	if err != nil {
		return err // it says what was not done
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tree = t
	if l.opt.Key != nil {
		l.publish.arm(publishEvery, l.publishLater)
	}
	return nil
}

// lose reports the error of entries whose callers do not wait. Those of the runs are lost.
func (l *Log) lose(err error, runs ...string) {
	l.mu.Lock()
	l.lost = cmp.Or(l.lost, err)
	for _, run := range runs {
		if run != "" && len(l.lostOf) < maxLost {
			l.lostOf[run] = cmp.Or(l.lostOf[run], err)
		}
	}
	l.mu.Unlock()
	l.warn(err)
}

func (l *Log) warn(err error) {
	if l.opt.Warn != nil {
		l.opt.Warn(err)
	}
}

// Flush returns when everything that was given to the log is durable, with the first error of an entry given to [Log.Later] since the last
// Flush. It does not end early if ctx is cancelled.
func (l *Log) Flush(ctx context.Context) error {
	if l == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.flush()
}

// FlushRun returns when everything that was given to the log is durable, with the first error of an entry of the run that was given to
// [Log.Later]. Call it once, at the end of the run. It does not end early if ctx is cancelled.
func (l *Log) FlushRun(ctx context.Context, run string) error {
	if l == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	_ = l.flush() // of other runs too
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.lostOf[run]
	delete(l.lostOf, run)
	return err
}

func (l *Log) flush() error {
	l.mu.Lock()
	_ = l.wait(l.next) // the callers of Append have its error, and lose those of Later
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.lost
	l.lost = nil
	return err
}

// Code keeps a script's code, with tokens for personal data, and returns its digest: the SHA-256, in hexadecimal.
func (l *Log) Code(ctx context.Context, code string) (digest string, err error) {
	if l == nil {
		return "", nil
	}
	sum := sha256.Sum256([]byte(code))
	digest = hex.EncodeToString(sum[:])
	if err := l.store.SetCode(ctx, digest, []byte(code)); err != nil {
		return "", err // it says what was not done
	}
	return digest, nil
}

// Close flushes the log and publishes its head. It returns what Flush does, or why the head was not published.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.later.stop()
	l.publish.stop()
	l.mu.Unlock()
	err := l.flush()
	if l.ahead != nil && err == nil {
		err = l.ahead.remove()
	}
	return errors.Join(err, l.publishHead())
}

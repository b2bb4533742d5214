package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/kept"
	"github.com/mcpgen/mcpgen/runner/internal/notify"
	"github.com/mcpgen/mcpgen/runner/store"
)

// publishTime bounds the publication of a head.
const publishTime = 10 * time.Second

// publishLater publishes the head some time after rows were added.
func (l *Log) publishLater() {
	l.mu.Lock()
	l.publish.armed = l.closed
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return // Close publishes it
	}
	if err := l.publishHead(); err != nil {
		l.warn(err)
	}
}

// publishHead signs the head, keeps it in the store and publishes it. What fails is done with the next head.
func (l *Log) publishHead() error {
	l.publishing.Lock()
	defer l.publishing.Unlock()
	l.mu.Lock()
	t := l.tree
	l.mu.Unlock()
	if l.opt.Key == nil || t.size == l.published {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), publishTime)
	defer cancel()
	text, err := l.signHead(ctx, tlog.Tree{N: t.size, Hash: t.root()})
	said := l.changed
	l.changed = errors.Is(err, ErrChanged)
	switch {
	case l.changed && said:
		return nil
	case err != nil:
		return fmt.Errorf("sign the head of the record: %w", err)
	}
	if t.size != l.signed {
		head := store.Head{Size: t.size, Time: time.Now().UTC().Truncate(time.Microsecond), Text: text}
		if err := l.store.SetHead(ctx, head); err != nil {
			return err // it says what was not done
		}
		l.signed = t.size
	}
	if l.opt.Publish != nil {
		if err := l.opt.Publish(ctx, text); err != nil {
			return fmt.Errorf("publish the head of the record: %w", err)
		}
	}
	l.published = t.size
	return nil
}

// signHead signs a head and keeps it in [Options.HeadFile]. It is [ErrChanged] if the head that is there is not one of the same record.
func (l *Log) signHead(ctx context.Context, head tlog.Tree) ([]byte, error) {
	path := l.opt.HeadFile
	if path == "" {
		return sign("", head, l.opt.Key.signer)
	}
	unlock, err := kept.Lock(ctx, path+".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	newest, err := l.checkKept(ctx, head)
	if err != nil {
		return nil, err
	}
	text, err := sign("", head, l.opt.Key.signer)
	if err == nil && newest < head.N {
		err = atomicfile.Write(path, text, 0o600)
	}
	return text, err
}

// checkKept compares a tree with the head in [Options.HeadFile], and returns how many rows that covers. It is [ErrChanged] unless the smaller
// one is the beginning of the larger one.
func (l *Log) checkKept(ctx context.Context, t tlog.Tree) (rows int64, err error) {
	path := l.opt.HeadFile
	if path == "" {
		return 0, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	newest, err := openHead(text, nil) // only the owner of the key can write the file
	if err != nil {
		return 0, fmt.Errorf("the file %s is damaged (%w): run mcprun audit verify, and remove the file", path, err)
	}
	small, large := newest, t
	if small.N > large.N {
		small, large = large, small
	}
	what := "the database has other rows"
	proof, err := tlog.ProveTree(large.N, small.N, hashesOf(ctx, l.store))
	switch {
	case errors.Is(err, store.ErrNotFound):
		what = "the database does not have all of them"
	case err != nil:
		return 0, err
	default:
		err = tlog.CheckTree(proof, large.N, large.Hash, small.N, small.Hash)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: the head in %s covers %d rows, and %s. No head is signed until you have run mcprun audit verify, and, if this is right because you restored a backup or the power failed, removed that file",
			ErrChanged, path, newest.N, what)
	}
	return newest.N, nil
}

// hashesOf returns what reads the tree's hashes in a store.
func hashesOf(ctx context.Context, s store.Record) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) { return s.Hashes(ctx, indexes) })
}

// sign returns a C2SP checkpoint (c2sp.org/tlog-checkpoint), whose origin is the name of the key. With a title, it is the first line, which
// makes it a statement of another kind.
func sign(title string, t tlog.Tree, key note.Signer) ([]byte, error) {
	return note.Sign(&note.Note{Text: fmt.Sprintf("%s%s\n%d\n%s\n", title, key.Name(), t.N, t.Hash)}, key)
}

// openHead reads a checkpoint that one of the keys has signed. Without keys, signatures are not verified.
func openHead(text []byte, keys []note.Verifier) (tlog.Tree, error) {
	return openSigned("", text, keys)
}

// openSigned reads what sign has returned.
func openSigned(title string, text []byte, keys []note.Verifier) (tlog.Tree, error) {
	n, err := note.Open(text, note.VerifierList(keys...))
	if unsigned, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		if len(keys) == 0 {
			n, err = unsigned.Note, nil
		} else if sigs := unsigned.Note.UnverifiedSigs; len(sigs) > 0 {
			err = fmt.Errorf("it is signed by the key %s+%08x, not by %s+%08x", sigs[0].Name, sigs[0].Hash, keys[0].Name(), keys[0].KeyHash())
		}
	}
	if err != nil {
		return tlog.Tree{}, err
	}
	body, ok := strings.CutPrefix(n.Text, title)
	lines := strings.SplitN(body, "\n", 4) // later lines are extensions
	if !ok || len(lines) < 4 {
		return tlog.Tree{}, errors.New("it is not a checkpoint")
	}
	t := tlog.Tree{}
	t.N, err = strconv.ParseInt(lines[1], 10, 64)
	if err != nil || t.N < 0 || lines[1] != strconv.FormatInt(t.N, 10) {
		return tlog.Tree{}, fmt.Errorf("it has the invalid size %q", ident.Clip(lines[1], 40))
	}
	if t.Hash, err = tlog.ParseHash(lines[2]); err != nil {
		return tlog.Tree{}, fmt.Errorf("it has the invalid hash %q", ident.Clip(lines[2], 60))
	}
	if len(keys) > 0 && (len(n.Sigs) == 0 || lines[0] != n.Sigs[0].Name) {
		return tlog.Tree{}, fmt.Errorf("it is the head of %q, and was signed for %q", ident.Clip(lines[0], maxName), n.Sigs[0].Name)
	}
	return t, nil
}

// splitHeads returns the checkpoints of a text that PublishFile has written.
func splitHeads(text []byte) ([][]byte, error) {
	text = bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	if len(text) == 0 {
		return nil, nil
	}
	parts := bytes.Split(text, []byte("\n\n")) // a body, its signatures, a body, …
	var heads [][]byte
	for i := 0; i < len(parts); i += 2 {
		if i+1 == len(parts) || !bytes.HasPrefix(parts[i+1], []byte("— ")) {
			return nil, fmt.Errorf("checkpoint %d, which begins with %q, has no signature after a blank line: complete or remove it", len(heads)+1, ident.Clip(string(parts[i]), 60))
		}
		heads = append(heads, fmt.Appendf(nil, "%s\n\n%s\n", bytes.Trim(parts[i], "\n"), bytes.Trim(parts[i+1], "\n")))
	}
	return heads, nil
}

// PublishFile returns a function that appends each head to a file, a blank line behind it, and flushes it to the disk. The file is created
// if it does not exist; its folder must exist.
func PublishFile(path string) func(context.Context, []byte) error {
	return func(_ context.Context, head []byte) (err error) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if _, err := f.Write(append(bytes.Clone(head), '\n')); err != nil {
			return err
		}
		return f.Sync()
	}
}

// Command is a program.
type Command struct {
	Args []string // the program and its arguments
	Dir  string   // its working directory
	Env  []string // its environment
}

// PublishCommand returns a function that starts a program with each head on standard input. It fails if the program does, or takes more than
// 10 seconds.
func PublishCommand(c Command) func(context.Context, []byte) error {
	program := notify.Program(c)
	return func(ctx context.Context, head []byte) error {
		if err := program.Send(ctx, head); err != nil {
			return fmt.Errorf("%s: %w", c.Args[0], err)
		}
		return nil
	}
}

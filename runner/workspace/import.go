package workspace

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// maxPath and maxElement bound the names in a tar, in bytes.
	maxPath    = 4096
	maxElement = 255
)

// ImportError says which entry of a tar is refused.
type ImportError struct {
	Entry, Problem string
}

func (e *ImportError) Error() string {
	if e.Entry == "" {
		return "import: " + e.Problem
	}
	return fmt.Sprintf("import: %q: %s", e.Entry, e.Problem)
}

// Hint is what a person can do about it.
func (e *ImportError) Hint() string {
	return "import only what mcprun workspace export has written; nothing of this file was taken over"
}

// ImportOptions configure an import; nil is valid.
type ImportOptions struct {
	// As is the customer's id. Empty: the one in the tar.
	As string
	// Vault is handed the folder of the vault when all of the tar is there, the id in the tar, and the customer's: what is
	// sealed there may be somebody else's. Its error refuses the import. Nil: the vault is taken over as it is.
	Vault func(ctx context.Context, dir, from, to string) error
}

// Import makes a customer from what [Customer.Export] wrote. There must be none of its id yet. Nothing is trusted of the tar:
// links, devices, names that lead elsewhere or come twice, and more than the quota or 200,000 files, are refused with an
// *[ImportError], and then nothing of it is kept.
func (r *Root) Import(ctx context.Context, from io.Reader, opt *ImportOptions) (out *Exported, err error) {
	if opt == nil {
		opt = &ImportOptions{}
	}
	as := opt.As
	if as != "" {
		if err := CheckID("customer", as); err != nil {
			return nil, err
		}
	}
	temp := unfinished + rand.Text()[:12]
	dir, err := openReal(r.root, temp, true)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	defer func() {
		err = errors.Join(err, dir.Close())
		if err != nil {
			out, err = nil, errors.Join(err, removeAll(r.root, temp))
		}
	}()
	if err := dir.Chmod(".", 0o700); err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	in := &importer{ctx: ctx, dir: dir, tar: tar.NewReader(&patient{ctx, from}), now: r.opt.Now(), quota: r.opt.Quota, room: r.opt.Quota, folders: map[string]bool{}}
	h, err := in.head()
	if err != nil {
		return nil, err
	}
	if as == "" {
		as = h.Customer
	}
	if err := CheckID("customer", as); err != nil {
		return nil, err
	}
	if err := in.all(); err != nil {
		return nil, err
	}
	if opt.Vault != nil && in.folders[vaultDir] {
		if err := CheckID("customer", h.Customer); err != nil { // it is the vault's, by what the tar says
			return nil, err
		}
		if err := opt.Vault(ctx, filepath.Join(r.dir, temp, vaultDir), h.Customer, as); err != nil {
			return nil, err
		}
	}
	return &Exported{Customer: as, Files: in.files, Bytes: in.bytes}, r.adopt(ctx, temp, as)
}

// adopt makes a folder that is whole that of a customer.
func (r *Root) adopt(ctx context.Context, temp, id string) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.unlike(id); err != nil {
		return err
	}
	if _, err := r.root.Lstat(id); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("import: there is a customer %q already: name another id with --as: %w", id, fs.ErrExist), err)
	}
	if err := r.root.Rename(temp, id); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return (&Customer{root: r, id: id}).complete()
}

type importer struct {
	ctx context.Context
	dir *os.Root
	tar *tar.Reader

	now   time.Time
	quota int64

	room    int64 // bytes
	bytes   int64
	files   int
	entries int
	folders map[string]bool // made for an entry of their own
}

// head reads the first entry.
func (x *importer) head() (*head, error) {
	h, err := x.tar.Next()
	if err != nil || h.Typeflag != tar.TypeReg || h.Name != exportHead || h.Size > 64<<10 {
		return nil, errors.Join(&ImportError{Problem: "this is no export of a customer"}, context.Cause(x.ctx))
	}
	text, err := io.ReadAll(io.LimitReader(x.tar, 64<<10))
	if err != nil {
		return nil, &ImportError{Entry: exportHead, Problem: err.Error()}
	}
	var out head
	if json.Unmarshal(text, &out) != nil || out.Kind != exportKind {
		return nil, &ImportError{Entry: exportHead, Problem: "this is no export of a customer"}
	}
	if out.Version != exportVersion {
		return nil, &ImportError{Entry: exportHead, Problem: fmt.Sprintf("its form is version %d; this mcprun knows %d", out.Version, exportVersion)}
	}
	return &out, nil
}

func (x *importer) all() error {
	for {
		h, err := x.tar.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if x.ctx.Err() != nil {
			return context.Cause(x.ctx)
		}
		if err != nil {
			return &ImportError{Problem: "it cannot be read: " + clip(err.Error(), maxName)}
		}
		if x.entries++; x.entries > maxEntriesCopied {
			return &ImportError{Problem: fmt.Sprintf("there are more than %d files and folders", maxEntriesCopied)}
		}
		if err := x.entry(h); err != nil {
			return err
		}
	}
}

func (x *importer) entry(h *tar.Header) error {
	refuse := func(problem string) error {
		return &ImportError{Entry: clip(h.Name, maxName), Problem: problem}
	}
	name := h.Name
	if h.Typeflag == tar.TypeDir {
		name = strings.TrimSuffix(name, "/")
	}
	err := checkEntry(name)
	if err == nil {
		err = checkSession(strings.Split(name, "/"), h.Typeflag == tar.TypeDir)
	}
	if err != nil {
		return refuse(err.Error())
	}
	full := refuse(fmt.Sprintf("with it there would be more than the quota of a customer allows, %s", sizeText(x.quota)))
	switch h.Typeflag {
	case tar.TypeDir:
		if x.room -= cost(0); x.room < 0 {
			return full
		}
		err = x.folder(name, h)
	case tar.TypeReg:
		if !strings.Contains(name, "/") {
			return refuse("it is in none of the folders " + strings.Join(folders(), ", "))
		}
		if h.Size < 0 || h.Size > x.room || cost(h.Size) > x.room {
			return full
		}
		err = x.file(name, h)
	default:
		return refuse("it is neither a file nor a folder")
	}
	if errors.Is(err, fs.ErrExist) {
		return refuse("it comes twice, or another differs from it only in what this file system does not tell apart")
	}
	if x.ctx.Err() != nil {
		return context.Cause(x.ctx)
	}
	if err != nil {
		return refuse(clip(err.Error(), maxName))
	}
	return nil
}

func (x *importer) folder(name string, h *tar.Header) error {
	if x.folders[name] {
		return fs.ErrExist
	}
	if err := x.parents(path.Dir(name)); err != nil {
		return err
	}
	if err := x.dir.Mkdir(name, 0o700); err != nil {
		return err
	}
	x.folders[name] = true
	if !strings.Contains(name, "/") {
		return nil
	}
	return x.dir.Chmod(name, rightsOf(name, h, 0o700))
}

// parents makes sure that the folders exist which come before what is in them, as they do in an export.
func (x *importer) parents(name string) error {
	if name != "." && !x.folders[name] {
		return errors.New("the folder that it is in does not come before it")
	}
	return nil
}

func (x *importer) file(name string, h *tar.Header) error {
	if err := x.parents(path.Dir(name)); err != nil {
		return err
	}
	f, err := x.dir.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(x.tar, h.Size))
	if err == nil && n < h.Size {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		err = f.Chmod(rightsOf(name, h, 0o600))
	}
	x.room -= cost(n)
	x.bytes += n
	x.files++
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	at := h.ModTime
	if at.After(x.now) { // what is from the future would never be idle
		at = x.now
	}
	return x.dir.Chtimes(name, at, at)
}

// rightsOf are those of what is made for an entry.
func rightsOf(name string, h *tar.Header, least fs.FileMode) fs.FileMode {
	perm := fs.FileMode(h.Mode)&0o755 | least
	if strings.HasPrefix(name, stateDir+"/") {
		return forScripts(perm)
	}
	return perm
}

// checkSession tells why an entry cannot be one of the sessions: what mcprun keeps there itself must be what it takes it for.
func checkSession(parts []string, folder bool) error {
	if parts[0] != sessionsDir || len(parts) == 1 {
		return nil
	}
	wanted, known := true, len(parts) == 2
	if len(parts) == 3 {
		switch parts[2] {
		case logName, lockName:
			wanted, known = false, true
		case checkpointsDir:
			known = true
		}
	}
	switch {
	case known && wanted != folder:
		return errors.New("it is a folder where a file is kept, or a file where a folder is")
	case len(parts) == 2 && CheckID("session", parts[1]) != nil:
		return errors.New("it is named as no session can be")
	}
	return nil
}

// checkEntry tells why a path cannot be that of an entry.
func checkEntry(name string) error {
	switch {
	case len(name) > maxPath:
		return errors.New("its name is too long")
	case !utf8.ValidString(name):
		return errors.New("its name is not UTF-8")
	case !fs.ValidPath(name) || name == ".":
		return errors.New("its name is no plain path below the customer's folder")
	case strings.ContainsRune(name, '\\') || strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("there are characters in its name that no path here may have")
	}
	parts := strings.Split(name, "/")
	switch {
	case len(parts) > maxLevels+2:
		return errors.New("it is too deep")
	case slices.ContainsFunc(parts, func(p string) bool { return len(p) > maxElement }):
		return errors.New("its name is too long")
	case !slices.Contains(folders(), parts[0]):
		return errors.New("it is in none of the folders " + strings.Join(folders(), ", "))
	}
	return nil
}

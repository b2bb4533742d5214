package mcpserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

const (
	maxFile    = 4 << 20 // bytes written at once
	maxEntries = 1000    // files listed
	maxDepth   = 16      // nested folders
)

// mountPoints are folders of the workspace on which the tree and the skills are mounted. Files in them would be hidden.
var mountPoints = []string{"servers", "skills"}

// openWorkspace opens the customer's folder. Paths in it cannot lead out of it, whatever links a script has left there.
func (c *toolCall) openWorkspace() (*os.Root, error) {
	if c.cs.customer.Files == "" {
		return nil, c.errorf("there is no workspace here: the server was started without one")
	}
	dir, err := workspace.Open(c.cs.customer.Files)
	if err != nil {
		return nil, err
	}
	return safeopen.Root(dir)
}

// workspacePath returns a file's path relative to the workspace. Scripts see the workspace as /workspace. Listings quote names with unusual
// characters, so a quoted name is accepted too. As in scripts, ./workspace means the workspace, unless it has a folder of that name.
func (c *toolCall) workspacePath(name string) (string, error) {
	if unquoted, err := strconv.Unquote(name); err == nil && strings.HasPrefix(name, `"`) {
		name = unquoted
	}
	if restored, err := c.restored(name); err == nil { // names are shown with tokens too
		name = restored
	}
	clean := path.Clean(strings.TrimPrefix(strings.TrimPrefix(name, "/workspace/"), "./"))
	switch {
	case name == "" || strings.ContainsRune(name, 0) || !utf8.ValidString(name) || len(name) > 1000:
		return "", errors.New("the name is empty, too long, or has characters that no name may have")
	case path.IsAbs(clean), !fs.ValidPath(clean), strings.ContainsAny(name, `\:`):
		return "", errors.New("use a path relative to the workspace, such as data/leads.csv")
	}
	if below, ok := strings.CutPrefix(clean+"/", "workspace/"); ok {
		if _, err := os.Lstat(filepath.Join(c.cs.customer.Files, "workspace")); errors.Is(err, fs.ErrNotExist) {
			clean = path.Clean(below)
		}
	}
	return clean, nil
}

type writeFileArgs struct {
	Name    string  `json:"filename"`
	Content *string `json:"content" required:""`
}

func callWriteWorkspaceFile(ctx context.Context, c *toolCall, args *writeFileArgs) (*reply, error) {
	file, err := c.workspacePath(args.Name)
	if err == nil {
		err = checkWritable(file)
	}
	if err != nil {
		return nil, c.errorf("%.200q: %v", args.Name, err)
	}
	size := len(*args.Content)
	if size > maxFile {
		return nil, c.errorf("content has %d bytes; at most %d at once", size, maxFile)
	}
	if err := c.used(ctx, file); err != nil {
		return nil, err
	}
	if err := c.writeFile(ctx, file, *args.Content); err != nil {
		return nil, err
	}
	file = ident.CleanName(file)
	text := fmt.Sprintf("wrote %s, %d bytes", file, size)
	return &reply{text: text, data: map[string]any{"file": file, "bytes": size, "message": text}}, nil
}

// checkWritable refuses the workspace itself, the host's folder, the mount points, and names of configuration.
func checkWritable(file string) error {
	first, _, _ := strings.Cut(file, "/")
	named := func(names ...string) bool { // some file systems ignore case
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(first, name) })
	}
	switch {
	case named(workspace.ReservedFiles()...):
		return errors.New("mcpgen and mcprun read files of this name as configuration; use another name")
	case named(".", workspace.StoreDir), named(mountPoints...):
		return errors.New("this path is reserved; use another folder")
	}
	return nil
}

// writeFile writes a file if the customer has room for it. The error is for the model.
func (c *toolCall) writeFile(ctx context.Context, file, content string) error {
	content, err := c.restored(content)
	if err != nil {
		return err
	}
	root, err := c.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := c.checkQuota(ctx, root.Name(), int64(len(content))); err != nil {
		return err
	}
	if err := c.wrote(ctx, file); err != nil {
		return err
	}
	if err = root.MkdirAll(path.Dir(file), 0o777); err == nil {
		err = atomicfile.WriteIn(root, file, []byte(content), 0o666)
	}
	if err != nil {
		return c.errorf("%v", hidePath(err))
	}
	return nil
}

// checkQuota returns an error for the model if the workspace may not grow by more bytes.
func (c *toolCall) checkQuota(ctx context.Context, dir string, more int64) error {
	if quota := c.cs.customer.Quota; quota > 0 {
		snapshot, err := workspace.Take(dir)
		if err != nil {
			return err
		}
		if used := snapshot.Bytes(); used+more > quota {
			return c.errorf("the workspace may hold %d bytes and holds %d; delete something first", quota, used)
		}
	}
	return c.checkRoom(ctx, more)
}

// checkRoom returns an error for the model if the customer may not store more bytes anywhere.
func (c *toolCall) checkRoom(ctx context.Context, more int64) error {
	if c.cs.customer.Room == nil {
		return nil
	}
	free, err := c.cs.customer.Room(ctx)
	if err != nil {
		return err
	}
	if more > free {
		return c.errorf("%d bytes are too many: the customer's quota leaves %d; delete something first", more, free)
	}
	return nil
}

type readFileArgs struct {
	Name string `json:"filename"`
}

// fileContent is the structured content of read_workspace_file.
type fileContent struct {
	File    string `json:"file"`
	Name    string `json:"filename"` // filename and size are named as in other servers
	Bytes   int64  `json:"bytes"`
	Size    int64  `json:"size"`
	Content string `json:"content"`
	Base64  bool   `json:"base64,omitempty"`
	Cut     bool   `json:"cut,omitempty"`
}

func callReadWorkspaceFile(ctx context.Context, c *toolCall, args *readFileArgs) (*reply, error) {
	file, err := c.workspacePath(args.Name)
	if err != nil {
		return nil, c.errorf("%.200q: %v", args.Name, err)
	}
	root, err := c.openWorkspace()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	limit := c.cs.s.opt.MaxText
	data, size, err := readStart(root, file, int64(limit)*utf8.UTFMax)
	if err != nil {
		return nil, c.errorf("%v", hidePath(err))
	}
	if err := c.reads(ctx, file); err != nil {
		return nil, err
	}
	if err := c.used(ctx, file); err != nil {
		return nil, err
	}
	out := fileContent{File: ident.CleanName(file), Name: ident.CleanName(file), Bytes: size, Size: size}
	text, isText := string(data), utf8.Valid(data)
	if int64(len(data)) < size { // the cut may be within a character
		text, isText = strings.ToValidUTF8(text, ""), !strings.ContainsRune(text, 0)
	}
	if isText {
		masked := c.masked(text, int64(len(data)) < size)
		out.Content = firstCharacters(masked, limit)
		out.Cut = len(out.Content) < len(masked) || int64(len(data)) < size
		text = out.Content
	} else {
		data = data[:min(len(data), limit/4*3)]
		out.Base64, out.Content = true, base64.StdEncoding.EncodeToString(data)
		out.Cut = int64(len(data)) < size
		text = "[not text; in base64]\n" + out.Content
	}
	if out.Cut {
		text += fmt.Sprintf("\n[cut: the file has %d bytes; read parts of it with execute_code]", size)
	}
	return &reply{text: text, data: out}, nil
}

// readStart reads at most most bytes of a regular file, and returns its size too. It does not wait for a pipe or device that a script left
// there.
func readStart(root *os.Root, file string, most int64) (data []byte, size int64, err error) {
	f, err := safeopen.File(root, file, os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.LimitReader(f, most))
	return data, max(info.Size(), int64(len(data))), err
}

func firstCharacters(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// fileEntry is one file of list_workspace_files.
type fileEntry struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`

	name string // name on the disk
}

type listFilesArgs struct {
	Folder string `json:"subpath"`
}

func callListWorkspaceFiles(ctx context.Context, c *toolCall, args *listFilesArgs) (*reply, error) {
	if args.Folder == "" || args.Folder == sandbox.WorkspaceDir || args.Folder == "/" {
		args.Folder = "."
	}
	folder, err := c.workspacePath(args.Folder)
	if err != nil {
		return nil, c.errorf("%.200q: %v", args.Folder, err)
	}
	root, err := c.openWorkspace()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	list, more, err := listFiles(root, folder)
	if err != nil {
		return nil, c.errorf("%v", hidePath(err))
	}
	rows, names := make([]string, len(list)), make([]string, len(list))
	for i, e := range list {
		names[i] = e.name
	}
	if err := c.reads(ctx, names...); err != nil {
		return nil, err
	}
	for i, e := range list {
		rows[i] = fmt.Sprintf("%s (%d)", e.Path, e.Bytes)
	}
	if more {
		rows = append(rows, fmt.Sprintf("[only the first %d; list a folder of it]", maxEntries))
	}
	if len(rows) == 0 {
		rows = []string{"there are no files"}
	}
	return &reply{text: strings.Join(rows, "\n"), data: struct {
		Files []fileEntry `json:"files"`
		Count int         `json:"count"`
		More  bool        `json:"more,omitempty"`
	}{list, len(list), more}}, nil
}

// listFiles returns the regular files below a folder, sorted by name. It does not follow links.
func listFiles(root *os.Root, folder string) (list []fileEntry, more bool, err error) {
	list = []fileEntry{}
	err = fs.WalkDir(safeopen.FS(root), folder, func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && p == folder:
			return err
		case err != nil:
			return fs.SkipDir // a script may have made it unreadable
		case e.IsDir() && (slices.Contains(mountPoints, p) || strings.Count(p, "/") >= maxDepth):
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		case len(list) >= maxEntries:
			more = true
			return fs.SkipAll
		}
		if info, err := e.Info(); err == nil {
			list = append(list, fileEntry{ident.CleanName(p), info.Size(), p})
		}
		return nil
	})
	return list, more, err
}

// hidePath returns an error without the path of the workspace on this machine.
func hidePath(err error) error {
	var inPath *fs.PathError
	var link *os.LinkError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file or folder; list_workspace_files lists those that exist")
	case errors.As(err, &inPath):
		return fmt.Errorf("%s: %w", inPath.Path, inPath.Err)
	case errors.As(err, &link):
		return fmt.Errorf("%s: %w", link.New, link.Err)
	}
	return err
}

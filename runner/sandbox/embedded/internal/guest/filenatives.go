package guest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
	"syscall"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// fileOp is one file operation. The script gets its result, or its error in the form in which Node reports it for the system call.
type fileOp func(a args, f file) (engine.Value, error)

// fileNatives returns the file operations. All are synchronous; the prelude settles promises after they return. The first
// argument of each is a path.
func (g *guest) fileNatives() map[string]native {
	m := map[string]native{}
	add := func(name, call string, writes bool, op fileOp) {
		m[name] = func(a args) (engine.Value, error) {
			given := a.text(0)
			find := g.o.Files.find
			if call == "scandir" || call == "stat" || call == "mkdir" || call == "access" {
				find = g.o.Files.findFolder
			}
			f := find(given)
			v, err := engine.Undefined(), error(syscall.EROFS)
			switch {
			case strings.ContainsRune(given, 0):
				return v, &engine.ThrowError{Class: "TypeError", Message: "a path cannot hold a null byte",
					Props: map[string]string{"code": "ERR_INVALID_ARG_VALUE"}}
			case !writes || f.writable && f.root != nil:
				v, err = op(a, f)
			}
			return v, throwFile(err, call, given)
		}
	}
	add("fileRead", "open", false, g.fileRead)
	add("fileWrite", "open", true, g.fileWrite)
	add("fileList", "scandir", false, g.fileList)
	add("fileStat", "stat", false, g.fileStat)
	add("fileMkdir", "mkdir", true, g.fileMkdir)
	add("fileRemove", "unlink", true, func(a args, f file) (engine.Value, error) { return engine.Undefined(), g.fileRemove(a.text(1), f) })
	add("fileRename", "rename", true, g.fileRename)
	add("fileRealpath", "realpath", false, g.fileRealpath)
	add("fileWritable", "access", true, func(args, file) (engine.Value, error) { return engine.Undefined(), nil })
	return m
}

func throwFile(err error, call, name string) error {
	var ex *engine.Exception
	var te *engine.ThrowError
	if err == nil || errors.As(err, &ex) || errors.As(err, &te) {
		return err
	}
	var of *callError
	if errors.As(err, &of) {
		call = of.call
	}
	e := asFileError(err, call, name)
	return &engine.ThrowError{Message: e.Error(), Errno: e.errno,
		Props: map[string]string{"code": e.code, "syscall": e.syscall, "path": e.path}}
}

// callError is an error of a system call other than the one after which its operation is named.
type callError struct {
	call string
	error
}

func (e *callError) Unwrap() error { return e.error }

// open opens a regular file for reading. Other kinds of files could block.
func (f file) open() (*os.File, fs.FileInfo, error) {
	if f.root == nil {
		return nil, nil, syscall.ENOENT
	}
	h, err := safeopen.File(f.root, f.rel, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, kindErrno(err)
	}
	info, err := h.Stat()
	if err != nil {
		h.Close()
		return nil, nil, err
	}
	return h, info, nil
}

// kindErrno replaces the error for a file that is not regular by Node's error.
func kindErrno(err error) error {
	switch e, ok := errors.AsType[*safeopen.KindError](err); {
	case !ok:
		return err
	case e.Mode.IsDir():
		return &callError{"read", syscall.EISDIR}
	}
	return syscall.EINVAL
}

// fileRead(path, asText)
func (g *guest) fileRead(a args, f file) (engine.Value, error) {
	if f.root == nil && g.o.Files.isMount(f.abs) {
		return engine.Undefined(), &callError{"read", syscall.EISDIR}
	}
	h, info, err := f.open()
	if err != nil {
		return engine.Undefined(), err
	}
	defer h.Close()
	limit := g.maxRead()
	if info.Size() > limit {
		return engine.Undefined(), &engine.ThrowError{Class: "RangeError",
			Message: fmt.Sprintf("the file has %d bytes; with this memory limit, at most %d can be read at once", info.Size(), limit),
			Props:   map[string]string{"code": "ERR_FS_FILE_TOO_LARGE"}}
	}
	b, err := io.ReadAll(io.LimitReader(h, limit))
	if err != nil {
		return engine.Undefined(), err
	}
	if a.bool(1) {
		return g.vm.String(string(b)), nil
	}
	return g.vm.Bytes(b)
}

// fileWrite(path, data, flag)
func (g *guest) fileWrite(a args, f file) (engine.Value, error) {
	if g.o.Files.isMount(f.abs) {
		return engine.Undefined(), syscall.EISDIR
	}
	data, err := a.bytes(1)
	if err != nil {
		return engine.Undefined(), err
	}
	flags := os.O_WRONLY | os.O_CREATE
	switch flag := a.text(2); flag {
	case "w":
		flags |= os.O_TRUNC
	case "wx", "xw":
		flags |= os.O_TRUNC | os.O_EXCL
	case "a":
		flags |= os.O_APPEND
	case "ax", "xa":
		flags |= os.O_APPEND | os.O_EXCL
	case "r+":
		flags &^= os.O_CREATE
	default:
		return engine.Undefined(), syscall.EINVAL
	}
	h, err := safeopen.File(f.root, f.rel, flags, 0o666)
	if err != nil {
		return engine.Undefined(), kindErrno(err)
	}
	if limit := g.o.FileSize; limit > 0 {
		at := int64(0)
		if flags&os.O_APPEND != 0 {
			info, statErr := h.Stat()
			if statErr != nil {
				return engine.Undefined(), errors.Join(statErr, h.Close())
			}
			at = info.Size()
		}
		if room := max(limit-at, 0); int64(len(data)) > room {
			data, err = data[:room], syscall.EFBIG
		}
	}
	if err := f.quota.spend(len(data)); err != nil {
		return engine.Undefined(), errors.Join(err, h.Close())
	}
	g.noteWritten(f)
	_, writeErr := h.Write(data)
	return engine.Undefined(), errors.Join(writeErr, err, h.Close())
}

// kind returns a letter for a file's type.
func kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "f"
	case m.IsDir():
		return "d"
	case m&fs.ModeSymlink != 0:
		return "l"
	}
	return "o"
}

// fileList(path) → [name, kind, name, kind, …], sorted by name
func (g *guest) fileList(_ args, f file) (engine.Value, error) {
	kinds := map[string]string{}
	if f.root != nil {
		entries, err := safeopen.ReadDir(f.root, f.rel, 0)
		if _, ok := errors.AsType[*safeopen.KindError](err); ok {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return engine.Undefined(), err
		}
		for _, e := range entries {
			// The folder of the tree lists servers only, whose names have no dot.
			if isTree := f.rel == "." && path.Base(f.abs) == "servers"; isTree && (strings.Contains(e.Name(), ".") || e.Name() == "__pycache__") {
				continue
			}
			kinds[e.Name()] = kind(e.Type())
		}
	} else if !g.o.Files.isMount(f.abs) {
		return engine.Undefined(), syscall.ENOENT
	}
	for _, name := range g.o.Files.below(f.abs) {
		kinds[name] = "d"
	}
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	sort.Strings(names)
	items := make([]engine.Value, 0, 2*len(names))
	for _, name := range names {
		items = append(items, g.vm.String(name), g.vm.String(kinds[name]))
	}
	return g.vm.Array(items...), nil
}

// fileStat(path, follow) → [kind, size, mtime in ms, mode]
func (g *guest) fileStat(a args, f file) (engine.Value, error) {
	if f.root == nil {
		if !g.o.Files.isMount(f.abs) {
			return engine.Undefined(), syscall.ENOENT
		}
		return g.vm.Array(g.vm.String("d"), engine.Int(0), engine.Int(0), engine.Int(0o40555)), nil
	}
	stat := f.root.Lstat
	if a.bool(1) {
		stat = f.root.Stat
	}
	info, err := stat(f.rel)
	if err != nil {
		return engine.Undefined(), err
	}
	types := map[string]int{"f": 0o100000, "d": 0o40000, "l": 0o120000, "o": 0}
	k := kind(info.Mode())
	return g.vm.Array(g.vm.String(k), engine.Float(float64(info.Size())),
		engine.Float(float64(info.ModTime().UnixMicro())/1e3), engine.Int(types[k]|int(info.Mode().Perm()))), nil
}

// fileMkdir(path, recursive) → whether the folder was made
func (g *guest) fileMkdir(a args, f file) (engine.Value, error) {
	if a.bool(1) {
		if err := f.quota.spend(0); err != nil {
			return engine.Undefined(), err
		}
		_, err := f.root.Lstat(f.rel)
		return engine.Bool(err != nil), f.root.MkdirAll(f.rel, 0o777)
	}
	if g.o.Files.isMount(f.abs) {
		return engine.Undefined(), syscall.EEXIST
	}
	if err := f.quota.spend(0); err != nil {
		return engine.Undefined(), err
	}
	return engine.Bool(true), f.root.Mkdir(f.rel, 0o777)
}

// fileRemove(path, how): "file", "dir" (empty) or "all"
func (g *guest) fileRemove(how string, f file) error {
	call := map[string]string{"file": "unlink", "dir": "rmdir", "all": "rm"}[how]
	err := error(syscall.EACCES)
	if !g.o.Files.isMount(f.abs) {
		var info fs.FileInfo
		info, err = f.root.Lstat(f.rel)
		switch {
		case err != nil:
		case how == "all":
			err = f.root.RemoveAll(f.rel)
		case how == "file" && info.IsDir():
			err = syscall.EISDIR
		case how == "dir" && !info.IsDir():
			err = syscall.ENOTDIR
		default:
			err = f.root.Remove(f.rel)
		}
	}
	if err == nil {
		return nil
	}
	return &callError{call, err}
}

// fileRename(path, to)
func (g *guest) fileRename(a args, f file) (engine.Value, error) {
	to := g.o.Files.find(a.text(1))
	switch {
	case to.root == nil || !to.writable:
		return engine.Undefined(), syscall.EROFS
	case g.o.Files.isMount(f.abs) || g.o.Files.isMount(to.abs):
		return engine.Undefined(), syscall.EACCES
	case to.root != f.root:
		return engine.Undefined(), syscall.EXDEV
	}
	g.noteWritten(to)
	return engine.Undefined(), f.root.Rename(f.rel, to.rel)
}

// fileRealpath(path) → the absolute path, links of its last part followed
func (g *guest) fileRealpath(_ args, f file) (engine.Value, error) {
	for range 40 {
		if f.root == nil {
			if !g.o.Files.isMount(f.abs) {
				return engine.Undefined(), syscall.ENOENT
			}
			break
		}
		info, err := f.root.Lstat(f.rel)
		if err != nil {
			return engine.Undefined(), err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			break
		}
		target, err := f.root.Readlink(f.rel)
		if err != nil {
			return engine.Undefined(), err
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(f.abs), target)
		}
		f = g.o.Files.find(target)
	}
	return g.vm.String(f.abs), nil
}

// Package carry takes the files of a workspace to an engine that does not see the host's folders, and what a run has
// changed in them back: [Pack] writes what is there, [Apply] makes the changes. In the container relay.py (package
// relay) does the other half.
//
// Both ways files travel as one stream of records, each a byte that says what it is and then its fields; numbers are
// big-endian. A path is relative, has '/' between its elements, and is written as its length (16 bits) and its bytes.
//
//	'd' mode(16) path                 a folder; its parents come before it
//	'f' mode(16) mtime(64) path       a file, then its data in pieces: offset(64) length(32) bytes; a length of zero ends
//	                                  them, and the offset is then the file's size: what no piece covers is zero.
//	                                  mtime counts nanoseconds from 1970, signed
//	'l' path target                   a symbolic link
//	'x' path                          was there before, and is gone: back only, before everything else
//	'n' count(32) path                so many things cannot be carried, this is one of them: back only
//	'.'                               the end; a stream without it is incomplete and good for nothing
//
// What comes back is written by a hostile program as far as the host is concerned. Apply bounds it in every way, lets
// nothing of it reach outside of the workspace, and touches nothing before all of it is there.
package carry

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// The kinds of records.
const (
	kindDir     = 'd'
	kindFile    = 'f'
	kindLink    = 'l'
	kindRemoved = 'x'
	kindLeft    = 'n'
	kindEnd     = '.'
)

const (
	maxPath  = 4000 // bytes; Linux takes no more than 4,095, the container's name of the workspace included
	maxDepth = 255  // elements of a path
	maxPiece = 1 << 20
	page     = 4096
)

// safePath tells whether name is a path below the workspace, written in the one way that there is.
func safePath(name string) bool {
	if name == "" || name == "." || len(name) > maxPath || strings.Count(name, "/") >= maxDepth || strings.ContainsRune(name, 0) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// okPath tells whether name may be carried: the same path on this system too.
func okPath(name string) bool {
	return safePath(name) && filepath.IsLocal(filepath.FromSlash(name)) && (filepath.Separator == '/' || !strings.ContainsRune(name, filepath.Separator))
}

// foreign tells whether name is one of the folders, which lie at the top of the workspace, or below one.
func foreign(name string, folders []string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains(folders, top)
}

// recorder writes records. The first error sticks.
type recorder struct {
	w   *bufio.Writer
	err error
}

func (r *recorder) bytes(b []byte) {
	if r.err == nil {
		_, r.err = r.w.Write(b)
	}
}

func (r *recorder) kind(k byte) { r.bytes([]byte{k}) }
func (r *recorder) uint16(n uint16) {
	r.bytes(binary.BigEndian.AppendUint16(nil, n))
}

func (r *recorder) uint32(n uint32) {
	r.bytes(binary.BigEndian.AppendUint32(nil, n))
}

func (r *recorder) uint64(n uint64) {
	r.bytes(binary.BigEndian.AppendUint64(nil, n))
}

func (r *recorder) path(name string) {
	r.uint16(uint16(len(name)))
	r.bytes([]byte(name))
}

// reader reads records that nobody vouches for.
type reader struct {
	r   *bufio.Reader
	buf []byte
}

// DamagedError says that what came back from a container is not what this package's other half writes.
type DamagedError struct{ Reason string }

func (e *DamagedError) Error() string { return "the changes to the workspace are damaged: " + e.Reason }

func damaged(format string, args ...any) error {
	return &DamagedError{Reason: fmt.Sprintf(format, args...)}
}

// take returns the next n bytes, good until the next call.
func (r *reader) take(n int) ([]byte, error) {
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	b := r.buf[:n]
	if _, err := io.ReadFull(r.r, b); err != nil {
		return nil, short(err)
	}
	return b, nil
}

func short(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return damaged("they end in the middle")
	}
	return fmt.Errorf("read the changes to the workspace: %w", err)
}

func (r *reader) uint16() (uint16, error) {
	b, err := r.take(2)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint16(b), nil
}

func (r *reader) uint32() (uint32, error) {
	b, err := r.take(4)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(b), nil
}

func (r *reader) uint64() (uint64, error) {
	b, err := r.take(8)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}

// name reads a path as it is; okPath judges it.
func (r *reader) name() (string, error) {
	n, err := r.uint16()
	if err != nil {
		return "", err
	}
	b, err := r.take(int(n))
	return string(b), err
}

package daemon

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"fmt"
	"os"
)

// BuildID names the build of the program in file exe: the linker's own id where the file is of a form that says it at a
// known place, which two builds share only when they are the same; else size and time of the file.
func BuildID(exe string) (string, error) {
	f, err := os.Open(exe)
	if err != nil {
		return "", fmt.Errorf("tell which build this is: %w", err)
	}
	defer f.Close()
	if id := linkerID(f); id != "" {
		return id, nil
	}
	st, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("tell which build this is: %w", err)
	}
	return fmt.Sprintf("%d-%d", st.Size(), st.ModTime().UnixNano()), nil
}

// linkerID is what `go tool buildid` prints; empty where it cannot be found.
func linkerID(f *os.File) string {
	if e, err := elf.NewFile(f); err == nil {
		if s := e.Section(".note.go.buildid"); s != nil && s.Size < 4096 {
			if note, err := s.Data(); err == nil && len(note) > 16 {
				return string(bytes.TrimRight(note[16:], "\x00")) // behind three lengths and the name "Go"
			}
		}
		return ""
	}
	m, err := macho.NewFile(f)
	if err != nil {
		return ""
	}
	text := m.Section("__text")
	if text == nil {
		return ""
	}
	head := make([]byte, 4096)
	n, _ := text.ReadAt(head, 0)
	if _, after, ok := bytes.Cut(head[:n], []byte("\xff Go build ID: \"")); ok {
		if id, _, ok := bytes.Cut(after, []byte("\"\n \xff")); ok {
			return string(id)
		}
	}
	return ""
}

package guest

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// connected returns a wire over a socket, and its other end.
func connected(t *testing.T) (*wire, net.Conn) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return newWire(ours), theirs
}

func frameOf(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// TestFramesInPieces checks that frames of any size arrive whole and in order, however the stream is split.
func TestFramesInPieces(t *testing.T) {
	w, host := connected(t)
	texts := []string{"", "a", strings.Repeat("b", 64<<10-4), strings.Repeat("c", 64<<10-3), strings.Repeat("d", 3*64<<10), "e"}
	var stream []byte
	for _, text := range texts {
		stream = append(stream, frameOf(text)...)
	}
	cuts := []int{97, 1000, 64 << 10, len(stream)}
	go func() {
		for _, cut := range cuts {
			for piece := range slices.Chunk(stream, cut) {
				if _, err := host.Write(piece); err != nil {
					return
				}
			}
		}
		host.Close()
	}()
	for i := range len(cuts) * len(texts) {
		frame, err := w.read()
		if want := texts[i%len(texts)]; err != nil || string(frame) != want {
			t.Fatalf("read() of frame %d = %d bytes, %v; want %d bytes", i, len(frame), err, len(want))
		}
	}
	if _, err := w.read(); err != io.EOF {
		t.Errorf("read() at the end = %v, want EOF", err)
	}
}

func TestFrameTooLarge(t *testing.T) {
	w, host := connected(t)
	if _, err := host.Write(binary.BigEndian.AppendUint32(nil, maxFrame+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.read(); err == nil || !strings.Contains(err.Error(), "frame of 16777217 bytes") {
		t.Errorf("read() = %v, want an error that names the size", err)
	}
}

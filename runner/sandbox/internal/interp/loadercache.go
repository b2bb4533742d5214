package interp

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
)

// readLoaderCache reads glibc's cache of library files (the format of glibc 2.2 and newer, "dl-cache.h"). It returns nil if
// the cache is missing or has another format: then the standard folders suffice.
func readLoaderCache(file string) map[string]string {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	const magic = "glibc-ld.so.cache1.1"
	const headerSize, entrySize = 48, 24
	at := bytes.Index(data, []byte(magic))
	if at < 0 || len(data)-at < headerSize {
		return nil
	}
	data = data[at:]
	count := int(binary.LittleEndian.Uint32(data[len(magic):]))
	want := map[string]uint32{"amd64": 0x0303, "arm64": 0x0a03}[runtime.GOARCH]
	libs := make(map[string]string)
	for i := range count {
		off := headerSize + i*entrySize
		if off+entrySize > len(data) {
			break
		}
		e := data[off:]
		flags, hwcap := binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint64(e[16:])
		if flags != want || hwcap != 0 { // variants for special processors always come with a generic one
			continue
		}
		name, path := cString(data, binary.LittleEndian.Uint32(e[4:])), cString(data, binary.LittleEndian.Uint32(e[8:]))
		if name != "" && path != "" && libs[name] == "" {
			libs[name] = path
		}
	}
	return libs
}

func cString(data []byte, off uint32) string {
	if int64(off) >= int64(len(data)) {
		return ""
	}
	s, _, _ := bytes.Cut(data[off:], []byte{0})
	return string(s)
}

package workspace

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// eachLine hands whole lines to f, which tells whether one was good. The last line counts without its end too. Lines longer
// than maxLine are bad, and not more than maxLog is read.
func eachLine(r io.Reader, f func(line []byte) (good bool, err error)) (bad int, err error) {
	in := bufio.NewReaderSize(io.LimitReader(r, maxLog), maxLine)
	for {
		line, err := in.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return bad, err
		}
		if line = bytes.TrimSpace(line); long || len(line) > 0 {
			good := false
			if !long {
				var failed error
				if good, failed = f(line); failed != nil {
					return bad, failed
				}
			}
			if !good {
				bad++
			}
		}
		if err != nil {
			return bad, nil
		}
	}
}

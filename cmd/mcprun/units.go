package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/docker/go-units"
)

// memorySize is a flag value in bytes. A plain number is megabytes (10⁶ bytes); KiB, MiB and GiB are powers of 1024,
// kB, MB and GB powers of 1000.
type memorySize int64

const (
	minMemory = 32_000_000 // the least a runtime can start with
	maxMemory = 1 << 50    // more than any machine has; far below where sums would overflow
)

func (m *memorySize) String() string { return fmt.Sprintf("%dMB", int64(*m)/1_000_000) }

func (m *memorySize) Type() string { return "size" }

func (m *memorySize) Set(text string) error {
	bytes, err := parseSize(text)
	if err != nil {
		return err
	}
	if bytes < 0 || bytes > maxMemory { // the parser of units does not notice an overflow
		return fmt.Errorf("%s is no size of memory", text)
	}
	if bytes < minMemory {
		return fmt.Errorf("%s is too little: at least 32 MB", text)
	}
	*m = memorySize(bytes)
	return nil
}

func parseSize(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 40); err == nil {
		return n * 1_000_000, nil
	}
	if len(text) > 3 && text[len(text)-2] == 'i' {
		return units.RAMInBytes(text)
	}
	return units.FromHumanSize(text)
}

// byteCount shows a size for people.
func byteCount(n int) string { return units.HumanSize(float64(n)) }

// runTime is a flag value: whole seconds, or a Go duration. It is more than zero.
type runTime time.Duration

func (d *runTime) String() string { return time.Duration(*d).String() }

func (d *runTime) Type() string { return "time" }

func (d *runTime) Set(text string) error {
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no time: write seconds, or for example 90s or 2m", text)
	}
	if v <= 0 {
		return errors.New("a run needs some time, for example 90s")
	}
	*d = runTime(v)
	return nil
}

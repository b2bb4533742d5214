//go:build !linux

package main

// processes returns nil: memory is measured on Linux only.
func processes() []int { return nil }

// memoryOfNew returns false: memory is measured on Linux only.
func memoryOfNew([]int) (mib float64, ok bool) { return 0, false }

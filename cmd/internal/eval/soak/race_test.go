//go:build race

package soak

// raceDetector reports whether the race detector is on. Its memory grows during a test.
const raceDetector = true

//go:build race

package soak

// raceDetector reports whether the race detector is on, whose memory grows during a test.
const raceDetector = true

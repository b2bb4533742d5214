//go:build race

package soak

// raceDetector: its own memory grows with what happens.
const raceDetector = true

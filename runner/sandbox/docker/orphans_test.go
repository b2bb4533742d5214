package docker

import "testing"

// Who is to look after what a killed process leaves also has to where the engine was gone, and only there.
func TestGuardIsKeptWhileSomethingIsLeft(t *testing.T) {
	for orphan, want := range map[string]int{"": 1, "container": 0} {
		guarded, released := 0, 0
		b := New(Options{Host: "unix:///nonexistent", Guard: func() func() {
			guarded++
			return func() { released++ }
		}})
		b.guard()
		b.guard()
		if orphan != "" {
			b.remember(orphan)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b.guard()
		if guarded != 1 || released != want {
			t.Errorf("with %q left: guarded %d times, released %d times, want %d", orphan, guarded, released, want)
		}
	}
}

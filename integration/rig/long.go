package rig

import (
	"os"
	"testing"
)

// Thorough reports whether a run takes hours: just nightly.
func Thorough() bool { return os.Getenv("DETENT_THOROUGH") == "1" }

// Long skips a test that repeats for minutes, in another way, what others test: just nightly runs it.
func Long(t testing.TB) {
	t.Helper()
	if !Thorough() {
		t.Skip("just nightly runs this; or set DETENT_THOROUGH=1")
	}
}

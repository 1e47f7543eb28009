// Package turn divides tests between commits. On two cores, a whole run with all clusters takes longer than people wait for it. So of the
// tests that start a cluster of their own, for a subject that others touch too, or that compute for long, each commit's run has one half, which its hash chooses
// (TURN, see the justfile): a few commits run all of them, and just nightly runs all each time, as does go test by hand.
package turn

import (
	"os"
	"testing"
)

// left begins the reason of a skipped test. integration/again names these tests at the end of a run.
const left = "not this commit's turn"

// First skips a test in the runs of the second half.
func First(t testing.TB) {
	t.Helper()
	of(t, "0")
}

// Second skips a test in the runs of the first half.
func Second(t testing.TB) {
	t.Helper()
	of(t, "1")
}

func of(t testing.TB, mine string) {
	t.Helper()
	if now := os.Getenv("TURN"); now != "" && now != mine {
		t.Skip(left + ": every second commit runs it, and just nightly; without TURN in the environment, every run does")
	}
}

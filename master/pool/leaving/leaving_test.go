package leaving

import (
	"testing"
	"time"
)

// TestAt: the time of a notice is read in both forms, and nothing else is taken for one.
func TestAt(t *testing.T) {
	at := time.Date(2026, 11, 23, 14, 5, 0, 0, time.UTC)
	for notice, want := range map[string]time.Time{
		"2026-11-23T14:05:00Z": at, "2026-11-23T15:05:00+01:00": at, "1795442700": at,
		"": {}, "soon": {}, "0": {}, "-5": {}, "1e9": {}, "99999999999999999999": {}, "68719476736": {}, "2026-11-23": {},
	} {
		if got := At(notice); !got.Equal(want) {
			t.Errorf("%q: %v, want %v", notice, got, want)
		}
	}
}

package pool

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("east", 2*3600)
	now := time.Date(2026, 12, 1, 17, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"now": "2026-12-01T15:30:00Z", "18:00": "2026-12-01T16:00:00Z", "08:15": "2026-12-02T06:15:00Z", "2026-12-03 09:00": "2026-12-03T07:00:00Z",
		"2026-12-03T09:00": "2026-12-03T07:00:00Z", "2026-12-03T09:00:00Z": "2026-12-03T09:00:00Z", "2026-12-03T09:00-05:00": "2026-12-03T14:00:00Z",
		"2026-12-03": "2026-12-02T22:00:00Z", "+90m": "2026-12-01T17:00:00Z", "+2d": "2026-12-03T15:30:00Z",
		"tomorrow": "", "25:00": "", "+": "", "+-3h": "", "": "",
	} {
		at, err := parseTime(text, now)
		if got := at.UTC().Format(time.RFC3339); want == "" && err == nil || want != "" && (err != nil || got != want) {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestParseLength(t *testing.T) {
	for text, want := range map[string]time.Duration{"4h": 4 * time.Hour, "1.5d": 36 * time.Hour, "90m": 90 * time.Minute, "0h": 0, "-1h": 0, "d": 0, "4": 0, "": 0} {
		if got, err := parseLength("--for", text); got != want || (want == 0) != (err != nil) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

package schedule

import (
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	at := func(text string) time.Time {
		t.Helper()
		v, err := time.Parse("2006-01-02 15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct{ schedule, after, want string }{
		{"24h", "2026-11-23 07:00:10", "2026-11-24 07:00:10"},
		{"30 2 * * *", "2026-11-23 02:29:59", "2026-11-23 02:30:00"},
		{"30 2 * * *", "2026-11-23 02:30:00", "2026-11-24 02:30:00"},
		{"@daily", "2026-12-31 23:59:00", "2027-01-01 00:00:00"},
		{"*/15 * * * *", "2026-11-23 07:46:00", "2026-11-23 08:00:00"},
		{"5/20 * * * *", "2026-11-23 07:26:00", "2026-11-23 07:45:00"},
		{"0 9-17/4 * * 1-5", "2026-11-27 17:00:00", "2026-11-30 09:00:00"}, // from a Friday to the Monday
		{"0 0 13 * 5", "2026-11-23 00:00:00", "2026-11-27 00:00:00"},       // the 13th or a Friday
		{"0 0 * * 7", "2026-11-23 00:00:00", "2026-11-29 00:00:00"},        // a Sunday
		{"0 0 29 2 *", "2026-11-23 00:00:00", "2028-02-29 00:00:00"},
		{"0 0 31 1,4,12 *", "2026-12-31 00:00:00", "2027-01-31 00:00:00"},
	} {
		s, err := Parse(c.schedule)
		if err != nil {
			t.Errorf("%s: %v", c.schedule, err)
			continue
		}
		if got := s.Next(at(c.after)); !got.Equal(at(c.want)) {
			t.Errorf("%s after %s: %s, want %s", c.schedule, c.after, got, c.want)
		}
	}
}

func TestWhatIsNoSchedule(t *testing.T) {
	for _, text := range []string{"", "daily", "10s", "9000h", "-1h", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *",
		"* * * * 8", "a * * * *", "5-3 * * * *", "*/0 * * * *", "1-  * * * *", ", * * * *", "0 0 30 2 *", "@reboot"} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%q is read as %+v", text, s)
		}
	}
}

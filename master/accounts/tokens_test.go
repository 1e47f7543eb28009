package accounts

import (
	"strings"
	"testing"
	"time"
)

func TestLifespans(t *testing.T) {
	day := 24 * time.Hour
	bounded, open := TokenLimits{Max: 10 * day, Default: 2 * day}, TokenLimits{Default: 2 * day}
	for _, c := range []struct {
		limits TokenLimits
		asked  string
		want   time.Duration
		err    string
	}{
		{bounded, "", 2 * day, ""}, {bounded, "240h", 10 * day, ""}, {bounded, "241h", 0, "over the limit of 10 days"},
		{bounded, "-1", 0, "within 10 days"}, {open, "-1", 0, ""}, {open, "240000h", 10000 * day, ""}, {open, "-1h", 0, "720h"},
	} {
		got, err := c.limits.life(&c.asked)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v, asked for %q: %v, %v", c.limits, c.asked, got, err)
		}
	}
}

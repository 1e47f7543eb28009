//go:build linux

package attempt

import (
	"testing"
	"time"
)

func TestWhoIsHeard(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	l := newLease(2 * time.Minute)
	for _, x := range []struct {
		what       string
		c          contact
		away, over bool
	}{
		{"both answer", contact{ago(time.Second), ago(time.Second)}, false, false},
		{"no master answers", contact{ago(5 * time.Second), ago(time.Hour)}, false, false},
		{"the client is away", contact{ago(time.Hour), ago(time.Minute)}, true, false},
		{"nobody answers", contact{ago(10 * time.Second), ago(80 * time.Second)}, true, true},
		{"the client never answered", contact{time.Time{}, ago(time.Hour)}, false, false},
	} {
		if away, over := l.away(x.c, now), l.over(x.c, now); away != x.away || over != x.over {
			t.Errorf("%s: away %v, over %v", x.what, away, over)
		}
	}
	if latest := l.alone() + l.look() + l.last() + l.part; latest >= 2*time.Minute {
		t.Errorf("a program may run %s without anybody who hears it", latest)
	}
	if latest := l.renewed() + l.part; latest >= 2*time.Minute {
		t.Errorf("a program may run %s without its runner", latest)
	}
}

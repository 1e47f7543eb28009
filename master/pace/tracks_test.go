package pace

import (
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/lifecycle"
)

// TestPace: which reports say when an attempt ends.
func TestPace(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1_000_000+int64(seconds), 0) }
	type step struct {
		second int
		done   float64
	}
	for name, x := range map[string]struct {
		steps []step
		now   int
		end   int // 0: not known
	}{
		"nothing":                             {nil, 10, 0},
		"one value says nothing":              {[]step{{0, 0.5}}, 10, 0},
		"one report has no pace":              {[]step{{0, 0.1}, {60, 0.2}}, 70, 0},
		"two reports have one":                {[]step{{0, 0.1}, {60, 0.2}, {120, 0.3}}, 130, 540},
		"the same value is no report":         {[]step{{0, 0.1}, {60, 0.2}, {90, 0.2}, {120, 0.3}, {125, 0.3}}, 130, 540},
		"reports that are too close together": {[]step{{0, 0.1}, {5, 0.2}, {10, 0.3}}, 12, 0},
		"too small a part":                    {[]step{{0, 0.1}, {60, 0.101}, {120, 0.102}}, 130, 0},
		"an old report":                       {[]step{{0, 0.1}, {60, 0.2}, {120, 0.3}}, 120 + 4*60 + 1, 0},
		"it begins again":                     {[]step{{0, 0.1}, {60, 0.2}, {120, 0.3}, {180, 0.2}, {240, 0.25}}, 250, 0},
		"it begins again, and goes on":        {[]step{{0, 0.1}, {60, 0.2}, {120, 0.3}, {180, 0.2}, {240, 0.5}, {300, 0.75}}, 310, 360},
		"it should have ended":                {[]step{{0, 0.1}, {60, 0.5}, {120, 1}}, 150, 150},
		"it would take years":                 {[]step{{0, 0.1}, {1, 0.11}, {40_000_000, 0.125}}, 40_000_001, 0},
	} {
		var s Tracks
		for _, step := range x.steps {
			s.Note("a", step.done, at(step.second))
		}
		end, known := s.End("a", at(x.now))
		if known != (x.end != 0) || known && end.Likely.Sub(at(x.end)).Abs() > time.Second || end.Likely.Before(end.Earliest) || end.Latest.Before(end.Likely) {
			t.Errorf("%s: %v (%t), want %v", name, end.Likely.Sub(at(0)), known, x.end)
		}
	}
}

// TestForget: of many attempts, those are dropped that are not live any more.
func TestForget(t *testing.T) {
	var s Tracks
	for i := range 1_100 {
		s.Note(fmt.Sprint(i), 0.1, epoch)
	}
	live := map[string]bool{"new": true}
	for i := range 100 {
		live[fmt.Sprint("silent ", i)] = true
	}
	s.Note("new", 0.1, epoch)
	if s.Forget(live); len(s.by) != 1_101 {
		t.Errorf("%d attempts", len(s.by))
	}
	if s.Forget(map[string]bool{"new": true}); len(s.by) != 1 || s.by["new"] == nil {
		t.Errorf("%d attempts", len(s.by))
	}
}

// TestATrackIsBounded: however many reports come, a few are kept, the first and the newest among them.
func TestATrackIsBounded(t *testing.T) {
	var x Track
	for i := range 10_000 {
		x.Note(epoch.Add(time.Duration(i)*time.Minute), float64(i)/10_000)
		if len(x.points) > maxPoints {
			t.Fatalf("%d points", len(x.points))
		}
	}
	if first, last := x.points[0], x.points[len(x.points)-1]; first.done != 0.0001 || last.done != 0.9999 {
		t.Errorf("from %v to %v", first, last)
	}
	if end, known := x.End(epoch.Add(9_999 * time.Minute)); !known || end.Likely.Sub(epoch.Add(10_000*time.Minute)).Abs() > time.Second {
		t.Errorf("%v %v", end, known)
	}
}

// TestTook: after three trials of an experiment, the longest bounds the next, with a margin.
func TestTook(t *testing.T) {
	var x Took
	if got := x.Leaves(); got != usualLeave || (*Took)(nil).Leaves() != usualLeave {
		t.Errorf("nothing was preempted, and it leaves in %v", got)
	}
	if x.NoteLeft(20 * time.Second); x.Leaves() != 20*time.Second {
		t.Errorf("it leaves in %v", x.Leaves())
	}
	for i, minutes := range []time.Duration{10, 20, 11} {
		if got := x.Bound(); got != 0 {
			t.Errorf("after %d trials it is %v", i, got)
		}
		for range 2 { // a cycle whose decision was not stored decides the same again
			x.Note(fmt.Sprint("attempt ", i), minutes*time.Minute)
		}
	}
	if got := x.Bound(); got != 30*time.Minute {
		t.Errorf("three trials of 10, 20 and 11 minutes bound the next to %v", got)
	}
}

// TestEndWithin: a limit bounds an estimate, and is one where there is none.
func TestEndWithin(t *testing.T) {
	var s Tracks
	for i := range 10 {
		s.Note("a", float64(i)/100, epoch.Add(time.Duration(i)*time.Minute))
	}
	now := epoch.Add(9 * time.Minute)
	end, paced, known := s.EndWithin("a", lifecycle.TimeLimit{}, now)
	if !paced || !known || end.Latest.Before(epoch.Add(100*time.Minute)) {
		t.Errorf("without a limit: %+v", end)
	}
	l := lifecycle.TimeLimit{Limit: time.Hour, Since: &epoch, Grace: time.Minute}
	if end, paced, _ := s.EndWithin("a", l, now); !paced || end.Earliest.After(epoch.Add(time.Hour)) || end.Latest != epoch.Add(61*time.Minute) || end.Likely != end.Latest {
		t.Errorf("with a limit: %+v", end)
	}
	if end, paced, known := s.EndWithin("b", l, now); paced || !known || end.Earliest != now || end.Likely != epoch.Add(61*time.Minute) {
		t.Errorf("by its limit: %+v", end)
	}
	var none *Tracks
	if _, _, known := none.EndWithin("a", lifecycle.TimeLimit{}, now); known {
		t.Error("nothing is known of it")
	}
}

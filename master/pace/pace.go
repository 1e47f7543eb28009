// Package pace estimates when a training ends, from the progress that it reports: as an interval, because steps may grow, and evaluations,
// checkpoints and stalls come in between. It is pure, and what it keeps of a training is bounded.
//
// Note adds a report, and End estimates. The estimate extrapolates the pace since the first report, without a slow beginning, and follows a
// trend of the pace the more, the longer the training has been watched. The width of the interval is that of the errors in recorded
// trainings that were as uneven and as long watched (testdata/trainings.py makes them, and estimate_test.go compares).
package pace

import (
	"math"
	"time"
)

// A Track is what is known of the progress of an attempt. The first value that is noted says nothing: it may be old.
type Track struct {
	seen   float64       // the newest value
	points []point       // reports, thinned to maxPoints; the first and the newest are among them
	pause  time.Duration // the longest one between two reports
	at     time.Time     // of the newest value
}

type point struct {
	at   time.Time
	done float64 // from 0 to 1
}

// maxPoints is how many reports a Track keeps.
const maxPoints = 64

// Note adds a value of the progress, from 0 to 1.
func (t *Track) Note(at time.Time, done float64) {
	switch {
	case t.at.IsZero() || done < t.seen: // it has begun again
		*t = Track{seen: done, at: at}
	case done == t.seen:
	default:
		if len(t.points) > 0 {
			t.pause = max(t.pause, at.Sub(t.at))
		}
		t.seen, t.at = done, at
		if len(t.points) == maxPoints {
			kept := t.points[:0]
			for i := 0; i < maxPoints; i += 2 {
				kept = append(kept, t.points[i])
			}
			t.points = kept
		}
		t.points = append(t.points, point{at, done})
	}
}

// When a Track says enough about the end.
const (
	minSpan    = 20 * time.Second // between the first report and the last: a report is noted up to 5 s late
	minPart    = 0.01             // of the whole training
	minSilence = time.Minute      // longer, if the reports were further apart
	maxSilence = 24 * time.Hour
	maxLeft    = 365 * 24 * time.Hour
)

// An End is when a training ends: nine in ten end between Earliest and Latest, half of them before Likely.
type End struct{ Earliest, Likely, Latest time.Time }

// Within bounds an End: nothing ends after last, and what is not done at stops may end there.
func (e End) Within(stops, last time.Time) End {
	first := func(a, b time.Time) time.Time {
		if b.Before(a) {
			return b
		}
		return a
	}
	return End{first(e.Earliest, stops), first(e.Likely, last), first(e.Latest, last)}
}

// End estimates when the training ends, if it goes on as it has begun; false if that cannot be said.
func (t *Track) End(now time.Time) (End, bool) {
	if len(t.points) < 2 {
		return End{}, false
	}
	first, last := t.points[0], t.points[len(t.points)-1]
	silent := now.Sub(last.at)
	if last.at.Sub(first.at) < minSpan || last.done-first.done < minPart || silent > min(minSilence+3*t.pause, maxSilence) {
		return End{}, false
	}
	e := t.estimate(fitted())
	if !(e.likely <= maxLeft.Seconds()) {
		return End{}, false
	}
	at := func(left float64) time.Time {
		end := last.at.Add(time.Duration(min(left, maxLeft.Seconds()) * float64(time.Second)))
		if end.Before(now) {
			return now
		}
		return end
	}
	return End{at(e.earliest), at(e.likely), at(e.latest)}, true
}

// parameters were chosen so that the errors on one half of the recorded trainings are small (TestParameters).
type parameters struct {
	trend     float64 // how much of the training must be seen to follow its trend by half
	slow      float64 // a beginning with so many times the usual pace is left out
	base      float64 // the width for an even training that was watched long, …
	uneven    float64 // … for how different its parts were
	unseen    float64 // … and for what was not seen of it
	low, high float64 // the bounds of the interval, in widths
}

// left is the time that is left after the last report, in seconds.
type left struct{ earliest, likely, latest float64 }

// estimate needs two reports.
func (t *Track) estimate(by parameters) left {
	points := t.steady(by.slow)
	first, last := points[0], points[len(points)-1]
	took, part := last.at.Sub(first.at).Seconds(), last.done-first.done
	slope, middle, spread := trend(points)
	seen := part / (1 - first.done)
	weight := seen * seen / (seen*seen + by.trend*by.trend)
	pace := took / part
	ahead := pace + weight*slope*((1+last.done)/2-middle)
	ahead = min(max(ahead, pace/3), pace*3) // no trend goes on for ever
	likely := (1 - last.done) * ahead
	width := math.Sqrt(by.base*by.base + by.uneven*by.uneven*spread*spread + by.unseen*by.unseen*(1-seen)*(1-seen))
	return left{likely * math.Exp(by.low*width), likely, likely * math.Exp(by.high*width)}
}

// steady leaves out a slow beginning: the first steps of many programs compile, fill caches, or find out how fast they may be.
func (t *Track) steady(slow float64) []point {
	points := t.points
	for range 3 {
		if len(points) < 5 {
			break
		}
		rest := paceOf(points[1], points[len(points)-1])
		if paceOf(points[0], points[1]) <= slow*rest {
			break
		}
		points = points[1:]
	}
	return points
}

// paceOf is the time for the whole training at the pace between two reports, in seconds.
func paceOf(a, b point) float64 { return b.at.Sub(a.at).Seconds() / (b.done - a.done) }

// maxGroups is into how many parts of equal progress a training is divided: in smaller ones, regular pauses would be noise.
const maxGroups = 8

// trend fits a line to the pace of the parts of a training: its slope over the progress, the middle of the progress, and how far the parts
// are from the line, as a share of the pace.
func trend(points []point) (slope, middle, spread float64) {
	type group struct{ middle, pace, part float64 }
	var groups []group
	whole := points[len(points)-1].done - points[0].done
	from := 0
	for i := 1; i < len(points); i++ {
		if points[i].done-points[from].done < whole/maxGroups*0.999 && i < len(points)-1 {
			continue
		}
		groups = append(groups, group{(points[from].done + points[i].done) / 2, paceOf(points[from], points[i]), points[i].done - points[from].done})
		from = i
	}
	pace := 0.0
	for _, g := range groups {
		middle += g.middle * g.part / whole
		pace += g.pace * g.part / whole
	}
	up, down := 0.0, 0.0
	for _, g := range groups {
		up += g.part * (g.middle - middle) * (g.pace - pace)
		down += g.part * (g.middle - middle) * (g.middle - middle)
	}
	if len(groups) < 3 || down == 0 {
		return 0, middle, 0
	}
	slope = up / down
	for _, g := range groups {
		far := (g.pace - pace - slope*(g.middle-middle)) / pace
		spread += far * far * g.part / whole
	}
	return slope, middle, math.Sqrt(spread)
}

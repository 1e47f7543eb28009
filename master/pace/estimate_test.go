package pace

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"flag"
	"math"
	"os"
	"slices"
	"testing"
	"time"
)

var tune = flag.Bool("tune", false, "find the parameters anew, on the trainings for that")

// A training is a recorded one.
type training struct {
	Kind  string
	Times []int // of its reports, in 1/10,000 s, each since the one before
	Done  []int // in 1/10,000
}

// stretch is how long a second of the recorded trainings counts: they are short so that they could be recorded.
const stretch = 3600

func recorded(t *testing.T) (list []training) {
	t.Helper()
	file, err := os.Open("testdata/trainings.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		var one training
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	if lines.Err() != nil || len(list) != 113 {
		t.Fatalf("%d trainings: %v", len(list), lines.Err())
	}
	return list
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A moment is a training at the first report after a part of it, when an estimate can be made.
type moment struct {
	track Track
	now   time.Time
	left  float64 // seconds
}

// after returns the first moment after a part of a training.
func (x training) after(part float64) moment {
	var m moment
	at, done := 0, 0
	m.track.Note(epoch, 0)
	found := false
	for i := range x.Times {
		at, done = at+x.Times[i], done+x.Done[i]
		if found {
			continue
		}
		m.now = epoch.Add(time.Duration(at) * 100 * time.Microsecond * stretch)
		m.track.Note(m.now, float64(done)/10_000)
		if _, known := m.track.End(m.now); known && float64(done)/10_000 >= part && done < 10_000 {
			found = true
		}
	}
	m.left = (time.Duration(at)*100*time.Microsecond*stretch - m.now.Sub(epoch)).Seconds()
	if !found {
		m.left = 0
	}
	return m
}

// parts are after which parts of the trainings estimates are compared.
func parts() []float64 { return []float64{0.05, 0.1, 0.25, 0.5, 0.75} }

// A score is what estimates are worth.
type score struct {
	median, worst, inside float64
	count                 int
}

// judge compares the estimates for trainings after a part of each with what happened. An error is a part of the time that was estimated.
func judge(list []training, part float64) (s score) {
	var errors []float64
	for _, x := range list {
		m := x.after(part)
		end, known := m.track.End(m.now)
		if m.left == 0 || !known {
			continue
		}
		ended := m.now.Add(time.Duration(m.left * float64(time.Second)))
		errors = append(errors, math.Abs(end.Likely.Sub(m.now).Seconds()-m.left)/m.left)
		if !ended.Before(end.Earliest) && !ended.After(end.Latest) {
			s.inside++
		}
	}
	slices.Sort(errors)
	s.count = len(errors)
	s.median, s.worst, s.inside = errors[s.count/2], errors[s.count*9/10], s.inside/float64(s.count)
	return s
}

// halves are the trainings on which the parameters are chosen, and those on which they are judged.
func halves(list []training) (chosen, judged []training) {
	for i, x := range list {
		if i/6%2 == 0 { // all models in both
			chosen = append(chosen, x)
		} else {
			judged = append(judged, x)
		}
	}
	return chosen, judged
}

// TestEstimates: of the trainings with which nothing was tuned, the interval holds about nine in ten from a twentieth of the training on, and the median error falls to
// about a tenth of the time that is left. It is larger at the beginning: these trainings were recorded on a machine that became busier meanwhile.
func TestEstimates(t *testing.T) {
	all := recorded(t)
	chosen, judged := halves(all)
	inside, count := 0.0, 0
	for _, part := range parts() {
		a, b, c := judge(chosen, part), judge(judged, part), judge(all, part)
		t.Logf("after %2.0f %%: median error %.1f %% of the time that is left (tuning half %.1f %%, all %.1f %%), 9 in 10 under %.0f %%; the interval holds %.0f %% (%.0f %%, %.0f %%) of %d",
			100*part, 100*b.median, 100*a.median, 100*c.median, 100*b.worst, 100*b.inside, 100*a.inside, 100*c.inside, b.count)
		if most := map[float64]float64{0.05: 0.3, 0.1: 0.2}[part]; b.median > max(most, 0.11) {
			t.Errorf("after %.0f %%: the median error is %.3f", 100*part, b.median)
		}
		if c.inside < 0.85 || c.inside > 0.97 {
			t.Errorf("after %.0f %%: the interval holds %.0f %% of all", 100*part, 100*c.inside)
		}
		inside += b.inside * float64(b.count)
		count += b.count
	}
	if inside /= float64(count); inside < 0.85 || inside > 0.95 {
		t.Errorf("the intervals hold %.0f %%", 100*inside)
	}
}

// TestParameters finds the parameters with -tune, and prints them.
func TestParameters(t *testing.T) {
	if !*tune {
		t.Skip("only with -tune")
	}
	chosen, _ := halves(recorded(t))
	var moments []moment
	for _, part := range []float64{0.05, 0.05, 0.1, 0.25, 0.5, 0.75} { // the beginning counts twice
		for _, x := range chosen {
			if m := x.after(part); m.left > 0 {
				moments = append(moments, m)
			}
		}
	}
	best, least := parameters{}, math.Inf(1)
	for _, trend := range []float64{0.2, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 3} {
		for _, slow := range []float64{1.05, 1.1, 1.2, 1.3, 1.5, 2, 99} {
			sum := 0.0
			for _, m := range moments {
				sum += math.Sqrt(math.Abs(math.Log(m.left / m.track.estimate(parameters{trend: trend, slow: slow}).likely)))
			}
			if sum < least {
				best, least = parameters{trend: trend, slow: slow}, sum
			}
		}
	}
	likely := best
	least = math.Inf(1)
	for _, base := range []float64{0.005, 0.01, 0.02, 0.03, 0.05} {
		for _, uneven := range []float64{0, 0.2, 0.4, 0.6, 0.8, 1, 1.5} {
			for _, unseen := range []float64{0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4} {
				by := likely
				by.base, by.uneven, by.unseen = base, uneven, unseen
				widths, errors := by.against(moments)
				by.low, by.high = quantile(errors, 0.05), quantile(errors, 0.95)
				sum := 0.0 // of the widths of the intervals, and how far the intervals of each part are from holding nine in ten
				for i := range widths {
					sum += (by.high - by.low) * widths[i]
				}
				sum /= float64(len(widths))
				for _, part := range parts() {
					if inside := by.holds(chosen, part); math.Abs(inside-0.9) > 0.02 {
						sum *= 1 + 4*(math.Abs(inside-0.9)-0.02)
					}
				}
				if sum < least {
					best, least = by, sum
				}
			}
		}
	}
	t.Logf("%+v", best)
}

// against returns the widths of estimates, and their errors in these widths.
func (by parameters) against(moments []moment) (widths, errors []float64) {
	by.low, by.high = -1, 1
	for _, m := range moments {
		e := m.track.estimate(by)
		width := math.Log(e.latest / e.likely)
		widths = append(widths, width)
		errors = append(errors, math.Log(m.left/e.likely)/width)
	}
	return widths, errors
}

func (by parameters) holds(list []training, part float64) float64 {
	inside, count := 0, 0
	for _, x := range list {
		m := x.after(part)
		if m.left == 0 {
			continue
		}
		count++
		if e := m.track.estimate(by); m.left >= e.earliest && m.left <= e.latest {
			inside++
		}
	}
	return float64(inside) / float64(count)
}

func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1))]
}

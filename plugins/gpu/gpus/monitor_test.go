package gpus

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// clock is a moment that a test moves.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) pass(d time.Duration) time.Time {
	c.now = c.now.Add(d)
	return c.now
}

func whole(id string) GPU {
	return GPU{Device: Device{ID: id, Model: "H200", Instance: -1, Compute: -1}}
}

func split(id string, instances ...int) GPU {
	g := whole(id)
	g.Split = true
	for _, i := range instances {
		g.Parts = append(g.Parts, Device{ID: id + "/" + string(rune('a'+i)), Model: "H200 MIG 1g", Instance: i, Compute: 0})
	}
	return g
}

// describe writes the health of all devices in a line.
func describe(all []Diagnosis) string {
	var words []string
	for _, p := range all {
		state := p.ID
		if p.Why != "" {
			state += " (" + p.Why + ")"
		}
		words = append(words, state)
	}
	return strings.Join(words, ", ")
}

func expect(t *testing.T, got []Diagnosis, want string) {
	t.Helper()
	if p := describe(got); p != want {
		t.Errorf("\n got %s\nwant %s", p, want)
	}
}

func TestXidMakesSickUntilQuiet(t *testing.T) {
	c, w := newClock(), NewMonitor(Policy{IgnoredXids: DefaultIgnoredXids(), Quiet: 10 * time.Minute})
	if w.Note(Event{ID: "A", Xid: 109, Instance: -1}, c.now) {
		t.Error("a kernel that does not make room changed the health of its GPU")
	}
	scan := Scan{GPUs: []GPU{whole("A"), whole("B")}}
	expect(t, w.Judge(scan, nil, c.now), "A, B")
	if w.Note(Event{ID: "A", Xid: 31, Instance: -1}, c.now) {
		t.Error("an error of a program changed the health of its GPU")
	}
	if w.Note(Event{ID: "unknown", Xid: 48, Instance: -1}, c.now) {
		t.Error("an event of an unknown GPU changed something")
	}
	expect(t, w.Judge(scan, nil, c.now), "A, B")
	if !w.Note(Event{ID: "A", Xid: 48, Instance: -1}, c.now) {
		t.Error("a critical error changed nothing")
	}
	sick := "A (critical error of the driver: Xid 48 at 12:00:00 UTC; out of use until it was quiet for 10m), B"
	expect(t, w.Judge(scan, nil, c.pass(9*time.Minute)), sick)
	w.Note(Event{ID: "A", Xid: 62, Instance: -1}, c.now)
	again := "A (critical error of the driver: Xid 62 at 12:09:00 UTC; out of use until it was quiet for 10m), B"
	expect(t, w.Judge(scan, nil, c.pass(9*time.Minute)), again)
	expect(t, w.Judge(scan, nil, c.pass(time.Minute)), "A, B")
}

func TestXidForGood(t *testing.T) {
	c, w := newClock(), NewMonitor(Policy{})
	scan := Scan{GPUs: []GPU{whole("A")}}
	w.Judge(scan, nil, c.now)
	w.Note(Event{ID: "A", Xid: 79, Instance: -1}, c.now)
	expect(t, w.Judge(scan, nil, c.pass(24*time.Hour)), "A (critical error of the driver: Xid 79 at 12:00:00 UTC; out of use until the plugin restarts)")
}

func TestLostAndFound(t *testing.T) {
	c, w := newClock(), NewMonitor(Policy{Quiet: time.Hour})
	both := Scan{GPUs: []GPU{whole("A"), whole("B")}}
	w.Judge(both, nil, c.now)
	w.Note(Event{ID: "A", Xid: 79, Instance: -1}, c.now)
	got := w.Judge(Scan{GPUs: []GPU{whole("B")}}, nil, c.pass(2*time.Hour))
	if len(got) != 2 || !strings.Contains(got[0].Why, "no longer lists it") || !strings.Contains(got[0].Why, "Xid 79") || got[1].Why != "" {
		t.Errorf("a GPU that is gone: %s", describe(got))
	}
	if got[0].Model != "H200" {
		t.Errorf("the lost GPU's model is forgotten: %+v", got[0])
	}
	lost := whole("A")
	lost.Lost = true
	lost.Model = ""
	got = w.Judge(Scan{GPUs: []GPU{lost, whole("B")}}, nil, c.now)
	if !strings.Contains(got[0].Why, "cannot reach it") || got[0].Model != "H200" {
		t.Errorf("a GPU that is lost: %s", describe(got))
	}
	expect(t, w.Judge(both, nil, c.now), "A, B") // back, and its Xid ended with the reset
}

func TestDriverAway(t *testing.T) {
	c, w := newClock(), NewMonitor(Policy{})
	if got := w.Judge(Scan{}, errors.New("no driver"), c.now); len(got) != 0 {
		t.Errorf("devices out of nothing: %s", describe(got))
	}
	w.Judge(Scan{GPUs: []GPU{whole("A")}}, nil, c.now)
	expect(t, w.Judge(Scan{}, errors.New("version mismatch"), c.now), "A (the driver does not answer: version mismatch)")
	expect(t, w.Judge(Scan{GPUs: []GPU{whole("A")}}, nil, c.now), "A")
}

// TestAnswersThatFail: that nothing could be read of a GPU proves no reset.
func TestAnswersThatFail(t *testing.T) {
	silent, lost := whole("A"), whole("A")
	silent.Unanswered, lost.Lost = "Unknown Error", true
	for name, gap := range map[string]func(w *Monitor, now time.Time){
		"no driver's answer": func(w *Monitor, now time.Time) { w.Judge(Scan{}, errors.New("timeout"), now) },
		"no answer for it":   func(w *Monitor, now time.Time) { w.Judge(Scan{GPUs: []GPU{silent}}, nil, now) },
		"both, one by one": func(w *Monitor, now time.Time) {
			w.Judge(Scan{GPUs: []GPU{silent}}, nil, now)
			w.Judge(Scan{}, errors.New("x"), now)
		},
		"only another remark": func(w *Monitor, now time.Time) { w.Note(Event{ID: "A", Xid: 63, Instance: -1}, now) },
	} {
		for _, code := range []uint64{79, 119, 94} {
			c, w := newClock(), NewMonitor(Policy{Quiet: 10 * time.Minute, ResetXids: DefaultResetXids()})
			scan := Scan{GPUs: []GPU{whole("A")}}
			w.Judge(scan, nil, c.now)
			w.Note(Event{ID: "A", Xid: code, Instance: -1}, c.now)
			gap(w, c.pass(time.Second))
			if got := w.Judge(scan, nil, c.pass(time.Second)); !strings.Contains(got[0].Why, "Xid") {
				t.Errorf("%s after Xid %d: %s", name, code, describe(got))
			}
		}
	}
	for name, back := range map[string]func(w *Monitor, now time.Time){
		"lost":              func(w *Monitor, now time.Time) { w.Judge(Scan{GPUs: []GPU{lost}}, nil, now) },
		"not listed":        func(w *Monitor, now time.Time) { w.Judge(Scan{}, nil, now) },
		"driver not loaded": func(w *Monitor, now time.Time) { w.Judge(Scan{}, fmt.Errorf("it is: %w", ErrUnloaded), now) },
	} {
		c, w := newClock(), NewMonitor(Policy{Quiet: time.Hour, ResetXids: DefaultResetXids()})
		scan := Scan{GPUs: []GPU{whole("A")}}
		w.Judge(scan, nil, c.now)
		w.Note(Event{ID: "A", Xid: 119, Instance: -1}, c.now)
		back(w, c.now)
		if got := w.Judge(scan, nil, c.now); got[0].Why != "" {
			t.Errorf("%s, and back after a reset: %s", name, describe(got))
		}
	}
}

// TestXidsThatNeedAReset: a GPU stays unhealthy until a reset is seen, or the driver reports that
// no action is needed.
func TestXidsThatNeedAReset(t *testing.T) {
	policy := Policy{Quiet: 10 * time.Minute, IgnoredXids: DefaultIgnoredXids(), ResetXids: DefaultResetXids()}
	for _, code := range []uint64{48, 79, 95, 119, 120} {
		c, w := newClock(), NewMonitor(policy)
		scan := Scan{GPUs: []GPU{whole("A")}}
		w.Judge(scan, nil, c.now)
		w.Note(Event{ID: "A", Xid: code, Instance: -1}, c.now)
		w.Note(Event{ID: "A", Xid: 32, Instance: -1}, c.now)
		want := fmt.Sprintf("A (critical error of the driver: Xid %d at 12:00:00 UTC; out of use until the GPU or the node is reset)", code)
		expect(t, w.Judge(scan, nil, c.pass(24*time.Hour)), want)
		told := whole("A")
		told.RecoveryKnown, told.Recovery = true, "reset the GPU"
		want = strings.TrimSuffix(want, ")") + "; the driver recommends: reset the GPU)"
		expect(t, w.Judge(Scan{GPUs: []GPU{told}}, nil, c.pass(time.Hour)), want)
		told.Recovery = ""
		expect(t, w.Judge(Scan{GPUs: []GPU{told}}, nil, c.now), "A")
	}
	// One that needs no reset ends by being quiet.
	c, w := newClock(), NewMonitor(policy)
	scan := Scan{GPUs: []GPU{whole("A")}}
	w.Judge(scan, nil, c.now)
	w.Note(Event{ID: "A", Xid: 94, Instance: -1}, c.now)
	expect(t, w.Judge(scan, nil, c.pass(10*time.Minute)), "A")
}

func TestRepairsThatWait(t *testing.T) {
	c := newClock()
	g := whole("A")
	g.RepairPending = true
	scan := Scan{GPUs: []GPU{g}}
	w := NewMonitor(Policy{})
	expect(t, w.Judge(scan, nil, c.now), "A (a defective row or page of its memory will be remapped at the next reset; reset the GPU or restart the node)")
	expect(t, w.Judge(Scan{GPUs: []GPU{whole("A")}}, nil, c.now), "A")
	expect(t, NewMonitor(Policy{IgnoreECC: true}).Judge(scan, nil, c.now), "A")
}

func TestNVLink(t *testing.T) {
	c, w := newClock(), NewMonitor(Policy{})
	g := whole("A")
	g.Links = 0b1111
	expect(t, w.Judge(Scan{GPUs: []GPU{g}}, nil, c.now), "A")
	less := g
	less.Links = 0b0101
	expect(t, w.Judge(Scan{GPUs: []GPU{less}}, nil, c.now), "A (its NVLink 1, 3 went down; reset the GPU or restart the node)")
	expect(t, w.Judge(Scan{GPUs: []GPU{g}}, nil, c.now), "A")
	apart := split("A", 0)
	expect(t, w.Judge(Scan{GPUs: []GPU{apart}}, nil, c.now), "A/a") // parts have none
	g.Fabric = "it is not part of the fabric"
	expect(t, w.Judge(Scan{GPUs: []GPU{g}}, nil, c.now), "A (it is not part of the fabric)")
	w = NewMonitor(Policy{IgnoreNVLink: true})
	w.Judge(Scan{GPUs: []GPU{g}}, nil, c.now)
	expect(t, w.Judge(Scan{GPUs: []GPU{less}}, nil, c.now), "A")
}

// TestThrottled: a GPU that is slowed down for a moment is healthy, one that is slowed down for
// long is not.
func TestThrottled(t *testing.T) {
	c, w := newClock(), NewMonitor(Policy{Throttled: 5 * time.Minute})
	hot := whole("A")
	hot.Throttled = []string{"heat"}
	cool, warm := Scan{GPUs: []GPU{whole("A")}}, Scan{GPUs: []GPU{hot}}
	for range 3 {
		expect(t, w.Judge(warm, nil, c.pass(4*time.Minute)), "A")
		expect(t, w.Judge(cool, nil, c.pass(time.Minute)), "A")
	}
	w.Judge(warm, nil, c.now)
	sick := "A (its hardware has slowed it down for 5m or more because of heat; check its cooling and power)"
	expect(t, w.Judge(warm, nil, c.pass(5*time.Minute)), sick)
	expect(t, w.Judge(cool, nil, c.pass(4*time.Minute)), sick)
	expect(t, w.Judge(cool, nil, c.pass(time.Minute)), "A")
	w = NewMonitor(Policy{})
	w.Judge(warm, nil, c.now)
	expect(t, w.Judge(warm, nil, c.pass(time.Hour)), "A")
}

func TestMemoryErrors(t *testing.T) {
	c := newClock()
	bad, broken := whole("A"), whole("B")
	bad.Uncorrected = 2
	broken.RemapFailed, broken.Unhealthy = true, "it is too hot"
	scan := Scan{GPUs: []GPU{bad, broken}}
	w := NewMonitor(Policy{})
	expect(t, w.Judge(scan, nil, c.now), "A (2 uncorrectable memory errors since the last reset; reset the GPU or restart the node), "+
		"B (a defective row of its memory could not be remapped; the GPU needs repair; it is too hot)")
	expect(t, w.Judge(Scan{GPUs: []GPU{whole("A"), whole("B")}}, nil, c.now), "A, B")
	expect(t, NewMonitor(Policy{IgnoreECC: true}).Judge(scan, nil, c.now), "A, B (it is too hot)")
}

// TestParts: an error of one part leaves the others healthy; an error of the whole GPU makes all
// parts unhealthy. Missing parts were removed by the operators.
func TestParts(t *testing.T) {
	c, w := newClock(), NewMonitor(Policy{Quiet: time.Minute})
	scan := Scan{GPUs: []GPU{split("A", 0, 1)}}
	expect(t, w.Judge(scan, nil, c.now), "A/a, A/b")
	w.Note(Event{ID: "A", Xid: 94, Instance: 1, Compute: 0}, c.now)
	got := w.Judge(scan, nil, c.now)
	if got[0].Why != "" || got[1].Why == "" {
		t.Errorf("one part is unhealthy: %s", describe(got))
	}
	w.Note(Event{ID: "A", Xid: 95, Instance: -1, Compute: -1}, c.now)
	got = w.Judge(scan, nil, c.now)
	if !strings.Contains(got[0].Why, "Xid 95") || !strings.Contains(got[1].Why, "Xid 94") || !strings.Contains(got[1].Why, "Xid 95") {
		t.Errorf("the GPU is unhealthy: %s", describe(got))
	}
	expect(t, w.Judge(Scan{GPUs: []GPU{split("A", 0)}}, nil, c.pass(time.Minute)), "A/a")
	expect(t, w.Judge(Scan{GPUs: []GPU{split("A")}}, nil, c.now), "")
	expect(t, w.Judge(Scan{GPUs: []GPU{whole("A")}}, nil, c.now), "A")
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Hour: "1h", 10 * time.Minute: "10m", 90 * time.Second: "1m30s", 20 * time.Second: "20s"} {
		if got := short(d); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
}

package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/logs"
)

// If each line has another source or container, the master stores few rows for them, and loses no
// line.
func TestLinesOfManySources(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	sources, containers := []string{}, []string{}
	for i := range 3000 {
		sources = append(sources, fmt.Sprintf(`{"log":"x","source":"%06d"}`, i))
		containers = append(containers, fmt.Sprintf(`{"taskId":%q,"log":"y","containerId":"%06d"}`, a.task, i))
	}
	a.ranks[0].post("/api/v1/detent/logs", `{"shipper":"s","first":1,"lines":[`+strings.Join(sources, ",")+`]}`).ok()
	a.ranks[0].post("/api/v1/task/logs", `{"logs":[`+strings.Join(containers, ",")+`]}`).ok()
	f, err := logs.ReadFields(t.Context(), r.db, a.task, nil)
	if err != nil {
		t.Fatal(err)
	}
	for what, list := range map[string][]string{"sources": f.Sources, "containers": f.ContainerIDs} {
		if n := len(list); n < 10 || n > 100 || !slices.Contains(list, logs.OtherLabel) {
			t.Errorf("%d %s are offered", n, what)
		}
	}
	if n := len(r.lines(a.task, logs.Filter{})); n != 6000 {
		t.Errorf("%d lines", n)
	}
	if n := len(r.lines(a.task, logs.Filter{ContainerIDs: []string{logs.OtherLabel}})); n < 2900 || n >= 3000 {
		t.Errorf("%d lines of other containers", n)
	}
}

// lines returns the lines of a task's log that match a filter.
func (r *rig) lines(task string, f logs.Filter) (all []logs.Record) {
	r.t.Helper()
	reader, err := logs.NewStore(r.db, r.bus, logs.Settings{Days: logs.Forever}).Reader(task, f)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := reader.Forward(r.t.Context(), 1, 0, func(list []logs.Record) error {
		all = append(all, list...)
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	return all
}

// TestTenThousandLines: as in Determined, a request may bring 10,000 lines, and read as many.
func TestTenThousandLines(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	const n = 10_000
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"taskId":%q,"log":"line %d of a training: loss 0.12345, accuracy 0.98765, 1234 samples in a second\n"}`, a.task, i)
	}
	a.ranks[0].post("/api/v1/task/logs", `{"logs":[`+strings.Join(lines, ",")+`]}`).ok()
	got := strings.Split(strings.TrimSpace(string(r.user("determined").get(fmt.Sprintf("/api/v1/tasks/%s/logs?limit=%d", a.task, n)).ok().body)), "\n")
	if len(got) != n || !strings.Contains(got[0], "line 0 of") || !strings.Contains(got[n-1], fmt.Sprintf("line %d of", n-1)) {
		t.Errorf("%d lines, from %.200s to %.200s", len(got), got[0], got[len(got)-1])
	}
}

// The shippers of two tasks may have the same name.
func TestShippersOfTasksMayShareNames(t *testing.T) {
	r := newRig(t)
	a, b := r.running(yaml(), 1), r.running(yaml(), 1)
	name := `{"shipper":"nomad-allocation/0","first":1,"lines":[{"log":"hello"}]}`
	a.ranks[0].post("/api/v1/detent/logs", name).ok()
	a.ranks[0].post("/api/v1/detent/logs", name).ok() // again
	b.ranks[0].post("/api/v1/detent/logs", name).ok()
	for _, x := range []*attempt{a, b} {
		if got := r.lines(x.task, logs.Filter{}); len(got) != 1 {
			t.Errorf("%d lines of %s, want one", len(got), x.task)
		}
	}
}

// The master rejects values that PostgreSQL cannot store, with a reason, before they get into a commit with those of others.
func TestWhatCannotBeStoredIsRefused(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	long := strings.Repeat("x", 300)
	a.ranks[0].post("/api/v1/detent/logs", `{"shipper":"`+long+`","first":1,"lines":[{"log":"x"}]}`).says(400, "shipper")
	a.ranks[0].post("/api/v1/detent/logs", `{"shipper":"s","first":1,"lines":[{"log":"x","source":"`+long+`","rankId":2147483647}]}`).ok()
	for value, word := range map[string]string{`"\ud800"`: "half a character", `"\u0000"`: "NUL", "1e140000": "1e140000", "1e400": "1e400"} {
		body := fmt.Sprintf(`{"group":"training","metrics":{"trialRunId":1,"stepsCompleted":1,"metrics":{"avgMetrics":{"a":%s}}}}`, value)
		a.ranks[0].post(a.trialPath("/metrics"), body).says(400, word)
	}
	if got := r.lines(a.task, logs.Filter{}); len(got) != 1 || got[0].Source != long[:128] || got[0].Rank != -1 {
		t.Errorf("%+v", got)
	}
}

// TestStreamsOfFieldsAreCounted: streams of the fields of logs count as streams of logs.
func TestStreamsOfFieldsAreCounted(t *testing.T) {
	r := newRig(t)
	r.api.taskIO.streams.Streams.MostOfOne = 2
	a := r.running(yaml(), 1)
	owner := r.user("determined")
	path := fmt.Sprintf("/api/v1/trials/%d/logs/fields?follow=true", a.trial)
	open := r.api.taskIO.streams.Streams.Count
	leave := owner.downloads(path)
	owner.downloads(path)
	waitFor(t, func() bool { return open() == 2 })
	owner.get(path).says(429, "2 streams of logs of determined are open")
	leave()
	waitFor(t, func() bool { return open() == 1 })
}

package logs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// If each line has another source, all lines are stored, filters offer a limited number of
// sources, and each offered source finds lines.
func TestLinesOfManyKinds(t *testing.T) {
	w := newWorld(t)
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	send := func(s *logs.Store, from, n int) {
		t.Helper()
		list := lines(from, n)
		for i := range list {
			list[i].Source, list[i].Stdtype, list[i].Rank = fmt.Sprintf("s%06d", from+i), fmt.Sprintf("t%d", i), i
		}
		if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Lines: list}); err != nil {
			t.Fatal(err)
		}
	}
	send(s, 0, 5000)
	if n := w.Int(`SELECT count(*) FROM log_kinds`); n != logs.MaxKindsPerBatch+1 {
		t.Errorf("%d kinds of one batch, want %d", n, logs.MaxKindsPerBatch+1)
	}
	if n := w.Int(`SELECT count(DISTINCT xmin::text) FROM log_kinds`); n != 1 {
		t.Errorf("%d statements inserted them", n)
	}
	if got := readLogs(t, s, task, logs.Filter{Sources: []string{logs.OtherLabel}}); len(got) != 5000-logs.MaxKindsPerBatch || got[0].Number != logs.MaxKindsPerBatch+1 {
		t.Errorf("%d lines under %q", len(got), logs.OtherLabel)
	}
	for i := range 8 { // another master reads the stored kinds first
		send(logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever}), 10_000+100*i, 60)
		send(s, 20_000+100*i, 60)
	}
	if n := w.Int(`SELECT count(DISTINCT (stdtype, source)) FROM log_kinds`); n > 2*logs.MaxLabelsPerTask {
		t.Errorf("%d labels of a task", n)
	}
	send(logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever}), 30_000, 60)
	send(logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever}), 30_000, 60)
	f, err := logs.ReadFields(t.Context(), w.DB, task, nil)
	if err != nil || slices.Contains(f.Sources, "s030000") || !slices.Contains(f.Sources, logs.OtherLabel) {
		t.Errorf("%d sources are offered: %v", len(f.Sources), err)
	}
	if n := len(readLogs(t, s, task, logs.Filter{})); n != 5000+18*60 {
		t.Errorf("%d lines", n)
	}
}

// One statement inserts the origins of a batch of any size; a task has a limited number.
func TestLinesOfManyOrigins(t *testing.T) {
	w := newWorld(t)
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	for round := range logs.MaxOriginsPerTask/logs.MaxBatches + 3 {
		var batch []*database.Queued[*logs.Batch]
		for i := range logs.MaxBatches {
			b := &logs.Batch{TaskID: task, Origin: logs.Origin{"1.trial-0.1", "node", fmt.Sprint("c", round*logs.MaxBatches+i)}, Lines: lines(0, 1)}
			s.Prepare(b)
			batch = append(batch, &database.Queued[*logs.Batch]{Item: b})
		}
		s.Flush(batch)
		for _, q := range batch {
			if q.Err != nil || q.Again {
				t.Fatal(q.Err)
			}
		}
		if n := w.Int(`SELECT count(DISTINCT xmin::text) FROM log_origins`); n > round+1 {
			t.Errorf("%d statements in %d batches", n, round+1)
		}
	}
	if n := w.Int(`SELECT count(*) FROM log_origins`); n > logs.MaxOriginsPerTask+logs.MaxBatches+1 {
		t.Errorf("%d origins of a task", n)
	}
	if n := len(readLogs(t, s, task, logs.Filter{ContainerIDs: []string{logs.OtherLabel}})); n < logs.MaxBatches {
		t.Errorf("%d lines of other origins", n)
	}
}

// Values that no column can hold are rejected, or made storable, before they join a batch.
func TestLogsThatCannotBeStored(t *testing.T) {
	w := newWorld(t)
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	long := ""
	for i := range 2000 { // different values, because PostgreSQL compresses repeated ones
		long += fmt.Sprintf("%x", i*2654435761)
	}
	for name, b := range map[string]logs.Batch{
		"long": {Shipper: long}, "NUL": {Shipper: "a\x00"}, "UTF-8": {Shipper: "a\xff"}, "far": {Shipper: "a", First: 1 << 62},
	} {
		if b.TaskID = task; !fault.Is(b.Check(), fault.Invalid) {
			t.Errorf("%s: %v", name, b.Check())
		}
	}
	line := logs.Line{At: noon, Stdtype: "é" + long, Source: long, Rank: 1 << 40, Text: "x"}
	origin := logs.Origin{long, long + "a", "\x00" + long}
	if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Origin: origin, Lines: []logs.Line{line}}); err != nil {
		t.Fatal(err)
	}
	got := readLogs(t, s, task, logs.Filter{})
	if len(got) != 1 || got[0].Source != long[:logs.MaxLabel] || !strings.HasPrefix(got[0].Stdtype, "é") || got[0].Rank != -1 || got[0].AllocationID != long[:logs.MaxLabel] {
		t.Errorf("%+v", got)
	}
}

// The batches of a deleted task fail; the cache keeps the other tasks.
func TestLogsOfADeletedTaskAmongOthers(t *testing.T) {
	w := newWorld(t)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	var tasks []string
	var gone int
	for i := range 10 {
		exp := w.Experiment(rowtest.LossSearcher)
		tasks = append(tasks, w.TaskOf(w.Trial(exp, 0, 1)))
		if i == 4 {
			gone = exp
		}
		if _, err := s.Append(t.Context(), logs.Batch{TaskID: tasks[i], Lines: lines(0, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Cached(tasks[0])
	w.Exec(`DELETE FROM experiments WHERE id = $1`, gone)
	var batch []*database.Queued[*logs.Batch]
	for i := range 40 {
		b := &logs.Batch{TaskID: tasks[i%10], Lines: lines(1, 1)}
		s.Prepare(b)
		batch = append(batch, &database.Queued[*logs.Batch]{Item: b})
	}
	s.Flush(batch)
	for i, q := range batch {
		if isGone := i%10 == 4; isGone != fault.Is(q.Err, fault.NotFound) || q.Again {
			t.Errorf("batch %d: %v", i, q.Err)
		}
	}
	if s.Cached(tasks[0]) != before || before == nil {
		t.Error("a task beside it was forgotten")
	}
	if n := w.Int(`SELECT count(*) FROM log_chunks`); n != 9*5 {
		t.Errorf("%d chunks", n)
	}
}

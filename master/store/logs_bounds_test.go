package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// If each line has another source, all lines are stored, filters offer a limited number of
// sources, and each offered source finds lines.
func TestLinesOfManyKinds(t *testing.T) {
	w := newWorld(t)
	task := w.taskOf(w.trial(w.experiment(lossSearcher), 0, 1))
	s := NewLogStore(w.db, w.bus, LogsForever)
	send := func(s *LogStore, from, n int) {
		t.Helper()
		list := lines(from, n)
		for i := range list {
			list[i].Source, list[i].Stdtype, list[i].Rank = fmt.Sprintf("s%06d", from+i), fmt.Sprintf("t%d", i), i
		}
		if _, err := s.Append(t.Context(), LogBatch{TaskID: task, Lines: list}); err != nil {
			t.Fatal(err)
		}
	}
	send(s, 0, 5000)
	if n := w.int(`SELECT count(*) FROM log_kinds`); n != maxKindsPerBatch+1 {
		t.Errorf("%d kinds of one batch, want %d", n, maxKindsPerBatch+1)
	}
	if n := w.int(`SELECT count(DISTINCT xmin::text) FROM log_kinds`); n != 1 {
		t.Errorf("%d statements inserted them", n)
	}
	if got := readLogs(t, s, task, LogFilter{Sources: []string{OtherLabel}}); len(got) != 5000-maxKindsPerBatch || got[0].Number != maxKindsPerBatch+1 {
		t.Errorf("%d lines under %q", len(got), OtherLabel)
	}
	for i := range 8 { // another master reads the stored kinds first
		send(NewLogStore(w.db, w.bus, LogsForever), 10_000+100*i, 60)
		send(s, 20_000+100*i, 60)
	}
	if n := w.int(`SELECT count(DISTINCT (stdtype, source)) FROM log_kinds`); n > 2*maxLabelsPerTask {
		t.Errorf("%d labels of a task", n)
	}
	send(NewLogStore(w.db, w.bus, LogsForever), 30_000, 60)
	send(NewLogStore(w.db, w.bus, LogsForever), 30_000, 60)
	f, err := w.db.LogFields(t.Context(), task, nil)
	if err != nil || slices.Contains(f.Sources, "s030000") || !slices.Contains(f.Sources, OtherLabel) {
		t.Errorf("%d sources are offered: %v", len(f.Sources), err)
	}
	if n := len(readLogs(t, s, task, LogFilter{})); n != 5000+18*60 {
		t.Errorf("%d lines", n)
	}
}

// One statement inserts the origins of a batch of any size; a task has a limited number.
func TestLinesOfManyOrigins(t *testing.T) {
	w := newWorld(t)
	task := w.taskOf(w.trial(w.experiment(lossSearcher), 0, 1))
	s := NewLogStore(w.db, w.bus, LogsForever)
	for round := range maxOriginsPerTask/maxLogBatches + 3 {
		var batch []*database.Queued[*LogBatch]
		for i := range maxLogBatches {
			b := &LogBatch{TaskID: task, Origin: LogOrigin{"1.trial-0.1", "node", fmt.Sprint("c", round*maxLogBatches+i)}, Lines: lines(0, 1)}
			s.sanitizeLines(b)
			b.chunks = s.codec.chunks(b.Lines)
			batch = append(batch, &database.Queued[*LogBatch]{Item: b})
		}
		s.flush(batch)
		for _, q := range batch {
			if q.Err != nil || q.Again {
				t.Fatal(q.Err)
			}
		}
		if n := w.int(`SELECT count(DISTINCT xmin::text) FROM log_origins`); n > round+1 {
			t.Errorf("%d statements in %d batches", n, round+1)
		}
	}
	if n := w.int(`SELECT count(*) FROM log_origins`); n > maxOriginsPerTask+maxLogBatches+1 {
		t.Errorf("%d origins of a task", n)
	}
	if n := len(readLogs(t, s, task, LogFilter{ContainerIDs: []string{OtherLabel}})); n < maxLogBatches {
		t.Errorf("%d lines of other origins", n)
	}
}

// Values that no column can hold are rejected, or made storable, before they join a batch.
func TestLogsThatCannotBeStored(t *testing.T) {
	w := newWorld(t)
	task := w.taskOf(w.trial(w.experiment(lossSearcher), 0, 1))
	s := NewLogStore(w.db, w.bus, LogsForever)
	long := ""
	for i := range 2000 { // different values, because PostgreSQL compresses repeated ones
		long += fmt.Sprintf("%x", i*2654435761)
	}
	for name, b := range map[string]LogBatch{
		"long": {Shipper: long}, "NUL": {Shipper: "a\x00"}, "UTF-8": {Shipper: "a\xff"}, "far": {Shipper: "a", First: 1 << 62},
	} {
		if b.TaskID = task; !fault.Is(b.check(), fault.Invalid) {
			t.Errorf("%s: %v", name, b.check())
		}
	}
	line := LogLine{At: noon, Stdtype: "é" + long, Source: long, Rank: 1 << 40, Text: "x"}
	origin := LogOrigin{long, long + "a", "\x00" + long}
	if _, err := s.Append(t.Context(), LogBatch{TaskID: task, Origin: origin, Lines: []LogLine{line}}); err != nil {
		t.Fatal(err)
	}
	got := readLogs(t, s, task, LogFilter{})
	if len(got) != 1 || got[0].Source != long[:maxLabel] || !strings.HasPrefix(got[0].Stdtype, "é") || got[0].Rank != -1 || got[0].AllocationID != long[:maxLabel] {
		t.Errorf("%+v", got)
	}
}

// The batches of a deleted task fail; the cache keeps the other tasks.
func TestLogsOfADeletedTaskAmongOthers(t *testing.T) {
	w := newWorld(t)
	s := NewLogStore(w.db, w.bus, LogsForever)
	var tasks []string
	var gone int
	for i := range 10 {
		exp := w.experiment(lossSearcher)
		tasks = append(tasks, w.taskOf(w.trial(exp, 0, 1)))
		if i == 4 {
			gone = exp
		}
		if _, err := s.Append(t.Context(), LogBatch{TaskID: tasks[i], Lines: lines(0, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	before := s.tasks[tasks[0]]
	w.exec(`DELETE FROM experiments WHERE id = $1`, gone)
	var batch []*database.Queued[*LogBatch]
	for i := range 40 {
		b := &LogBatch{TaskID: tasks[i%10], Lines: lines(1, 1)}
		s.sanitizeLines(b)
		b.chunks = s.codec.chunks(b.Lines)
		batch = append(batch, &database.Queued[*LogBatch]{Item: b})
	}
	s.flush(batch)
	for i, q := range batch {
		if isGone := i%10 == 4; isGone != fault.Is(q.Err, fault.NotFound) || q.Again {
			t.Errorf("batch %d: %v", i, q.Err)
		}
	}
	if s.tasks[tasks[0]] != before || before == nil {
		t.Error("a task beside it was forgotten")
	}
	if n := w.int(`SELECT count(*) FROM log_chunks`); n != 9*5 {
		t.Errorf("%d chunks", n)
	}
}

package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func backlog(t *testing.T, dir string, limits Limits) *Backlog {
	t.Helper()
	s := NewBacklog(dir, limits)
	t.Cleanup(s.Close)
	return s
}

func line(text string) Line {
	return Line{Time: now, Stream: "stdout", Rank: -1, Source: "task", Text: text}
}

// fill appends lines "line <from>" to "line <to-1>".
func fill(s *Backlog, from, to int) {
	for i := from; i < to; i++ {
		s.Append(line(fmt.Sprint("line ", i)))
	}
}

// readAll reads everything from a number on.
func readAll(t *testing.T, s *Backlog, from int64) []Line {
	t.Helper()
	var all []Line
	for {
		got, err := s.Read(from, 7, 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			return all
		}
		all = append(all, got...)
		from = got[len(got)-1].Number + 1
	}
}

func expectLines(t *testing.T, got []Line, from, to int) {
	t.Helper()
	if len(got) != to-from {
		t.Fatalf("%d lines, want %d", len(got), to-from)
	}
	for i, l := range got {
		if l.Number != int64(from+i) || l.Text != fmt.Sprint("line ", from+i) {
			t.Fatalf("line %d is number %d, %q", from+i, l.Number, l.Text)
		}
	}
}

func segments(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestBacklogReadsWhatWasAppended(t *testing.T) {
	dir := t.TempDir()
	s := backlog(t, dir, Limits{Segment: 500})
	fill(s, 0, 100)
	expectLines(t, readAll(t, s, 0), 0, 100)
	expectLines(t, readAll(t, s, 42), 42, 100)
	expectLines(t, readAll(t, s, 5), 5, 100) // back again: a batch was not taken
	fill(s, 100, 110)
	expectLines(t, readAll(t, s, 100), 100, 110)
	before := len(segments(t, dir))
	s.Taken(60)
	if after := len(segments(t, dir)); after >= before || after < 2 {
		t.Fatalf("%d segments, then %d", before, after)
	}
	expectLines(t, readAll(t, s, 60), 60, 110)
	s.Taken(110)
	if after := len(segments(t, dir)); after != 1 {
		t.Fatalf("%d segments are left", after)
	}
	fill(s, 110, 120)
	expectLines(t, readAll(t, s, 110), 110, 120)
}

func TestOneAppendMayFillManySegments(t *testing.T) {
	s := backlog(t, t.TempDir(), Limits{Segment: 300})
	var lines []Line
	for i := range 200 {
		lines = append(lines, line(fmt.Sprint("line ", i)))
	}
	s.Append(lines...)
	expectLines(t, readAll(t, s, 0), 0, 200)
	if n := len(segments(t, s.Dir())); n < 10 {
		t.Fatalf("%d segments", n)
	}
}

func TestOldestLinesGiveWayWhenTheBacklogIsFull(t *testing.T) {
	s := backlog(t, t.TempDir(), Limits{Disk: 4000, Segment: 500})
	fill(s, 0, 50)
	first, err := s.Read(0, 3, 1<<10)
	if err != nil || len(first) != 3 {
		t.Fatalf("%v %v", first, err)
	}
	fill(s, 50, 1000)
	var size int64
	for _, path := range segments(t, s.Dir()) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 4600 {
		t.Fatalf("the backlog takes %d bytes of 4000", size)
	}
	got := readAll(t, s, 3)
	if got[0].Source != "runner" {
		t.Fatalf("the first line is %+v", got[0])
	}
	var lost, last int
	if _, err := fmt.Sscanf(got[0].Text, "%d lines of output are missing here", &lost); err != nil {
		t.Fatalf("the notice is %q", got[0].Text)
	}
	last = int(got[0].Number) + 1
	expectLines(t, got[1:], last, 1000)
	if lost != last {
		t.Fatalf("%d lines were counted as lost before line %d", lost, last)
	}
}

func TestAFolderThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := backlog(t, filepath.Join(file, "logs"), Limits{})
	fill(s, 1, 10)
	got := readAll(t, s, 0)
	if !strings.Contains(got[0].Text, "cannot write log lines to disk") {
		t.Fatalf("%q", got[0].Text)
	}
	expectLines(t, got[1:], 1, 10)
}

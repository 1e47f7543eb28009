package queue

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/sched/record"
	"github.com/detent-ml/detent/master/sched/replay"
)

// saved writes a recording of two jobs on one node into a file.
func saved(t *testing.T) string {
	t.Helper()
	at := func(minutes int) int64 {
		return time.Date(2026, 11, 1, 0, minutes, 0, 0, time.UTC).UnixNano()
	}
	node := record.Node{ID: "n1", Slots: []record.Slot{{ID: 0}}}
	job := func(id, workspace string, minutes int) record.Request {
		return record.Request{ID: id, Group: "experiment " + id[:1], Slots: 1, QueuedAt: at(minutes), Workspace: workspace, User: "ann"}
	}
	on := []record.Part{{Node: "n1", Slots: []int{0}}}
	var text strings.Builder
	for _, f := range []record.Frame{
		{Pool: "gpu", At: at(0), Whole: true, Planned: true, Settings: &record.Settings{}, Nodes: []record.Node{node}, Queued: []record.Request{job("1.1", "vision", 0)}, Place: []record.Placement{{ID: "1.1", Parts: on}}},
		{Pool: "gpu", At: at(1), Planned: true, Began: map[string]int64{"1.1": at(0)}, Queued: []record.Request{job("2.1", "speech", 1)}},
		{Pool: "gpu", At: at(61), Planned: true, Left: []string{"1.1"}, Place: []record.Placement{{ID: "2.1", Parts: on}}},
		{Pool: "gpu", At: at(62), Began: map[string]int64{"2.1": at(61)}},
		{Pool: "gpu", At: at(91), Left: []string{"2.1"}},
	} {
		line, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReplayOfAFile: without changes each plan is made again; with a node more nobody waits.
func TestReplayOfAFile(t *testing.T) {
	frames, err := readFile(saved(t))
	if err != nil {
		t.Fatal(err)
	}
	from, to := within(frames, time.Time{}, time.Now().AddDate(10, 0, 0))
	r, err := Ask(frames, from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Check == nil || r.Check.Plans != 3 || r.Check.Placements != 2 || r.Check.Deviations != 0 {
		t.Errorf("%+v", r.Check)
	}
	var out strings.Builder
	if err := teamsOf(r, true).CSV(&out); err != nil || !strings.Contains(out.String(), "speech,as it was,1,0,0.5,3600") {
		t.Errorf("%v\n%s", err, out.String())
	}
	change, err := replay.ParseChange("nodes.gpu+=1x1")
	if err != nil {
		t.Fatal(err)
	}
	if r, err = Ask(frames, from, to, []replay.Change{change}); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := teamsOf(r, false).CSV(&out); err != nil || !strings.Contains(out.String(), "speech,recorded,1,0,0.5,60 min") || !strings.Contains(out.String(), "speech,changed,1,0,0.5,0.0 s") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestMoments: times and durations before now.
func TestMoments(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{"30d": "2026-11-01T12:00:00Z", "90m": "2026-12-01T10:30:00Z", "2026-11-01": "2026-11-01T00:00:00Z", "2026-11-01 08:30": "2026-11-01T08:30:00Z", "2026-11-01T08:30:00+02:00": "2026-11-01T06:30:00Z", "soon": "", "-1d": ""} {
		at, err := moment("--from", text, now)
		if (err != nil) != (want == "") || err == nil && at.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v %v, expected %q", text, at, err, want)
		}
	}
}

// TestFilesThatAreNoRecordings: the error says where.
func TestFilesThatAreNoRecordings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("{}\n\r\n\nno\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readFile(path); err == nil || !strings.Contains(err.Error(), path+":4: ") {
		t.Error(err)
	}
	if _, err := readFile(path + "y"); err == nil {
		t.Error("a file that is not there")
	}
}

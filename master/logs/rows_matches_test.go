package logs_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

func TestLogMatches(t *testing.T) {
	w := newWorld(t)
	e := w.Experiment(rowtest.LossSearcher)
	trial := w.Trial(e, 0, 1)
	first := w.Attempt(trial, 1, 2)
	task := w.TaskOf(trial)
	record := func(attempt string, rank int, matches ...logs.Match) []logs.Match {
		t.Helper()
		fresh, err := logs.RecordMatches(t.Context(), w.DB, logs.Matches{TaskID: task, AllocationID: attempt, Rank: rank, Matches: matches})
		if err != nil {
			t.Fatal(err)
		}
		return fresh
	}
	matched := func() string {
		return w.Text(`SELECT coalesce(log_policy_matched, '-') FROM trials WHERE id = $1`, trial)
	}
	oom := logs.Match{Policy: "OOM", Pattern: "memory", Line: "out of memory"}
	ecc := logs.Match{Policy: "ECC", Pattern: "ECC", Action: "exclude_node", Line: "ECC\x00\xff " + strings.Repeat("é", 3000)}
	none := logs.Match{Pattern: "x", Action: "cancel_retries", Line: "x"}

	if fresh := record(first, 1); len(fresh) != 0 || matched() != "-" {
		t.Errorf("of nothing: %v, %s", fresh, matched())
	}
	fresh := record(first, 1, ecc, oom, none)
	if len(fresh) != 3 || fresh[0].Node != "node-1" || fresh[2].Action != "cancel_retries" || matched() != "OOM" {
		t.Errorf("%+v, labelled %s", fresh, matched())
	}
	if line := fresh[0].Line; !utf8.ValidString(line) || len(line) > 2010 || !strings.HasPrefix(line, "ECC\uFFFD\uFFFD é") {
		t.Errorf("the line became %q", line)
	}
	if again := record(first, 1, ecc, oom); len(again) != 0 {
		t.Errorf("the same matches were returned twice: %v", again)
	}
	if other := record(first, 0, ecc); len(other) != 1 || other[0].Node != "node-0" || matched() != "ECC" {
		t.Errorf("from another member: %+v, labelled %s", other, matched())
	}
	if outside := record("", 0, ecc, oom); len(outside) != 2 || outside[0].Node != "" {
		t.Errorf("from outside: %+v", outside)
	}

	live, err := rows.LoadLive(t.Context(), w.DB, rows.Known{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range live.Matches {
		got = append(got, m.Action+" "+m.NodeID)
	}
	if s := strings.Join(got, ", "); s != "exclude_node node-1, cancel_retries node-1, exclude_node node-0, exclude_node " {
		t.Errorf("the loop sees %q", s)
	}
	// A program reports as many as it likes, and few of them count, since the experiment began or was continued.
	excluding := func() (n int) {
		t.Helper()
		if live, err = rows.LoadLive(t.Context(), w.DB, rows.Known{}); err != nil {
			t.Fatal(err)
		}
		for _, m := range live.Matches {
			if m.Action == "exclude_node" && m.NodeID == "node-0" {
				n++
			}
		}
		return n
	}
	for i := range 5 {
		record(first, 0, logs.Match{Pattern: "a" + strconv.Itoa(i), Action: "exclude_node"}, logs.Match{Pattern: "b" + strconv.Itoa(i), Action: "exclude_node"})
	}
	if n := excluding(); n != logs.MaxCounted {
		t.Errorf("%d matches of a node count", n)
	}
	w.Exec(`UPDATE experiments SET continued_at = now() WHERE id = $1`, e)
	if n := excluding(); n != 0 {
		t.Errorf("%d matches of a node count after the experiment was continued", n)
	}
	record(first, 0, logs.Match{Pattern: "c", Action: "exclude_node"})
	if n := excluding(); n != 1 {
		t.Errorf("%d later matches of a node count", n)
	}
	w.Exec(`UPDATE trials SET state = 'COMPLETED', ended_at = now() WHERE id = $1`, trial)
	if live, err = rows.LoadLive(t.Context(), w.DB, rows.Known{}); err != nil || len(live.Matches) != 0 {
		t.Errorf("of an ended trial: %+v, %v", live.Matches, err)
	}
	if _, err := logs.RecordMatches(t.Context(), w.DB, logs.Matches{TaskID: "none", Matches: []logs.Match{oom}}); err == nil {
		t.Error("a task that does not exist has a match")
	}
}

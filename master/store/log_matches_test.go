package store

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLogMatches(t *testing.T) {
	w := newWorld(t)
	e := w.experiment(lossSearcher)
	trial := w.trial(e, 0, 1)
	first := w.attempt(trial, 1, 2)
	task := w.taskOf(trial)
	record := func(attempt string, rank int, matches ...LogMatch) []LogMatch {
		t.Helper()
		fresh, err := w.db.RecordLogMatches(t.Context(), LogMatches{TaskID: task, AllocationID: attempt, Rank: rank, Matches: matches})
		if err != nil {
			t.Fatal(err)
		}
		return fresh
	}
	matched := func() string {
		return w.text(`SELECT coalesce(log_policy_matched, '-') FROM trials WHERE id = $1`, trial)
	}
	oom := LogMatch{Policy: "OOM", Pattern: "memory", Line: "out of memory"}
	ecc := LogMatch{Policy: "ECC", Pattern: "ECC", Action: "exclude_node", Line: "ECC\x00\xff " + strings.Repeat("é", 3000)}
	none := LogMatch{Pattern: "x", Action: "cancel_retries", Line: "x"}

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

	live, err := w.db.LoadLive(t.Context(), Known{})
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
		if live, err = w.db.LoadLive(t.Context(), Known{}); err != nil {
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
		record(first, 0, LogMatch{Pattern: "a" + strconv.Itoa(i), Action: "exclude_node"}, LogMatch{Pattern: "b" + strconv.Itoa(i), Action: "exclude_node"})
	}
	if n := excluding(); n != maxCounted {
		t.Errorf("%d matches of a node count", n)
	}
	w.exec(`UPDATE experiments SET continued_at = now() WHERE id = $1`, e)
	if n := excluding(); n != 0 {
		t.Errorf("%d matches of a node count after the experiment was continued", n)
	}
	record(first, 0, LogMatch{Pattern: "c", Action: "exclude_node"})
	if n := excluding(); n != 1 {
		t.Errorf("%d later matches of a node count", n)
	}
	w.exec(`UPDATE trials SET state = 'COMPLETED', ended_at = now() WHERE id = $1`, trial)
	if live, err = w.db.LoadLive(t.Context(), Known{}); err != nil || len(live.Matches) != 0 {
		t.Errorf("of an ended trial: %+v, %v", live.Matches, err)
	}
	if _, err := w.db.RecordLogMatches(t.Context(), LogMatches{TaskID: "none", Matches: []LogMatch{oom}}); err == nil {
		t.Error("a task that does not exist has a match")
	}
}

func TestNodeFailures(t *testing.T) {
	w := newWorld(t)
	e, other := w.experiment(lossSearcher), w.experiment(lossSearcher)
	w.exec(`UPDATE experiments SET state = 'ACTIVE'`)
	write := func(list ...NodeFailures) {
		t.Helper()
		if err := w.db.Tx(t.Context(), func(tx *DB) error { return tx.ApplyChanges(t.Context(), &Changes{Failures: list}) }); err != nil {
			t.Fatal(err)
		}
	}
	write(NodeFailures{e, "id1", "n1", 2, false}, NodeFailures{e, "id2", "n2", 3, true}, NodeFailures{other, "id1", "n1", 1, false},
		NodeFailures{99, "id1", "n1", 1, false}) // gone meanwhile
	write(NodeFailures{e, "id1", "n1-renamed", 3, true}, NodeFailures{other, "id1", "n1", 0, false})
	live, err := w.db.LoadLive(t.Context(), Known{})
	if err != nil || len(live.Failures) != 2 || live.Failures[0] != (NodeFailures{e, "id1", "n1-renamed", 3, true}) {
		t.Errorf("the loop sees %+v, %v", live.Failures, err)
	}
	if list, err := w.db.AvoidedNodes(t.Context(), e); err != nil || len(list) != 2 {
		t.Errorf("avoided are %+v, %v", list, err)
	}
	w.exec(`UPDATE experiments SET state = 'CANCELED', ended_at = now() WHERE id = $1`, e)
	if live, err = w.db.LoadLive(t.Context(), Known{}); err != nil || len(live.Failures) != 0 {
		t.Errorf("of an ended experiment: %+v, %v", live.Failures, err)
	}
}

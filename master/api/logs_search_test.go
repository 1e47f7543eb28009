package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestSearchLogs: a text is found in the logs of all tasks that the caller may view, page by page.
func TestSearchLogs(t *testing.T) {
	r := newRoleRig(t)
	r.give(auth.Editor, "determined", 1)
	var trials []int
	for i := range 3 {
		a := r.running(yaml(), 1)
		a.ranks[0].post("/api/v1/detent/logs", fmt.Sprintf(`{"shipper":"s","first":0,"lines":[{"timestamp":"2026-01-01T00:00:00Z","log":"CUDA out of memory %d","level":"LOG_LEVEL_ERROR","rank":0},
			{"timestamp":"2026-01-01T00:00:01Z","log":"nothing else"}]}`, i)).ok()
		trials = append(trials, a.trial)
	}
	r.exec(`UPDATE tasks SET ended_at = '2026-02-03T04:05:06Z', exit_status = 'x' WHERE id = (SELECT task_id FROM trials WHERE id = $1)`, trials[2])
	search := func(who as, query string) (got v1.SearchLogsResponse) {
		t.Helper()
		if err := v1.Unmarshal(who.get("/api/v1/detent/logs/search?"+query).ok().body, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	me := r.user("determined")
	got := search(me, "searchText=cuda+OUT+of")
	if len(got.Found) != 3 || got.Next != nil || got.SearchedTo != nil {
		t.Fatalf("%+v", got)
	}
	last := got.Found[2]
	if *last.TrialID != trials[2] || last.EndTime == nil || last.Username != "determined" || last.TaskType != v1.TaskTypeTrial || last.More || len(last.Lines) != 1 ||
		last.Lines[0].Log != "CUDA out of memory 2" || last.Lines[0].ID != "1" {
		t.Errorf("%+v", last)
	}
	var found []string
	for from, calls := "", 0; ; calls++ {
		page := search(me, "searchText=cuda&limit=1&before="+url.QueryEscape(from))
		for _, f := range page.Found {
			found = append(found, fmt.Sprint(*f.TrialID))
		}
		if page.Next == nil {
			break
		}
		if calls == 1 && (page.SearchedTo == nil || page.SearchedTo.Year() != 2026) {
			t.Errorf("the logs of running tasks were read, and the answer says %v", page.SearchedTo)
		}
		if from = *page.Next; calls > 5 {
			t.Fatal("no end")
		}
	}
	if want := fmt.Sprint(trials[1], " ", trials[0], " ", trials[2]); strings.Join(found, " ") != want {
		t.Errorf("%v, want %s", found, want)
	}
	if got := search(r.newUser("nobody"), "searchText=cuda"); len(got.Found) != 0 || got.Next != nil {
		t.Errorf("nobody sees %+v", got)
	}
	for query, says := range map[string]string{"": "name the text", "searchText=+": "name the text", "searchText=" + strings.Repeat("x", 500+1): "bytes", "searchText=a&limit=0": "limit",
		"searchText=a&limit=1000": "limit", "searchText=a&before=x": "before", "searchText=a&before=-1.1.0": "before", "searchText=a&before=.0.0": "before", "searchText=a&before=.1.-5": "before",
		"searchText=a&before=99999999999999999.1.0": "before"} {
		me.get("/api/v1/detent/logs/search?"+query).says(400, says)
	}
}

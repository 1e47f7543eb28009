package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// boundedDescription: a description for eyes has the newest reports only, and says so.
func boundedDescription(t *testing.T, m *world) {
	t.Helper()
	a, out, _ := m.app(t)
	id := submitted(t, a, config, createOptions{})
	m.Ended(id)
	c := m.Client("determined")
	trials, err := client.List(t.Context(), c, v1.ListTrials, client.Page{}, nil, id)
	if err != nil || len(trials) != 1 {
		t.Fatalf("%v, %v", trials, err)
	}
	all, err := client.List(t.Context(), c, v1.ListTrialWorkloads, client.Page{}, nil, trials[0].ID)
	if err != nil || len(all) < 10 {
		t.Fatalf("%d workloads, %v", len(all), err)
	}
	d := described{trials: []v1.Trial{trials[0], trials[0]}, workloads: map[int][]v1.WorkloadContainer{}}
	if err := d.loadSome(t.Context(), c, 5, 5); err != nil {
		t.Fatal(err)
	}
	got := steps(d.workloads[trials[0].ID])
	want := steps(all)
	if len(d.workloads[trials[0].ID]) != 5 || got[len(got)-1].batches != want[len(want)-1].batches {
		t.Errorf("%+v", got)
	}
	d.sayLeft(a)
	says := fmt.Sprintf("Of trial %d, the last 5 of %d reports and checkpoints are shown.\nNo reports of the last 1 trials are shown.\n--csv and --outdir have all.\n", trials[0].ID, len(all))
	if !strings.HasSuffix(out.String(), says) {
		t.Errorf("got\n%swant\n%s", out, says)
	}
}

// listOfOne: --limit is the limit of what is printed, unless --pages asks for more.
func listOfOne(t *testing.T, m *world) {
	t.Helper()
	for _, c := range []struct {
		flags []string
		lines int
	}{{[]string{"--limit", "1", "--csv"}, 2}, {[]string{"--limit", "1", "--pages", "1", "--csv"}, 2}, {[]string{"--limit", "1", "--pages", "all", "--csv"}, 0}, {[]string{"--csv"}, 0}} {
		a, out, _ := m.app(t)
		cmd := newList(a)
		cmd.SetArgs(c.flags)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(out.String(), "\n"); c.lines != 0 && lines != c.lines || c.lines == 0 && lines < 4 {
			t.Errorf("%v: %d lines:\n%s", c.flags, lines, out)
		}
	}
}

func TestOrderOfTrials(t *testing.T) {
	one, two := 1.0, 2.0
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		by      string
		smaller bool
		want    []int
	}{{"metric", true, []int{2, 3, 1}}, {"metric", false, []int{3, 2, 1}}, {"batches", false, []int{3, 1, 2}}, {"started", false, []int{1, 2, 3}}} {
		trials := []v1.Trial{{ID: 1, TotalBatchesProcessed: 5, StartTime: at.Add(time.Hour)}, {ID: 2, SearcherMetricValue: &one, StartTime: at},
			{ID: 3, SearcherMetricValue: &two, TotalBatchesProcessed: 9, StartTime: at.Add(-time.Hour)}}
		slices.SortStableFunc(trials, order(c.by, c.smaller))
		for i, trial := range trials {
			if trial.ID != c.want[i] {
				t.Errorf("%+v: trial %d is at %d", c, trial.ID, i)
			}
		}
	}
	var b strings.Builder
	if err := trialsTable([]v1.Trial{{ID: 2, SearcherMetricValue: &one, HParams: v1.Struct(`{"lr":1}`)}}, "loss", true).CSV(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), "Trial ID,State,H-Params,Started,Ended,# of Batches,Metric: loss\r\n2,,\"{\"\"lr\"\":1}\",") || !strings.HasSuffix(b.String(), ",0,1.0\r\n") {
		t.Error(b.String())
	}
}

package experiment

import (
	"os"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/term"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestFrontOfADescription: only experiments with a front have its table, and results that are left out are counted.
func TestFrontOfADescription(t *testing.T) {
	io, out, _ := term.Buffers("")
	a := &app.App{IO: io, Now: time.Now, Lookup: os.LookupEnv}
	one, several := &v1.GetExperimentResponse{}, &v1.GetExperimentResponse{}
	several.Experiment.ID = 7
	several.Outlook.Front = &v1.SearchFront{Metrics: []string{"loss", "ms"}, Total: 3, Points: []v1.FrontPoint{
		{TrialID: 12, StepsCompleted: 100, Values: []float64{0.25, 18}}, {TrialID: 9, StepsCompleted: 4, Values: []float64{1.5, 0.001}}}}
	if err := printFronts(a, []described{{resp: one}, {resp: several}}); err != nil {
		t.Fatal(err)
	}
	const want = `
Front of experiment 7:
   Trial ID |   Batches |   loss |     ms
------------+-----------+--------+--------
         12 |       100 |   0.25 | 18
          9 |         4 |   1.5  |  0.001
2 of 3 results are shown.
`
	if out.String() != want {
		t.Errorf("got%swant%s", out, want)
	}
}

// TestRepeatsOfADescription: numbers that are not known yet are empty.
func TestRepeatsOfADescription(t *testing.T) {
	io, out, _ := term.Buffers("")
	a := &app.App{IO: io, Now: time.Now, Lookup: os.LookupEnv}
	none, some := &v1.GetExperimentResponse{}, &v1.GetExperimentResponse{}
	some.Experiment.ID = 7
	mean, deviation := 0.25, 0.5
	some.Outlook.Repeats = &v1.SearchRepeats{Times: 2, Configurations: []v1.RepeatedConfiguration{
		{TrialID: 12, TrialIDs: []int{20, 22}, Results: 2, Mean: &mean, Deviation: &deviation}, {TrialID: 9, TrialIDs: []int{21}}}}
	if err := printRepeats(a, []described{{resp: none}, {resp: some}}); err != nil {
		t.Fatal(err)
	}
	const want = `
Configurations of experiment 7 that were trained again:
   Trial ID |   Mean |   Deviation |   Results | Trained Again
------------+--------+-------------+-----------+-----------------
         12 |   0.25 |         0.5 |         2 | 20, 22
          9 |        |             |         0 | 21
`
	if out.String() != want {
		t.Errorf("got%swant%s", out, want)
	}
}

package experiment

import (
	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/table"
	v1 "github.com/detent-ml/detent/master/v1"
)

// printFronts prints the results on the fronts of searches with several metrics, the first ones spread over the front.
func printFronts(a *app.App, all []described) error {
	for _, d := range all {
		f := d.resp.Outlook.Front
		if f == nil || len(f.Points) == 0 {
			continue
		}
		a.Printf("\nFront of experiment %d:\n", d.resp.Experiment.ID)
		if err := frontTable(f).Write(a.IO.Out); err != nil {
			return err
		}
		if len(f.Points) < f.Total {
			a.Printf("%d of %d results are shown.\n", len(f.Points), f.Total)
		}
	}
	return nil
}

func frontTable(f *v1.SearchFront) *table.Table {
	t := table.New(append([]string{"Trial ID", "Batches"}, f.Metrics...)...)
	for _, p := range f.Points {
		row := []any{p.TrialID, p.StepsCompleted}
		for _, v := range p.Values {
			row = append(row, v)
		}
		t.Row(row...)
	}
	return t
}

package experiment

import (
	"strconv"
	"strings"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/each"
	v1 "github.com/detent-ml/detent/master/v1"
)

// printRepeats prints the configurations that searches have trained again (searcher.repeat), the best first.
func printRepeats(a *app.App, all []described) error {
	for _, d := range all {
		r := d.resp.Outlook.Repeats
		if r == nil || len(r.Configurations) == 0 {
			continue
		}
		a.Printf("\nConfigurations of experiment %d that were trained again:\n", d.resp.Experiment.ID)
		if err := repeatTable(r).Write(a.IO.Out); err != nil {
			return err
		}
	}
	return nil
}

func repeatTable(r *v1.SearchRepeats) *table.Table {
	t := table.New("Trial ID", "Mean", "Deviation", "Results", "Trained Again")
	for _, c := range r.Configurations {
		t.Row(c.TrialID, number(c.Mean), number(c.Deviation), c.Results, strings.Join(each.Of(c.TrialIDs, strconv.Itoa), ", "))
	}
	return t
}

// number is a cell of a number that may be missing.
func number(f *float64) any {
	if f == nil {
		return nil
	}
	return *f
}

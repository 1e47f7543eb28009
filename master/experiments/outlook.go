package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/spelling"
	v1 "github.com/detent-ml/detent/master/v1"
)

// OutlookOf returns what the search of an experiment said last about its end.
func OutlookOf(e Experiment) (w v1.SearchOutlook, err error) {
	var o search.Outlook
	if len(e.Outlook) == 0 {
		return w, nil
	}
	if err := json.Unmarshal(e.Outlook, &o); err != nil {
		return w, fmt.Errorf("the outlook of experiment %d: %w", e.ID, err)
	}
	if b := o.Budget; b != nil {
		w.Budget = &v1.SearchBudget{Unit: b.Unit, Limit: b.Limit, Spent: b.Spent, More: b.More, Over: b.Over}
		w.Says = append(w.Says, spentText(b, e.Terminal()))
	}
	if f := o.Front; f != nil {
		w.Front = &v1.SearchFront{Metrics: f.Metrics, Total: f.Total, Results: f.Results, Keeping: f.Keeping}
		if f.Results > 0 {
			w.Says = append(w.Says, frontText(f))
		}
	}
	if g := o.Gain; g != nil {
		w.Gain = &v1.SearchGain{Of: g.Of, Trials: g.Trials, Gain: g.Gain, Better: g.Better, Enough: g.Enough, Stopped: g.Stopped}
		w.Says = append(w.Says, gainText(g))
	}
	return w, nil
}

// gainText says what further trials would bring, or that none are created because of it.
func gainText(g *search.GainOutlook) string {
	more, by := "another trial", ""
	if g.Trials > 1 {
		more = fmt.Sprintf("another %d trials", g.Trials)
	}
	if g.Gain > 0 {
		by = fmt.Sprintf(" by %s %% or more", short(100*g.Gain))
	}
	if g.Stopped {
		return fmt.Sprintf("the search created no further trials, because %s would improve the best result%s with a probability of only %.0f %% (searcher.stop_when; estimated from %s)",
			more, by, 100*g.Enough, spelling.Count(g.Of, "trial"))
	}
	text := fmt.Sprintf("%s would improve the best result with a probability of %.0f %%", more, 100*g.Better)
	if by != "" {
		text += fmt.Sprintf(", and%s with %.0f %%", by, 100*g.Enough)
	}
	return text + fmt.Sprintf(" (estimated from %s)", spelling.Count(g.Of, "trial"))
}

// frontText says what a search with several metrics has found: "3 results are on the front of loss, ms; of 20 trials, 12 found one that keeps the bounds (ms at
// most 20)".
func frontText(f *search.FrontOutlook) string {
	is := "are"
	if f.Total == 1 {
		is = "is"
	}
	text := fmt.Sprintf("%s %s on the front of %s", spelling.Count(f.Total, "result"), is, strings.Join(f.Metrics, ", "))
	switch {
	case len(f.Bounds) == 0:
	case f.Keeping == 0:
		text = fmt.Sprintf("none of %s has found a result that keeps the bounds (%s)", spelling.Count(f.Results, "trial"), strings.Join(f.Bounds, "; "))
	default:
		text += fmt.Sprintf("; of %s, %d found one that keeps the bounds (%s)", spelling.Count(f.Results, "trial"), f.Keeping, strings.Join(f.Bounds, "; "))
	}
	return text
}

// frontOf adds the results of the front to the outlook of an experiment.
func frontOf(ctx context.Context, db *database.DB, e Experiment, w *v1.SearchOutlook) error {
	var o search.Outlook
	if w.Front == nil {
		return nil
	}
	if err := json.Unmarshal(e.Outlook, &o); err != nil {
		return fmt.Errorf("the outlook of experiment %d: %w", e.ID, err)
	}
	numbers := each.Of(o.Front.Points, func(p search.FrontResult) int { return p.Trial })
	ids, err := database.Map[int, int](ctx, db, `SELECT number, id FROM trials WHERE experiment_id = $1 AND number = ANY($2)`, e.ID, numbers)
	if err != nil {
		return err
	}
	w.Front.Points = []v1.FrontPoint{}
	for _, p := range o.Front.Points {
		if id, there := ids[p.Trial]; there {
			w.Front.Points = append(w.Front.Points, v1.FrontPoint{TrialID: id, StepsCompleted: p.Steps, Values: p.Values})
		}
	}
	return nil
}

// spentText says what a search has spent: "12.4 of 40 slot-hours are spent; about 31 more trials".
func spentText(b *search.BudgetOutlook, ended bool) string {
	unit := "hours"
	if b.Unit == "slot_hours" {
		unit = "slot-hours"
	}
	text := fmt.Sprintf("%s of %s %s are spent", short(b.Spent), short(b.Limit), unit)
	switch {
	case ended:
	case b.Over:
		return text + "; no trial begins any more"
	case b.More == nil:
		return text + "; what a trial costs is not known yet"
	case *b.More == 0:
		return text + "; the rest is for the trials that have begun"
	case *b.More == 1:
		return text + "; about one more trial"
	default:
		return fmt.Sprintf("%s; about %d more trials", text, *b.More)
	}
	return text
}

// short writes a number with three digits, or all those before its point.
func short(f float64) string {
	if f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

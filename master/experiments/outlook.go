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

// withTrials adds to the outlook of an experiment what has the ids of trials: the results of the front, and the configurations that are trained again.
func withTrials(ctx context.Context, db *database.DB, e Experiment, w *v1.SearchOutlook) error {
	var o search.Outlook
	if len(e.Outlook) == 0 {
		return nil
	}
	if err := json.Unmarshal(e.Outlook, &o); err != nil {
		return fmt.Errorf("the outlook of experiment %d: %w", e.ID, err)
	}
	var numbers []int
	if o.Front != nil {
		numbers = each.Of(o.Front.Points, func(p search.FrontResult) int { return p.Trial })
	}
	if o.Repeats != nil {
		for _, x := range o.Repeats.List {
			numbers = append(append(numbers, x.Of), x.Trials...)
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	ids, err := database.Map[int, int](ctx, db, `SELECT number, id FROM trials WHERE experiment_id = $1 AND number = ANY($2)`, e.ID, numbers)
	if err != nil {
		return err
	}
	if o.Front != nil {
		w.Front.Points = []v1.FrontPoint{}
		for _, p := range o.Front.Points {
			if id, there := ids[p.Trial]; there {
				w.Front.Points = append(w.Front.Points, v1.FrontPoint{TrialID: id, StepsCompleted: p.Steps, Values: p.Values})
			}
		}
	}
	if o.Repeats != nil {
		w.Repeats = repeatsOf(o.Repeats, ids)
		w.Says = append(w.Says, repeatText(w.Repeats))
	}
	return nil
}

// repeatsOf returns the configurations that are trained again, with the ids of the trials that have rows.
func repeatsOf(o *search.RepeatOutlook, ids map[int]int) *v1.SearchRepeats {
	w := &v1.SearchRepeats{Times: o.Times, Decided: o.Decided, Configurations: []v1.RepeatedConfiguration{}}
	for _, x := range o.List {
		c := v1.RepeatedConfiguration{TrialID: ids[x.Of], TrialIDs: []int{}, Results: x.Results, Mean: x.Mean, Deviation: x.Deviation}
		for _, number := range x.Trials {
			if id, there := ids[number]; there {
				c.TrialIDs = append(c.TrialIDs, id)
			}
		}
		w.Configurations = append(w.Configurations, c)
	}
	return w
}

// repeatText says which configuration is the best of those that were trained again: "the 3 best configurations were trained again, 3 times each; that of
// trial 12 is the best, with a mean of 0.031 and a standard deviation of 0.002".
func repeatText(w *v1.SearchRepeats) string {
	what := fmt.Sprintf("the %d best configurations", len(w.Configurations))
	are := "are"
	if len(w.Configurations) == 1 {
		what, are = "the best configuration", "is"
	}
	results := 0
	for _, c := range w.Configurations {
		results += c.Results
	}
	if !w.Decided {
		return fmt.Sprintf("%s %s trained again, %s in all; %d with a result so far", what, are, spelling.Count(w.Times*len(w.Configurations), "time"), results)
	}
	if results == 0 {
		return what + " trained again had no result"
	}
	each := ""
	if len(w.Configurations) > 1 {
		each = " each"
	}
	best := w.Configurations[0]
	text := fmt.Sprintf("%s %s trained again, %s%s; that of trial %d is the best, with a mean of %s", what, map[string]string{"are": "were", "is": "was"}[are],
		spelling.Count(w.Times, "time"), each, best.TrialID, short(*best.Mean))
	if best.Deviation != nil {
		text += fmt.Sprintf(" and a standard deviation of %s", short(*best.Deviation))
	}
	return text
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

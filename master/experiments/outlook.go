package experiments

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/detent-ml/detent/master/search"
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
	return w, nil
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

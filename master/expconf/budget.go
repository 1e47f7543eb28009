package expconf

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/detent-ml/detent/master/document"
)

// A Budget is what a search may spend. One of its parts is set.
type Budget struct {
	BudgetHours
	length *Length // of obsolete searchers, whose budgets were amounts of training
}

// BudgetHours is a budget of time.
type BudgetHours struct {
	SlotHours float64 `json:"slot_hours"` // of all attempts of its trials together, from their placement on
	Hours     float64 `json:"hours"`      // in which at least one attempt of its trials is placed
}

const (
	minHours    = 0.0001 // a third of a second: less is spent before a program has started
	maxHours    = 1e9
	maxBudgeted = 2_000 // trials of a search with a budget, if its configuration names no number
)

// MarshalJSON encodes the budget as the user wrote it.
func (b Budget) MarshalJSON() ([]byte, error) {
	switch {
	case b.length != nil:
		return json.Marshal(b.length)
	case b.SlotHours != 0:
		return json.Marshal(map[string]float64{"slot_hours": b.SlotHours})
	}
	return json.Marshal(map[string]float64{"hours": b.Hours})
}

// String formats the budget for users: "40 slot-hours".
func (b Budget) String() string {
	if b.SlotHours != 0 {
		return strconv.FormatFloat(b.SlotHours, 'g', 6, 64) + " slot-hours"
	}
	return strconv.FormatFloat(b.Hours, 'g', 6, 64) + " hours"
}

func (b Budget) onto(any) any { return b }

const budgetForms = "{slot_hours: 40} or {hours: 6}"

func (b *Budget) decode(d *decoder, n *document.Node, path string) {
	_, whole := n.Whole()
	for _, unit := range []Unit{Batches, Records, Epochs} {
		whole = whole || n.Kind == document.MapKind && n.Get(string(unit)) != nil
	}
	if whole {
		b.length = &Length{}
		b.length.decode(d, n, path)
		return
	}
	if n.Kind != document.MapKind {
		d.expected(n, path, "what the search may spend, such as "+budgetForms, "")
		return
	}
	d.into(n, path, &b.BudgetHours)
	if n.Get("slot_hours") != nil && n.Get("hours") != nil {
		d.problem(n, path, "has both slot_hours and hours", "keep one")
	}
}

func (b *Budget) check(k *checker, at string) {
	switch {
	case b == nil:
	case b.BudgetHours == BudgetHours{} && b.length == nil:
		k.fail(at, "needs slot_hours or hours above 0", "write "+budgetForms)
	case b.length != nil:
		k.fail(at, fmt.Sprintf("must be in hours, found %s", *b.length), "write "+budgetForms+"; max_length limits the training of one trial")
	case max(b.SlotHours, b.Hours) < minHours || max(b.SlotHours, b.Hours) > maxHours:
		field := map[bool]string{true: ".slot_hours", false: ".hours"}[b.SlotHours != 0]
		k.fail(at+field, fmt.Sprintf("must be from %s to %s, found %s", short(minHours), short(maxHours), short(b.SlotHours+b.Hours)), "")
	}
}

// checkSlots rejects a budget that trials without slots would never spend.
func (c Config) checkSlots(k *checker) {
	if b := c.Searcher.Budget; b != nil && b.SlotHours > 0 && c.Resources.SlotsPerTrial == 0 {
		k.fail("searcher.budget.slot_hours", "is never spent by trials without slots (resources.slots_per_trial: 0)", "use hours")
	}
}

// completeBudget sets the number of trials that a search with a budget has at most: as many as its
// sampler can have.
func (s *Searcher) completeBudget(space Hyperparameters) {
	if s.Budget == nil || s.MaxTrials != 0 {
		return
	}
	switch s.Name {
	case Random, AsyncHalving, AdaptiveASHA:
		s.MaxTrials = int(min(maxBudgeted, float64(s.MostTrials()), maxModelledValues/max(1, space.varied())))
	}
}

package search

import (
	"encoding/json"
	"math"
)

// An Outlook is what a search says about its end. The control loop stores it with the experiment, so that every master can show it.
type Outlook struct {
	Budget  *BudgetOutlook `json:"budget,omitempty"`  // nil: the search has no budget
	Front   *FrontOutlook  `json:"front,omitempty"`   // nil: the search has one metric
	Repeats *RepeatOutlook `json:"repeats,omitempty"` // nil: nothing is trained again, or not yet
	Gain    *GainOutlook   `json:"gain,omitempty"`    // nil: the search does not know yet what further trials would bring
}

// A BudgetOutlook is what a search has spent of its budget.
type BudgetOutlook struct {
	Unit  string  `json:"unit"` // slot_hours or hours
	Limit float64 `json:"limit"`
	Spent float64 `json:"spent"`
	More  *int    `json:"more,omitempty"` // trials for which the rest probably suffices; nil: not known yet
	Over  bool    `json:"over,omitempty"` // nothing begins any more
}

// Outlook returns the outlook of the search.
func (s *Search) Outlook() Outlook {
	o := Outlook{Front: s.goals.outlook(), Repeats: s.repeatOutlook()}
	if p := s.trialSet.prospects; p != nil {
		o.Gain = p.newest
	}
	if p := s.trialSet.spending; p != nil {
		b := &BudgetOutlook{Unit: "hours", Limit: hoursOf(p.limit), Spent: hoursOf(p.spent()), Over: p.over}
		if p.bySlots {
			b.Unit = "slot_hours"
		}
		if n, known := s.more(); known {
			b.More = &n
		}
		o.Budget = b
	}
	return o
}

// hoursOf rounds to about four seconds, so that a running trial does not change the outlook all the time.
func hoursOf(seconds float64) float64 { return math.Round(seconds/secondsOfHour*1000) / 1000 }

// more estimates for how many further trials the rest of the budget suffices, if they are treated as those before.
func (s *Search) more() (n int, known bool) {
	p, trials := s.trialSet.spending, float64(s.Len())
	if p.over {
		return 0, true
	}
	whole, known := p.cost(-1, p.full, p.of(p.running))
	if !known || trials == 0 {
		return 0, false
	}
	left := max(0, p.left())
	of := whole
	switch _, rungs := s.method.(*tournament); {
	case rungs && p.bySlots:
		of = (p.limit - left) / trials // with what its trials cost that run
	case rungs:
		of = p.clock / trials
	case !p.bySlots:
		of = whole / max(1, float64(p.active))
	}
	return int(min(math.Round(left/max(of, 1e-9)), float64(max(0, s.method.Planned(&s.trialSet)-s.Len())))), true
}

// OutlookJSON returns the outlook in the form in which it is stored. It is made once for each event.
func (s *Search) OutlookJSON() string {
	if s.outlook.text == "" || s.outlook.seq != s.seq {
		b, err := json.Marshal(s.Outlook())
		if err != nil {
			panic("search: an outlook did not encode: " + err.Error())
		}
		s.outlook.seq, s.outlook.text = s.seq, string(b)
	}
	return s.outlook.text
}

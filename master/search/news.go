package search

import (
	"cmp"
	"encoding/json"
	"sort"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// News is what a program learns of the trials of its search, in the order of the events. The search
// keeps no results: they are its events, so the program may read them again from the beginning.
type News struct {
	Trials  []NewTrial
	Results []NewResult
}

// NewTrial is a trial that the search has created.
type NewTrial struct {
	Number  int
	Key     string         // of its proposal; "": it has values of start_with
	HParams map[string]any // that are not constant, by their names with dots between groups
}

// NewResult is a result of a trial, that it waits, or its end.
type NewResult struct {
	Trial  int
	Key    string
	Length float64  // of its training, in the searcher's unit
	Metric *float64 // as the program of the trial reported it; nil if it is not a finite number
	Waits  bool     // this is no validation: the trial waits at a rung, until its next validation or its end
	Ended  string   // how the trial ended, one of the lifecycle.Exit constants; "" before
}

// News returns what happened up to the event with the number `until`: the events after the number
// `after`, which the caller has read, and the trials that they created. With after = -1 these include
// the trials with which the search began.
func (s *Search) News(after, until int64, events []Event) News {
	var n News
	p := s.trialSet.program
	if p == nil {
		return n
	}
	// Trials are created in the order of the events.
	first := sort.Search(len(p.trials), func(i int) bool { return p.trials[i].born > after })
	for i := first; i < len(p.trials) && p.trials[i].born <= until; i++ {
		n.Trials = append(n.Trials, NewTrial{i, p.trials[i].key, s.trialSet.varying(i)})
	}
	for _, e := range events {
		if e.Seq <= after || e.Seq > until || e.Trial < 0 || e.Trial >= len(p.trials) {
			continue
		}
		switch e.Kind {
		case Validated:
			v, err := readValidation(e.Body)
			if err == nil {
				n.Results = append(n.Results, s.result(e.Trial, v))
			}
		case Suspended:
			n.Results = append(n.Results, NewResult{Trial: e.Trial, Key: p.trials[e.Trial].key, Waits: true})
		case Exited:
			var x Exit
			if json.Unmarshal(e.Body, &x) == nil {
				n.Results = append(n.Results, NewResult{Trial: e.Trial, Key: p.trials[e.Trial].key, Ended: s.ending(e.Trial, x.Reason)})
			}
		}
	}
	return n
}

// varying returns the hyperparameters of a trial that are not constant.
func (r *TrialSet) varying(trial int) map[string]any {
	hparams, out := r.hparams(trial), map[string]any{}
	for _, a := range r.domain.axes {
		if v := a.get(hparams); a.Type != expconf.Const && v != (absent{}) {
			out[a.name()] = v
		}
	}
	return out
}

func (s *Search) result(trial int, v Validation) NewResult {
	x := NewResult{Trial: trial, Key: s.trialSet.program.trials[trial].key, Length: float64(v.Steps), Metric: v.Metric}
	if at, why := s.lengthGauge.at(v, func() map[string]any { return s.trialSet.hparams(trial) }); why == "" {
		x.Length = at
	}
	return x
}

// ending is how a trial ended: a trial that trained to the end is done, although the search stopped it.
func (s *Search) ending(trial int, reason string) string {
	if reason == lifecycle.ExitStopped && s.trialSet.trials[trial].trained {
		return lifecycle.ExitDone
	}
	return cmp.Or(reason, lifecycle.ExitDone)
}

// Page returns up to which event the news after the event `after` have at most `most` new trials, whose hyperparameters have at most
// so many bytes; `until` at most. The trials of one event stay together.
func (s *Search) Page(after, until int64, most, bytes int) int64 {
	p := s.trialSet.program
	first := sort.Search(len(p.trials), func(i int) bool { return p.trials[i].born > after })
	for i := first; i < len(p.trials) && p.trials[i].born <= until; i++ {
		if bytes -= len(text(s.trialSet.varying(i))); i < first+most && bytes >= 0 {
			continue
		}
		return max(p.trials[i].born-1, p.trials[first].born) // one event may create more; it cannot be divided
	}
	return until
}

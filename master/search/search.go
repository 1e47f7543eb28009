package search

import (
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// Kinds of events.
const (
	Validated = "validated"
	Exited    = "exited"
)

// An Event is one thing that happened to a trial.
type Event struct {
	Seq   int64
	Kind  string
	Trial int // its number in this experiment
	Body  json.RawMessage
}

// Validation is the body of a Validated event.
type Validation struct {
	Metric *float64 `json:"metric"` // nil: the report lacked the searcher's metric
	Steps  int      `json:"steps"`
	Time   *float64 `json:"time,omitempty"` // value of time_metric
	Run    int      `json:"run"`
}

// Exit is the body of an Exited event; Reason is one of lifecycle's.
type Exit struct {
	Reason string `json:"reason"`
}

// A Trial is one that should exist.
type Trial struct {
	Number  int
	Seed    int64
	HParams map[string]any
	Stop    bool // it has run long enough
}

// Method is what tells searchers apart: how they react to events. All of them
// keep their trials in a Roster.
type Method interface {
	// Start fills the roster before any event.
	Start(r *Roster)
	// Validated is called for each result of a trial that still runs.
	Validated(r *Roster, trial int, v Validation)
	// Exited is called once for each trial that ended.
	Exited(r *Roster, trial int, reason string)
}

// Search is the state of one experiment's search.
type Search struct {
	method Method
	roster Roster
	seq    int64
	broken string

	smaller    bool
	bestTrial  int
	bestMetric *float64
}

// New is the search before anything happened.
func New(cfg expconf.Config, seed int64) (*Search, error) {
	m, err := methodOf(cfg)
	if err != nil {
		return nil, err
	}
	s := &Search{method: m, smaller: cfg.Searcher.SmallerIsBetter}
	s.roster = Roster{seed: seed, space: cfg.Hyperparameters}
	m.Start(&s.roster)
	return s, nil
}

// methodOf finds the searcher by its name.
func methodOf(cfg expconf.Config) (Method, error) {
	if cfg.Searcher.Name == expconf.Single {
		return single{}, nil
	}
	return nil, fmt.Errorf("searcher %q cannot be run", cfg.Searcher.Name)
}

// Seq is the number of the last event that was applied.
func (s *Search) Seq() int64 { return s.seq }

// Apply folds one event in. Events come in the order of their numbers, without
// gaps; anything else is a defect of the caller, and an error, because a search
// that skipped an event would decide differently elsewhere.
func (s *Search) Apply(e Event) error {
	if e.Seq != s.seq+1 {
		return fmt.Errorf("search event %d came after %d", e.Seq, s.seq)
	}
	s.seq = e.Seq
	t := s.roster.get(e.Trial)
	if t == nil {
		return fmt.Errorf("search event %d is about trial %d, which does not exist", e.Seq, e.Trial)
	}
	switch e.Kind {
	case Validated:
		var v Validation
		if err := json.Unmarshal(e.Body, &v); err != nil {
			return fmt.Errorf("search event %d: %w", e.Seq, err)
		}
		if v.Metric == nil {
			break
		}
		s.rank(e.Trial, *v.Metric)
		if t.exited == "" {
			s.method.Validated(&s.roster, e.Trial, v)
		}
	case Exited:
		var x Exit
		if err := json.Unmarshal(e.Body, &x); err != nil {
			return fmt.Errorf("search event %d: %w", e.Seq, err)
		}
		if t.exited == "" {
			t.exited = x.Reason
			s.method.Exited(&s.roster, e.Trial, x.Reason)
		}
	default:
		return fmt.Errorf("search event %d is of an unknown kind, %q", e.Seq, e.Kind)
	}
	return nil
}

// rank remembers the best result; of equal ones the first.
func (s *Search) rank(trial int, metric float64) {
	if s.bestMetric == nil || s.smaller && metric < *s.bestMetric || !s.smaller && metric > *s.bestMetric {
		s.bestTrial, s.bestMetric = trial, &metric
	}
}

// Best is the trial with the best result of the searcher's metric, and the
// result; nil when there is none.
func (s *Search) Best() (trial int, metric *float64) { return s.bestTrial, s.bestMetric }

// Wanted lists the trials that should exist, by number.
func (s *Search) Wanted() []Trial {
	list := make([]Trial, len(s.roster.trials))
	for i, t := range s.roster.trials {
		list[i] = Trial{Number: i, Seed: t.seed, HParams: t.hparams, Stop: t.stop}
	}
	return list
}

// Verdict is what the search concludes: nothing while a trial is still to end.
func (s *Search) Verdict() (lifecycle.Verdict, string) {
	if s.broken != "" {
		return lifecycle.SearchBroken, s.broken
	}
	failed, canceled := 0, 0
	for _, t := range s.roster.trials {
		switch t.exited {
		case "":
			return lifecycle.Searching, ""
		case lifecycle.ExitErrored:
			failed++
		case lifecycle.ExitCanceled:
			canceled++
		}
	}
	switch n := len(s.roster.trials); {
	case n > 0 && failed == n:
		return lifecycle.SearchFailed, failure(n)
	case n > 0 && canceled == n:
		return lifecycle.SearchCancel, ""
	}
	return lifecycle.SearchDone, ""
}

func failure(trials int) string {
	if trials == 1 {
		return "its trial failed"
	}
	return fmt.Sprintf("all of its %d trials failed", trials)
}

// Progress is how far the search is, from 0 to 1, given how far its trials are
// by their own word (by number; missing is 0). A trial that ended counts whole.
func (s *Search) Progress(trials map[int]float64) float64 {
	if len(s.roster.trials) == 0 {
		return 1
	}
	sum := 0.0
	for i, t := range s.roster.trials {
		if t.exited != "" {
			sum++
		} else {
			sum += min(max(trials[i], 0), 1)
		}
	}
	return sum / float64(len(s.roster.trials))
}

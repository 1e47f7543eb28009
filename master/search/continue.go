package search

import (
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// A Continuation is the body of a Continued event.
type Continuation struct {
	// Config is a complete configuration with what a search reads of it, where the
	// search goes on with another one than it had.
	Config json.RawMessage `json:"config,omitempty"`
}

// NewContinuation takes out of an experiment's complete configuration what its
// search reads. Nothing else, credentials least of all, belongs into its events.
func NewContinuation(config json.RawMessage) (Continuation, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(config, &all); err != nil {
		return Continuation{}, err
	}
	part := map[string]json.RawMessage{}
	for _, key := range []string{"name", "reproducibility", "records_per_epoch", "hyperparameters", "searcher"} {
		if v, ok := all[key]; ok {
			part[key] = v
		}
	}
	b, err := json.Marshal(part)
	return Continuation{Config: b}, err
}

// continuer is a Method that can go on after its end. Halving, populations and
// programs outside have drawn conclusions from the ends of trials, which would
// have to be taken back.
type continuer interface {
	// Continue takes back the ends of the trials that go on; changed says that the
	// space of hyperparameters may be another one than before.
	Continue(r *TrialSet, changed bool)
}

// CanContinue reports whether searches of this name can go on after their end.
func CanContinue(name string) bool {
	return name == expconf.Single || name == expconf.Random || name == expconf.Grid
}

// continued lets the search go on, with what is said of its configuration since.
func (s *Search) continued(e Event) error {
	m, ok := s.method.(continuer)
	if !ok {
		return fmt.Errorf("search event %d continues a search that cannot be continued", e.Seq)
	}
	var body Continuation
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return fmt.Errorf("search event %d: %w", e.Seq, err)
	}
	if len(body.Config) > 0 {
		cfg, err := expconf.ParseConfigJSON(body.Config)
		if err != nil {
			return fmt.Errorf("search event %d: %w", e.Seq, err)
		}
		s.reconfigure(cfg)
	}
	m.Continue(&s.trialSet, len(body.Config) > 0)
	return nil
}

// reconfigure takes another configuration over. Results of another metric say
// nothing about the best.
func (s *Search) reconfigure(cfg expconf.Config) {
	sign := 1.0
	if !cfg.Searcher.SmallerIsBetter {
		sign = -1
	}
	if cfg.Searcher.Metric != s.name || sign != s.sign {
		s.bestTrial, s.bestMetric = 0, nil
	}
	s.name, s.sign, s.lengthGauge = cfg.Searcher.Metric, sign, newGauge(cfg)
	s.trialSet.space, s.trialSet.chance, s.trialSet.layout = cfg.Hyperparameters, nil, nil
}

// revive takes the end of a trial back.
func (r *TrialSet) revive(trial int) {
	t := r.trials[trial]
	switch t.exited {
	case "":
		return
	case lifecycle.ExitErrored:
		r.failed--
	case lifecycle.ExitCanceled:
		r.canceled--
	}
	r.ended--
	t.exited, t.fail, t.stop, t.hold, t.suspended = "", "", false, false, false
}

// redraw gives a trial the hyperparameters that it would have been made with if
// the space had always been as it is now.
func (r *TrialSet) redraw(trial int) {
	r.trials[trial].given = r.byChance()
}

// goOn takes back the ends of all trials that failed or were canceled. Of those
// that are to train then, also of the ones that were wanted and never made, only
// as many run at once as there are workers; 0 means all.
func (r *TrialSet) goOn(workers int) {
	running := 0
	r.waiting = 0
	for n, t := range r.trials {
		if t.exited == lifecycle.ExitErrored || t.exited == lifecycle.ExitCanceled {
			r.revive(n)
		}
		if t.exited != "" {
			continue
		}
		wait := workers > 0 && running >= workers
		if t.hold, t.suspended = wait, wait; wait {
			r.waiting++
		} else {
			running++
		}
	}
}

// callNext decides what follows when a trial has ended: the first of the trials that goOn
// told to wait continues to train. If the ended trial itself waited, no worker is free.
// False means that a worker is free and no trial waits for it.
func (r *TrialSet) callNext(ended int) bool {
	if r.waiting == 0 {
		return false
	}
	if t := r.trials[ended]; t.hold {
		t.hold, t.suspended = false, false
		r.waiting--
		return true
	}
	for n, t := range r.trials {
		if t.hold && t.exited == "" {
			r.Release(n, t.target)
			r.waiting--
			return true
		}
	}
	r.waiting = 0
	return false
}

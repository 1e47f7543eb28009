package search

import (
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// A Continuation is the body of a Continued event.
type Continuation struct {
	// Config is set if the configuration has changed: the fields of the complete
	// configuration that a search reads.
	Config json.RawMessage `json:"config,omitempty"`
}

// NewContinuation selects the fields of a complete configuration that a search reads.
// Events must not contain the other fields, above all no credentials.
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

// continuer is a Method that can continue after the search's end. Halving, populations and
// custom searches cannot: they have decided about other trials because a trial ended.
type continuer interface {
	// Continue reopens the trials that train on; changed says that the space of
	// hyperparameters may differ from the space before.
	Continue(r *TrialSet, changed bool)
}

// CanContinue reports whether searches with this searcher can continue after their end.
func CanContinue(name string) bool {
	return name == expconf.Single || name == expconf.Random || name == expconf.Grid
}

// continued applies a Continued event: the search continues, with the changed
// configuration if the event has one.
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
		if err := s.reconfigure(cfg); err != nil {
			return fmt.Errorf("search event %d: %w", e.Seq, err)
		}
	}
	m.Continue(&s.trialSet, len(body.Config) > 0)
	s.trialSet.spending.resume(s.trialSet.trials)
	return nil
}

// reconfigure replaces the configuration. If the metric changes, the best result so far
// no longer counts.
func (s *Search) reconfigure(cfg expconf.Config) error {
	d, err := newDomain(cfg)
	if err != nil {
		return err
	}
	sign := signOf(cfg)
	anew := cfg.Searcher.Metric != s.name || sign != s.sign
	s.trialSet.prospects.reconfigured(cfg.Searcher, anew)
	s.repeats.reconfigured(sign, anew)
	if anew {
		s.bestTrial, s.bestMetric = 0, nil
	}
	s.trialSet.spending = s.trialSet.spending.reconfigured(cfg.Searcher)
	s.name, s.sign, s.lengthGauge = cfg.Searcher.Metric, sign, newGauge(cfg)
	s.trialSet.domain, s.trialSet.random, s.trialSet.layout = d, nil, nil
	return nil
}

// reopen makes an ended trial run again.
func (r *TrialSet) reopen(trial int) {
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

// redraw replaces a trial's hyperparameters by those that it would have got from the
// current space.
func (r *TrialSet) redraw(trial int) {
	r.trials[trial].given = r.evenly(trial)
}

// reopenFailed reopens all trials that failed or were canceled. Of all trials that have not
// ended then, at most `workers` run at once (0: all), and the others wait.
func (r *TrialSet) reopenFailed(workers int) {
	running := 0
	r.waiting = 0
	for n, t := range r.trials {
		if t.exited == lifecycle.ExitErrored || t.exited == lifecycle.ExitCanceled {
			r.reopen(n)
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

// resumeNext is called when a trial has ended: it resumes the first trial that reopenFailed
// let wait. If the ended trial itself waited, it frees no worker, and no trial resumes.
// The result is false if a worker is free and no trial waits for it.
func (r *TrialSet) resumeNext(ended int) bool {
	if r.waiting == 0 || r.spending != nil && r.spending.over {
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

package search

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/lifecycle"
)

// A Moment is an event of a search in words: what happened, and what the search decided then.
type Moment struct {
	Seq     int64
	Kind    string // of the event; "" for the beginning
	Trial   *int   // that the event is about; nil: none
	What    string
	Decided []string
	Trials  int // that the search has after it
}

// maxDecided is how many decisions of one event a Moment lists.
const maxDecided = 12

// Beginning describes a search before its first event.
func (s *Search) Beginning() Moment {
	m := Moment{What: "the search begins", Trials: s.Len()}
	m.Decided = s.decisions(nil)
	return m
}

// Tell applies an event and describes it.
func (s *Search) Tell(e Event) (Moment, error) {
	before := s.Wanted()
	if err := s.Apply(e); err != nil {
		return Moment{}, err
	}
	m := Moment{Seq: e.Seq, Kind: e.Kind, What: s.what(e), Trials: s.Len()}
	switch e.Kind {
	case Validated, Exited, Suspended:
		m.Trial = &e.Trial
	}
	m.Decided = s.decisions(before)
	return m, nil
}

func (s *Search) what(e Event) string {
	switch e.Kind {
	case Validated:
		v, err := readValidation(e.Body)
		if err != nil {
			return fmt.Sprintf("trial %d reported a validation", e.Trial)
		}
		return fmt.Sprintf("trial %d reported %s%s at %s", e.Trial, s.name, metricText(v), s.lengthText(e.Trial, v))
	case Exited:
		var x Exit
		_ = json.Unmarshal(e.Body, &x) // it was applied
		return fmt.Sprintf("trial %d ended: %s", e.Trial, s.ending(e.Trial, x.Reason))
	case Suspended:
		return fmt.Sprintf("trial %d has left its slots and waits", e.Trial)
	case Spent:
		return "the search heard what its attempts cost"
	case Told:
		return "its program sent proposals or operations"
	case Learned:
		return "the search learned from earlier experiments"
	case Continued:
		return "the experiment was continued after its end"
	case Branched:
		var b Branching
		_ = json.Unmarshal(e.Body, &b) // it was applied
		how := "without a change of the search"
		if len(b.Config) > 0 {
			how = "with other settings of the search"
		}
		return fmt.Sprintf("the experiment branched from experiment %d at its event %d, %s", b.Experiment, b.Event, how)
	}
	return e.Kind
}

func metricText(v Validation) string {
	switch {
	case v.Metric != nil:
		return fmt.Sprintf(" %.6g", *v.Metric)
	case v.Unfit != "":
		return " " + v.Unfit
	}
	return ""
}

// lengthText is the length of a training in the unit of the search, or its steps.
func (s *Search) lengthText(trial int, v Validation) string {
	unit := cmp.Or(s.lengthGauge.metric, string(s.lengthGauge.unit))
	if at, why := s.lengthGauge.at(v, func() map[string]any { return s.trialSet.hparams(trial) }); why == "" && unit != "" {
		return fmt.Sprintf("%.6g %s", at, unit)
	}
	return fmt.Sprintf("step %d", v.Steps)
}

// decisions lists what the search wants now that it did not want before.
func (s *Search) decisions(before []Trial) (list []string) {
	more, first := 0, -1
	say := func(format string, args ...any) {
		if more++; len(list) < maxDecided {
			more--
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	for n := range s.Len() {
		w := s.Trial(n)
		if n >= len(before) {
			if first < 0 {
				first = n
			}
			continue
		}
		b := before[n]
		switch {
		case b.Ended && !w.Ended && w.Hold:
			say("trial %d waits again", n)
		case b.Ended && !w.Ended:
			say("trial %d trains on%s", n, s.upTo(w))
		case w.Ended || b.Ended:
		case w.Fail != b.Fail && w.Fail != "":
			say("trial %d fails: %s", n, w.Fail)
		case w.Stop && !b.Stop && w.Trained:
			say("trial %d has trained to its end", n)
		case w.Stop && !b.Stop:
			say("trial %d stops", n)
		case w.Hold && !b.Hold:
			say("trial %d waits", n)
		case !w.Hold && b.Hold, w.Target != b.Target:
			say("trial %d trains on%s", n, s.upTo(w))
		}
	}
	switch last := s.Len() - 1; {
	case first >= 0 && first == last:
		say("trial %d begins%s", first, s.upTo(s.Trial(first)))
	case first >= 0:
		say("trials %d to %d begin", first, last)
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("and %d further decisions", more))
	}
	if status, _ := s.Status(); status != lifecycle.Searching {
		list = append(list, "the search ends")
	}
	return list
}

func (s *Search) upTo(w Trial) string {
	if unit := cmp.Or(s.lengthGauge.metric, string(s.lengthGauge.unit)); w.Target > 0 && unit != "" {
		return fmt.Sprintf(" to %d %s", w.Target, unit)
	}
	return ""
}

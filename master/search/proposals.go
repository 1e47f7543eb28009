package search

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
)

// With `sampler: program` a program of the user proposes the hyperparameters of trials, with any
// library that it likes; everything else is the method's: how many trials there are, how many of
// them run at once, how long each trains, and what happens to those that fail. A method creates
// a trial only if TrialSet.ready says that there is a proposal for it. Until then the search waits,
// and its other trials go on.
//
// The proposals are events of the kind Told, so the queue is part of the fold. The program chooses a
// key for each proposal. A key is used once in the life of a search, so the program may send a proposal
// again if it did not receive the answer; and by its keys the program finds its proposals among the
// trials, also after it was started again (news.go).
type program struct {
	points *expconf.Points
	queue  []proposal     // no trial has them yet
	keys   map[string]int // all keys; the number of the trial, or pending
	trials []proposedTrial
	seq    int64 // number of the event that is applied
	last   bool  // the program has said that it proposes no further trials
}

const pending = -1

type proposal struct {
	key    string
	values packed
}

// A proposedTrial is what a search keeps of each trial for its program.
type proposedTrial struct {
	key  string // "" if the trial has values of start_with
	born int64  // number of the event that created it; 0: the search began with it
}

// Limits of what a program may propose.
const (
	MaxProposals   = 1000 // in one call, and that wait for a trial
	maxProposalKey = 64   // bytes
	maxProblems    = 20   // that the answer to one call lists
)

// Proposals is the body of a Told event of a search whose sampler is a program.
type Proposals struct {
	List []Proposal `json:"proposals,omitempty"`
	Last bool       `json:"last,omitempty"` // the search ends with the trials of these and earlier proposals
}

// A Proposal has the hyperparameters of one trial.
type Proposal struct {
	Key     string          `json:"key"`
	HParams json.RawMessage `json:"hparams"` // a JSON object
}

// A filler is a Method that can have a program as its sampler.
type filler interface {
	// Fill creates the trials that should begin now and for which there are proposals.
	Fill(r *TrialSet)
	// Free is how many further trials should begin now.
	Free(r *TrialSet) int
	// Busy reports whether a trial should run.
	Busy(r *TrialSet) bool
}

func newProgram(space expconf.Hyperparameters) *program {
	return &program{points: space.Points(), keys: map[string]int{}}
}

// ready reports whether the next trial can be created, which first trains up to a length (0: to its end): without a program, and
// without a budget, always.
func (r *TrialSet) ready(to float64) bool {
	if p := r.spending; p != nil && to == 0 {
		to = p.full
	}
	return !r.sealed && r.proposed() && r.spending.fits(-1, to) && !r.prospects.done()
}

func (r *TrialSet) proposed() bool {
	return r.program == nil || len(r.trials) < len(r.domain.starts) || len(r.program.queue) > 0
}

// exhausted reports whether no trial is created any more: the program has ended the search, and all its proposals are trials, or nothing would be
// gained by further ones.
func (r *TrialSet) exhausted() bool {
	return r.program != nil && r.program.last && !r.proposed() || r.prospects.done()
}

// next removes the oldest proposal from the queue, for the trial with this number.
func (p *program) next(trial int) given {
	first := p.queue[0]
	p.queue = p.queue[1:]
	p.note(trial, first.key)
	return first.values
}

// note records who proposed a trial.
func (p *program) note(trial int, key string) {
	if p == nil {
		return
	}
	if key != "" {
		p.keys[key] = trial
	}
	p.trials = append(p.trials, proposedTrial{key: key, born: p.seq})
}

// at is called before the event with this number is applied.
func (p *program) at(seq int64) {
	if p != nil {
		p.seq = seq
	}
}

// proposed applies proposals. It ignores those that are invalid: CheckProposals has rejected them
// before.
func (s *Search) proposed(e Event) error {
	var body Proposals
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return fmt.Errorf("search event %d: %w", e.Seq, err)
	}
	r := &s.trialSet
	for _, x := range body.List {
		if _, known := r.program.keys[x.Key]; known || r.program.last {
			continue
		}
		if values, problems := r.read(x); len(problems) == 0 {
			r.program.queue = append(r.program.queue, proposal{x.Key, values})
			r.program.keys[x.Key] = pending
		}
	}
	r.program.last = r.program.last || body.Last
	s.method.(filler).Fill(r)
	return nil
}

// read returns the values of a proposal, or what is wrong with them.
func (r *TrialSet) read(x Proposal) (packed, []document.Problem) {
	wrong := func(format string, args ...any) (packed, []document.Problem) {
		return packed{}, []document.Problem{{Message: fmt.Sprintf(format, args...)}}
	}
	var point map[string]any
	if err := json.Unmarshal(x.HParams, &point); err != nil || point == nil {
		return wrong("its hyperparameters are not a JSON object with numbers in range")
	}
	if deeper(point, maxOutsideDepth) {
		return wrong("its hyperparameters are nested more than %d levels deep", maxOutsideDepth)
	}
	given, problems := r.program.points.Read(point)
	if len(problems) > 0 {
		return packed{}, problems
	}
	values, problems := r.domain.settled(given)
	if len(problems) > 0 {
		return packed{}, problems
	}
	return packed{layout: r.layout, values: each.Of(r.layout.free, func(f int) any { return values[f] })}, nil
}

// settled returns one value for each axis, from values by the names of the hyperparameters, and what
// is wrong with them: values that are missing or have no effect, and constraints that they break.
func (d *domain) settled(given map[string]any) (values []any, problems []document.Problem) {
	values = make([]any, len(d.axes))
	for at := range d.axes {
		i := at
		if d.restricted() {
			i = d.order[at]
		}
		a, name := d.axes[i], d.axes[i].name()
		v, has := given[name]
		inactive := d.without(i, values)
		switch {
		case inactive != "" && has && a.Type != expconf.Const:
			problems = append(problems, document.Problem{Path: name, Message: "has no effect with these values", Hint: "the trial has it only if " + inactive})
		case inactive != "":
			values[i] = absent{}
		case has:
			values[i] = v
		case a.Type == expconf.Const:
			values[i] = a.Val
		default:
			problems = append(problems, document.Problem{Path: name, Message: "is missing", Hint: a.Choices()})
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for _, p := range d.parts {
		for _, c := range p.constraints {
			if !c.holds(values) {
				problems = append(problems, document.Problem{Path: strings.Join(c.Names(), ", "), Message: "do not fulfil " + where(c), Hint: c.String()})
			}
		}
	}
	return values, problems
}

// without returns the condition that prevents an axis from being active; "" if there is none. The axes
// on which it depends are settled.
func (d *domain) without(axis int, values []any) string {
	if !d.restricted() {
		return ""
	}
	for _, n := range d.needs[axis] {
		if !n.Allows(values[n.axis]) {
			return n.Name + " is " + strings.Join(each.Of(n.Values[:min(len(n.Values), 10)], text), " or ")
		}
	}
	return ""
}

// A Refusal says why proposals are rejected. Index is that of the proposal in its list, or -1.
type Refusal struct {
	Index int
	Key   string
	Why   string
	Late  bool // the proposal would have been accepted earlier
}

// ByProgram reports whether a program proposes the hyperparameters of the search's trials.
func (s *Search) ByProgram() bool { return s.trialSet.program != nil }

// CheckProposals returns the proposals that the search does not have yet, or why it rejects
// some of them. It does not change the search.
func (s *Search) CheckProposals(body Proposals) (fresh Proposals, wrong []Refusal) {
	r := &s.trialSet
	p := r.program
	seen := map[string]int{}
	for i, x := range body.List {
		refuse := func(late bool, why string) {
			wrong = append(wrong, Refusal{Index: i, Key: x.Key, Why: why, Late: late})
		}
		if len(wrong) >= maxProblems {
			break
		}
		if why := badKey(x.Key); why != "" {
			refuse(false, why)
			continue
		}
		if len(x.HParams) > expconf.MaxTrialBytes { // a proposal that is read from the database may be longer: 1e-9 has eleven characters there
			refuse(false, fmt.Sprintf("its hyperparameters have %d bytes; at most %d are allowed", len(x.HParams), expconf.MaxTrialBytes))
			continue
		}
		values, problems := r.read(x)
		for _, problem := range problems[:min(len(problems), maxProblems-len(wrong))] {
			refuse(false, problem.String())
		}
		if len(problems) > 0 {
			continue
		}
		if j, twice := seen[x.Key]; twice {
			refuse(false, fmt.Sprintf("proposals[%d] has the same key; a key names one proposal", j))
			continue
		}
		seen[x.Key] = i
		switch before, known := p.before(r, x.Key); {
		case known && text(before) == text(values.hparams(0)):
		case known:
			refuse(true, "an earlier proposal with this key has other hyperparameters; use a new key for each proposal")
		case r.prospects.done():
			refuse(true, "the search creates no further trials, because nothing would be gained by them (searcher.stop_when)")
		case p.last:
			refuse(true, "the program has ended the search: no further proposals are accepted")
		default:
			fresh.List = append(fresh.List, x)
		}
	}
	if len(wrong) > 0 {
		return Proposals{}, wrong
	}
	if most := s.Room(); len(fresh.List) > most {
		return Proposals{}, []Refusal{{Index: -1, Late: true, Why: fmt.Sprintf("%d new proposals, and the search takes %d more now: at most %d may wait for a trial, and max_trials limits the trials", len(fresh.List), most, MaxProposals)}}
	}
	fresh.Last = body.Last && !p.last
	return fresh, nil
}

// badKey returns why a key is not accepted; "" if it is.
func badKey(key string) string {
	switch {
	case key == "":
		return "it needs a key: any text that names this proposal and no other one of the search"
	case len(key) > maxProposalKey:
		return fmt.Sprintf("its key has %d bytes; at most %d are allowed", len(key), maxProposalKey)
	case !utf8.ValidString(key): // keys that differ could be the same in the database
		return "its key is not valid UTF-8"
	case strings.ContainsFunc(key, unicode.IsControl):
		return "its key has control characters"
	}
	return ""
}

// before returns the hyperparameters of an earlier proposal.
func (p *program) before(r *TrialSet, key string) (map[string]any, bool) {
	trial, known := p.keys[key]
	switch {
	case !known:
		return nil, false
	case trial != pending:
		return r.hparams(trial), true
	}
	i := slices.IndexFunc(p.queue, func(x proposal) bool { return x.key == key })
	return p.queue[i].values.hparams(0), true
}

// Free is how many proposals the search needs now: so many further trials would begin.
func (s *Search) Free() int {
	m, ok := s.method.(filler)
	if !ok || !s.ByProgram() || s.trialSet.exhausted() || s.trialSet.sealed || s.Over() {
		return 0
	}
	return m.Free(&s.trialSet)
}

// Room is how many further proposals the search accepts now.
func (s *Search) Room() int {
	p := s.trialSet.program
	if p == nil || p.last || s.Over() || s.trialSet.sealed || s.trialSet.prospects.done() {
		return 0
	}
	first := max(len(s.trialSet.trials), len(s.trialSet.domain.starts)) // trials of start_with need no proposal
	return max(0, min(MaxProposals, s.method.Planned(&s.trialSet)-first)-len(p.queue))
}

// Drawn returns the hyperparameters that `sampler: random` draws for the trial with this number.
func (s *Search) Drawn(number int) map[string]any {
	return (&drawn{seed: s.trialSet.seed, domain: s.trialSet.domain}).hparams(number)
}

// Queued is how many proposals have no trial yet.
func (s *Search) Queued() int {
	if !s.ByProgram() {
		return 0
	}
	return len(s.trialSet.program.queue)
}

// Starved reports whether no trial runs because the search waits for proposals.
func (s *Search) Starved() bool {
	return s.Free() > 0 && !s.method.(filler).Busy(&s.trialSet)
}

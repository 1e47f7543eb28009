package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs/policy"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// The log policies of a trial have patterns for lines of its log. The runner matches the output
// of its program, and reports only the matches: so masters need no time for other lines, the
// author of an expensive pattern pays with time on the task's node, and the exit report, which
// contains all matches, cannot arrive before a match. The master matches only lines that a
// program sends itself.

// knownPolicies is the maximum number of attempts whose policies are cached, and knownMatchers the maximum number of
// cached matchers; a matcher of long patterns needs some megabytes.
const (
	knownPolicies = 2000
	knownMatchers = 16
)

// Policies finds lines that log policies wait for, and stores them. A master has one.
type Policies struct {
	logs     *Store
	log      *slog.Logger
	matched  func()                                // is called when matches were stored
	known    *cache.Cache[string, *policies]       // by attempt
	matchers *cache.Cache[string, *policy.Matcher] // by their patterns
	turns    *rest.Shares                          // requests whose lines are being matched
}

// NewPolicies returns the policies of trials whose logs are in a store. matched tells others that there are new matches.
func NewPolicies(logs *Store, log *slog.Logger, matched func()) *Policies {
	return &Policies{logs: logs, log: log, matched: matched, known: cache.New[string, *policies](0, knownPolicies),
		matchers: cache.New[string, *policy.Matcher](0, knownMatchers), turns: rest.NewShares(maxMatching, 1)}
}

// policies are the policies of one trial.
type policies struct {
	list     expconf.LogPolicies
	patterns []v1.LogPattern
}

// of finds the policies for the writer of lines. They change when an ended experiment
// continues, and never during an attempt.
func (p *Policies) of(ctx context.Context, from Writer) (*policies, error) {
	now := time.Now()
	if list, known, _ := p.known.Get(from.AllocationID, now); known {
		return list, nil
	}
	raw, err := policiesOfTask(ctx, p.logs.db, from.TaskID)
	if err != nil {
		return nil, err
	}
	list, err := readPolicies(raw)
	if err != nil {
		return nil, fmt.Errorf("cannot read the log policies of task %s: %w", from.TaskID, err)
	}
	if from.AllocationID != "" {
		p.known.Put(from.AllocationID, list, now)
	}
	return list, nil
}

func readPolicies(raw json.RawMessage) (*policies, error) {
	p := &policies{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &p.list); err != nil {
			return nil, err
		}
	}
	p.patterns = task.LogPatterns(p.list)
	return p, nil
}

// matcherOf compiles the patterns of policies, in their order, or returns the matcher of a trial with the same ones.
// The caller has a turn.
func (p *Policies) matcherOf(list *policies) (*policy.Matcher, error) {
	texts := each.Of(list.patterns, func(x v1.LogPattern) string { return x.Pattern })
	key, now := strings.Join(texts, "\x00"), time.Now()
	if m, known, _ := p.matchers.Get(key, now); known {
		return m, nil
	}
	m, err := policy.New(texts)
	if err == nil {
		p.matchers.Put(key, m, now)
	}
	return m, err
}

// A Writer writes lines: a member of an attempt, or a program outside of the cluster, which has no attempt.
type Writer struct {
	TaskID, AllocationID string
	Rank                 int
}

// WriterOf is the member of an attempt that calls.
func WriterOf(c *rest.Call) Writer {
	return Writer{TaskID: c.Who().TaskID, AllocationID: c.Who().AllocationID, Rank: c.Who().Rank}
}

// Record stores matches with the actions in the trial's configuration.
func (p *Policies) Record(ctx context.Context, from Writer, found []v1.LogMatch) error {
	if len(found) == 0 {
		return nil
	}
	known, err := p.of(ctx, from)
	if err != nil {
		return err
	}
	m := Matches{TaskID: from.TaskID, AllocationID: from.AllocationID, Rank: from.Rank}
	for i, f := range found {
		if f.Policy < 0 || f.Policy >= len(known.list) || known.list[f.Policy].Pattern == nil {
			return fault.New(fault.Invalid, "matches[%d].policy: the trial has no log policy %d", i, f.Policy)
		}
		x := known.list[f.Policy]
		match := Match{Policy: optional.Value(x.Name), Pattern: *x.Pattern, Line: f.Line}
		if x.Action != nil {
			match.Action = string(*x.Action)
		}
		m.Matches = append(m.Matches, match)
	}
	fresh, err := RecordMatches(ctx, p.logs.db, m)
	if err != nil || len(fresh) == 0 {
		return err
	}
	p.matched()
	p.tellActions(ctx, from, fresh)
	return nil
}

// tellActions writes to the trial's log which nodes the trial will not use again, in Determined's words. If writing
// fails, the match counts nevertheless. The log mentions a match that forbids another attempt only when the attempt
// fails.
func (p *Policies) tellActions(ctx context.Context, from Writer, fresh []Match) {
	b := Batch{TaskID: from.TaskID, Origin: Origin{AllocationID: from.AllocationID}}
	for _, m := range fresh {
		if m.Action != expconf.ExcludeNode || m.Node == "" {
			continue
		}
		what := fmt.Sprintf("(log %q matched regex %s) therefore will not schedule on %s", m.Line, m.Pattern, m.Node)
		b.Lines = append(b.Lines, Line{At: time.Now(), Level: v1.LogLevelError.Number(), Stdtype: "stderr", Source: "master", Rank: -1, Text: what})
	}
	if len(b.Lines) == 0 {
		return
	}
	if _, err := p.logs.Append(ctx, b); err != nil {
		p.log.Warn("could not write the actions of log policies to the log", "task_id", from.TaskID, "error", err)
	}
}

// matchingTime limits the time in which a request's lines are matched. Lines beyond it are stored and match nothing.
const matchingTime = time.Second

// maxMatching limits the requests whose lines are matched at once; one user has one of them.
const maxMatching = 4

// match matches lines that a program sends itself. Only the first match of each policy
// is needed.
func (p *Policies) match(ctx context.Context, c *rest.Call, task string, lines []v1.TaskLog) error {
	from := Writer{TaskID: task}
	if c.Who().IsTask() {
		from = WriterOf(c)
	}
	known, err := p.of(ctx, from)
	if err != nil {
		return err
	}
	if len(known.patterns) == 0 {
		return nil
	}
	turn, err := p.turns.Take(ctx, c.Owner(), 1)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "this master matches as many lines as it can at once; try again")
	}
	defer turn.Release()
	matcher, err := p.matcherOf(known)
	if err != nil {
		return fmt.Errorf("cannot read the log policies of task %s: %w", from.TaskID, err)
	}
	seen := make([]bool, matcher.Len())
	var found []v1.LogMatch
	until := time.Now().Add(matchingTime)
	stop := func() bool { return ctx.Err() != nil || time.Now().After(until) }
	for _, l := range lines {
		line := strings.TrimSuffix(l.Log, "\n")
		for _, n := range matcher.MatchUntil(line, stop) {
			if !seen[n] {
				seen[n] = true
				found = append(found, v1.LogMatch{Policy: known.patterns[n].Policy, Line: line})
			}
		}
	}
	return p.Record(ctx, from, found)
}

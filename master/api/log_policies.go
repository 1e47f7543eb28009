package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logpolicy"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// The log policies of a trial have patterns for lines of its log. The runner matches the output
// of its program, and reports only the matches: so masters need no time for other lines, the
// author of an expensive pattern pays with time on the task's node, and the exit report, which
// contains all matches, cannot arrive before a match. The master matches only lines that a
// program sends itself.

// knownPolicies is the maximum number of attempts whose policies are cached, and knownMatchers that of matchers,
// which have some megabytes if their patterns are long.
const (
	knownPolicies = 2000
	knownMatchers = 16
)

// logPolicies are the policies of one trial.
type logPolicies struct {
	list     expconf.LogPolicies
	patterns []v1.LogPattern
}

// policiesOf finds the policies for the source of lines. They change when an ended experiment
// continues, and never during an attempt.
func (a *API) policiesOf(ctx context.Context, from lineSource) (*logPolicies, error) {
	now := time.Now()
	if p, known, _ := a.taskIO.policies.Get(from.allocation, now); known {
		return p, nil
	}
	raw, err := a.db.TaskPolicies(ctx, from.task)
	if err != nil {
		return nil, err
	}
	p, err := readPolicies(raw)
	if err != nil {
		return nil, fmt.Errorf("cannot read the log policies of task %s: %w", from.task, err)
	}
	if from.allocation != "" {
		a.taskIO.policies.Put(from.allocation, p, now)
	}
	return p, nil
}

func readPolicies(raw json.RawMessage) (*logPolicies, error) {
	p := &logPolicies{}
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
func (a *API) matcherOf(p *logPolicies) (*logpolicy.Matcher, error) {
	texts := make([]string, len(p.patterns))
	for i, x := range p.patterns {
		texts[i] = x.Pattern
	}
	key, now := strings.Join(texts, "\x00"), time.Now()
	if m, known, _ := a.taskIO.matchers.Get(key, now); known {
		return m, nil
	}
	m, err := logpolicy.New(texts)
	if err == nil {
		a.taskIO.matchers.Put(key, m, now)
	}
	return m, err
}

// lineSource is the source of lines: a member of an attempt, or a program outside of the
// cluster.
type lineSource struct {
	task, allocation string
	rank             int
}

func (a *API) lineSourceOf(c *rest.Call) lineSource {
	return lineSource{task: c.Who().TaskID, allocation: c.Who().AllocationID, rank: c.Who().Rank}
}

// memberLogMatches stores a runner's matches at once, so that users see them.
func (a *API) memberLogMatches(ctx context.Context, c *rest.Call, _ member, req *v1.LogMatchesRequest) (*v1.None, error) {
	return &v1.None{}, a.recordMatches(ctx, a.lineSourceOf(c), req.Matches)
}

// recordMatches stores matches with the actions in the trial's configuration.
func (a *API) recordMatches(ctx context.Context, from lineSource, found []v1.LogMatch) error {
	if len(found) == 0 {
		return nil
	}
	p, err := a.policiesOf(ctx, from)
	if err != nil {
		return err
	}
	m := store.LogMatches{TaskID: from.task, AllocationID: from.allocation, Rank: from.rank}
	for i, f := range found {
		if f.Policy < 0 || f.Policy >= len(p.list) || p.list[f.Policy].Pattern == nil {
			return fault.New(fault.Invalid, "matches[%d].policy: the trial has no log policy %d", i, f.Policy)
		}
		x := p.list[f.Policy]
		match := store.LogMatch{Policy: optional.Value(x.Name), Pattern: *x.Pattern, Line: f.Line}
		if x.Action != nil {
			match.Action = string(*x.Action)
		}
		m.Matches = append(m.Matches, match)
	}
	fresh, err := a.db.RecordLogMatches(ctx, m)
	if err != nil || len(fresh) == 0 {
		return err
	}
	a.bus.Publish(store.TopicEvents, store.TopicState)
	a.logPolicyActions(ctx, from, fresh)
	return nil
}

// logPolicyActions writes to the trial's log which nodes it does not use again, in Determined's words. If that fails, the
// match counts nevertheless. A match that forbids another attempt is mentioned when the attempt fails.
func (a *API) logPolicyActions(ctx context.Context, from lineSource, fresh []store.LogMatch) {
	b := store.LogBatch{TaskID: from.task, Origin: store.LogOrigin{AllocationID: from.allocation}}
	for _, m := range fresh {
		if m.Action != expconf.ExcludeNode || m.Node == "" {
			continue
		}
		what := fmt.Sprintf("(log %q matched regex %s) therefore will not schedule on %s", m.Line, m.Pattern, m.Node)
		b.Lines = append(b.Lines, store.LogLine{At: time.Now(), Level: v1.LogLevelError.Number(), Stdtype: "stderr", Source: "master", Rank: -1, Text: what})
	}
	if len(b.Lines) == 0 {
		return
	}
	if _, err := a.taskIO.logs.Append(ctx, b); err != nil {
		a.log.Warn("could not write the actions of log policies to the log", "task_id", from.task, "error", err)
	}
}

// maxMatching limits the time in which a request's lines are matched. Lines beyond it are stored and match nothing.
const maxMatching = time.Second

// maxMatches limits the requests whose lines are matched at once; one user has one of them.
const maxMatches = 4

// matchShipped matches lines that a program sends itself. Only the first match of each policy
// is needed.
func (a *API) matchShipped(ctx context.Context, c *rest.Call, task string, lines []v1.TaskLog) error {
	from := lineSource{task: task}
	if c.Who().IsTask() {
		from = a.lineSourceOf(c)
	}
	p, err := a.policiesOf(ctx, from)
	if err != nil {
		return err
	}
	if len(p.patterns) == 0 {
		return nil
	}
	turn, err := a.limits.matching.Take(ctx, c.Owner(), 1)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "this master matches as many lines as it can at once; try again")
	}
	defer turn.Release()
	matcher, err := a.matcherOf(p)
	if err != nil {
		return fmt.Errorf("cannot read the log policies of task %s: %w", from.task, err)
	}
	seen := make([]bool, matcher.Len())
	var found []v1.LogMatch
	until := time.Now().Add(maxMatching)
	stop := func() bool { return ctx.Err() != nil || time.Now().After(until) }
	for _, l := range lines {
		line := strings.TrimSuffix(l.Log, "\n")
		for _, n := range matcher.MatchUntil(line, stop) {
			if !seen[n] {
				seen[n] = true
				found = append(found, v1.LogMatch{Policy: p.patterns[n].Policy, Line: line})
			}
		}
	}
	return a.recordMatches(ctx, from, found)
}

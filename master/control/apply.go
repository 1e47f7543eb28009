package control

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// apply stores a plan, and returns the changes that were stored. It stores the other
// bundles even if some fail; later cycles decide the failed ones again.
func (t *term) apply(ctx context.Context, plan *Plan) (*rows.Changes, error) {
	if len(plan.Bundles) == 0 {
		return &rows.Changes{}, nil
	}
	usual, slow := t.separateSlow(plan.Bundles, time.Now())
	made, err := t.applyParts(ctx, usual)
	if err != nil {
		return made, err
	}
	for _, b := range slow {
		left, err := t.applyTogether(ctx, []rows.Bundle{b})
		if err != nil {
			return made, err
		}
		t.recordResults([]rows.Bundle{b}, left)
		if len(left) > 0 { // if this bundle is slow again, the other slow ones are likely to be slow too
			break
		}
		made = rows.MergeChanges([]rows.Bundle{{Changes: *made}, b}, nil)
	}
	return made, nil
}

// maxTogether is the maximum number of bundles in one transaction. A plan may have a bundle
// for each of ten thousand experiments; a transaction with all of them might exceed its
// time limit, and so would each retry.
const maxTogether = 1_000

// together is how many bundles one transaction stores. One that does not end in time takes all its bundles with it, and the next cycle
// decides the same again: so it takes fewer after such an end, down to one, and more again after each success. 0 is maxTogether.
type together int

func (n *together) size() int { return cmp.Or(int(*n), maxTogether) }
func (n *together) less()     { *n = together(max(1, n.size()/4)) }
func (n *together) more()     { *n = together(min(maxTogether, 2*n.size())) }

// applyParts stores bundles, maxTogether at a time at most. It leaves out bundles that need a failed
// bundle of an earlier part; if too many bundles fail, it leaves the later parts to the
// next cycle.
func (t *term) applyParts(ctx context.Context, list []rows.Bundle) (*rows.Changes, error) {
	made, out := &rows.Changes{}, map[string]error{}
	for len(list) > 0 {
		n := min(t.together.size(), len(list))
		part := slices.DeleteFunc(slices.Clone(list[:n]), func(b rows.Bundle) bool {
			lacks := slices.ContainsFunc(b.Needs, func(key string) bool { return out[key] != nil })
			if lacks {
				out[b.Key] = database.ErrDependencyFailed
			}
			return lacks
		})
		left, err := t.applyTogether(ctx, part)
		if err != nil {
			return made, err
		}
		t.together.more()
		list = list[n:]
		t.recordResults(part, left)
		made = rows.MergeChanges([]rows.Bundle{{Changes: *made}, {Changes: *rows.MergeChanges(part, left)}}, nil)
		maps.Copy(out, left)
		if tooMany(out) {
			break
		}
	}
	return made, nil
}

// tooMany reports whether so many bundles failed that the next parts wait for the next cycle.
func tooMany(left map[string]error) bool {
	failed := 0
	for _, cause := range left {
		if errors.Is(cause, database.ErrPostponed) {
			return true
		}
		if !errors.Is(cause, database.ErrStale) && !errors.Is(cause, database.ErrDependencyFailed) {
			failed++
		}
	}
	return failed > database.MaxFailures
}

// applyTogether stores bundles in one transaction. If it does not end in time, the next one has fewer bundles, and a bundle that was alone
// in it waits like one whose statement is slow. The cycle ends, so that only one bundle waits for nothing if the database is away: the
// next cycle then loads nothing.
func (t *term) applyTogether(ctx context.Context, list []rows.Bundle) (left map[string]error, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	err = t.db.Fenced(ctx, t.lead.Term, func(tx *database.DB) (err error) {
		left, err = rows.ApplyBundles(ctx, tx, list)
		return err
	})
	switch {
	case !fault.Is(err, fault.Unavailable) || ctx.Err() != nil:
	case len(list) == 1:
		t.recordResults(list, map[string]error{list[0].Key: err})
	default:
		t.together.less()
	}
	return left, err
}

// separateSlow returns the bundles to store now: those that exceeded their time limit at
// the last try (slow), and all others (usual). It omits bundles that wait until a later
// time, and bundles that need a slow or waiting bundle. In usual, bundles that have failed
// before come last: after too many failures the database gets no further bundles.
func (t *term) separateSlow(list []rows.Bundle, now time.Time) (usual, slow []rows.Bundle) {
	late, shaky := map[string]bool{}, map[string]bool{}
	for key, s := range t.backoffs {
		late[key] = s.slow || s.until.After(now)
		shaky[key] = true
	}
	var behind []rows.Bundle
	for _, b := range list {
		s := t.backoffs[b.Key]
		switch {
		case s != nil && s.until.After(now):
		case late[b.Key]:
			slow = append(slow, b)
		case needs(b, late):
			late[b.Key] = true
		case shaky[b.Key] || needs(b, shaky):
			shaky[b.Key] = true
			behind = append(behind, b)
		default:
			usual = append(usual, b)
		}
	}
	return append(usual, behind...), slow
}

func needs(b rows.Bundle, late map[string]bool) bool {
	return slices.ContainsFunc(b.Needs, func(key string) bool { return late[key] })
}

// recordResults records which bundles failed (left has the causes), and when and how the
// loop tries each of them again.
func (t *term) recordResults(list []rows.Bundle, left map[string]error) {
	now := time.Now()
	for _, b := range list {
		if _, out := left[b.Key]; !out {
			t.backoffs.stored(b.Key)
		}
	}
	t.cycleAgain = t.cycleAgain || len(left) < len(list)
	for key, cause := range left {
		switch {
		case errors.Is(cause, database.ErrDependencyFailed):
			continue
		case errors.Is(cause, database.ErrPostponed): // another bundle failed first, and the loop tries this one again in its next cycle
			continue
		}
		s := t.backoffs.failed(key, cause, now)
		t.cycleAgain = t.cycleAgain || !s.until.After(now)
		if !errors.Is(cause, database.ErrStale) || s.tries == staleForLong {
			t.log.Error("could not store a bundle of changes; the others are stored without it", "term", t.lead.Term, "of", key, "tries", s.tries, "error", cause, "cause", errors.Unwrap(cause))
		}
		if s.level == handleAsBroken {
			t.folds.breakDown(key, unhandled(cause))
		}
	}
}

// forget deletes the backoffs of experiments, tasks and attempts that no longer exist.
func (t *term) forget(p *Snapshot) {
	if len(t.backoffs) == 0 {
		return
	}
	there := each.Set(p.Experiments, (*Experiment).group)
	for _, k := range p.Tasks {
		there[k.ID] = true
	}
	for _, a := range p.Allocations {
		there[attemptKey(a.ID)], there[placementKey(a.ID)] = true, true
	}
	maps.DeleteFunc(t.backoffs, func(key string, _ *backoff) bool { return !there[key] && key != recordingKey })
}

// faults logs the plan's faults, each once until its reason changes, and marks the
// searches of these experiments as broken.
func (t *term) faults(plan *Plan) {
	seen := make(map[string]string, len(plan.Faults))
	for _, f := range plan.Faults {
		why := f.Err.Error()
		seen[f.Key] = why
		if t.loggedFaults[f.Key] != why {
			t.log.Error("could not plan the changes of an experiment, a task or a pool; the others continue", "term", t.lead.Term, "what", f.Key, "error", why)
		}
		t.folds.breakDown(f.Key, unhandled(f.Err))
	}
	maps.DeleteFunc(t.loggedFaults, func(key, _ string) bool { return seen[key] == "" })
	maps.Copy(t.loggedFaults, seen)
}

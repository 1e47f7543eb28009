package control

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/store"
)

// apply makes a plan so, and returns what was made of it. What could not be made is
// left to later cycles; the rest of the plan does not wait for it.
func (t *term) apply(ctx context.Context, plan *Plan) (*store.Changes, error) {
	if len(plan.Bundles) == 0 {
		return &store.Changes{}, nil
	}
	usual, slow := t.apart(plan.Bundles, time.Now())
	made, err := t.applyParts(ctx, usual)
	if err != nil {
		return made, err
	}
	for _, b := range slow {
		left, err := t.applyTogether(ctx, []store.Bundle{b})
		if err != nil {
			return made, err
		}
		t.judge([]store.Bundle{b}, left)
		if len(left) > 0 { // what is slow now is likely to be for the others as well
			break
		}
		made = store.MergeChanges([]store.Bundle{{Changes: *made}, b}, nil)
	}
	return made, nil
}

// maxTogether bounds the bundles of one transaction. A plan may have one for each of
// ten thousand experiments, and a transaction that does not end in its time would be
// tried again, as large, in every cycle.
const maxTogether = 1_000

// applyParts makes bundles a part at a time. What needs a bundle of an earlier part
// that could not be made is left out with it; once too many have failed, the later
// parts wait for the next cycle.
func (t *term) applyParts(ctx context.Context, list []store.Bundle) (*store.Changes, error) {
	made, out := &store.Changes{}, map[string]error{}
	for part := range slices.Chunk(list, maxTogether) {
		part = slices.DeleteFunc(part, func(b store.Bundle) bool {
			lacks := slices.ContainsFunc(b.Needs, func(key string) bool { return out[key] != nil })
			if lacks {
				out[b.Key] = store.ErrDependencyFailed
			}
			return lacks
		})
		left, err := t.applyTogether(ctx, part)
		if err != nil {
			return made, err
		}
		t.judge(part, left)
		made = store.MergeChanges([]store.Bundle{{Changes: *made}, {Changes: *store.MergeChanges(part, left)}}, nil)
		maps.Copy(out, left)
		if tooMany(out) {
			break
		}
	}
	return made, nil
}

// tooMany says that the database refused so many bundles that the next ones are left
// to the next cycle.
func tooMany(left map[string]error) bool {
	failed := 0
	for _, cause := range left {
		if errors.Is(cause, store.ErrPostponed) {
			return true
		}
		if !errors.Is(cause, store.ErrStale) && !errors.Is(cause, store.ErrDependencyFailed) {
			failed++
		}
	}
	return failed > store.MaxFailures
}

func (t *term) applyTogether(ctx context.Context, list []store.Bundle) (left map[string]error, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	err = t.db.Fenced(ctx, t.lead.Term, func(tx *store.DB) (err error) {
		left, err = tx.ApplyBundles(ctx, list)
		return err
	})
	return left, err
}

// apart separates the bundles that ran out of time when they were tried last from
// all others. Those that are to be left alone for now, and those that need what is
// not made with them, are in neither. What has failed before comes behind what has
// not: of many failures in one plan the later ones leave out what comes after them.
func (t *term) apart(list []store.Bundle, now time.Time) (usual, slow []store.Bundle) {
	late, shaky := map[string]bool{}, map[string]bool{}
	for key, s := range t.backoffs {
		late[key] = s.slow || s.until.After(now)
		shaky[key] = true
	}
	var behind []store.Bundle
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

func needs(b store.Bundle, late map[string]bool) bool {
	for _, key := range b.Needs {
		if late[key] {
			return true
		}
	}
	return false
}

// judge remembers what could not be made, and how it is to be tried again.
func (t *term) judge(list []store.Bundle, left map[string]error) {
	now := time.Now()
	for _, b := range list {
		if _, out := left[b.Key]; !out {
			t.backoffs.made(b.Key)
		}
	}
	t.cycleAgain = t.cycleAgain || len(left) < len(list)
	for key, cause := range left {
		switch {
		case errors.Is(cause, store.ErrDependencyFailed):
			continue
		case errors.Is(cause, store.ErrPostponed): // t.again is set unless nothing was made and all that failed waits: then the database fails
			continue
		}
		s := t.backoffs.failed(key, cause, now)
		t.cycleAgain = t.cycleAgain || !s.until.After(now)
		if !errors.Is(cause, store.ErrStale) {
			t.log.Error("could not store a bundle of changes; the other bundles were stored", "term", t.lead.Term, "of", key, "tries", s.tries, "error", cause, "cause", errors.Unwrap(cause))
		}
		if s.level == handleAsBroken {
			t.folds.breakDown(key, unhandled(cause))
		}
	}
}

// forget drops what is remembered of what is there no more.
func (t *term) forget(p *Snapshot) {
	if len(t.backoffs) == 0 {
		return
	}
	there := map[string]bool{}
	for _, e := range p.Experiments {
		there[e.group()] = true
	}
	for _, k := range p.Tasks {
		there[k.ID] = true
	}
	for _, a := range p.Allocations {
		there[attemptKey(a.ID)], there[placementKey(a.ID)] = true, true
	}
	maps.DeleteFunc(t.backoffs, func(key string, _ *backoff) bool { return !there[key] })
}

// faults writes down what decide could not handle, once for each reason.
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

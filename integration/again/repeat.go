package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/each"
)

const (
	// maxRepeats is how many failures can be bad luck. More of them have a common cause.
	maxRepeats = 30
	// repeatLimit is how long one repeat may take.
	repeatLimit = 15 * time.Minute
	// minRepeat is the time without which a repeat does not begin.
	minRepeat = 30 * time.Second
)

// A verdict is what the repeats of a run have shown.
type verdict struct {
	flaky  []failure // passed now; their records are in the cache
	failed []string  // failed twice, or could not be repeated
}

// print prints the end of a run.
func (v verdict) print(to outputs) {
	for _, f := range v.flaky {
		fmt.Fprintf(to.out, "FLAKY %s (it failed, and passed alone; the output of its failure is in %s)\n", f.name(), f.Output)
	}
	for _, name := range v.failed {
		fmt.Fprintln(to.out, "FAILED", name)
	}
}

// settle repeats the failures of a session, one at a time. The records of flaky tests go to the folder in
// the cache. No repeat runs after the context's deadline.
func settle(ctx context.Context, s session, kept keeper, to outputs) (v verdict, err error) {
	all, err := s.failures()
	if err != nil {
		return v, err
	}
	if len(all) > maxRepeats {
		fmt.Fprintf(to.err, "%d tests failed; more than %d have a common cause, so none is repeated\n", len(all), maxRepeats)
		v.failed = each.Of(all, failure.name)
		return v, nil
	}
	for i, f := range all {
		fmt.Fprintf(to.err, "repeating alone, %d of %d: %s\n", i+1, len(all), f.name())
		if why := repeat(ctx, f, to); why != nil {
			v.failed = append(v.failed, f.name()+": "+why.Error())
			continue
		}
		if f, err = kept.keep(f); err != nil {
			return v, err
		}
		v.flaky = append(v.flaky, f)
	}
	return v, nil
}

var errNoTime = errors.New("not repeated, because the time of this run has ended")

// repeat runs a failed test again, and returns nil if it passes.
func repeat(ctx context.Context, f failure, to outputs) error {
	if until, is := ctx.Deadline(); is && time.Until(until) < minRepeat {
		return errNoTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, repeatLimit, fmt.Errorf("a repeat may take %s", repeatLimit))
	defer cancel()
	var status int
	var err error
	switch f.Runner {
	case "go":
		return repeatGo(ctx, f, to)
	case "pytest":
		status, err = repeatPytest(ctx, f, to)
	case "vitest":
		_, status, err = command{f.Dir, f.Env, f.Command}.run(ctx, to)
	default:
		err = fmt.Errorf("unknown runner %q in its record", f.Runner)
	}
	if err == nil && status != 0 {
		err = fmt.Errorf("it failed again, with status %d", status)
	}
	return err
}

func repeatGo(ctx context.Context, f failure, to outputs) error {
	last := len(f.Command) - 1
	if last < 2 {
		return errors.New("its record has no command of go test")
	}
	result := goTests{dir: f.Dir, env: f.Env, flags: f.Command[2:last], packages: f.Command[last:]}.run(ctx, to)
	switch {
	case len(result.unbuilt) > 0:
		return errors.New("it does not compile any more")
	case len(result.failures) > 0:
		return errors.New("it failed again")
	case result.err != nil:
		return result.err
	case !result.passed[f.Package+" "+f.Test]:
		return errors.New("its repeat was skipped")
	}
	return nil
}

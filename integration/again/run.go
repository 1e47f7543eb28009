package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How the time of a run with a limit is divided: the parts end before the repeats must begin, and the race
// detector, which says something only if it runs for a while, has what is left.
const (
	forRepeats     = 3 * time.Minute
	minRace        = 5 * time.Minute
	maxRace        = 15 * time.Minute
	forRaceRepeats = time.Minute
)

// A part is a step of a run: a recipe of the justfile.
type part struct {
	name    string
	command []string
}

// A plan is a run: what comes first, one after the other, then the lanes side by side, the repeats, and the
// race detector in the time that is left.
type plan struct {
	early []part // beside all that follows: downloads for later parts, which wait for them by themselves
	first []part
	lanes [][]part
	race  *part // nil: none
	limit time.Duration
}

// A run is a plan on its way.
type run struct {
	session session
	kept    keeper
	to      outputs
	began   time.Time

	mu      sync.Mutex
	times   []string
	verdict verdict
}

// do carries a plan out, prints the times of its parts, and returns an error if one failed, or a test twice.
func (r *run) do(ctx context.Context, p plan) error {
	whole, cancel := context.WithCancel(ctx)
	if p.limit > 0 {
		whole, cancel = context.WithTimeoutCause(ctx, p.limit, fmt.Errorf("a run may take %s", p.limit))
	}
	defer cancel()
	r.parts(whole, p)
	var err error
	if whole.Err() == nil {
		again := time.Now()
		var v verdict
		v, err = settle(whole, r.session, r.kept, r.to)
		r.note("repeats", again)
		r.verdict = verdict{v.flaky, append(r.verdict.failed, v.failed...)}
	}
	if p.race != nil && err == nil && len(r.verdict.failed) == 0 {
		r.races(whole, *p.race)
	}
	fmt.Fprintf(r.to.err, "the times of the parts:\n  %s\n  %s in all\n", strings.Join(r.times, "\n  "), time.Since(r.began).Round(time.Second))
	r.verdict.print(r.to)
	if n := len(r.verdict.failed); err == nil && n > 0 {
		err = fmt.Errorf("this run failed: the lines above that begin with FAILED name why (%d)", n)
	}
	return errors.Join(err, os.RemoveAll(r.session.dir))
}

// parts runs what comes first and then the lanes, until the repeats must begin.
func (r *run) parts(ctx context.Context, p plan) {
	if p.limit > 0 {
		end := p.limit - min(forRepeats, p.limit/4)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, r.began.Add(end), fmt.Errorf("the parts of a run of %s may take %s", p.limit, end))
		defer cancel()
	}
	var lanes sync.WaitGroup
	defer lanes.Wait()
	side := func(lane []part) {
		lanes.Go(func() {
			for _, one := range lane {
				r.part(ctx, one)
			}
		})
	}
	side(p.early)
	for _, one := range p.first {
		if !r.part(ctx, one) { // the lanes need it
			return
		}
	}
	for _, lane := range p.lanes {
		side(lane)
	}
}

// part runs one part. Its tests write their failures into the session; what fails beside them has failed.
func (r *run) part(ctx context.Context, p part) bool {
	if ctx.Err() != nil {
		r.fail(p.name + ": not started: " + context.Cause(ctx).Error())
		return false
	}
	began := time.Now()
	err := r.start(ctx, p, r.to)
	r.note(p.name, began)
	if err != nil {
		r.fail(p.name + ": " + err.Error())
	}
	return err == nil
}

// start runs a command in a process group of its own, so that its end is the end of what it started.
func (r *run) start(ctx context.Context, p part, to outputs) error {
	cmd := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	cmd.Env = append(os.Environ(), sessionVar+"="+r.session.dir)
	cmd.Stdout, cmd.Stderr = to.out, to.err
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = interruptGrace
	err := cmd.Run()
	if ctx.Err() != nil {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		return fmt.Errorf("ended before its end: %w", context.Cause(ctx))
	}
	return err
}

// races runs the race detector. A report of a race fails the run, and so does a test that fails twice. The
// detector makes everything several times slower, so what does not end in the time that is left is named, and
// fails nothing.
func (r *run) races(ctx context.Context, p part) {
	limit := maxRace
	if until, is := ctx.Deadline(); is {
		limit = min(limit, time.Until(until)-forRaceRepeats)
	}
	if limit < minRace {
		fmt.Fprintf(r.to.err, "no race detector this time: the tests have left %s; left out: all packages\n", max(0, limit).Round(time.Second))
		return
	}
	inTime, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the race detector has %s", limit.Round(time.Second)))
	defer cancel()
	began, said := time.Now(), &raceReports{}
	err := r.start(inTime, p, outputs{said, said})
	r.note(p.name, began)
	failures, readErr := r.session.failures()
	switch {
	case said.found:
		_, _ = r.to.out.Write(said.kept.kept)
		r.fail(p.name + ": a data race")
	case readErr != nil:
		r.fail(p.name + ": " + readErr.Error())
	case len(failures) > maxRepeats:
		_, _ = r.to.out.Write(said.kept.kept)
		r.fail(fmt.Sprintf("%s: %d tests failed under the race detector", p.name, len(failures)))
	case err != nil && inTime.Err() == nil:
		_, _ = r.to.out.Write(said.kept.kept)
		r.fail(p.name + ": " + err.Error())
	default:
		fmt.Fprintf(r.to.err, "%s: %s%s\n", p.name, cmp.Or(said.leftOut(), "no data race"), otherQuarters(p.name))
		r.repeatUnderDetector(ctx, failures)
	}
}

// repeatUnderDetector repeats tests that failed under the race detector, under the detector.
func (r *run) repeatUnderDetector(ctx context.Context, failures []failure) {
	began := time.Now()
	for i, f := range failures {
		fmt.Fprintf(r.to.err, "repeating alone under the race detector, %d of %d: %s\n", i+1, len(failures), f.name())
		why := repeat(ctx, f, r.to)
		if errors.Is(why, errNoTime) || why != nil && ctx.Err() != nil {
			fmt.Fprintf(r.to.err, "%s failed under the race detector, and there was no time to repeat it\n", f.name())
			continue
		}
		if why == nil {
			f, why = r.kept.keep(f)
			r.verdict.flaky = append(r.verdict.flaky, f)
		}
		if why != nil {
			r.fail(f.name() + ", under the race detector: " + why.Error())
		}
	}
	if len(failures) > 0 {
		r.note("repeats", began)
	}
}

// raceReports keeps the output of the race detector from its first report on, or its end.
type raceReports struct {
	kept  tail
	found bool
}

func (r *raceReports) Write(text []byte) (int, error) {
	seam := string(lastOf(r.kept.kept, len(raceMark))) + string(text)
	r.found = r.found || strings.Contains(seam, raceMark)
	return r.kept.Write(text)
}

const (
	raceMark    = "DATA RACE"
	leftOutMark = "left out: " // before the packages that a call of go test did not come to
)

// leftOut says which packages the detector did not come to; "" if there are none.
func (r *raceReports) leftOut() string {
	for line := range strings.Lines(string(r.kept.kept)) {
		if names, is := strings.CutPrefix(line, leftOutMark); is {
			return "no data race in what ended in time; " + leftOutMark + strings.TrimSpace(names)
		}
	}
	return ""
}

// otherQuarters says which packages a call of the recipe for one quarter of them, as in race 2, leaves out.
func otherQuarters(call string) string {
	recipe, quarter, cut := strings.Cut(call, " ")
	if !cut {
		return ""
	}
	var others []string
	for _, q := range []string{"0", "1", "2", "3"} {
		if q != quarter {
			others = append(others, recipe+" "+q)
		}
	}
	return "; left out: the packages of " + strings.Join(others, ", ")
}

func (r *run) note(name string, began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times = append(r.times, fmt.Sprintf("%-14s %s", name, time.Since(began).Round(time.Second)))
}

func (r *run) fail(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verdict.failed = append(r.verdict.failed, why)
	fmt.Fprintln(r.to.err, "failed:", why)
}

// planOf makes a plan from names of recipes. A lane that begins with ~ runs at a lower priority.
func planOf(just string, o options) plan {
	p := plan{limit: o.limit}
	parts := func(names string, before ...string) (all []part) {
		for name := range strings.SplitSeq(names, ",") {
			if name != "" {
				all = append(all, part{name, slices.Concat(before, []string{just}, strings.Fields(name))})
			}
		}
		return all
	}
	p.early, p.first = parts(o.early, "nice", "-n", "5"), parts(o.before)
	for _, lane := range o.lanes {
		if names, low := strings.CutPrefix(lane, "~"); low {
			p.lanes = append(p.lanes, parts(names, "nice", "-n", "5"))
		} else {
			p.lanes = append(p.lanes, parts(lane))
		}
	}
	if o.race != "" {
		p.race = &parts(o.race)[0]
	}
	return p
}

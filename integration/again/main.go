package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const usage = "usage: again run [-early RECIPES] [-before RECIPES] [-lane RECIPES]… [-race RECIPE] [-limit TIME] JUST | again go [-C FOLDER] [-env NAME=VALUE]… [-flags FLAGS] PACKAGE… | " +
	"again pytest|vitest [-C FOLDER] [-env NAME=VALUE]… -- COMMAND… | again flaky [-times N] [-forget]"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := do(ctx, os.Args[1:], outputs{os.Stdout, os.Stderr})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "again:", err)
		os.Exit(1)
	}
}

// list collects the values of a flag that is given several times.
type list []string

func (l *list) String() string         { return strings.Join(*l, " ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

// options are the flags of all verbs.
type options struct {
	dir, flags, early, before, race string
	env, lanes                      list
	limit                           time.Duration
	times                           int
	forget                          bool
	args                            []string
}

func parse(verb string, args []string, to outputs) (o options, err error) {
	set := flag.NewFlagSet("again "+verb, flag.ContinueOnError)
	set.SetOutput(to.err)
	switch verb {
	case "go", "pytest", "vitest":
		set.StringVar(&o.dir, "C", ".", "the folder in which the tests run")
		set.Var(&o.env, "env", "an environment variable of the tests and of their repeat, NAME=VALUE")
		if verb == "go" {
			set.StringVar(&o.flags, "flags", "", "flags of go test")
		}
	case "run":
		set.StringVar(&o.early, "early", "", "recipes that run one after the other beside all others")
		set.StringVar(&o.before, "before", "", "recipes that run first, one after the other")
		set.Var(&o.lanes, "lane", "recipes that run one after the other beside the other lanes; ~ before them lowers their priority")
		set.StringVar(&o.race, "race", "", "the recipe of the race detector, which runs last")
		set.DurationVar(&o.limit, "limit", 0, "how long the run may take; 0: no limit")
	case "flaky":
		set.IntVar(&o.times, "times", 10, "how often each test is repeated, at most 1000")
		set.BoolVar(&o.forget, "forget", false, "forget tests that pass each time")
	default:
		return o, fmt.Errorf("unknown verb %q; %s", verb, usage)
	}
	if err := set.Parse(args); err != nil {
		return o, err
	}
	o.args = set.Args()
	switch {
	case verb == "flaky" && (len(o.args) > 0 || o.times < 1 || o.times > 1000),
		verb == "run" && len(o.args) != 1, verb != "flaky" && len(o.args) == 0:
		return o, errors.New(usage)
	}
	o.dir, err = filepath.Abs(o.dir)
	return o, err
}

func do(ctx context.Context, args []string, to outputs) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	verb := args[0]
	o, err := parse(verb, args[1:], to)
	if err != nil {
		return err
	}
	kept, err := newKeeper()
	if err != nil {
		return err
	}
	if verb == "flaky" {
		return kept.again(ctx, o.times, o.forget, to)
	}
	s, within := joined()
	if within && verb != "run" {
		return tests(ctx, verb, o, s, to)
	}
	began := time.Now()
	if s, err = kept.begin(); err != nil {
		return err
	}
	if verb == "run" {
		r := &run{session: s, kept: kept, to: to, began: began}
		return r.do(ctx, planOf(o.args[0], o))
	}
	// A part that somebody runs alone ends with its repeats.
	err = tests(ctx, verb, o, s, to)
	if ctx.Err() == nil {
		v, settleErr := settle(ctx, s, kept, to)
		if v.print(to); len(v.failed) > 0 {
			settleErr = errors.Join(settleErr, fmt.Errorf("%d tests failed twice, or could not be repeated", len(v.failed)))
		}
		err = errors.Join(err, settleErr)
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// tests runs tests, records their failures, and returns an error for what no repeat can mend.
func tests(ctx context.Context, verb string, o options, s session, to outputs) error {
	c := command{dir: o.dir, env: o.env, command: o.args}
	switch verb {
	case "pytest":
		return runPytest(ctx, s, c, to)
	case "vitest":
		return runVitest(ctx, s, c, to)
	}
	result := goTests{dir: o.dir, env: o.env, flags: strings.Fields(o.flags), packages: o.args}.run(ctx, to)
	err := result.err
	if len(result.leftOut) > 0 {
		fmt.Fprintln(to.out, leftOutMark+strings.Join(result.leftOut, " "))
	}
	if len(result.unbuilt) > 0 {
		err = errors.Join(err, fmt.Errorf("does not compile, so it is not repeated: %s", strings.Join(result.unbuilt, ", ")))
	}
	for i, f := range result.failures {
		err = errors.Join(err, s.record(f, result.outputs[i]))
	}
	return err
}

// Package logs has the common parts of commands that print logs: the flags that filter a log,
// and the printing.
package logs

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// Options are the flags of a log.
type Options struct {
	Follow     bool
	JSON       bool
	Head, Tail int

	agents, containers, allocations []string
	sources, stdtypes               []string
	ranks                           []int
	level                           args.OneOf
	before, after                   string

	notes io.Writer // where Print writes what is not a line of the log
	noted bool      // that lines are missing
}

func levelNames() []string {
	return each.Of(v1.LogLevels(), func(l v1.LogLevel) string { return strings.TrimPrefix(string(l), "LOG_LEVEL_") })
}

// Flags adds the flags; ofTask adds the flag that only logs of tasks have.
func (o *Options) Flags(cmd *cobra.Command, ofTask bool) {
	f := cmd.Flags()
	f.BoolVarP(&o.Follow, "follow", "f", false, "follow the log until the task ends")
	f.BoolVar(&o.JSON, "json", false, "print whole records as JSON")
	f.IntVar(&o.Head, "head", 0, "print this many lines from the beginning")
	f.IntVar(&o.Tail, "tail", 0, "print this many lines from the end")
	cmd.MarkFlagsMutuallyExclusive("follow", "head", "tail")
	f.StringArrayVar(&o.agents, "agent-id", nil, "only lines from this node (may be repeated)")
	f.StringArrayVar(&o.containers, "container-id", nil, "only lines from this container (may be repeated)")
	if ofTask {
		f.StringArrayVar(&o.allocations, "allocation-id", nil, "only lines of this attempt (may be repeated)")
	}
	f.IntSliceVar(&o.ranks, "rank-id", nil, "only lines of this rank (may be repeated)")
	f.StringVar(&o.before, "timestamp-before", "", "only lines before this time, as in 2026-11-20T23:17:12Z")
	f.StringVar(&o.after, "timestamp-after", "", "only lines after this time, as in 2026-11-20T23:17:12Z")
	o.level = args.OneOf{Allowed: levelNames()}
	f.Var(&o.level, "level", "only lines of this level or a higher one")
	f.StringArrayVar(&o.sources, "source", nil, "only lines from this source (may be repeated)")
	f.StringArrayVar(&o.stdtypes, "stdtype", nil, "only lines from stdout or from stderr (may be repeated)")
}

// Query is the query for the master.
func (o *Options) Query() (client.LogQuery, error) {
	q := client.LogQuery{
		Follow: o.Follow, Agents: o.agents, Containers: o.containers, Allocations: o.allocations,
		Ranks: o.ranks, Sources: o.sources, Stdtypes: o.stdtypes, Deleted: o.deleted,
	}
	switch {
	case o.Head < 0 || o.Tail < 0:
		return q, &exit.UsageError{Message: "--head and --tail must be 1 or more"}
	case o.Head > 0:
		q.Limit = o.Head
	case o.Tail > 0:
		q.Limit, q.Descending = o.Tail, true
	}
	if o.level.Value != "" {
		levels := v1.LogLevels() // from the least to the most important
		q.Levels = levels[slices.Index(levels, v1.LogLevel("LOG_LEVEL_"+o.level.Value)):]
	}
	var err error
	if q.Before, err = parseTime("--timestamp-before", o.before); err != nil {
		return q, err
	}
	q.After, err = parseTime("--timestamp-after", o.after)
	return q, err
}

func parseTime(flag, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	t, err := v1.ParseTime(value)
	if err != nil {
		return t, &exit.UsageError{Message: fmt.Sprintf("%s %q is not a time; write it as 2026-11-20T23:17:12Z", flag, value)}
	}
	return t, nil
}

// deleted tells the user once that lines are missing.
func (o *Options) deleted(lines int64, at time.Time) {
	if o.noted || o.notes == nil {
		return
	}
	o.noted = true
	fmt.Fprintf(o.notes, "%s deleted from this log up to %s, because their retention had ended.\n", wereDeleted(lines), at.Local().Format(time.DateTime))
}

func wereDeleted(lines int64) string {
	if lines == 1 {
		return "1 line was"
	}
	return fmt.Sprintf("%d lines were", lines)
}

// Print prints a log. As in Determined's client, a line at the end tells how to open the log again. If the log breaks off,
// the error tells it, because nothing has ended; a log of which nothing came needs no advice.
func (o *Options) Print(ctx context.Context, t *term.IO, log iter.Seq2[client.LogRecord, error], of Stream) error {
	o.notes = t.Err
	some, err := o.print(t, log)
	switch {
	case ctx.Err() != nil, err == nil:
		if !o.JSON && !refused(err) {
			fmt.Fprintln(t.Out, t.OutStyle().Green(of.ended()))
		}
		if err == nil {
			return context.Cause(ctx)
		}
		return err
	case refused(err) || !some:
		return err
	}
	return &brokenOff{err, of}
}

// brokenOff is the error of a log that could not be read to its end.
type brokenOff struct {
	error
	of Stream
}

// Unwrap returns the reason.
func (b *brokenOff) Unwrap() error { return b.error }

// Hint tells how to go on.
func (b *brokenOff) Hint() string {
	return "The log broke off here. To read it again, run: " + b.of.Again
}

// refused reports that the log cannot be read at all, so that opening it again would not help.
func refused(err error) bool {
	return slices.ContainsFunc([]fault.Code{fault.Invalid, fault.Unauthenticated, fault.Forbidden, fault.NotFound}, func(code fault.Code) bool { return fault.Is(err, code) })
}

// print also reports whether it has printed a line.
func (o *Options) print(t *term.IO, log iter.Seq2[client.LogRecord, error]) (some bool, err error) {
	out := newWriter(t.Out)
	defer out.Close()
	write := func(r client.LogRecord) error {
		some = true
		if o.JSON {
			return output.JSON(out, r.Raw)
		}
		return out.message(r.Message)
	}
	if o.Tail > 0 {
		err = printReversed(log, write)
		return some, err
	}
	for r, err := range log {
		if err == nil {
			err = write(r)
		}
		if err != nil {
			return some, err
		}
	}
	return some, out.Close()
}

// printReversed prints lines that arrive newest first in the order of time.
func printReversed(log iter.Seq2[client.LogRecord, error], write func(client.LogRecord) error) error {
	records, err := client.Collect(log)
	if err != nil {
		return err
	}
	for _, r := range slices.Backward(records) {
		if err := write(r); err != nil {
			return err
		}
	}
	return nil
}

// A Stream is the log of an object: its kind, and the command that opens the log again.
type Stream struct{ Kind, Again string }

// OfTrial is the log of a trial.
func OfTrial(id int) Stream { return Stream{"Trial", fmt.Sprintf("det trial logs -f %d", id)} }

// OfTask is the log of a task.
func OfTask(id string) Stream { return Stream{"Task", "det task logs -f " + id} }

// ended is the last line of a log.
func (s Stream) ended() string {
	return s.Kind + " log stream ended. To reopen log stream, run: " + s.Again
}

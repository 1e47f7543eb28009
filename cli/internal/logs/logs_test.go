package logs_test

import (
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/logs"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// parse runs a command line of flags.
func parse(t *testing.T, given ...string) (*logs.Options, error) {
	t.Helper()
	var o logs.Options
	cmd := &cobra.Command{Use: "logs", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil }}
	o.Flags(cmd, true)
	cmd.SetArgs(given)
	cmd.SetOut(io.Discard)
	return &o, cmd.Execute()
}

func TestFlagsBecomeAQuery(t *testing.T) {
	o, err := parse(t, "--agent-id", "n1", "--agent-id", "n2", "--container-id", "c", "--rank-id", "0", "--rank-id", "3",
		"--allocation-id", "a.1", "--source", "s", "--stdtype", "stderr", "--level", "error",
		"--timestamp-before", "2026-11-20T23:17:12Z", "--timestamp-after", "2026-11-20", "--head", "7")
	if err != nil {
		t.Fatal(err)
	}
	q, err := o.Query()
	if err != nil {
		t.Fatal(err)
	}
	if len(q.Agents) != 2 || len(q.Ranks) != 2 || q.Ranks[0] != 0 || q.Containers[0] != "c" || q.Allocations[0] != "a.1" ||
		q.Sources[0] != "s" || q.Stdtypes[0] != "stderr" || q.Limit != 7 || q.Descending || q.Follow ||
		q.Before.Unix() != 1795216632 || q.After.Unix() != 1795132800 {
		t.Errorf("%+v", q)
	}
	if len(q.Levels) != 2 || q.Levels[0] != v1.LogLevelError || q.Levels[1] != v1.LogLevelCritical {
		t.Errorf("levels from ERROR on: %v", q.Levels)
	}
}

func TestTailReadsBackwards(t *testing.T) {
	o, err := parse(t, "--tail", "5")
	if err != nil {
		t.Fatal(err)
	}
	if q, err := o.Query(); err != nil || q.Limit != 5 || !q.Descending {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestFlagsThatCannotBe(t *testing.T) {
	for _, given := range [][]string{
		{"--head", "1", "--tail", "2"}, {"-f", "--head", "1"}, {"--follow", "--tail", "1"}, {"--level", "LOUD"}, {"--rank-id", "x"},
	} {
		if _, err := parse(t, given...); err == nil {
			t.Errorf("%q was accepted", given)
		}
	}
	for _, given := range [][]string{{"--head", "-1"}, {"--timestamp-after", "yesterday"}} {
		o, err := parse(t, given...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Query(); exit.Code(err) != exit.Usage {
			t.Errorf("%q: %v", given, err)
		}
	}
}

func records(fail error, messages ...string) iter.Seq2[client.LogRecord, error] {
	return func(yield func(client.LogRecord, error) bool) {
		for _, m := range messages {
			if !yield(client.LogRecord{Message: m, Raw: []byte(`{"message":"` + strings.TrimSpace(m) + `","id":"1"}`)}, nil) {
				return
			}
		}
		if fail != nil {
			yield(client.LogRecord{}, fail)
		}
	}
}

func TestPrinting(t *testing.T) {
	broken := errors.New("broken")
	const ended = "Trial log stream ended. To reopen log stream, run: det trial logs -f 7\n"
	for _, c := range []struct {
		name string
		o    logs.Options
		log  iter.Seq2[client.LogRecord, error]
		want string
		err  error
	}{
		{"in order", logs.Options{}, records(nil, "a\n", "b\n"), "a\nb\n" + ended, nil},
		{"without a line end", logs.Options{}, records(nil, "a", "b\n"), "a\nb\n" + ended, nil},
		{"from the end", logs.Options{Tail: 2}, records(nil, "b\n", "a\n"), "a\nb\n" + ended, nil},
		{"whole records", logs.Options{JSON: true}, records(nil, "a\n"), "{\n  \"id\": \"1\",\n  \"message\": \"a\"\n}\n", nil},
		{"until it breaks", logs.Options{}, records(broken, "a\n"), "a\n", broken},
		{"nothing", logs.Options{}, records(broken), "", broken},
	} {
		io, out, _ := term.Buffers("")
		err := c.o.Print(t.Context(), io, c.log, logs.OfTrial(7))
		if !errors.Is(err, c.err) || out.String() != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, out.String(), err, c.want)
		}
		// Only a log that has begun is said to have broken off.
		var hinted interface{ Hint() string }
		if began := c.name == "until it breaks"; errors.As(err, &hinted) != began {
			t.Errorf("%s: the hint of %v", c.name, err)
		} else if began && hinted.Hint() != "The log broke off here. To read it again, run: det trial logs -f 7" {
			t.Errorf("%s: %s", c.name, hinted.Hint())
		}
	}
}

// slow returns the log lines that have arrived up to now.
type slow struct {
	lines chan string
}

func (s slow) Write(p []byte) (int, error) {
	s.lines <- string(p)
	return len(p), nil
}

// A line is shown without waiting for the next one.
func TestLinesAreShownAsTheyCome(t *testing.T) {
	io, _, _ := term.Buffers("")
	out := slow{make(chan string, 10)}
	io.Out = out
	next := make(chan struct{})
	done := make(chan error)
	go func() {
		var o logs.Options
		done <- o.Print(t.Context(), io, func(yield func(client.LogRecord, error) bool) {
			yield(client.LogRecord{Message: "first\n"}, nil)
			<-next
			yield(client.LogRecord{Message: "second\n"}, nil)
		}, logs.OfTrial(7))
	}()
	if got := <-out.lines; got != "first\n" {
		t.Errorf("shown: %q", got)
	}
	close(next)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestDeletedLinesAreMentioned: beside the log, once, also if a connection is opened again.
func TestDeletedLinesAreMentioned(t *testing.T) {
	for lines, want := range map[int64]string{1: "1 line was deleted from this log up to ", 1200: "1200 lines were deleted from this log up to "} {
		o, err := parse(t)
		if err != nil {
			t.Fatal(err)
		}
		q, err := o.Query()
		if err != nil {
			t.Fatal(err)
		}
		var out, notes strings.Builder
		log := func(yield func(client.LogRecord, error) bool) {
			for range 2 {
				q.Deleted(lines, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
			}
			yield(client.LogRecord{Message: "a line\n"}, nil)
		}
		if err := o.Print(t.Context(), &term.IO{Out: &out, Err: &notes}, log, logs.OfTrial(7)); err != nil {
			t.Fatal(err)
		}
		if got := notes.String(); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 || !strings.Contains(got, "because their retention had ended.") {
			t.Errorf("the note is %q", got)
		}
		if !strings.HasPrefix(out.String(), "a line\n") {
			t.Errorf("the log is %q", out.String())
		}
	}
}

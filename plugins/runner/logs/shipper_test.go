package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

// A database keeps what shippers bring, as a master does.
type database struct {
	mu      sync.Mutex
	lines   map[int64]string
	next    int64
	done    bool
	batches int
	most    int
}

func newDatabase() *database { return &database{lines: map[int64]string{}} }

func (d *database) take(b v1.LogBatch) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.batches++
	d.most = max(d.most, len(b.Lines))
	for i, l := range b.Lines {
		if n := b.First + int64(i); n >= d.next {
			d.lines[n] = l.Log
			d.next = n + 1
		}
	}
	d.done = d.done || b.Done
	return d.next
}

func (d *database) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for n := int64(0); n < d.next; n++ {
		if l, ok := d.lines[n]; ok {
			out = append(out, l)
		}
	}
	return out
}

func quiet(error) {}

// finish waits for a shipper's end.
func finish(t *testing.T, s *Shipper) {
	t.Helper()
	s.Finish()
	select {
	case <-s.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the shipper did not finish")
	}
}

func TestEveryLineOnceWhateverGetsLost(t *testing.T) {
	// Requests get lost before and after they had their effect: in the end each line is there once, in order.
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		db := newDatabase()
		var mu sync.Mutex
		send := func(ctx context.Context, b v1.LogBatch) (int64, error) {
			for {
				mu.Lock()
				fate := random.IntN(4)
				mu.Unlock()
				if ctx.Err() != nil {
					return 0, ctx.Err()
				}
				switch fate {
				case 0: // lost on the way
				case 1: // its answer lost
					db.take(b)
				default:
					return db.take(b), nil
				}
			}
		}
		const lines = 2000
		s := NewBacklog(t.TempDir(), Limits{Segment: 2000})
		shipper := NewShipper(s, v1.LogBatch{Shipper: "a/0"}, send, quiet)
		go shipper.Run(context.Background(), 0)
		fill(s, 0, lines)
		finish(t, shipper)
		s.Close()
		got := db.all()
		if len(got) != lines || !db.done {
			t.Fatalf("seed %d: %d lines, done %v", seed, len(got), db.done)
		}
		for i, l := range got {
			if l != fmt.Sprint("line ", i) {
				t.Fatalf("seed %d: line %d is %q", seed, i, l)
			}
		}
	}
}

func TestBatchesAreBounded(t *testing.T) {
	db := newDatabase()
	s := backlog(t, t.TempDir(), Limits{})
	var lines []Line
	for i := range 5500 {
		lines = append(lines, line(fmt.Sprint("line ", i)))
	}
	s.Append(lines...)
	shipper := NewShipper(s, v1.LogBatch{}, func(_ context.Context, b v1.LogBatch) (int64, error) { return db.take(b), nil }, quiet)
	go shipper.Run(context.Background(), 0)
	finish(t, shipper)
	if db.most > batchLines || len(db.all()) != 5500 || db.batches > 8 {
		t.Fatalf("%d lines in %d batches of up to %d", len(db.all()), db.batches, db.most)
	}
}

func TestABatchNeverBridgesAGap(t *testing.T) {
	s := backlog(t, t.TempDir(), Limits{})
	fill(s, 0, 5)
	s.roll(10)
	fill(s, 10, 15)
	db := newDatabase()
	shipper := NewShipper(s, v1.LogBatch{}, func(_ context.Context, b v1.LogBatch) (int64, error) { return db.take(b), nil }, quiet)
	go shipper.Run(context.Background(), 0)
	finish(t, shipper)
	for n, text := range db.lines {
		if text != fmt.Sprint("line ", n) {
			t.Fatalf("number %d is %q", n, text)
		}
	}
	if len(db.lines) != 10 {
		t.Fatalf("%d lines", len(db.lines))
	}
}

func TestRefusedLinesAreToldAndPassedOver(t *testing.T) {
	s := backlog(t, t.TempDir(), Limits{})
	fill(s, 0, 2500)
	db := newDatabase()
	refuse := true
	var told []error
	shipper := NewShipper(s, v1.LogBatch{}, func(_ context.Context, b v1.LogBatch) (int64, error) {
		if refuse {
			refuse = false
			return 0, fmt.Errorf("%w: poison", ErrRefused)
		}
		return db.take(b), nil
	}, func(err error) { told = append(told, err) })
	go shipper.Run(context.Background(), 0)
	finish(t, shipper)
	if len(told) != 1 || !strings.Contains(told[0].Error(), "poison") || len(db.all()) != 1500 {
		t.Fatalf("the reports are %v, and %d lines arrived", told, len(db.all()))
	}
}

func TestAShipperEndsWhenNothingIsTakenAnyMore(t *testing.T) {
	s := backlog(t, t.TempDir(), Limits{})
	fill(s, 0, 1)
	shipper := NewShipper(s, v1.LogBatch{}, func(context.Context, v1.LogBatch) (int64, error) { return 0, ErrOver }, quiet)
	go shipper.Run(context.Background(), 0)
	finish(t, shipper)
	if !errors.Is(shipper.Err(), ErrOver) || len(readAll(t, s, 0)) != 1 {
		t.Fatalf("%v", shipper.Err())
	}
}

func TestCaptureAndEcho(t *testing.T) {
	s := backlog(t, t.TempDir(), Limits{})
	var copied strings.Builder
	echo := NewEcho(&copied)
	from, to := io.Pipe()
	go func() {
		_, _ = io.WriteString(to, "one\r\ntw")
		_, _ = io.WriteString(to, "o\nrest")
		_ = to.CloseWithError(errors.New("torn"))
	}()
	Capture(from, "stderr", s, echo, nil)
	echo.Close(20 * time.Second)
	if copied.String() != "one\r\ntwo\nrest" {
		t.Fatalf("echoed %q", copied.String())
	}
	var got []string
	for _, l := range readAll(t, s, 0) {
		got = append(got, l.Stream+" "+l.Text)
	}
	if strings.Join(got, "|") != "stderr one|stderr two|stderr rest|stderr reading stderr of the program failed: torn" {
		t.Fatalf("%q", got)
	}
}

// stuck blocks until it is released.
type stuck struct {
	release chan struct{}
	strings.Builder
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.release
	return s.Builder.Write(p)
}

func TestAnEchoNeverWaits(t *testing.T) {
	w := &stuck{release: make(chan struct{})}
	e := NewEcho(w)
	chunk := make([]byte, 1<<20)
	for range 20 {
		_, _ = e.Write(chunk)
	}
	close(w.release)
	e.Close(20 * time.Second)
	if w.Len() > 9<<20 || !strings.Contains(w.String(), "bytes of output are missing from this copy") {
		t.Fatalf("%d bytes were kept", w.Len())
	}
}

func TestJournal(t *testing.T) {
	var echoed strings.Builder
	j := NewJournal(&echoed)
	j.Infof("early %d", 1)
	s := backlog(t, t.TempDir(), Limits{})
	j.Attach(s)
	j.Errorf("two\nlines")
	j.Warnf("%s", strings.Repeat("x", maxText+1))
	got := readAll(t, s, 0)
	var texts []string
	for _, l := range got {
		texts = append(texts, string(l.Level)+" "+l.Source+" "+l.Text)
	}
	want := []string{"LOG_LEVEL_INFO runner early 1", "LOG_LEVEL_ERROR runner two", "LOG_LEVEL_ERROR runner lines",
		"LOG_LEVEL_WARNING runner " + strings.Repeat("x", maxText), "LOG_LEVEL_WARNING runner x"}
	if strings.Join(texts, "\n") != strings.Join(want, "\n") {
		t.Fatalf("%.100q", texts)
	}
	if !strings.HasPrefix(echoed.String(), "det-runner: info: early 1\ndet-runner: error: two\ndet-runner: error: lines\n") {
		t.Fatalf("%q", echoed.String())
	}
}

// BenchmarkBacklog is the way of a line from the program's pipe to the backlog.
func BenchmarkBacklog(b *testing.B) {
	s := NewBacklog(b.TempDir(), Limits{Disk: 64 << 20})
	defer s.Close()
	split := NewSplitter("stdout")
	chunk := []byte(strings.Repeat("[rank=0] INFO: epoch 1 batch 1000 loss 0.1234 accuracy 0.5678\n", 1000))
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		s.Append(split.Feed(chunk, now)...)
		s.Taken(s.Next())
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "lines/s")
}

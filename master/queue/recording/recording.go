// Package recording keeps the recording of the queue: what the plans of each pool were asked and what they decided (package record). The leader's
// loop makes frames with a Keeper and stores them in the transactions in which it stores its other changes (rows.go). An administrator
// downloads them (routes.go), and det asks the plans again (package replay), so that no master has work with it.
package recording

import (
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/sched/record"
)

// Bounds of frames that are not stored yet.
const (
	maxWaiting   = 64 << 20 // bytes; if they cannot be stored, they are dropped, and the recording has a gap
	maxTogether  = 8 << 20  // bytes of one transaction
	waitAtMost   = 30 * time.Second
	enoughFrames = 256 // that are stored although the loop stores nothing else
)

// A Frame is a row that is to be stored.
type Frame struct {
	Pool  string
	At    time.Time
	Whole bool
	Text  string
}

// A Keeper makes frames for one term of a leader, and keeps them until they are stored. The nil Keeper records nothing.
type Keeper struct {
	pools   map[string]*record.Recorder
	waiting []Frame
	bytes   int
	err     error // of the last frame that could not be made
}

// NewKeeper returns a keeper; nil if no day is kept.
func NewKeeper(days int) *Keeper {
	if days <= 0 {
		return nil
	}
	return &Keeper{pools: map[string]*record.Recorder{}}
}

// Note records what a plan was asked. An error or a panic here must not harm the plan: the recording goes on with a whole frame.
func (k *Keeper) Note(in record.Input) {
	r := k.pools[in.Pool.Name]
	if r == nil {
		r = &record.Recorder{}
		k.pools[in.Pool.Name] = r
	}
	defer func() {
		if p := recover(); p != nil {
			r.Forget()
			k.err = fmt.Errorf("panic: %v", p)
		}
	}()
	text, whole, err := r.Note(in)
	if err != nil {
		r.Forget()
		k.err = err
		return
	}
	if text == nil {
		return
	}
	k.waiting = append(k.waiting, Frame{Pool: in.Pool.Name, At: in.At, Whole: whole, Text: string(text)})
	if k.bytes += len(text); k.bytes > maxWaiting {
		k.drop()
	}
}

// drop drops what could not be stored. Each pool goes on with a whole frame.
func (k *Keeper) drop() {
	k.waiting, k.bytes = nil, 0
	for _, r := range k.pools {
		r.Forget()
	}
}

// Err returns the error of the last frame that could not be made, once.
func (k *Keeper) Err() error {
	if k == nil {
		return nil
	}
	err := k.err
	k.err = nil
	return err
}

// Due returns the frames to store now. Without other changes to store, few frames wait.
func (k *Keeper) Due(others bool, now time.Time) []Frame {
	if k == nil || len(k.waiting) == 0 || !others && len(k.waiting) < enoughFrames && now.Sub(k.waiting[0].At) < waitAtMost {
		return nil
	}
	n, bytes := 0, 0
	for n < len(k.waiting) && (n == 0 || bytes+len(k.waiting[n].Text) <= maxTogether) {
		bytes += len(k.waiting[n].Text)
		n++
	}
	return k.waiting[:n:n]
}

// Stored forgets the first frames that wait: they are stored.
func (k *Keeper) Stored(n int) {
	if k == nil || n == 0 {
		return
	}
	for _, f := range k.waiting[:n] {
		k.bytes -= len(f.Text)
	}
	k.waiting = append([]Frame(nil), k.waiting[n:]...)
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/detent-ml/detent/master/pool/leaving"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/plugins/notice/cloud"
)

// pauses are how long to wait before something is tried again.
type pauses struct {
	detect time.Duration // a machine of no cloud; a service that is not up yet
	nomad  time.Duration // Nomad did not take a notice
	look   time.Duration // between two looks; 0 for the cloud's own
}

func usualPauses() pauses { return pauses{detect: 30 * time.Second, nomad: time.Second} }

// watcher carries the notices of a cloud to the metadata of the node.
type watcher struct {
	node   *node
	log    *slog.Logger
	pauses pauses

	began   bool          // Nomad has taken what this process has to say at least once
	settled bool          // the metadata are as last says
	last    *cloud.Notice // that the cloud has
	silent  time.Time     // since when the cloud does not answer; zero if it does

	complained bool // it is said that Nomad does not take the notice
}

// detect waits until it is known which cloud this is. It says once that none was found: a machine may be of none.
func (w *watcher) detect(ctx context.Context, find func(context.Context) (cloud.Cloud, error)) (cloud.Cloud, error) {
	for said := false; ; said = true {
		c, err := find(ctx)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, cloud.ErrNone) {
			return nil, err
		}
		if !said {
			w.log.Info("this machine gets no notices", "because", err, "tried_again_every", w.pauses.detect)
		}
		if err := sleep.For(ctx, w.pauses.detect); err != nil {
			return nil, err
		}
	}
}

// watch looks again and again, until ctx ends or Nomad refuses the first write.
func (w *watcher) watch(ctx context.Context, c cloud.Cloud) error {
	pause := w.pauses.look
	if pause == 0 {
		pause = c.Pause()
	}
	for {
		notice, err := c.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			w.silence(c, err)
		default:
			w.answered(c)
			if err := w.settle(ctx, notice); err != nil {
				return err
			}
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}

// silence says once that the cloud does not answer. What it said last stays: a machine whose network is busy is not out of
// danger.
func (w *watcher) silence(c cloud.Cloud, err error) {
	if w.silent.IsZero() {
		w.silent = time.Now()
		w.log.Warn("the metadata service does not answer; what it said last stays", "cloud", c.Name(), "error", err)
	}
}

func (w *watcher) answered(c cloud.Cloud) {
	if !w.silent.IsZero() {
		w.log.Info("the metadata service answers again", "cloud", c.Name(), "silent_for", time.Since(w.silent).Round(time.Second))
		w.silent = time.Time{}
	}
}

// tries is how often a write is tried before the cloud is asked again, which may hold the question for a while.
const tries = 5

// settle makes the metadata say what the cloud says. What Nomad does not take is tried again, here and after the next
// look. Only a refusal at the first time is an error: the job lacks its rights, and whoever started it should see that
// before the first notice.
func (w *watcher) settle(ctx context.Context, notice *cloud.Notice) error {
	if w.settled && same(w.last, notice) {
		return nil
	}
	w.settled = false
	for range tries {
		err := w.write(ctx, notice)
		if err == nil {
			w.began, w.settled, w.last, w.complained = true, true, notice, false
			return nil
		}
		if !w.began && errors.Is(err, errRefused) {
			return err
		}
		if !w.complained && ctx.Err() == nil {
			w.complained = true
			w.log.Error("Nomad does not take the notice; tried again until it does", "error", err)
		}
		if err := sleep.For(ctx, w.pauses.nomad); err != nil {
			return err
		}
	}
	return nil
}

// write changes the metadata, if they are not as they should be.
func (w *watcher) write(ctx context.Context, notice *cloud.Notice) error {
	meta, err := w.node.metadata(ctx)
	if err != nil {
		return err
	}
	changes := plan(meta, notice)
	if len(changes) == 0 {
		if _, has := meta[leaving.WhyKey]; !w.settled && !has {
			// Nothing changes by this, but Nomad says whether it would.
			return w.node.apply(ctx, map[string]*string{leaving.WhyKey: nil})
		}
		return nil
	}
	if err := w.node.apply(ctx, changes); err != nil {
		return err
	}
	switch said, had := meta[leaving.Key]; {
	case notice == nil:
		w.log.Info("the notice is withdrawn: nothing takes the machine away", "was", said)
	case had:
		w.log.Warn("the machine goes away", "at", *changes[leaving.Key], "because", notice.Why, "instead_of", said)
	default:
		w.log.Warn("the machine goes away", "at", *changes[leaving.Key], "because", notice.Why)
	}
	return nil
}

// same reports whether two notices say the same.
func same(a, b *cloud.Notice) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.At.Equal(b.At) && a.Why == b.Why
}

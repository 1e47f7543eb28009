package control

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/sleep"
)

// A dead leader is replaced within lease + electEvery.
const (
	lease       = 3 * time.Second        // a lease expires after this time, unless the leader renews it
	renewEvery  = 700 * time.Millisecond // how often the leader renews the lease
	electEvery  = 300 * time.Millisecond // how often the other masters try to acquire the lease
	leaseMargin = lease / 3              // the leader starts no call to Nomad in this last part of a lease
)

// Leadership is one term as leader.
type Leadership struct {
	Term  int64
	until atomic.Pointer[time.Time] // when the lease expires, by the holder's monotonic clock
}

// Holds reports whether the lease lasts long enough to start a call outside the database,
// which no fence can reject.
func (l *Leadership) Holds() bool {
	return time.Until(*l.until.Load()) > leaseMargin
}

func (l *Leadership) extend(from time.Time) {
	until := from.Add(lease)
	l.until.Store(&until)
}

// Lead calls work whenever this master leads, until ctx ends. Then it resigns, so that
// another master can take over at once. If work returns earlier, Lead resigns too, and waits
// for a lease's time before it requests the next one, which leaves the turn to other masters.
//
// Lead uses a database connection of its own: requests may occupy all others, and the
// lease would expire although no other master wants it. Each call has a deadline.
func Lead(ctx context.Context, db *database.DB, holder, address string, log *slog.Logger, work func(ctx context.Context, l *Leadership)) {
	own, err := db.Dedicated(ctx, lease)
	if err != nil {
		log.Error("this master cannot lead", "error", err)
		return
	}
	defer own.Close()
	db = own
	tick := time.NewTicker(electEvery)
	defer tick.Stop()
	away := false // the last call failed: log the failure once, not three times a second
	for {
		began := time.Now()
		call, cancel := context.WithTimeout(ctx, lease)
		term, err := db.Elect(call, holder, address, lease)
		cancel()
		if err != nil && ctx.Err() == nil && !away {
			log.Warn("could not request the lease", "error", err, "cause", errors.Unwrap(err))
		}
		away = err != nil
		if term > 0 {
			term := &Leadership{Term: term}
			term.extend(began)
			if early := serve(ctx, db, holder, term, log, work); early {
				_ = sleep.For(ctx, lease)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// serve runs work for one term, and renews the lease in parallel. It returns early if work did so: a
// master that renews its lease and does not work would keep all others from working.
func serve(ctx context.Context, db *database.DB, holder string, l *Leadership, log *slog.Logger, work func(context.Context, *Leadership)) (early bool) {
	log = log.With("term", l.Term)
	log.Info("this master leads")
	term, end := context.WithCancel(ctx)
	defer end()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(term, l)
		early = term.Err() == nil
		end()
	}()
	renewLease(term, db, holder, l, log)
	end()
	<-done
	if early || ctx.Err() != nil {
		resign, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := db.Resign(resign, holder, l.Term); err != nil {
			log.Warn("could not release the lease; it will expire", "error", err)
		}
	}
	log.Info("this master no longer leads")
	return early
}

// renewLease renews the lease until ctx ends or the lease is lost.
func renewLease(ctx context.Context, db *database.DB, holder string, l *Leadership, log *slog.Logger) {
	for range sleep.Every(ctx, renewEvery) {
		began := time.Now()
		if began.After(*l.until.Load()) {
			log.Warn("the lease expired before this master renewed it")
			return
		}
		call, cancel := context.WithTimeout(ctx, renewEvery)
		err := db.Renew(call, holder, l.Term, lease)
		cancel()
		switch {
		case err == nil:
			l.extend(began)
		case errors.Is(err, database.ErrNotLeader):
			log.Warn("another master holds the lease now")
			return
		case ctx.Err() == nil:
			log.Warn("could not renew the lease", "error", err, "cause", errors.Unwrap(err))
		}
	}
}

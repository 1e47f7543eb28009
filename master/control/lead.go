package control

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/detent-ml/detent/master/store"
)

// How long a lease lasts without being renewed, how often it is renewed, and how
// often a master that does not lead asks for it. A dead leader is replaced
// within lease + ask.
const (
	lease       = 3 * time.Second
	renewEvery  = 700 * time.Millisecond
	electEvery  = 300 * time.Millisecond
	leaseMargin = lease / 3 // nothing is begun in Nomad in the last part of a lease
)

// Leadership is one term as leader. Its context ends when the term does.
type Leadership struct {
	Term  int64
	until atomic.Pointer[time.Time] // monotonic: the holder's own clock
}

// Holds reports whether the lease is good for a little longer: long enough to
// begin something outside the database, where no fence helps.
func (l *Leadership) Holds() bool {
	return time.Until(*l.until.Load()) > leaseMargin
}

func (l *Leadership) extend(from time.Time) {
	until := from.Add(lease)
	l.until.Store(&until)
}

// Lead runs work whenever this master leads, until ctx ends. It resigns then, so
// that another master takes over at once.
//
// The lease has a connection of its own: requests may hold all others, and the
// leader would lose its lease to nobody. Each call about the lease has a deadline.
func Lead(ctx context.Context, db *store.DB, holder, address string, log *slog.Logger, work func(ctx context.Context, l *Leadership)) {
	own, err := db.Dedicated(ctx, lease)
	if err != nil { // the address was parsed before
		log.Error("this master cannot lead", "error", err)
		return
	}
	defer own.Close()
	db = own
	tick := time.NewTicker(electEvery)
	defer tick.Stop()
	away := false // said once, not three times a second
	for {
		began := time.Now()
		call, cancel := context.WithTimeout(ctx, lease)
		term, err := db.Elect(call, holder, address, lease)
		cancel()
		if err != nil && ctx.Err() == nil && !away {
			log.Warn("could not ask for the lease", "error", err, "cause", errors.Unwrap(err))
		}
		away = err != nil
		if term > 0 {
			term := &Leadership{Term: term}
			term.extend(began)
			serve(ctx, db, holder, term, log, work)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// serve is one term: work runs, the lease is renewed beside it, on a connection
// of its own, never by the work itself.
func serve(ctx context.Context, db *store.DB, holder string, l *Leadership, log *slog.Logger, work func(context.Context, *Leadership)) {
	log = log.With("term", l.Term)
	log.Info("this master leads")
	term, end := context.WithCancel(ctx)
	defer end()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(term, l)
	}()
	renewLease(term, db, holder, l, log)
	end()
	<-done
	if ctx.Err() != nil {
		resign, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := db.Resign(resign, holder, l.Term); err != nil {
			log.Warn("could not release the lease; it will expire", "error", err)
		}
	}
	log.Info("this master no longer leads")
}

// renewLease renews the lease until ctx ends or the lease is lost.
func renewLease(ctx context.Context, db *store.DB, holder string, l *Leadership, log *slog.Logger) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
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
		case errors.Is(err, store.ErrNotLeader):
			log.Warn("another master took the lease")
			return
		case ctx.Err() == nil:
			log.Warn("could not renew the lease", "error", err, "cause", errors.Unwrap(err))
		}
	}
}

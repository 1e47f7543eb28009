package database

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/detent-ml/detent/master/fault"
)

// Statements are SQL statements in their order. Some of them must change exactly one row.
type Statements struct {
	Batch
	bundle int // that adds the next ones
	checks []check
}

// A check has the bundle of a statement, and whether it must change exactly one row.
type check struct {
	bundle int
	one    bool
	what   string
}

// Queue adds a statement.
func (s *Statements) Queue(sql string, args ...any) {
	s.Batch.Queue(sql, args...)
	s.checks = append(s.checks, check{bundle: s.bundle, what: "a change"})
}

// QueueOne adds a statement that must change exactly one row; if it does not, its bundle is stale.
func (s *Statements) QueueOne(what, sql string, args ...any) {
	s.Batch.Queue(sql, args...)
	s.checks = append(s.checks, check{bundle: s.bundle, one: true, what: what})
}

// Send executes all statements in a transaction, without the checks of QueueOne.
func (s *Statements) Send(ctx context.Context, db *DB) error {
	for _, part := range s.Parts() {
		if err := db.Send(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// A Bundle has statements that are executed together or not at all.
type Bundle struct {
	Key   string
	Needs []string          // keys of earlier bundles; if one of these is left out, this bundle is too
	Queue func(*Statements) // adds its statements
}

// ErrStale means that a row has changed since the plan read it. Its bundle is left out;
// the next cycle decides again.
var ErrStale = fault.New(fault.Conflict, "a row has changed since the plan was made")

// ErrDependencyFailed means that a bundle was left out because one that it needs was.
var ErrDependencyFailed = fault.New(fault.Conflict, "another change of the same plan, on which this change depends, could not be stored")

// ErrPostponed means that a bundle was left out because too many others had failed.
var ErrPostponed = fault.New(fault.Conflict, "too many other changes of the same plan could not be stored")

// How long the leader waits for a row that another transaction has locked. After one
// timeout it waits much shorter, so that many locked rows do not delay the other bundles.
const (
	lockTimeout      = "500"  // milliseconds
	lockTimeoutShort = "20"   // milliseconds, after the first timeout
	stmtTimeoutShort = "1000" // milliseconds, after the first timeout
	savepointBundles = "SAVEPOINT bundles"
	rollbackBundles  = "ROLLBACK TO SAVEPOINT bundles"
	releaseBundles   = "RELEASE SAVEPOINT bundles"
)

// ApplyBundles stores the bundles in their order, in the leader's transaction. It leaves
// out bundles that are stale or fail, and bundles that need one of these; failures has the
// errors, by key.
//
// It first tries all bundles together, after a savepoint. If one fails, it rolls back to the
// savepoint, stores the bundles before the failed one again, and continues with those
// after it. So a failure costs only a second run of the bundles before it.
func (db *DB) ApplyBundles(ctx context.Context, bundles []Bundle) (failures map[string]error, err error) {
	a := &applier{db: db, failures: map[string]error{}}
	if err := a.setTimeout(ctx, "lock_timeout", lockTimeout); err != nil {
		return nil, err
	}
	return a.failures, a.apply(ctx, bundles, false)
}

// MaxFailures is the maximum number of bundles of one plan that the database may reject;
// after that, the remaining bundles wait for the next cycle.
const MaxFailures = 64

type applier struct {
	db            *DB
	failures      map[string]error
	refused       int // bundles with a statement that the database rejected; stale bundles do not count
	shortTimeouts bool
}

// apply stores a list. ran means that the list has already run without an error of the
// database; then apply stores it even if too many other bundles have failed.
func (a *applier) apply(ctx context.Context, list []Bundle, ran bool) error {
	for {
		if list = a.withoutFailed(list); len(list) == 0 {
			return nil
		}
		if a.refused > MaxFailures && !ran {
			for _, b := range list {
				a.failures[b.Key] = ErrPostponed
			}
			return nil
		}
		bad, reached, err := a.applyAll(ctx, list)
		switch {
		case err != nil:
			return err
		case len(bad) == 0 && reached == len(list):
			return nil
		case len(bad) == 0: // the failed bundle is unknown, so try both halves
			if err := a.apply(ctx, list[:reached], ran); err != nil {
				return err
			}
			list = list[reached:]
			continue
		}
		for i, cause := range bad {
			a.failures[list[i].Key] = cause
			if !errors.Is(cause, ErrStale) {
				a.refused++
			}
		}
		if err := a.apply(ctx, list[:reached], true); err != nil {
			return err
		}
		list, ran = list[reached:], false
	}
}

// withoutFailed returns the list without failed bundles and those that need one of them.
func (a *applier) withoutFailed(list []Bundle) []Bundle {
	if len(a.failures) == 0 {
		return list
	}
	var kept []Bundle
	for _, b := range list {
		if _, out := a.failures[b.Key]; out {
			continue
		}
		if a.dependsOnFailed(b) {
			a.failures[b.Key] = ErrDependencyFailed
			continue
		}
		kept = append(kept, b)
	}
	return kept
}

func (a *applier) dependsOnFailed(b Bundle) bool {
	for _, key := range b.Needs {
		if _, out := a.failures[key]; out {
			return true
		}
	}
	return false
}

// applyAll stores all bundles or none. bad has the errors of failed bundles, by their index;
// reached is the number of bundles at the front of the list that ran.
func (a *applier) applyAll(ctx context.Context, list []Bundle) (bad map[int]error, reached int, err error) {
	if err := a.db.Exec(ctx, savepointBundles); err != nil {
		return nil, 0, err
	}
	bad, reached, err = a.run(ctx, list)
	if err != nil {
		return nil, 0, err
	}
	if len(bad) == 0 && reached == len(list) {
		return nil, reached, a.db.Exec(ctx, releaseBundles)
	}
	if err := a.db.Exec(ctx, rollbackBundles); err != nil {
		return nil, 0, err
	}
	if err := a.db.Exec(ctx, releaseBundles); err != nil {
		return nil, 0, err
	}
	for _, cause := range bad {
		if isTimeout(cause) && !a.shortTimeouts {
			a.shortTimeouts = true
			if err := errors.Join(a.setTimeout(ctx, "lock_timeout", lockTimeoutShort), a.setTimeout(ctx, "statement_timeout", stmtTimeoutShort)); err != nil {
				return nil, 0, err
			}
		}
	}
	return bad, reached, nil
}

// run sends the statements of all bundles, many in one message. PostgreSQL does not report a
// stale bundle as an error and continues, so one run finds all stale bundles.
func (a *applier) run(ctx context.Context, list []Bundle) (bad map[int]error, reached int, err error) {
	s := &Statements{}
	for i := range list {
		s.bundle = i
		list[i].Queue(s)
	}
	bad, reached = map[int]error{}, len(list)
	checks := s.checks
	for _, part := range s.Parts() {
		reached, err = a.send(ctx, list, part, checks[:part.Len()], bad)
		if err != nil || reached < len(list) {
			break
		}
		checks = checks[part.Len():]
	}
	return bad, reached, err
}

// send sends some of the statements, and adds to bad what could not be stored. It
// returns what run returns.
func (a *applier) send(ctx context.Context, list []Bundle, part *Batch, checks []check, bad map[int]error) (reached int, err error) {
	sent := 0
	for changed, err := range a.db.SendEach(ctx, part) {
		c := checks[sent]
		sent++
		switch {
		case RejectionOf(err).Code != "":
			if _, stale := bad[c.bundle]; !stale { // else this error follows from a row that has changed
				bad[c.bundle] = fmt.Errorf("%s: %w", c.what, bundleError(err))
			}
			return c.bundle, nil
		case err != nil && ctx.Err() == nil && !Away(err) && len(list) == 1: // the statement could not be sent
			bad[0] = err
			return 0, nil
		case err != nil && ctx.Err() == nil && !Away(err):
			clear(bad)
			return len(list) / 2, nil
		case err != nil:
			return 0, AsFault(err)
		}
		if _, known := bad[c.bundle]; c.one && changed != 1 && !known {
			bad[c.bundle] = fmt.Errorf("%s: %w", c.what, ErrStale)
		}
	}
	return len(list), nil
}

// bundleError returns an error of PostgreSQL as a fault. The fault is Unavailable unless the
// bundle itself causes the error: the database cannot store its data, or a constraint forbids it.
// The database causes all other errors (a full or broken disk, a missing right, a changing
// schema), and they must end no experiment.
func bundleError(err error) error {
	f, r := AsFault(err), RejectionOf(err)
	switch {
	case r.Code[:2] == "22" || r.Code[:2] == "23" || fault.Is(f, fault.Unavailable) && !isTimeout(err):
		return f
	case isTimeout(err):
		return fault.Wrap(fault.Unavailable, err, "the database did not answer in time: %s", r.Message)
	}
	return fault.Wrap(fault.Unavailable, err, "the database failed: %s", r.Message)
}

// isTimeout reports whether a lock or a statement exceeded its timeout.
func isTimeout(err error) bool {
	return slices.Contains([]string{"55P03", "57014", "40001", "40P01"}, RejectionOf(err).Code)
}

func (a *applier) setTimeout(ctx context.Context, name, value string) error {
	return a.db.Exec(ctx, "SELECT set_config($1, $2, true)", name, value)
}

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/detent-ml/detent/master/fault"
)

// A Bundle is a part of a plan that is stored as a whole or not at all: the changes of
// one experiment or task, or one placement.
type Bundle struct {
	Key   string
	Needs []string // keys of earlier bundles without which this one would be wrong
	Changes
}

// ErrDependencyFailed means that a bundle was left out because one that it needs was.
var ErrDependencyFailed = fault.New(fault.Conflict, "another change of the same plan, on which this change depends, could not be stored")

// ErrPostponed means that a bundle was left out because too many others had failed.
var ErrPostponed = fault.New(fault.Conflict, "too many other changes of the same plan could not be stored")

// A leader waits this long for a row that another transaction has locked, and much
// shorter once a bundle has run into the timeout: however many rows are locked, the
// other bundles must not wait for each.
const (
	lockTimeout      = "500"   // milliseconds
	lockTimeoutShort = "20"    // after the first that ran out of time
	stmtTimeoutShort = "1000"  // as well
	maxBatchBytes    = 4 << 20 // that statements carry that are sent at once, unless a single one carries more
	savepointBundles = "SAVEPOINT bundles"
	rollbackBundles  = "ROLLBACK TO SAVEPOINT bundles"
	releaseBundles   = "RELEASE SAVEPOINT bundles"
)

// ApplyBundles stores the bundles in their order, in the leader's transaction. A bundle
// that is stale or fails is left out with those that need it, and the others are
// stored: failures has the errors, by key.
//
// All are tried at once, behind a savepoint. Which of them failed is then known, so
// those before it are stored again, and those after it are tried without it: however
// many bundles there are, one that fails costs a second run of those before it.
func (db *DB) ApplyBundles(ctx context.Context, bundles []Bundle) (failures map[string]error, err error) {
	a := &applier{db: db, failures: map[string]error{}}
	if err := a.setTimeout(ctx, "lock_timeout", lockTimeout); err != nil {
		return nil, err
	}
	return a.failures, a.apply(ctx, bundles, false)
}

// ApplyChanges stores all changes or none. It runs in a transaction, like ApplyBundles.
func (db *DB) ApplyChanges(ctx context.Context, c *Changes) error {
	left, err := db.ApplyBundles(ctx, []Bundle{{Changes: *c}})
	if err != nil {
		return err
	}
	return left[""]
}

// MaxFailures bounds the bundles of one plan that the database may refuse; what comes
// after them is left for the next cycle.
const MaxFailures = 64

type applier struct {
	db            *DB
	failures      map[string]error
	refused       int // bundles of which the database refused a statement; a stale one is none
	shortTimeouts bool
}

// apply stores a list. A list that has run without an error of the database, but for
// stale bundles that are no longer in it, is stored however many others have failed.
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
		case len(bad) == 0: // which one failed is not known, so halves are tried
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

// withoutFailed leaves out the bundles that have failed, and those that need one of them.
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

// applyAll stores all bundles or none. bad are those that could not be stored, by
// their index; reached is how many of the list are known to be good otherwise.
func (a *applier) applyAll(ctx context.Context, list []Bundle) (bad map[int]error, reached int, err error) {
	if _, err := a.db.exec(ctx, savepointBundles); err != nil {
		return nil, 0, err
	}
	bad, reached, err = a.run(ctx, list)
	if err != nil {
		return nil, 0, err
	}
	if len(bad) == 0 && reached == len(list) {
		_, err := a.db.exec(ctx, releaseBundles)
		return nil, reached, err
	}
	if _, err := a.db.exec(ctx, rollbackBundles); err != nil {
		return nil, 0, err
	}
	if _, err := a.db.exec(ctx, releaseBundles); err != nil {
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

// run sends the statements of all bundles, many at once. A stale bundle is no error
// to the database, which goes on behind it, so all of them are found in one run.
func (a *applier) run(ctx context.Context, list []Bundle) (bad map[int]error, reached int, err error) {
	s := &statements{}
	for i := range list {
		s.bundle = i
		s.changes(&list[i].Changes)
	}
	bad, reached = map[int]error{}, len(list)
	checks := s.checks
	for _, part := range s.parts() {
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
func (a *applier) send(ctx context.Context, list []Bundle, part *pgx.Batch, checks []check, bad map[int]error) (reached int, err error) {
	results := a.db.SendBatch(ctx, part)
	defer results.Close() // what went wrong was an answer's
	for _, c := range checks {
		tag, err := results.Exec()
		var pg *pgconn.PgError
		switch {
		case errors.As(err, &pg):
			bad[c.bundle] = fmt.Errorf("%s: %w", c.what, isBundleFault(pg))
			return c.bundle, nil
		case err != nil && ctx.Err() == nil && !away(err) && len(list) == 1: // it could not even be sent
			bad[0] = err
			return 0, nil
		case err != nil && ctx.Err() == nil && !away(err):
			clear(bad)
			return len(list) / 2, nil
		case err != nil:
			return 0, asFault(err)
		}
		if _, known := bad[c.bundle]; c.one && tag.RowsAffected() != 1 && !known {
			bad[c.bundle] = fmt.Errorf("%s: %w", c.what, ErrStale)
		}
	}
	return len(list), nil
}

// isBundleFault says whether the database refuses what a bundle holds (data that
// cannot be stored, or that a constraint forbids) or cannot take it now: a full or
// broken disk, a missing right, a schema that is changing and all else are the
// faults of the database, and end no experiment.
func isBundleFault(pg *pgconn.PgError) error {
	err := asFault(pg)
	switch {
	case pg.Code[:2] == "22" || pg.Code[:2] == "23" || fault.Is(err, fault.Unavailable) && !isTimeout(pg):
		return err
	case isTimeout(pg):
		return fault.Wrap(fault.Unavailable, pg, "the database took too long: %s", pg.Message)
	}
	return fault.Wrap(fault.Unavailable, pg, "the database failed: %s", pg.Message)
}

// isTimeout reports a lock or a statement that ran into its timeout.
func isTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && slices.Contains([]string{"55P03", "57014", "40001", "40P01"}, pg.Code)
}

func (a *applier) setTimeout(ctx context.Context, name, value string) error {
	_, err := a.db.exec(ctx, "SELECT set_config($1, $2, true)", name, value)
	return err
}

// statements are those of several bundles, in the order in which they are sent.
type statements struct {
	pgx.Batch
	bundle int
	checks []check
}

// A check says whose statement it is, and whether it must touch exactly one row.
type check struct {
	bundle int
	one    bool
	what   string
}

// parts are the statements in batches that are not too large for one message.
func (s *statements) parts() (parts []*pgx.Batch) {
	bytes := 0
	for _, q := range s.QueuedQueries {
		size := len(q.SQL)
		for _, arg := range q.Arguments {
			size += sizeOf(arg)
		}
		if bytes += size; len(parts) == 0 || bytes > maxBatchBytes {
			parts, bytes = append(parts, &pgx.Batch{}), size
		}
		part := parts[len(parts)-1]
		part.QueuedQueries = append(part.QueuedQueries, q)
	}
	return parts
}

// send makes all statements, in a transaction.
func (s *statements) send(ctx context.Context, db *DB) error {
	for _, part := range s.parts() {
		if err := db.SendBatch(ctx, part).Close(); err != nil {
			return asFault(err)
		}
	}
	return nil
}

// sizeOf is about how many bytes an argument takes.
func sizeOf(arg any) int {
	switch v := arg.(type) {
	case string:
		return len(v)
	case *string:
		if v != nil {
			return len(*v)
		}
	case []byte:
		return len(v)
	case json.RawMessage:
		return len(v)
	case []string:
		size := 0
		for _, text := range v {
			size += len(text)
		}
		return size
	}
	return 16
}

func (s *statements) queue(sql string, args ...any) {
	s.Queue(sql, args...)
	s.checks = append(s.checks, check{bundle: s.bundle, what: "a change"})
}

// guarded queues a statement that must touch exactly one row.
func (s *statements) guarded(what, sql string, args ...any) {
	s.Queue(sql, args...)
	s.checks = append(s.checks, check{bundle: s.bundle, one: true, what: what})
}

// changes queues those of a bundle.
func (s *statements) changes(c *Changes) {
	for _, e := range c.Experiments {
		queueExperiment(s, e)
	}
	for _, w := range c.Queue {
		queueWork(s, w)
	}
	for _, t := range c.NewTrials {
		queueNewTrial(s, t)
	}
	for _, a := range c.Allocations {
		queueAllocation(s, a)
	}
	for _, t := range c.Trials {
		queueTrial(s, t)
	}
	for _, t := range c.Reopened {
		queueReopened(s, t)
	}
	for _, t := range c.Tasks {
		s.guarded("task "+t.ID, `UPDATE tasks SET unstarted = $2, ended_at = CASE WHEN $3 THEN now() END, exit_status = $4
			WHERE id = $1 AND ended_at IS NULL`, t.ID, t.Unstarted, t.Ended, t.ExitStatus)
	}
	for _, a := range c.NewAllocations {
		queueNewAllocation(s, a)
	}
	for _, p := range c.Placements {
		queuePlacement(s, p)
	}
	for _, f := range c.Failures {
		queueFailures(s, f)
	}
	queueEvents(s, c.Events)
}

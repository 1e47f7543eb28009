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

// A Bundle is a part of a plan that stands or falls alone: what is decided of one
// experiment or task, or one placement.
type Bundle struct {
	Key   string
	Needs []string // keys of earlier bundles without which this one would be wrong
	Changes
}

// ErrNeeded means that a bundle was left out because one that it needs was.
var ErrNeeded = fault.New(fault.Conflict, "another change of the same plan, on which this change depends, could not be stored")

// ErrLater means that a bundle was left out because too many others had failed.
var ErrLater = fault.New(fault.Conflict, "too many other changes of the same plan could not be stored")

// A leader waits this long for a row that another transaction holds, and much
// shorter once a bundle has run out of time: the others must not wait as often as
// there are such rows.
const (
	lockTimeout   = "500"   // milliseconds
	lockHurried   = "20"    // after the first that ran out of time
	stmtHurried   = "1000"  // as well
	maxBatchBytes = 4 << 20 // that statements carry that are sent at once, unless a single one carries more
	beginsBundles = "SAVEPOINT bundles"
	undoesBundles = "ROLLBACK TO SAVEPOINT bundles"
	keepsBundles  = "RELEASE SAVEPOINT bundles"
)

// ApplyBundles makes the bundles so, in their order, in the leader's transaction.
// One that is stale or fails is left out with those that need it, and the others
// are made: left has the errors, by key.
//
// All are tried at once, behind a savepoint. Which of them failed is then known, so
// those before it are made again, and those after it are tried without it: however
// many bundles there are, one that fails costs a second run of those before it.
func (db *DB) ApplyBundles(ctx context.Context, bundles []Bundle) (left map[string]error, err error) {
	a := &applier{db: db, left: map[string]error{}}
	if err := a.limit(ctx, "lock_timeout", lockTimeout); err != nil {
		return nil, err
	}
	return a.left, a.apply(ctx, bundles, false)
}

// ApplyChanges makes all changes or none. It runs in a transaction, like ApplyBundles.
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
	db      *DB
	left    map[string]error
	failed  int // bundles of which the database refused a statement; a stale one is none
	hurried bool
}

// apply makes a list. One that has run without an error of the database, but for
// stale bundles that are no longer in it, is made however many others have failed.
func (a *applier) apply(ctx context.Context, list []Bundle, ran bool) error {
	for {
		if list = a.possible(list); len(list) == 0 {
			return nil
		}
		if a.failed > MaxFailures && !ran {
			for _, b := range list {
				a.left[b.Key] = ErrLater
			}
			return nil
		}
		bad, reached, err := a.together(ctx, list)
		switch {
		case err != nil:
			return err
		case len(bad) == 0 && reached == len(list):
			return nil
		case len(bad) == 0: // nobody knows which, so halves are tried
			if err := a.apply(ctx, list[:reached], ran); err != nil {
				return err
			}
			list = list[reached:]
			continue
		}
		for i, cause := range bad {
			a.left[list[i].Key] = cause
			if !errors.Is(cause, ErrStale) {
				a.failed++
			}
		}
		if err := a.apply(ctx, list[:reached], true); err != nil {
			return err
		}
		list, ran = list[reached:], false
	}
}

// possible are the bundles that may still be made.
func (a *applier) possible(list []Bundle) []Bundle {
	if len(a.left) == 0 {
		return list
	}
	var kept []Bundle
	for _, b := range list {
		if _, out := a.left[b.Key]; out {
			continue
		}
		if a.misses(b) {
			a.left[b.Key] = ErrNeeded
			continue
		}
		kept = append(kept, b)
	}
	return kept
}

func (a *applier) misses(b Bundle) bool {
	for _, key := range b.Needs {
		if _, out := a.left[key]; out {
			return true
		}
	}
	return false
}

// together makes all bundles or none. bad are those that could not be made, by
// their place; reached is how many of the list are known to be good otherwise.
func (a *applier) together(ctx context.Context, list []Bundle) (bad map[int]error, reached int, err error) {
	if _, err := a.db.exec(ctx, beginsBundles); err != nil {
		return nil, 0, err
	}
	bad, reached, err = a.run(ctx, list)
	if err != nil {
		return nil, 0, err
	}
	if len(bad) == 0 && reached == len(list) {
		_, err := a.db.exec(ctx, keepsBundles)
		return nil, reached, err
	}
	if _, err := a.db.exec(ctx, undoesBundles); err != nil {
		return nil, 0, err
	}
	if _, err := a.db.exec(ctx, keepsBundles); err != nil {
		return nil, 0, err
	}
	for _, cause := range bad {
		if tookTooLong(cause) && !a.hurried {
			a.hurried = true
			if err := errors.Join(a.limit(ctx, "lock_timeout", lockHurried), a.limit(ctx, "statement_timeout", stmtHurried)); err != nil {
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

// send sends some of the statements, and adds to bad what could not be made. It
// returns what run returns.
func (a *applier) send(ctx context.Context, list []Bundle, part *pgx.Batch, checks []check, bad map[int]error) (reached int, err error) {
	results := a.db.SendBatch(ctx, part)
	defer results.Close() // what went wrong was an answer's
	for _, c := range checks {
		tag, err := results.Exec()
		var pg *pgconn.PgError
		switch {
		case errors.As(err, &pg):
			bad[c.bundle] = fmt.Errorf("%s: %w", c.what, bundleFault(pg))
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

// bundleFault says whether the database refuses what a bundle holds (data that
// cannot be stored, or that a constraint forbids) or cannot take it now: a full or
// broken disk, a missing right, a schema that is changing and all else are the
// database's troubles, and end no experiment.
func bundleFault(pg *pgconn.PgError) error {
	err := asFault(pg)
	switch {
	case pg.Code[:2] == "22" || pg.Code[:2] == "23" || fault.Is(err, fault.Unavailable) && !tookTooLong(pg):
		return err
	case tookTooLong(pg):
		return fault.Wrap(fault.Unavailable, pg, "the database took too long: %s", pg.Message)
	}
	return fault.Wrap(fault.Unavailable, pg, "the database failed: %s", pg.Message)
}

// tookTooLong reports a wait for a row, or a statement, that ran out of its time.
func tookTooLong(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && slices.Contains([]string{"55P03", "57014", "40001", "40P01"}, pg.Code)
}

func (a *applier) limit(ctx context.Context, name, value string) error {
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
	for _, t := range c.Revived {
		queueRevived(s, t)
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

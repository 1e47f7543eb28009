package store

import (
	"context"
	"strconv"
	"time"
)

// Kinds of work.
const (
	WorkSubmit  = "submit"  // hand an attempt's job to Nomad
	WorkStop    = "stop"    // have Nomad stop it
	WorkCollect = "collect" // decide which files of an experiment go
	WorkErase   = "erase"   // delete the rows of an experiment, a part at a time
	WorkRead    = "read"    // read what an attempt has left on its nodes
)

// Work is one piece of it.
type Work struct {
	Kind  string `db:"kind"`
	About string `db:"about"`
	Whose string `db:"whose"` // the experiment or task that it is for
	Owner int    `db:"owner"` // of that
	Tries int    `db:"tries"`
}

// queueWork adds a piece; one that is there stays as it is.
func queueWork(b *statements, w Work) {
	b.queue(`INSERT INTO work (kind, about, whose, owner_id) VALUES ($1, $2, $3, nullif($4, 0)) ON CONFLICT DO NOTHING`, w.Kind, w.About, w.Whose, w.Owner)
}

// whoseAttempt is whose work about attempt a of task k is.
const whoseAttempt = `coalesce('experiment ' || k.experiment_id, k.id)`

// queueForAttempt adds work about an attempt that fulfils a condition.
func queueForAttempt(b *statements, kind, id, condition string) {
	b.queue(`INSERT INTO work (kind, about, whose, owner_id) SELECT $1, a.id, `+whoseAttempt+`, k.owner_id
		FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE a.id = $2 AND `+condition+` ON CONFLICT DO NOTHING`, kind, id)
}

// QueueStop has Nomad stop an attempt's job, whether or not the attempt is over.
func (db *DB) QueueStop(ctx context.Context, id string) error {
	_, err := db.exec(ctx, `INSERT INTO work (kind, about, whose, owner_id) SELECT 'stop', $1, coalesce(`+whoseAttempt+`, $1), k.owner_id
		FROM (SELECT) one LEFT JOIN (allocations a JOIN tasks k ON k.id = a.task_id) ON a.id = $1 ON CONFLICT DO NOTHING`, id)
	return err
}

// DueWork lists the pieces of a kind that may be tried now, other than those that
// somebody is at. Owners take turns, and within an owner's turns his experiments and
// tasks do: however many of them one owner has, another owner's piece comes next. A
// piece without an owner (a master of the previous release wrote it, or its task is
// gone) takes turns as if its experiment or task were an owner.
func (db *DB) DueWork(ctx context.Context, kind string, busy []string, limit int) ([]Work, error) {
	return rows[Work](ctx, db, `
		SELECT kind, about, whose, coalesce(owner_id, 0) AS owner, tries FROM (
			SELECT *, row_number() OVER (PARTITION BY owner_id, CASE WHEN owner_id IS NULL THEN whose END ORDER BY turn, after, since, about) AS round FROM (
				SELECT *, row_number() OVER (PARTITION BY owner_id, whose ORDER BY after, since, about) AS turn
				FROM work WHERE kind = $1 AND after <= now() AND about <> ALL($2::text[])) w) v
		ORDER BY round, after, since, about LIMIT $3`, kind, append([]string{}, busy...), limit)
}

// WorkDone removes a piece.
func (db *DB) WorkDone(ctx context.Context, kind, about string) error {
	_, err := db.exec(ctx, `DELETE FROM work WHERE kind = $1 AND about = $2`, kind, about)
	return err
}

// WorkFailed has a piece tried again after a while.
func (db *DB) WorkFailed(ctx context.Context, kind, about, why string, again time.Duration) error {
	_, err := db.exec(ctx, `UPDATE work SET tries = tries + 1, error = $3, after = now() + $4::interval WHERE kind = $1 AND about = $2`,
		kind, about, why, again)
	return err
}

// WorkGoesOn puts a piece of which a part is done behind the others.
func (db *DB) WorkGoesOn(ctx context.Context, kind, about string) error {
	_, err := db.exec(ctx, `UPDATE work SET tries = 0, error = '', after = now() WHERE kind = $1 AND about = $2`, kind, about)
	return err
}

// BeginSubmissions takes down that submissions are tried now, in the leader's
// transaction, and returns those that are still wanted; the others are no work any
// more.
func (db *DB) BeginSubmissions(ctx context.Context, ids []string) ([]string, error) {
	wanted, err := scalars[string](ctx, db, `UPDATE allocations SET tried_at = coalesce(tried_at, now())
		WHERE id = ANY($1) AND `+toSubmit+` RETURNING id`, ids)
	if err != nil || len(wanted) == len(ids) {
		return wanted, err
	}
	_, err = db.exec(ctx, `DELETE FROM work WHERE kind = 'submit' AND about = ANY($1) AND about <> ALL($2::text[])`, ids, append([]string{}, wanted...))
	return wanted, err
}

// toSubmit says of an attempt that Nomad should have it and does not.
const toSubmit = `state = 'ASSIGNED' AND submitted_at IS NULL AND kill_at IS NULL AND refused_why = ''`

// A Submission is what came of handing an attempt's job to Nomad.
type Submission struct {
	ID      string
	Failure string // "" when it is there
	Refused bool   // for good
	NoRoom  bool   // Nomad has no place for it on its nodes
	Again   time.Duration
}

// Submitted keeps what came of a submission: it is there, it was refused for
// good, or it is to be tried again after a while. One that was not wanted any more
// when it came to be there is stopped.
func (db *DB) Submitted(ctx context.Context, r Submission) error {
	s := &statements{}
	s.queue(`
		UPDATE allocations SET submit_error = $2, no_room = $4, refused_why = CASE WHEN $3 THEN $2 ELSE refused_why END,
			submitted_at = CASE WHEN $2 = '' THEN coalesce(submitted_at, now()) ELSE submitted_at END
		WHERE id = $1`, r.ID, r.Failure, r.Refused, r.NoRoom)
	if r.Failure != "" && !r.Refused {
		s.queue(`UPDATE work SET tries = tries + 1, error = $2, after = now() + $3::interval WHERE kind = 'submit' AND about = $1`, r.ID, r.Failure, r.Again)
	} else {
		s.queue(`DELETE FROM work WHERE kind = 'submit' AND about = $1`, r.ID)
	}
	queueForAttempt(s, WorkStop, r.ID, `a.submitted_at IS NOT NULL AND a.stopped_at IS NULL AND a.kill_at IS NOT NULL`)
	return asFault(db.SendBatch(ctx, &s.Batch).Close())
}

// Stopped keeps that Nomad was told to stop an attempt.
func (db *DB) Stopped(ctx context.Context, id string) error {
	s := &statements{}
	s.queue("UPDATE allocations SET stopped_at = coalesce(stopped_at, now()) WHERE id = $1", id)
	s.queue("DELETE FROM work WHERE kind = 'stop' AND about = $1", id)
	return asFault(db.SendBatch(ctx, &s.Batch).Close())
}

func experimentWork(kind string, id, owner int) Work {
	return Work{Kind: kind, About: strconv.Itoa(id), Whose: "experiment " + strconv.Itoa(id), Owner: owner}
}

// CollectWork is that it is to be decided which files of an experiment go.
func CollectWork(experiment, owner int) Work { return experimentWork(WorkCollect, experiment, owner) }

// EraseWork is that the rows of an experiment go.
func EraseWork(experiment, owner int) Work { return experimentWork(WorkErase, experiment, owner) }

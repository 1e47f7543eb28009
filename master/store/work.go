package store

import (
	"context"
	"strconv"
	"time"
)

// Kinds of work: the leader's queue of calls to Nomad and of long deletions.
const (
	WorkSubmit       = "submit"  // submit an attempt's job to Nomad
	WorkStop         = "stop"    // have Nomad stop it
	WorkGC           = "collect" // decide which files of an experiment to remove
	WorkErase        = "erase"   // delete the rows of an experiment, a part at a time
	WorkReadLeftover = "read"    // read from its nodes what an attempt has not reported
)

// Work is one piece of it.
type Work struct {
	Kind    string `db:"kind"`
	Subject string `db:"about"`
	Parent  string `db:"whose"` // the experiment or task that it is for
	Owner   int    `db:"owner"` // of that
	Tries   int    `db:"tries"`
}

// queueWork adds a piece of work; one that is queued already stays as it is.
func queueWork(b *statements, w Work) {
	b.queue(`INSERT INTO work (kind, about, whose, owner_id) VALUES ($1, $2, $3, nullif($4, 0)) ON CONFLICT DO NOTHING`, w.Kind, w.Subject, w.Parent, w.Owner)
}

// parentOfAttempt is the experiment or task that work about attempt a of task k is for.
const parentOfAttempt = `coalesce('experiment ' || k.experiment_id, k.id)`

// queueForAttempt adds work about an attempt that fulfils a condition.
func queueForAttempt(b *statements, kind, id, condition string) {
	b.queue(`INSERT INTO work (kind, about, whose, owner_id) SELECT $1, a.id, `+parentOfAttempt+`, k.owner_id
		FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE a.id = $2 AND `+condition+` ON CONFLICT DO NOTHING`, kind, id)
}

// QueueStop has Nomad stop an attempt's job, whether or not the attempt is over.
func (db *DB) QueueStop(ctx context.Context, id string) error {
	_, err := db.exec(ctx, `INSERT INTO work (kind, about, whose, owner_id) SELECT 'stop', $1, coalesce(`+parentOfAttempt+`, $1), k.owner_id
		FROM (SELECT) one LEFT JOIN (allocations a JOIN tasks k ON k.id = a.task_id) ON a.id = $1 ON CONFLICT DO NOTHING`, id)
	return err
}

// DueWork lists the pieces of a kind that may be tried now and are not being worked on. Owners take turns, and within an owner's turns his experiments and
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

// WorkFailed queues a piece to be retried after a while.
func (db *DB) WorkFailed(ctx context.Context, kind, about, why string, again time.Duration) error {
	_, err := db.exec(ctx, `UPDATE work SET tries = tries + 1, error = $3, after = now() + $4::interval WHERE kind = $1 AND about = $2`,
		kind, about, why, again)
	return err
}

// WorkContinues queues a piece of which a part is done behind the others.
func (db *DB) WorkContinues(ctx context.Context, kind, about string) error {
	_, err := db.exec(ctx, `UPDATE work SET tries = 0, error = '', after = now() WHERE kind = $1 AND about = $2`, kind, about)
	return err
}

// BeginSubmissions stores that submissions are tried now, in the leader's transaction,
// and returns those that are still wanted; the others are removed from the queue.
func (db *DB) BeginSubmissions(ctx context.Context, ids []string) ([]string, error) {
	wanted, err := scalars[string](ctx, db, `UPDATE allocations SET tried_at = coalesce(tried_at, now())
		WHERE id = ANY($1) AND `+submissionPending+` RETURNING id`, ids)
	if err != nil || len(wanted) == len(ids) {
		return wanted, err
	}
	_, err = db.exec(ctx, `DELETE FROM work WHERE kind = 'submit' AND about = ANY($1) AND about <> ALL($2::text[])`, ids, append([]string{}, wanted...))
	return wanted, err
}

// submissionPending is the condition of attempts that are to be submitted.
const submissionPending = `state = 'ASSIGNED' AND submitted_at IS NULL AND kill_at IS NULL AND refused_why = ''`

// A Submission is the result of submitting an attempt's job to Nomad.
type Submission struct {
	ID         string
	Failure    string // "" when Nomad has accepted it
	Refused    bool   // for good
	NoRoom     bool   // Nomad finds no room for it on its nodes
	RetryAfter time.Duration
}

// RecordSubmission stores the result of a submission: Nomad accepted the job, rejected
// it for good, or the submission is to be retried. A job that was not wanted any more
// when Nomad accepted it is stopped.
func (db *DB) RecordSubmission(ctx context.Context, r Submission) error {
	s := &statements{}
	s.queue(`
		UPDATE allocations SET submit_error = $2, no_room = $4, refused_why = CASE WHEN $3 THEN $2 ELSE refused_why END,
			submitted_at = CASE WHEN $2 = '' THEN coalesce(submitted_at, now()) ELSE submitted_at END
		WHERE id = $1`, r.ID, r.Failure, r.Refused, r.NoRoom)
	if r.Failure != "" && !r.Refused {
		s.queue(`UPDATE work SET tries = tries + 1, error = $2, after = now() + $3::interval WHERE kind = 'submit' AND about = $1`, r.ID, r.Failure, r.RetryAfter)
	} else {
		s.queue(`DELETE FROM work WHERE kind = 'submit' AND about = $1`, r.ID)
	}
	queueForAttempt(s, WorkStop, r.ID, `a.submitted_at IS NOT NULL AND a.stopped_at IS NULL AND a.kill_at IS NOT NULL`)
	return asFault(db.SendBatch(ctx, &s.Batch).Close())
}

// RecordStopped stores that Nomad was told to stop an attempt's job.
func (db *DB) RecordStopped(ctx context.Context, id string) error {
	s := &statements{}
	s.queue("UPDATE allocations SET stopped_at = coalesce(stopped_at, now()) WHERE id = $1", id)
	s.queue("DELETE FROM work WHERE kind = 'stop' AND about = $1", id)
	return asFault(db.SendBatch(ctx, &s.Batch).Close())
}

func experimentWork(kind string, id, owner int) Work {
	return Work{Kind: kind, Subject: strconv.Itoa(id), Parent: "experiment " + strconv.Itoa(id), Owner: owner}
}

// GCWork decides which files of an experiment to remove.
func GCWork(experiment, owner int) Work { return experimentWork(WorkGC, experiment, owner) }

// EraseWork deletes the rows of an experiment.
func EraseWork(experiment, owner int) Work { return experimentWork(WorkErase, experiment, owner) }

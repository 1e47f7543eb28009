package rows

import (
	"context"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
)

// Kinds of work: the leader's queue of calls to Nomad and of long deletions.
const (
	WorkSubmit       = "submit" // submit an attempt's job to Nomad
	WorkStop         = "stop"   // stop an attempt's job in Nomad
	WorkGC           = "gc"     // decide which files of an experiment to remove
	WorkDelete       = "delete" // delete the rows of an experiment, a part at a time
	WorkReadLeftover = "read"   // read the files that an attempt's runners left on their nodes
	WorkExpire       = "expire" // delete the lines of a task whose retention has ended, a part at a time
)

// Work is a row of the queue.
type Work struct {
	Kind    string `db:"kind"`
	Subject string `db:"subject"`
	Parent  string `db:"parent"` // the experiment or task that it is for
	Owner   int    `db:"owner"`  // the user who owns Parent
	Tries   int    `db:"tries"`
}

// queueWork adds work, unless it is queued already.
func queueWork(b *database.Statements, w Work) {
	b.Queue(`INSERT INTO work (kind, subject, parent, owner_id) VALUES ($1, $2, $3, nullif($4, 0)) ON CONFLICT DO NOTHING`, w.Kind, w.Subject, w.Parent, w.Owner)
}

// parentOfAttempt is SQL for Work.Parent of attempt a of task k.
const parentOfAttempt = `coalesce('experiment ' || k.experiment_id, k.id)`

// largeConfig is the number of bytes from which a configuration is large: the longest has 64 times that. The bytes of the text count,
// and not those that PostgreSQL stores, of which a long text of few different words has a hundredth.
const largeConfig = 16 << 10

// queueForAttempt adds work for an attempt, if the attempt fulfils the condition. A submission is large if the attempt's
// configuration is, or that of the experiment from whose checkpoint it starts.
func queueForAttempt(b *database.Statements, kind, id, condition string) {
	b.Queue(`INSERT INTO work (kind, subject, parent, owner_id, large) SELECT $1, a.id, `+parentOfAttempt+`, k.owner_id,
			$1 = 'submit' AND coalesce(greatest(k.config_bytes, e.config_bytes, we.config_bytes) > $3, false)
		FROM allocations a JOIN tasks k ON k.id = a.task_id LEFT JOIN experiments e ON e.id = k.experiment_id LEFT JOIN trials t ON t.task_id = k.id
		LEFT JOIN checkpoints wc ON wc.uuid = t.warm_start LEFT JOIN trials wt ON wt.id = wc.trial_id LEFT JOIN experiments we ON we.id = wt.experiment_id
		WHERE a.id = $2 AND `+condition+` ON CONFLICT DO NOTHING`, kind, id, largeConfig)
}

// QueueStop queues the stop of an attempt's job, whether or not the attempt has ended.
func QueueStop(ctx context.Context, db *database.DB, id string) error {
	return db.Exec(ctx, `INSERT INTO work (kind, subject, parent, owner_id) SELECT 'stop', $1, coalesce(`+parentOfAttempt+`, $1), k.owner_id
		FROM (SELECT) one LEFT JOIN (allocations a JOIN tasks k ON k.id = a.task_id) ON a.id = $1 ON CONFLICT DO NOTHING`, id)
}

// DueWork lists work of a kind, large or not, that may be tried now; busy has the subjects with a call in
// flight. Owners take turns, and so do the experiments and tasks of one owner, so that one
// owner's many rows do not delay the others. Work without an owner, whose task was deleted,
// takes turns as if its experiment or task were an owner.
func DueWork(ctx context.Context, db *database.DB, kind string, large bool, busy []string, limit int) ([]Work, error) {
	return database.Rows[Work](ctx, db, `
		SELECT kind, subject, parent, coalesce(owner_id, 0) AS owner, tries FROM (
			SELECT *, row_number() OVER (PARTITION BY owner_id, CASE WHEN owner_id IS NULL THEN parent END ORDER BY turn, after, since, subject) AS round FROM (
				SELECT *, row_number() OVER (PARTITION BY owner_id, parent ORDER BY after, since, subject) AS turn
				FROM work WHERE kind = $1 AND large = $4 AND after <= now() AND subject <> ALL($2::text[])) w) v
		ORDER BY round, after, since, subject LIMIT $3`, kind, append([]string{}, busy...), limit, large)
}

// DueKinds lists those of the kinds of which there is work that may be tried now. waiting reports that there is work of any of them.
func DueKinds(ctx context.Context, db *database.DB, kinds []string) (due []string, waiting bool, err error) {
	type of struct {
		Kind string `db:"kind"`
		Due  bool   `db:"due"`
	}
	list, err := database.Rows[of](ctx, db, `SELECT kind, EXISTS (SELECT FROM work w WHERE w.kind = k.kind AND w.after <= now()) AS due
		FROM unnest($1::text[]) AS k (kind) WHERE EXISTS (SELECT FROM work w WHERE w.kind = k.kind)`, kinds)
	for _, k := range list {
		if k.Due {
			due = append(due, k.Kind)
		}
	}
	return due, len(list) > 0, err
}

// WorkDone removes work from the queue.
func WorkDone(ctx context.Context, db *database.DB, kind, subject string) error {
	return db.Exec(ctx, `DELETE FROM work WHERE kind = $1 AND subject = $2`, kind, subject)
}

// WorkFailed keeps work in the queue, to be retried after the time `again`.
func WorkFailed(ctx context.Context, db *database.DB, kind, subject, why string, again time.Duration) error {
	return db.Exec(ctx, `UPDATE work SET tries = tries + 1, error = $3, after = now() + $4::interval WHERE kind = $1 AND subject = $2`,
		kind, subject, why, again)
}

// WorkTried counts a try that begins.
func WorkTried(ctx context.Context, db *database.DB, kind, subject string) error {
	return db.Exec(ctx, `UPDATE work SET tries = tries + 1 WHERE kind = $1 AND subject = $2`, kind, subject)
}

// WorkAgain is WorkFailed for a try that is counted already.
func WorkAgain(ctx context.Context, db *database.DB, kind, subject, why string, again time.Duration) error {
	return db.Exec(ctx, `UPDATE work SET error = $3, after = now() + $4::interval WHERE kind = $1 AND subject = $2`, kind, subject, why, again)
}

// RetryNow makes calls to Nomad about these attempts due that have failed before.
func RetryNow(ctx context.Context, db *database.DB, attempts []string) error {
	return db.Exec(ctx, `UPDATE work SET after = now() WHERE kind IN ('submit', 'stop', 'read') AND subject = ANY($1) AND tries > 0 AND after > now()`, attempts)
}

// WorkContinues moves work to the end of the queue after a part of it is done.
func WorkContinues(ctx context.Context, db *database.DB, kind, subject string) error {
	return db.Exec(ctx, `UPDATE work SET tries = 0, error = '', after = now() WHERE kind = $1 AND subject = $2`, kind, subject)
}

// BeginSubmissions stores that submissions are tried now, in the leader's transaction. It
// returns those that are still needed, and removes the others from the queue.
func BeginSubmissions(ctx context.Context, db *database.DB, ids []string) ([]string, error) {
	wanted, err := database.Scalars[string](ctx, db, `UPDATE allocations SET tried_at = coalesce(tried_at, now())
		WHERE id = ANY($1) AND `+submissionPending+` RETURNING id`, ids)
	if err != nil || len(wanted) == len(ids) {
		return wanted, err
	}
	err = db.Exec(ctx, `DELETE FROM work WHERE kind = 'submit' AND subject = ANY($1) AND subject <> ALL($2::text[])`, ids, append([]string{}, wanted...))
	return wanted, err
}

// submissionPending is the condition for attempts that are to be submitted.
const submissionPending = `state = 'ASSIGNED' AND submitted_at IS NULL AND kill_at IS NULL AND refused_why = ''`

// A Submission is the result of submitting an attempt's job to Nomad.
type Submission struct {
	ID         string
	Failure    string // "" if Nomad has accepted the job
	Refused    bool   // Nomad will never accept the job
	NoRoom     bool   // Nomad cannot place the job on the attempt's nodes
	RetryAfter time.Duration
}

// RecordSubmission stores the result of a submission: Nomad accepted the job, will never
// accept it, or the submission is to be retried. If the attempt is no longer wanted when
// Nomad accepts its job, RecordSubmission queues a stop.
func RecordSubmission(ctx context.Context, db *database.DB, r Submission) error {
	s := &database.Statements{}
	s.Queue(`
		UPDATE allocations SET submit_error = $2, no_room = $4, refused_why = CASE WHEN $3 THEN $2 ELSE refused_why END,
			submitted_at = CASE WHEN $2 = '' THEN coalesce(submitted_at, now()) ELSE submitted_at END
		WHERE id = $1`, r.ID, r.Failure, r.Refused, r.NoRoom)
	if r.Failure != "" && !r.Refused {
		s.Queue(`UPDATE work SET tries = tries + 1, error = $2, after = now() + $3::interval WHERE kind = 'submit' AND subject = $1`, r.ID, r.Failure, r.RetryAfter)
	} else {
		s.Queue(`DELETE FROM work WHERE kind = 'submit' AND subject = $1`, r.ID)
	}
	queueForAttempt(s, WorkStop, r.ID, `a.submitted_at IS NOT NULL AND a.stopped_at IS NULL AND a.kill_at IS NOT NULL`)
	return db.Send(ctx, &s.Batch)
}

// RecordStopped stores that Nomad was told to stop an attempt's job.
func RecordStopped(ctx context.Context, db *database.DB, id string) error {
	s := &database.Statements{}
	s.Queue("UPDATE allocations SET stopped_at = coalesce(stopped_at, now()) WHERE id = $1", id)
	s.Queue("DELETE FROM work WHERE kind = 'stop' AND subject = $1", id)
	return db.Send(ctx, &s.Batch)
}

func experimentWork(kind string, id, owner int) Work {
	return Work{Kind: kind, Subject: strconv.Itoa(id), Parent: "experiment " + strconv.Itoa(id), Owner: owner}
}

// GCWork is the work that decides which files of an experiment to remove.
func GCWork(experiment, owner int) Work { return experimentWork(WorkGC, experiment, owner) }

// DeleteWork is the work that deletes the rows of an experiment.
func DeleteWork(experiment, owner int) Work { return experimentWork(WorkDelete, experiment, owner) }

// gcBatch is the maximum number of decisions that one cycle queues.
const gcBatch = 64

// dueGCs lists the experiments whose policy is to be applied to their checkpoints: a user
// changed the policy, the experiment has ended, or an earlier GC spared checkpoints. An
// experiment has one GC at a time.
func dueGCs(ctx context.Context, db *database.DB) ([]Work, error) {
	return database.Rows[Work](ctx, db, `SELECT 'gc' AS kind, e.id::text AS subject, 'experiment ' || e.id AS parent, e.owner_id AS owner, 0 AS tries FROM experiments e
		WHERE (gc_applied IS DISTINCT FROM gc_requests OR gc_retry_at IS NOT NULL)
			AND (gc_applied IS DISTINCT FROM gc_requests OR gc_retry_at <= now()) AND desired <> 'deleted' AND NOT unmanaged AND NOT `+checkpoints.GCRunning+`
			AND NOT `+checkpoints.GCQueued+`
		ORDER BY e.id LIMIT $1`, gcBatch)
}

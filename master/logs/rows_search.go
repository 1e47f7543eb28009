package logs

import (
	"cmp"
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/trial"
)

const (
	searchedLogs = 50 // logs to list with one query
	foundLines   = 3  // that a search shows of one log
)

// A LoggedTask is a task with a log.
type LoggedTask struct {
	ID           string     `db:"id"`
	Part         int        `db:"part"` // the newest of the task
	Log          int        `db:"log"`
	Type         string     `db:"type"`
	Name         string     `db:"name"`
	Owner        string     `db:"username"`
	ExperimentID *int       `db:"experiment_id"`
	TrialID      *int       `db:"trial_id"`
	EndedAt      *time.Time `db:"ended_at"`
}

// Place is the position where a search in all logs continues: with the lines of Log before the number Before, and
// then with the logs that follow it. The zero value is the beginning.
type Place struct {
	EndedAt *time.Time // when the task of the log ended; nil: it runs
	Log     int
	Before  int64 // 0: the whole log
}

// LoggedTasks lists tasks whose logs have lines: first the tasks that have not ended, then the others, the last ended
// first. The list begins with the task of from.Log.
func LoggedTasks(ctx context.Context, db *database.DB, in auth.Scope, from Place, limit int) ([]LoggedTask, error) {
	return database.Rows[LoggedTask](ctx, db, `
		SELECT k.id, `+trial.NewestPart("k.id")+` AS part, l.id AS log, k.type, k.name, u.username, k.experiment_id, (SELECT t.id FROM trials t WHERE t.task_id = k.id) AS trial_id, k.ended_at
		FROM log_tasks l JOIN tasks k ON k.id = l.task_id JOIN users u ON u.id = k.owner_id
		WHERE l.next > l.expired_to AND k.workspace_id IS NOT NULL AND ($1::int[] IS NULL OR k.workspace_id = ANY($1))
			AND coalesce(k.ended_at, 'infinity') <= coalesce($3::timestamptz, 'infinity') -- where the index tasks_by_end begins
			AND ($2 = 0 OR (coalesce(k.ended_at, 'infinity'), l.id) <= (coalesce($3::timestamptz, 'infinity'), $2))
		ORDER BY coalesce(k.ended_at, 'infinity') DESC, l.id DESC LIMIT $4`, in.Only(), from.Log, from.EndedAt, limit)
}

// Search asks for a text in all logs of a scope.
type Search struct {
	Text   string // in upper or lower case
	From   Place
	Limit  int           // logs to find
	Within time.Duration // the search ends after this time, at any place
}

// Found is a log with the newest lines that match, newest first. Continued is false if the search found
// no others in the log, or has not read it whole.
type Found struct {
	LoggedTask
	Lines     []Record
	Continued bool // more lines match
}

// Searched is what a search has found, and where it stopped; nil if it has read all logs.
type Searched struct {
	Found []Found
	Next  *Place
}

// Search searches the logs of a scope for a text. Each call reads at least one chunk of a log, so that
// a search that is continued ends.
func (s *Store) Search(ctx context.Context, in auth.Scope, q Search) (Searched, error) {
	var out Searched
	until, reads := time.Now().Add(q.Within), 0
	for from := q.From; ; {
		list, err := LoggedTasks(ctx, s.db, in, from, searchedLogs)
		if err != nil {
			return out, err
		}
		for _, k := range list {
			place := Place{EndedAt: k.EndedAt, Log: k.Log}
			if k.Log == from.Log {
				place.Before = from.Before
			}
			if len(out.Found) >= q.Limit || reads > 0 && time.Now().After(until) {
				out.Next = &place
				return out, nil
			}
			reads++
			found, at, err := s.newest(ctx, k, q.Text, place.Before, until)
			if err != nil {
				return out, err
			}
			if len(found.Lines) > 0 {
				out.Found = append(out.Found, found)
			}
			if at > 0 {
				place.Before = at
				out.Next = &place
				return out, nil
			}
		}
		if len(list) < searchedLogs {
			return out, nil
		}
		last := list[len(list)-1]
		from = Place{EndedAt: last.EndedAt, Log: last.Log, Before: 1}
	}
}

// newest finds the newest lines of a log that match, among those before a number. If it stops because of
// the time, at is the number of the oldest line that it has read; else 0.
func (s *Store) newest(ctx context.Context, k LoggedTask, text string, before int64, until time.Time) (found Found, at int64, err error) {
	found.LoggedTask = k
	r, err := s.Reader(k.ID, Filter{Search: text})
	if err != nil {
		return found, 0, err
	}
	if err := r.refresh(ctx); err != nil || r.log == nil {
		return found, 0, err
	}
	before = cmp.Or(before, r.log.Next)
	for before > r.log.ExpiredTo {
		chunks, more, err := r.chunks(ctx, `first >= $3 AND first < $4 ORDER BY first DESC`, r.log.ExpiredTo, before)
		if err != nil {
			return found, 0, err
		}
		for i := range chunks {
			list, _, err := r.records(ctx, &chunks[i], true)
			if err != nil {
				return found, 0, err
			}
			room := foundLines - len(found.Lines)
			if found.Continued = len(list) > room; found.Continued {
				found.Lines = append(found.Lines, list[:room]...)
				return found, 0, nil
			}
			found.Lines = append(found.Lines, list...)
			if before = chunks[i].First; before > r.log.ExpiredTo && time.Now().After(until) {
				return found, before, nil
			}
		}
		if !more {
			return found, 0, nil
		}
	}
	return found, 0, nil
}

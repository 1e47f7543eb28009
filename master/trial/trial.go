// Package trial makes the rows of a trial that a search wants. The API makes
// the first trials of an experiment in the transaction that makes the experiment,
// and the control loop makes all others; both use New, so that a trial is the
// same in both cases.
package trial

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/search"
)

// MaxFirst bounds how many trials a request to create an experiment makes. A
// search may want thousands at once; the control loop makes the rest.
const MaxFirst = 256

// MaxBytes limits the bytes of the hyperparameters of trials that are created together: by a request that creates an
// experiment, or by one pass of the control loop.
const MaxBytes = 8 << 20

// An Owner is the experiment that a trial is made for.
type Owner struct {
	ID        int
	JobID     string
	WarmStart *string // the checkpoint that its trials start from
}

// A Row is a trial with its task.
type Row struct {
	ID           *int // nil: the database numbers it
	ExperimentID int
	Number       int
	TaskID       string
	Name         string
	HParams      json.RawMessage
	Seed         int64
	WarmStart    *string
	From         *int // number of the trial whose newest checkpoint it starts from
	Idle         bool // it has no attempt yet
	Paused       bool // its experiment begins paused
	Held         bool
	Target       *int64
}

// New is the row of a trial that a search wants. It is idle when the search does
// not want it to run yet.
func New(o Owner, s *search.Search, number int) (Row, error) {
	w := s.Trial(number)
	hparams, err := json.Marshal(s.HParams(number))
	if err != nil {
		return Row{}, fault.New(fault.Invalid, "hyperparameters: those of trial %d cannot be stored: %w", w.Number, err)
	}
	r := Row{ExperimentID: o.ID, Number: w.Number, TaskID: TaskID(o.ID, o.JobID, w.Number), Seed: w.Seed, HParams: hparams,
		Name: fmt.Sprintf("Trial %d of experiment %d", w.Number+1, o.ID), From: w.From, Held: w.Hold, Idle: w.Hold || w.Stop, Target: optional.NonZero(w.Target)}
	if w.From == nil {
		r.WarmStart = o.WarmStart
	}
	return r, nil
}

// First are the trials that a search wants before anything has happened, at most
// MaxFirst of them and, but for the first, no more than MaxBytes take. None has an attempt: the control loop queues it when the
// experiment is active.
func First(o Owner, s *search.Search, paused bool) ([]Row, error) {
	rows := make([]Row, 0, min(s.Len(), MaxFirst))
	bytes := 0
	for number := range min(s.Len(), MaxFirst) {
		r, err := New(o, s, number)
		if err != nil {
			return nil, err
		}
		if bytes += len(r.HParams); bytes > MaxBytes && number > 0 {
			break
		}
		r.Idle, r.Paused = true, paused
		rows = append(rows, r)
	}
	return rows, nil
}

// TaskID names a trial's task. It follows from what it names, so that a plan
// that is made twice names the same task. The job's id is random: clusters that
// share a Nomad namespace number their experiments alike.
func TaskID(experiment int, job string, number int) string {
	name := fmt.Sprintf("job %s trial %d", job, number)
	return fmt.Sprintf("%d.%s", experiment, uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)))
}

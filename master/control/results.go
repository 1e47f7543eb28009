package control

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/detent-ml/detent/master/database"
)

// maxResults is the number of results of calls in one commit.
const maxResults = 64

// How long results wait for a row that somebody else has locked, in milliseconds: a locked row must not look like a database that does not
// answer, which fails a whole batch. If a batch has waited, its halves are stored apart, so that the row delays no other result for long.
const (
	lockTimeoutTogether = "250"
	lockTimeoutAlone    = "2500" // less than a statement may take
)

// A result is what a call to Nomad, Vault or a node has brought, and how to write it.
type result struct {
	subject string // of the call: an attempt or experiment
	write   func(ctx context.Context, tx *database.DB) error
}

func subjectOf(r *result) string { return r.subject }

// newResults stores the results of calls that end at the same time in one commit, with one look at the fence. A result that
// cannot be stored is found, and keeps no other one from being stored.
func newResults(ctx context.Context, t *term) *database.GroupCommit[string, *result] {
	return database.NewGroupCommit(maxResults, subjectOf, func(batch []*database.Queued[*result]) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		// All transactions lock rows in this order.
		slices.SortFunc(batch, func(a, b *database.Queued[*result]) int { return cmp.Compare(a.Item.subject, b.Item.subject) })
		database.CommitHalving(batch, subjectOf, func(batch []*database.Queued[*result]) error { return t.storeResults(ctx, batch) })
	})
}

func (t *term) storeResults(ctx context.Context, batch []*database.Queued[*result]) error {
	lockTimeout := lockTimeoutAlone
	if len(batch) > 1 {
		lockTimeout = lockTimeoutTogether
	}
	return t.db.Fenced(ctx, t.lead.Term, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`, lockTimeout); err != nil {
			return err
		}
		for _, q := range batch {
			q.Err, q.Again = nil, false
			if err := t.safely(q.Item.subject, func() error { return q.Item.write(ctx, tx) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// storeResult writes the result of a call, whose context may have ended, and returns the error of the call as well.
func (t *term) storeResult(ctx context.Context, subject string, write func(ctx context.Context, tx *database.DB) error, call error) error {
	_, err := t.results.Do(context.WithoutCancel(ctx), &result{subject, write})
	return errors.Join(call, err)
}

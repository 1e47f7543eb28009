package attempts

import (
	"context"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
)

// Unended says which of these attempts have not ended.
func Unended(ctx context.Context, db *database.DB, ids []string) (map[string]bool, error) {
	list, err := database.Scalars[string](ctx, db, `SELECT id FROM allocations WHERE id = ANY($1) AND state <> 'TERMINATED'`, ids)
	return each.Set(list, func(id string) string { return id }), err
}

// attemptsOf returns the two ids that the attempt of a job may have: ofTask if it is an attempt of a task, ofTrial if
// of a trial. The id of an attempt has a dot before the number of its run and, for a trial, one after the number of
// the experiment; the id of its job has dashes instead.
func attemptsOf(job string) (ofTask, ofTrial string) {
	id := strings.TrimPrefix(job, "det-")
	last := strings.LastIndex(id, "-")
	if last < 0 {
		return id, id
	}
	ofTask = id[:last] + "." + id[last+1:]
	return ofTask, strings.Replace(ofTask, "-", ".", 1)
}

// PoolOf returns the pool of an attempt by the id of the attempt's job; "" if it has no row.
func PoolOf(ctx context.Context, db *database.DB, job string) (string, error) {
	ofTask, ofTrial := attemptsOf(job)
	return database.Scalar[string](ctx, db, `SELECT coalesce((SELECT pool FROM allocations WHERE id IN ($1, $2) LIMIT 1), '')`, ofTask, ofTrial)
}

// NomadAllocations returns the Nomad allocations of an attempt's job.
func NomadAllocations(ctx context.Context, db *database.DB, job string) ([]string, error) {
	ofTask, ofTrial := attemptsOf(job)
	return database.Scalars[string](ctx, db, `
		SELECT DISTINCT p.id FROM members m, unnest(ARRAY[m.nomad_alloc_id, m.claimed_by]) AS p (id)
		WHERE m.allocation_id IN ($1, $2) AND p.id <> ''`, ofTask, ofTrial)
}

// EndedJobs returns those of these Nomad jobs whose attempts have ended or do not exist: no
// process of such a job should still run.
func EndedJobs(ctx context.Context, db *database.DB, jobs []string) ([]string, error) {
	return database.Scalars[string](ctx, db, `
		SELECT j.name FROM unnest($1::text[]) AS j (name)
		WHERE NOT EXISTS (SELECT 1 FROM allocations a WHERE a.state <> 'TERMINATED' AND 'det-' || replace(a.id, '.', '-') = j.name)`, jobs)
}

package attempts

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// A Status reports whether an attempt has ended, whether its owner was deactivated, and the
// roles of its owner.
type Status struct {
	ID        string       `db:"id"`
	Ended     bool         `db:"ended"`
	OwnerGone bool         `db:"owner_gone"`
	Stored    []byte       `db:"grants"`
	Grants    *auth.Grants `db:"-"` // made from Stored
}

// Statuses reads the statuses of attempts.
func Statuses(ctx context.Context, db *database.DB, roles accounts.Roles, ids []string) (map[string]Status, error) {
	out := map[string]Status{}
	if len(ids) == 0 {
		return out, nil
	}
	list, err := database.Rows[Status](ctx, db, `
		SELECT a.id, a.ended_at IS NOT NULL AS ended, NOT u.active AS owner_gone, `+roles.Grants()+`
		FROM allocations a JOIN tasks t ON t.id = a.task_id JOIN users u ON u.id = t.owner_id
		WHERE a.id = ANY($1)`, ids)
	for _, s := range list {
		if s.Grants, _, err = roles.Read(s.Stored); err != nil {
			return nil, err
		}
		out[s.ID] = s
	}
	return out, err
}

// Who finds the attempt of a member, by the hash of its token. A task never has its
// owner's admin rights. Who also finds attempts that ended a short time ago, or, if log
// lines or an exit are missing, as long ago as runners wait for masters.
func Who(ctx context.Context, db *database.DB, roles accounts.Roles, hash []byte) (auth.Who, error) {
	type found struct {
		UserID       int    `db:"user_id"`
		Username     string `db:"username"`
		AllocationID string `db:"allocation_id"`
		TaskID       string `db:"task_id"`
		RunID        int    `db:"run_id"`
		Rank         int    `db:"rank"`
		TrialID      int    `db:"trial_id"`
		ExperimentID int    `db:"experiment_id"`
		Ended        bool   `db:"ended"`
		OwnerGone    bool   `db:"owner_gone"`
		Grants       []byte `db:"grants"`
	}
	f, err := database.Row[found](ctx, db, "token", `
		SELECT u.id AS user_id, u.username, m.allocation_id, a.task_id, a.run_id, m.rank,
			coalesce(tr.id, 0) AS trial_id, coalesce(t.experiment_id, 0) AS experiment_id, a.ended_at IS NOT NULL AS ended, NOT u.active AS owner_gone, `+roles.Grants()+`
		FROM members m
		JOIN allocations a ON a.id = m.allocation_id
		JOIN tasks t ON t.id = a.task_id
		JOIN users u ON u.id = t.owner_id
		LEFT JOIN trials tr ON tr.task_id = t.id
		WHERE m.token_hash = $1 AND (a.ended_at IS NULL OR a.ended_at > now() - $2::interval
			OR (m.exited_at IS NULL OR NOT m.logs_done) AND a.ended_at > now() - $3::interval)`, hash, leftover.AfterEnd, leftover.Hold+leftover.AfterEnd)
	if err != nil {
		return auth.Who{}, err
	}
	grants, _, err := roles.Read(f.Grants)
	if err != nil {
		return auth.Who{}, err
	}
	return auth.Who{UserID: f.UserID, Username: f.Username, Grants: grants, AllocationID: f.AllocationID, TaskID: f.TaskID,
		RunID: f.RunID, Rank: f.Rank, TrialID: f.TrialID, ExperimentID: f.ExperimentID, Ended: f.Ended, OwnerGone: f.OwnerGone}, nil
}

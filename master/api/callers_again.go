package api

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// callersAgain reads by two queries what the callers of open answers are now: the users of sessions, and attempts.
func (a *API) callersAgain(ctx context.Context, callers []auth.Who) (now func(auth.Who) (auth.Who, error), err error) {
	var sessions []int64
	var running []string
	for _, who := range callers {
		if who.IsTask() {
			running = append(running, who.AllocationID)
		} else {
			sessions = append(sessions, who.SessionID)
		}
	}
	users, err := accounts.ValidSessions(ctx, a.db, a.cfg.Roles, sessions)
	if err != nil {
		return nil, err
	}
	tasks, err := attempts.Statuses(ctx, a.db, a.cfg.Roles, running)
	if err != nil {
		return nil, err
	}
	return func(who auth.Who) (auth.Who, error) {
		if !who.IsTask() {
			user, ok := users[who.SessionID]
			if !ok {
				return who, fault.New(fault.Unauthenticated, "the session has ended: sign in again with det user login")
			}
			return user, nil
		}
		is, ok := tasks[who.AllocationID]
		if !ok {
			return who, fault.New(fault.Unauthenticated, "attempt %s does not exist any more", who.AllocationID)
		}
		who.Ended, who.OwnerGone, who.Grants = is.Ended, is.OwnerGone, is.Grants
		return who, nil
	}, nil
}

// taskWho finds the attempt that has a token.
func taskWho(db *database.DB, roles accounts.Roles) func(ctx context.Context, hash []byte) (auth.Who, error) {
	return func(ctx context.Context, hash []byte) (auth.Who, error) {
		return attempts.Who(ctx, db, roles, hash)
	}
}

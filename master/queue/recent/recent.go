// Package recent counts what workspaces and users used lately of pools whose fair share has a half-life (sched/recent.go). The numbers come
// from the table usage, in which the leader stores each attempt's slots with its placement and its end, so a new leader finds the same ones.
//
// rows.go has the one query: the attempts that have not ended, and those that ended since the last count. A Ledger keeps the sum
// of what ended earlier, which only decays.
package recent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

const (
	// maxHalfLives is how far back a new leader looks, in half-lives. What is older counts less than a hundred-thousandth.
	maxHalfLives = 16
	// settles is how old an end must be to be added to what only decays: transactions that store ends may take this long to commit.
	settles = 2 * time.Minute
	// maxKept is how many users in workspaces a pool remembers, those that used most, and leastKept the slot-hours that are forgotten.
	maxKept   = 100_000
	leastKept = 1e-6
)

// A Use is what everybody used lately, at one moment. Nothing changes it. The nil Use is that of a master that has not counted yet.
type Use struct {
	workspaces, users map[key]float64
}

type key struct{ pool, workspace, user string }

// Of is what counts for a user in a workspace.
func (u *Use) Of(pool, workspace, user string) sched.Recent {
	if u == nil {
		return sched.Recent{}
	}
	return sched.Recent{Workspace: u.workspaces[key{pool, workspace, ""}], User: u.users[key{pool, workspace, user}]}
}

// A Ledger counts for one term of a leader.
type Ledger struct {
	pools []*account
	now   atomic.Pointer[Use]
	mu    sync.Mutex // of the accounts: one count at a time
}

// An account is what a ledger keeps of a pool.
type account struct {
	pool     string
	halfLife time.Duration
	settled  map[who]float64 // by users in workspaces: slot-hours of attempts that had ended by until, as they count then
	until    time.Time       // zero: nothing was counted
}

// NewLedger returns the ledger of the pools that remember; nil if there are none.
func NewLedger(pools pool.Set) *Ledger {
	l := &Ledger{}
	for i := range pools {
		if life := pools[i].Scheduler.HalfLife; life > 0 && pools[i].Scheduler.Type == pool.FairShare {
			l.pools = append(l.pools, &account{pool: pools[i].Name, halfLife: life, settled: map[who]float64{}})
		}
	}
	if len(l.pools) == 0 {
		return nil
	}
	return l
}

// Use is what was counted last; nil if nothing was.
func (l *Ledger) Use() *Use {
	if l == nil {
		return nil
	}
	return l.now.Load()
}

// Count counts up to the database's time. A pool that cannot be counted keeps its last numbers, as they are.
func (l *Ledger) Count(ctx context.Context, db *database.DB) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.now.Load()
	use := &Use{workspaces: map[key]float64{}, users: map[key]float64{}}
	var failed []error
	for _, a := range l.pools {
		used, names, err := a.count(ctx, db)
		if err != nil {
			failed = append(failed, fmt.Errorf("what was used lately of pool %s: %w", a.pool, err))
			use.keep(before, a.pool)
			continue
		}
		for _, of := range slices.SortedFunc(maps.Keys(used), who.compare) { // sums of floating-point numbers depend on the order
			n := names[of]
			use.workspaces[key{a.pool, n.Workspace, ""}] += used[of]
			use.users[key{a.pool, n.Workspace, n.Username}] += used[of]
		}
	}
	l.now.Store(use)
	return errors.Join(failed...)
}

// keep copies the numbers of a pool.
func (u *Use) keep(from *Use, pool string) {
	if from == nil {
		return
	}
	for _, m := range []struct{ to, from map[key]float64 }{{u.workspaces, from.workspaces}, {u.users, from.users}} {
		for k, used := range m.from {
			if k.pool == pool {
				m.to[k] = used
			}
		}
	}
}

// count reads what has changed, and returns what counts now.
func (a *account) count(ctx context.Context, db *database.DB) (map[who]float64, map[who]names, error) {
	rows, now, err := usedSince(ctx, db, a.pool, a.halfLife, a.until)
	if err != nil {
		return nil, nil, err
	}
	settled := map[who]float64{}
	until := now.Add(-settles)
	kept := sched.Kept(until.Sub(a.until), a.halfLife)
	for of, used := range a.settled {
		settled[of] = used * kept
	}
	rest := map[who]float64{}
	for _, r := range rows {
		if r.Settled > 0 {
			settled[r.who] += r.Settled
		}
		rest[r.who] += r.Rest
	}
	trim(settled)
	kept = sched.Kept(settles, a.halfLife)
	for of, used := range settled {
		rest[of] += used * kept
	}
	named, err := namesOf(ctx, db, slices.SortedFunc(maps.Keys(rest), who.compare))
	if err != nil {
		return nil, nil, err
	}
	a.settled, a.until = settled, until
	return rest, named, nil
}

// trim forgets what does not count any more, and the least of what is too much to remember.
func trim(settled map[who]float64) {
	maps.DeleteFunc(settled, func(_ who, used float64) bool { return used < leastKept })
	if len(settled) <= maxKept {
		return
	}
	order := slices.SortedFunc(maps.Keys(settled), func(a, b who) int { return cmp.Or(cmp.Compare(settled[b], settled[a]), a.compare(b)) })
	for _, of := range order[maxKept:] {
		delete(settled, of)
	}
}

package diskuse

import (
	"context"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

// Limits bound what users store in the database, in bytes; 0 is no limit. Beyond Owner, a user submits nothing new
// (Users.Admit). What runs already is bounded by itself, because no row that all tasks of an owner share could be
// counted up with each of their reports: a log in logs.Store, which locks its row anyway, and reports by the counts
// of the summarizer (metrics/rows_stored.go).
type Limits struct {
	Owner   int64 // all that one user stores
	Metrics int64 // the reports of one trial
}

// Users knows what each user stores, and whether that user may store more.
type Users struct {
	db     *database.DB
	limits Limits
	sums   *cache.Cache[int, *ownerSum] // because a sum takes long for a user with many trials
}

// NewUsers returns the users of a master.
func NewUsers(db *database.DB, limits Limits) *Users {
	return &Users{db: db, limits: limits, sums: cache.New[int, *ownerSum](0, maxOwners)}
}

// Limit is the limit for what one user stores; 0 is no limit.
func (u *Users) Limit() int64 { return u.limits.Owner }

const (
	storedAge = time.Minute // for which a sum is used
	maxOwners = 10_000      // whose sums are cached
)

// An ownerSum is what one user stores. Requests of one user wait for each other's reads.
type ownerSum struct {
	mu    sync.Mutex
	at    time.Time // before it was read
	held  Use
	added int64 // by the requests that were admitted since
}

func (u *Users) of(owner int) *ownerSum {
	now := time.Now()
	if sum, ok, _ := u.sums.Get(owner, now); ok {
		return sum
	}
	sum := &ownerSum{}
	u.sums.Put(owner, sum, now)
	return sum
}

// Admit fails if a user stores as much as one user may. more is about what the request adds; requests that add a
// little have 0. It rejects a request only after a read that began after the request. Do not call it in a transaction: requests
// of one user wait for each other, and the connections of those that wait could be all that there are.
func (u *Users) Admit(ctx context.Context, owner int, more int64) error {
	limit := u.limits.Owner
	if limit <= 0 {
		return nil
	}
	begin, sum := time.Now(), u.of(owner)
	sum.mu.Lock()
	defer sum.mu.Unlock()
	over := func() bool { return sum.held.All()+sum.added >= limit }
	if stale := begin.Sub(sum.at) > storedAge; stale || over() && sum.at.Before(begin) {
		at := time.Now()
		held, err := Of(ctx, u.db, owner)
		if err != nil {
			return err
		}
		sum.at, sum.held, sum.added = at, held, 0
	}
	if over() {
		return sum.held.tooMuch(limit)
	}
	sum.added += more
	return nil
}

func (s Use) tooMuch(limit int64) error {
	return fault.New(fault.TooLarge, "%s stores %s in the database, and the limit for one user is %s: %s of code, %s of logs, %s of metrics, and %s of configurations and metadata; "+
		"delete experiments that you do not need (det experiment delete), or keep logs for fewer days (det experiment set log-retention); operators can raise database_limits.user_mb",
		s.Username, database.SizeText(s.All()), database.SizeText(limit), database.SizeText(s.Code), database.SizeText(s.Logs), database.SizeText(s.Metrics), database.SizeText(s.Records))
}

// smallChange is a change of an object's text that always fits: the number of objects is bounded where they are created.
const smallChange = 4096

// AdmitChange fails if the owner of an object stores as much as one user may, and a change gives the object a longer text.
func (u *Users) AdmitChange(ctx context.Context, c *rest.Call, owner, bytes int) error {
	if c.Who().IsTask() || bytes <= smallChange {
		return nil
	}
	return u.Admit(ctx, owner, int64(bytes))
}

// AdmitOutside fails if the owner of a trial that runs outside of the cluster stores as much as one user may. Inside, slots bound how many
// trials report; outside, nothing else does.
func (u *Users) AdmitOutside(ctx context.Context, c *rest.Call, owner, bytes int) error {
	if c.Who().IsTask() {
		return nil
	}
	return u.Admit(ctx, owner, int64(bytes))
}

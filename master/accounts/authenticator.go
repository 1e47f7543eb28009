package accounts

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

const (
	// whoTTL is how long the caller of a token is cached: a task that reports many times a
	// second costs one query in this time, and after this time all masters notice a sign-out or
	// the end of an attempt.
	whoTTL = 2 * time.Second
	// maxCachedWho is the maximum number of cached callers.
	maxCachedWho = 20_000
	// strangersPart is the part of the connections to the database (one in that many) for look-ups of tokens that this master does not know.
	strangersPart = 4
)

// An Authenticator identifies callers by their tokens, and caches them for whoTTL. Code that changes an account or
// roles calls AccountChanged or RolesChanged, so that this master reads the affected callers again at once.
type Authenticator struct {
	db    *database.DB
	roles Roles
	bus   *database.Bus
	tasks func(ctx context.Context, hash []byte) (auth.Who, error)
	Known *cache.Cache[[32]byte, auth.Who] // by hash of the token
	// strangers limits the look-ups of tokens that were not valid lately. Anybody can send random tokens; each
	// look-up costs two queries, and without the limit these would use the connections to the database that known
	// callers need. Such a look-up waits for its turn and is not rejected, because users and tasks that have just
	// begun are unknown too, and share addresses with others. A cache of invalid tokens would not help: random tokens
	// do not repeat.
	strangers chan struct{}
}

// NewAuthenticator returns the authenticator of a master. tasks finds the caller who has the token of an attempt.
func NewAuthenticator(db *database.DB, roles Roles, bus *database.Bus, tasks func(ctx context.Context, hash []byte) (auth.Who, error)) *Authenticator {
	_, _, conns := db.Conns()
	return &Authenticator{db: db, roles: roles, bus: bus, tasks: tasks, Known: cache.New[[32]byte, auth.Who](whoTTL, maxCachedWho), strangers: make(chan struct{}, max(1, conns/strangersPart))}
}

// ByToken identifies the caller who has a token.
func (x *Authenticator) ByToken(ctx context.Context, s rest.Credential) (auth.Who, error) {
	hash := auth.HashToken(s.Token)
	key := [32]byte(hash)
	now := time.Now()
	who, fresh, lately := x.Known.Get(key, now)
	if fresh {
		return who, nil
	}
	if lately {
		ctx = database.ForOwner(ctx, "sessions of "+who.Username)
	} else {
		select {
		case x.strangers <- struct{}{}:
			defer func() { <-x.strangers }()
		case <-ctx.Done():
			return auth.Who{}, fault.New(fault.Unavailable, "the master checks too many unknown tokens at once; try again")
		}
	}
	who, err := x.lookUp(ctx, hash, s.Task)
	if lately && fault.Is(err, fault.Unauthenticated) {
		x.Known.Forget(func(of [32]byte, _ auth.Who) bool { return of == key }) // it has ended, so it is a stranger from now on
	}
	if err != nil {
		return auth.Who{}, err
	}
	x.Known.Put(key, who, now)
	return who, nil
}

// lookUp queries the database: first for the kind of token for which the header is meant, then
// for the other kind, because scripts in tasks use either header.
func (x *Authenticator) lookUp(ctx context.Context, hash []byte, task bool) (auth.Who, error) {
	kinds := []func(context.Context, []byte) (auth.Who, error){func(ctx context.Context, hash []byte) (auth.Who, error) {
		return SessionWho(ctx, x.db, x.roles, hash)
	}, x.tasks}
	if task {
		kinds[0], kinds[1] = kinds[1], kinds[0]
	}
	for _, find := range kinds {
		who, err := find(ctx, hash)
		if err == nil && who.SessionID != 0 && who.Within == "" {
			err = TokenUsed(ctx, x.db, who.SessionID)
		}
		if err == nil || !fault.Is(err, fault.NotFound) {
			return who, err
		}
	}
	if task {
		return auth.Who{}, fault.New(fault.Unauthenticated, "the attempt's token is unknown or has expired")
	}
	return auth.Who{}, fault.New(fault.Unauthenticated, "the session is unknown or has ended: sign in again with det user login")
}

// RolesChanged makes changed roles effective: immediately on this master, and on other masters when
// their cached callers expire (whoTTL).
func (x *Authenticator) RolesChanged() {
	x.Known.Forget(func([32]byte, auth.Who) bool { return true })
	x.bus.Publish(TopicAccess)
}

// AccountChanged applies the change of an account at once to its sessions and streams, on this master.
func (x *Authenticator) AccountChanged(userID int) {
	x.Forget(userID)
	x.bus.Publish(TopicAccess)
}

// Forget removes the cached sessions of a user on this master, for a change that ends no stream.
func (x *Authenticator) Forget(userID int) {
	x.Known.Forget(func(_ [32]byte, who auth.Who) bool { return who.UserID == userID })
}

package accounts

import (
	"context"
	"math"
	"runtime"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

// Limits on guessing passwords. Other addresses cannot lock a user out: tries are counted for
// an address, and for a username at an address, but never for a username alone. The number of
// passwords that are compared at the same time limits what many addresses together, or one
// address with many usernames, can try.
const (
	LoginWindow           = time.Minute // period in which tries are counted
	MaxTriesPerName       = 10          // for one name at one address
	MaxTriesPerAddress    = 60          // for all names at one address; beyond it each name has one
	maxCompares           = 4           // passwords that are compared at the same time
	maxComparesPerAddress = 32          // of one address, including those that wait
	compareTimeout        = 10 * time.Second
	// A hash that Determined made takes seconds where ours take a twentieth of one, so it has a place of its own: others do not wait for it. An
	// address has few of these places, and a user needs one only until the first sign-in.
	maxForeignPerAddress = 4
	foreignTimeout       = 40 * time.Second
	maxSignIns           = 16  // calls to other services at once
	MaxSignInsPerAddress = 120 // with other services
)

// compares limits the work of sign-ins: comparing a password takes a processor for a twentieth of
// a second on purpose.
type compares struct {
	slots chan struct{}
	wait  time.Duration
	from  *rest.Places // of addresses: their comparisons, including those that wait
}

func newCompares() *compares {
	return &compares{slots: make(chan struct{}, min(maxCompares, max(1, runtime.GOMAXPROCS(0)/2))), wait: compareTimeout, from: rest.NewPlaces("sign-ins", math.MaxInt, maxComparesPerAddress)}
}

// newForeignCompares limits the comparisons with hashes that Determined made.
func newForeignCompares() *compares {
	return &compares{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/4)), wait: foreignTimeout, from: rest.NewPlaces("sign-ins", math.MaxInt, maxForeignPerAddress)}
}

// compare runs fn when a processor is free.
func (l *compares) compare(ctx context.Context, address string, fn func() error) error {
	leave, err := l.from.Join(address)
	if err != nil {
		return fault.New(fault.TooMany, "too many sign-ins from your address at once; try again")
	}
	defer leave()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
		return fn()
	case <-time.After(l.wait):
	case <-ctx.Done():
	}
	return fault.New(fault.Unavailable, "too many sign-ins at the moment; try again")
}

// loginKeys are the keys under which a try is counted.
func loginKeys(address, name string) (ofName, ofAddress string) {
	return "name " + address + " " + name, "address " + address
}

// countLogin counts a try, and fails after too many. The first try of a username is always
// compared, however many others came from its address: behind an untrusted proxy, users may
// share the address with somebody who guesses passwords.
func (d Deps) countLogin(ctx context.Context, address, name string) error {
	ofName, ofAddress := loginKeys(address, name)
	tallies, err := CountLogin(ctx, d.DB, []string{ofName, ofAddress}, LoginWindow)
	if err != nil {
		return err
	}
	of, all := tallies[ofName], tallies[ofAddress]
	switch {
	case of.Tries > MaxTriesPerName:
		return tooManyWrong("for "+name+" from your address", of.Wait)
	case all.Tries > MaxTriesPerAddress && of.Tries > 1:
		return tooManyWrong("from your address", min(of.Wait, all.Wait))
	}
	return nil
}

func tooManyWrong(what string, wait float64) error {
	return fault.New(fault.TooMany, "too many wrong passwords %s; try again in %d seconds", what, max(0, int(wait))+1)
}

// SignIns limits the calls to other services that anonymous callers can cause.
type SignIns struct {
	db    *database.DB
	calls chan struct{} // one for each call
}

// NewSignIns returns the limits of a master.
func NewSignIns(db *database.DB) *SignIns {
	return &SignIns{db: db, calls: make(chan struct{}, maxSignIns)}
}

// Begin begins a call of which an address may cause so many with the same key in LoginWindow.
func (s *SignIns) Begin(ctx context.Context, c *rest.Call, key string, most int) (end func(), err error) {
	key += " " + c.Address()
	tallies, err := CountLogin(ctx, s.db, []string{key}, LoginWindow)
	if err != nil {
		return nil, err
	}
	if t := tallies[key]; t.Tries > most {
		return nil, fault.New(fault.TooMany, "too many sign-ins from your address; try again in %d seconds", max(0, int(t.Wait))+1)
	}
	select {
	case s.calls <- struct{}{}:
		return func() { <-s.calls }, nil
	default:
		return nil, fault.New(fault.Unavailable, "too many sign-ins at the moment; try again")
	}
}

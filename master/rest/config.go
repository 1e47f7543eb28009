package rest

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"runtime/debug"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/spool"
)

// Config is what the engine needs of its master: settings, and functions for what it does not know itself.
type Config struct {
	Log *slog.Logger

	// About the interface, for its documents.
	Version    string // of this master
	Compatible string // of Determined's interface
	PublicURL  string

	Pages     fs.FS    // the pages in the browser; without index.html there are none
	NonPages  []string // prefixes of paths that are never pages: a wrong path there is an error for browsers too, instead of the start page
	Receiving Receiving
	// Hosts are host names that requests may name, in addition to IP addresses and the names of the machine itself.
	Hosts []string
	// AnyHost reports whether a request for a path may name any host; nil: none may.
	AnyHost func(host, path string) bool
	// TrustedProxies are the addresses whose X-Forwarded-For the master believes.
	TrustedProxies []netip.Prefix
	// MaxConnections is how many connections there can be at once; 0 for DefaultMaxConnections.
	MaxConnections int

	// Identify finds the caller who has a token.
	Identify func(ctx context.Context, token Credential) (auth.Who, error)
	// Access fails if a caller may not call a route, whatever object its path names.
	Access func(r *Route, who auth.Who) error
	// Again reads the current state of callers whose answers are still open. The function that it returns gives the
	// state of one of these callers, and fails if the caller has signed out.
	Again func(ctx context.Context, callers []auth.Who) (now func(auth.Who) (auth.Who, error), err error)
	// AccessChanges wakes when accounts, sessions or roles have changed.
	AccessChanges func() (wake <-chan struct{}, stop func())
	// Poller names who waits with a long poll, for the limit of each.
	Poller func(c *Call) string
	// Work returns a context for the work of a call, which says in whose name it is done; nil: it says nothing.
	Work func(ctx context.Context, c *Call) context.Context
	// LimitReads returns a context in which so many bytes of rows may be read.
	LimitReads func(ctx context.Context, bytes int64) context.Context
	// NewFiles receives the files in a body, and FilesOnDisk is how many bytes the files in a body of a size have on disk.
	NewFiles    func(room *spool.Reservation) (Files, error)
	FilesOnDisk func(body int64) int64
	// Trail records calls; nil: nothing is recorded.
	Trail Trail
}

// A Trail records who has called what. A call that it does not accept fails.
type Trail interface {
	// Around runs a call that its caller may make, and records it if the endpoint says so. who is the zero value for an
	// endpoint that anybody may call.
	Around(c *Call, who auth.Who, run func() error) error
	// Rejected records a call that its caller may not make, and returns why.
	Rejected(c *Call, who auth.Who, why error) error
	// Object learns the object of a call, and why the caller may not use it; nil: the caller may.
	Object(c *Call, is auth.Object, refusal error) error
	// Report records that a user reports about an object, before the report is stored.
	Report(c *Call, is auth.Object, refusal error) error
	// Body learns the body of a call.
	Body(c *Call, body []byte)
}

// noTrail records nothing.
type noTrail struct{}

func (noTrail) Around(_ *Call, _ auth.Who, run func() error) error { return run() }
func (noTrail) Rejected(_ *Call, _ auth.Who, why error) error      { return why }
func (noTrail) Object(*Call, auth.Object, error) error             { return nil }
func (noTrail) Report(*Call, auth.Object, error) error             { return nil }
func (noTrail) Body(*Call, []byte)                                 {}

// DefaultMaxConnections is how many connections there can be at once: each waiting request and each stream is one.
const DefaultMaxConnections = 8192

const (
	maxAnonymous           = 1024     // bodies of callers who are not signed in that are decoded at once
	MaxAnonymousPerAddress = 64       // of those, of one address
	maxHead                = 28 << 10 // bytes of a request's address and headers: a label of 2,000 characters of any script is part of an address
)

// Receiving configures the reception of bodies; the zero value is the default.
type Receiving struct {
	Spool *spool.Folder // folder of larger bodies while they arrive; nil: the system's temporary folder
	Stall time.Duration // instead of stallTimeout
}

// Limits are what the calls of all callers share.
type Limits struct {
	Spool     *spool.Folder // larger bodies while they arrive
	Unread    *spool.Folder // answers that clients have not read yet
	Stall     time.Duration // how long a client may stop sending or reading
	Memory    *Shares       // for decoding bodies, in bytes
	Anonymous *Shares       // bodies of callers who are not signed in, while they are decoded
	Changes   *Shares       // requests of users that change something
	Answers   *Shares       // answers that are being read and encoded
	Rows      int64         // bytes of rows for one answer
}

func newLimits(cfg Receiving) *Limits {
	l := &Limits{Spool: cfg.Spool, Stall: cfg.Stall, Memory: NewShares(BodyMemory, BodyMemoryPerUser), Anonymous: NewShares(maxAnonymous, MaxAnonymousPerAddress),
		Changes: NewFairShares(maxChanging, MaxChangingPerUser, maxChangingMore), Answers: NewFairShares(maxReading, MaxReadingPerUser, maxReadingMore), Rows: maxRows()}
	if l.Spool == nil {
		l.Spool = spool.New(os.TempDir(), maxSpool)
	}
	l.Unread = spool.New(l.Spool.Path(), maxUnread)
	l.Stall = cmp.Or(l.Stall, stallTimeout)
	return l
}

// maxRows is how many bytes of rows may be read for one answer.
func maxRows() int64 {
	return min(max(debug.SetMemoryLimit(-1)/readPart, MinRows), maxRead) // -1 changes nothing
}

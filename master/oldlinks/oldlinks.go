// Package oldlinks sends whoever opens a link of an imported cluster to what it has become here. An import beside existing work gives objects new numbers, so
// an old link is told from a new one by the name of the host alone: the old master's name leads here, and the importer has stored it (import_hosts). This
// master's own name, public_url, is another one.
//
//	oldlinks.go  which hosts, and the answer
//	map.go       the path of a page with the numbers here
package oldlinks

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

// How long the list of hosts counts, when it is read again if that failed, and how long a read of it may take.
const (
	listFor    = 30 * time.Second
	retryAfter = 5 * time.Second
	readWait   = time.Second
)

// Links knows the hosts of imported clusters.
type Links struct {
	db     *database.DB
	public string        // of this master, without a slash at the end; "": nobody can be sent anywhere
	wait   time.Duration // for a read of the list

	mu      sync.Mutex     // of the following; never held during a read
	hosts   map[string]old // nil: the list was never read
	until   time.Time
	reading chan struct{} // closed when the read ends that runs now; nil: none does
}

// An old cluster.
type old struct {
	Host   string `db:"host"`
	Import int    `db:"import_id"`
	Prefix string `db:"prefix"`
	Shift  int    `db:"shift"`
}

// New returns the Links of a master.
func New(db *database.DB, publicURL string) *Links {
	return &Links{db: db, public: strings.TrimRight(publicURL, "/"), wait: readWait}
}

// Is reports whether a request names the host of an imported cluster.
func (l *Links) Is(host string) bool {
	_, is := l.of(host)
	return is
}

// of finds the cluster of a host. A host that is this master's own is never an old one.
func (l *Links) of(host string) (old, bool) {
	own, err := url.Parse(l.public)
	name := rest.BareHost(host)
	if err != nil || own.Host == "" || name == rest.BareHost(own.Host) {
		return old{}, false
	}
	o, is := l.list()[name]
	return o, is
}

// list returns the hosts. One caller at a time reads a list that is old; the others use what was read before, and wait for the first list only.
func (l *Links) list() map[string]old {
	l.mu.Lock()
	hosts, first := l.hosts, l.reading
	reads := first == nil && time.Now().After(l.until)
	if reads {
		l.reading = make(chan struct{})
	}
	l.mu.Unlock()
	switch {
	case reads:
		return l.read()
	case hosts == nil && first != nil:
		<-first // a read ends within readWait
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.hosts
	}
	return hosts
}

// read reads the list. Anybody may cause that, so it has a place among the calls of strangers.
func (l *Links) read() map[string]old {
	ctx, cancel := context.WithTimeout(database.ForStrangers(context.Background()), l.wait)
	defer cancel()
	found, err := database.Rows[old](ctx, l.db, `SELECT h.host, h.import_id, i.prefix, i.shift FROM import_hosts h JOIN imports i ON i.id = h.import_id`)
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.reading)
	l.reading = nil
	if err != nil { // the list that was read before counts
		l.until = time.Now().Add(retryAfter)
		return l.hosts
	}
	l.until = time.Now().Add(listFor)
	l.hosts = each.Keyed(found, func(o old) string { return o.Host })
	return l.hosts
}

// Answer answers a request that names the host of an imported cluster: pages lead to the ones here, and programs get an error, because their numbers mean other
// objects here.
func (l *Links) Answer(c *rest.Call) error {
	o, is := l.of(c.Host())
	if !is {
		return fault.New(fault.NotFound, "no such host")
	}
	if m := c.Method(); m != "GET" && m != "HEAD" || !c.WantsPage() {
		return fault.New(fault.Invalid, "%s was the name of a cluster that is a part of %s now, where its objects have other numbers (experiment 1 is %d): use %s",
			rest.BareHost(c.Host()), l.public, 1+o.Shift, l.public)
	}
	ctx, cancel := c.Within()
	defer cancel()
	path, query, asked := strings.Cut(c.PathAsSent()+"?"+c.QueryString(), "?")
	path, err := l.here(database.ForStrangers(ctx), o, path)
	if err != nil {
		return err
	}
	if asked && query != "" {
		path += "?" + query
	}
	return c.Redirect(l.public+"/"+strings.TrimLeft(path, "/"), 302)
}

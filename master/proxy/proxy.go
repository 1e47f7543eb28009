package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tunnel"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	// ticketLife is how long a ticket is valid: the time for a browser to follow the redirect.
	ticketLife = time.Minute
	// ticketField is the parameter of an address that carries a ticket.
	ticketField = "det-ticket"
	// dialWithin is how long a task's port may take to answer a connection.
	dialWithin = 5 * time.Second
	// answerWithin is how long a program may take until it begins to answer.
	answerWithin = 5 * time.Minute
	// closeWithin is how long requests may take to end when the master stops.
	closeWithin = 3 * time.Second
)

// A Proxy forwards requests to tasks. It is safe for concurrent use.
type Proxy struct {
	origins Origins
	rules   Rules
	dir     Directory
	locate  Locator
	log     *slog.Logger
	known   memories
	live    *live
	keys    *cache.Rates[limitKey] // tunnels to shells without a session begin
	dialer  net.Dialer
	reverse *httputil.ReverseProxy
}

// Rules are what the operators allow.
type Rules struct {
	// OpenPorts lets everybody reach the ports that a configuration declares as unauthenticated.
	OpenPorts bool
	// Ingress lets an ingress forward requests to tasks itself, and ask the master about each.
	Ingress bool
}

// New returns a proxy. Run must run, because it closes connections that are no longer allowed.
func New(origins Origins, rules Rules, dir Directory, locate Locator, log *slog.Logger) (*Proxy, error) {
	if err := origins.check(); err != nil {
		return nil, err
	}
	p := &Proxy{origins: origins, rules: rules, dir: dir, locate: locate, log: log, known: newMemories(), live: newLive(), keys: cache.NewRates[limitKey](maxKeys, keysEvery, maxKnown),
		dialer: net.Dialer{Timeout: dialWithin, KeepAlive: 15 * time.Second}}
	p.reverse = p.newReverse()
	return p, nil
}

// Run checks the open connections until ctx ends, and then closes all.
func (p *Proxy) Run(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := p.live.check(ctx, p.dir); err != nil {
				p.log.Warn("could not check the sessions of open connections to tasks; retrying", "error", err)
			}
		case <-ctx.Done():
			// Requests get a short time to complete. Tunnels end at once; their clients reconnect
			// to another master.
			select {
			case <-p.live.close(errStopping, false):
			case <-time.After(closeWithin):
				p.log.Warn("the master stops: closing forwarded requests that did not end in time", "open", p.live.count())
				p.live.close(errStopping, true)
			}
			p.reverse.Transport.(*http.Transport).CloseIdleConnections()
			return
		}
	}
}

// Open returns the number of open requests and tunnels.
func (p *Proxy) Open() int { return p.live.count() }

// TasksHost reports whether a request for this host, at any listener, is for the tasks' origin.
func (p *Proxy) TasksHost(host string) bool { return p.origins.TasksHost(host) }

// Link returns an address with a ticket, which opens a task in a browser once, for a user with
// a session.
func (p *Proxy) Link(ctx context.Context, who auth.Who, id string) (string, error) {
	t, err := p.enterable(ctx, who, id)
	switch {
	case err != nil:
		return "", err
	case p.origins.of(id) == "":
		return "", fault.New(fault.Unavailable, "%s", pageNoOrigin(t).Text)
	}
	return p.ticket(ctx, who, id, base(id), "")
}

// enterable finds a task with pages that a user may open.
func (p *Proxy) enterable(ctx context.Context, who auth.Who, id string) (Task, error) {
	if !goodID(id) {
		return Task{}, fault.New(fault.NotFound, "task %.40q not found", id)
	}
	t, err := p.dir.Task(ctx, id, who.Username) // not cached: a task that waits now may answer before the cache forgets it
	switch {
	case err != nil:
		return Task{}, err
	case !mayEnter(who, t):
		return Task{}, Refusal(t.Type, t.Owner)
	case t.Type == "SHELL":
		return Task{}, fault.New(fault.Invalid, "open a shell with ssh: det shell open %s", id)
	}
	return t, nil
}

// issue makes a ticket.
func (p *Proxy) issue(ctx context.Context, who auth.Who, id string) (string, error) {
	if who.SessionID == 0 {
		return "", fault.New(fault.Forbidden, "only a user's session opens tasks")
	}
	token, hash := auth.NewToken()
	return token, p.dir.IssueTicket(ctx, hash, id, who.SessionID, ticketLife)
}

// AskFirst returns a path of the master. If it leads to a task, the user must confirm to open the
// task, even if the browser states that its user opened the address.
func AskFirst(path string) string {
	before, after, found := strings.Cut(path, "#")
	if !strings.HasPrefix(path, Prefix) {
		return path
	}
	mark := "?"
	if strings.Contains(before, "?") {
		mark = "&"
	}
	before += mark + askField + "="
	if found {
		return before + "#" + after
	}
	return before
}

// ticket makes a ticket and returns the address that carries it.
func (p *Proxy) ticket(ctx context.Context, who auth.Who, id, path, query string) (string, error) {
	token, err := p.issue(ctx, who, id)
	if err != nil {
		return "", err
	}
	link := p.origins.of(id) + path + "?" + ticketField + "=" + url.QueryEscape(token)
	if query != "" {
		link += "&" + query
	}
	return link, nil
}

// fail shows what an error means, and logs what it means for us.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	answer := pageOf(err)
	if answer.code == fault.Internal {
		p.log.Error("could not serve a request to a task", "path", r.URL.Path, "error", err)
	}
	show(w, r, answer)
}

// find returns the service that a request is for; otherwise it shows the page that says why
// there is none.
func (p *Proxy) find(w http.ResponseWriter, r *http.Request, at service) (taskService, bool) {
	t, err := p.task(r.Context(), at.task)
	switch {
	case fault.Is(err, fault.NotFound):
		show(w, r, pageUnknown(at.task))
	case err != nil:
		p.fail(w, r, err)
	default:
		return p.rules.service(t, at), true
	}
	return taskService{}, false
}

func refusal(err error) page {
	if errors.Is(err, errDots) {
		return pageBadPath(err)
	}
	return pageNoPath()
}

// admitted serves a request until its session ends or may not enter any more, the attempt ends, or
// the master stops.
func (p *Proxy) admitted(w http.ResponseWriter, r *http.Request, t taskService, who access, serve func(http.ResponseWriter, *http.Request, taskService)) {
	ctx, end, err := p.live.begin(r.Context(), who, tunnel.Asked(r.Header) != "")
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer end()
	serve(w, r.WithContext(ctx), t)
}

// absent shows the page of a task that cannot answer, if that is known already.
func absent(w http.ResponseWriter, r *http.Request, t taskService) bool {
	why, is := pageAbsent(t)
	if is {
		show(w, r, why)
	}
	return is
}

func pageAbsent(t taskService) (page, bool) {
	switch {
	case t.offers == v1.GatewayOfNone:
		return pageNothing(t), true
	case t.Over:
		return pageOver(t.Task), true
	case t.AllocationID == "" || t.Secret == "":
		return pageStarting(t), true
	}
	return page{}, false
}

package proxy

import (
	"context"
	"encoding/hex"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/trial"
)

const (
	// taskLife and whoLife are how long answers of the database are cached: after this time every
	// master notices that a task or a session has ended.
	taskLife = time.Second
	whoLife  = 2 * time.Second
	// addressLife is how long an address is cached. The address of a task does not change; it is
	// read again if nothing answers there.
	addressLife = 30 * time.Second
	maxKnown    = 10_000
)

// memories are the caches of the proxy.
type memories struct {
	tasks     *cache.Cache[string, Task]
	cookies   *cache.Cache[[2]string, auth.Who]
	addresses *cache.Cache[string, string]
}

func newMemories() memories {
	return memories{tasks: cache.New[string, Task](taskLife, maxKnown), cookies: cache.New[[2]string, auth.Who](whoLife, maxKnown),
		addresses: cache.New[string, string](addressLife, maxKnown)}
}

// task finds a task.
func (p *Proxy) task(ctx context.Context, id string) (Task, error) {
	now := time.Now()
	t, fresh, _ := p.known.tasks.Get(id, now)
	if fresh {
		return t, nil
	}
	t, err := p.dir.Task(ctx, id, t.Owner)
	if err == nil {
		p.known.tasks.Put(id, t, now)
	}
	return t, err
}

// whole changes a request for a part of a trial's task to one for the task, whose cookies, hosts and gateway have its id.
func (p *Proxy) whole(r *http.Request, at service) service {
	if _, _, part := trial.PartOf(at.task); !part {
		return at
	}
	t, err := p.task(r.Context(), at.task)
	if err != nil || t.ID == at.task {
		return at
	}
	for _, path := range []*string{&r.URL.Path, &r.URL.RawPath} {
		if rest, ok := strings.CutPrefix(*path, Prefix+at.task); ok {
			*path = Prefix + t.ID + rest
		}
	}
	at.task = t.ID
	return at
}

// cookieWho finds the user of a cookie for this task.
func (p *Proxy) cookieWho(ctx context.Context, cookie, task string) (auth.Who, error) {
	hash := auth.HashToken(cookie)
	key, now := [2]string{hex.EncodeToString(hash), task}, time.Now()
	who, fresh, _ := p.known.cookies.Get(key, now)
	if fresh {
		return who, nil
	}
	who, err := p.dir.CookieWho(ctx, hash, task, who.Username)
	if err == nil {
		p.known.cookies.Put(key, who, now)
	}
	return who, err
}

// address returns the address of the gateway of a task's attempt: from the service catalogue,
// else the cached one, else the one that its runner reported with its claim.
func (p *Proxy) address(ctx context.Context, t Task) (string, error) {
	now := time.Now()
	last, fresh, known := p.known.addresses.Get(t.AllocationID, now)
	if fresh {
		return last, nil
	}
	host, port, err := p.locate(ctx, t.AllocationID)
	switch {
	case err == nil && host != "" && port > 0:
		last = net.JoinHostPort(host, strconv.Itoa(port))
	case known:
	case t.Address != "" && t.Port > 0:
		last = net.JoinHostPort(t.Address, strconv.Itoa(t.Port))
	case err != nil:
		return "", err
	default:
		return "", fault.New(fault.Unavailable, "%s is not registered in service discovery yet", t.AllocationID)
	}
	if err != nil {
		p.log.Warn("service discovery is unavailable; the proxy uses the last known address of a task", "allocation_id", t.AllocationID, "error", err)
	}
	p.known.addresses.Put(t.AllocationID, last, now)
	return last, nil
}

// forgetAddress removes a cached address at which nothing answers.
func (p *Proxy) forgetAddress(t Task) {
	p.known.addresses.Stale(t.AllocationID)
	p.known.tasks.Stale(t.ID)
}

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/sleep"
)

const (
	streamPath = "/event/stream"
	// heartbeat is how often Nomad sends at least {} on a stream; see Nomad's
	// nomad/event_endpoint.go. After three missing heartbeats the stream is closed.
	heartbeat   = 30 * time.Second
	silentAfter = 3*heartbeat + 10*time.Second
	// maxEvent is the maximum size of a line; an allocation with its resources has some kilobytes.
	maxEvent   = 8 << 20
	retryFirst = 250 * time.Millisecond
	retryMost  = 15 * time.Second
	// maxNamed is the maximum number of allocations to collect between observations; if there
	// are more, a full list is cheaper than single reads.
	maxNamed = 2000
)

// named collects what events have named since the last observation.
type named struct {
	mu sync.Mutex
	lookups
}

// lookups is what the next observation must read.
type lookups struct {
	allocations map[string]bool // of jobs whose ids begin with det-
	nodes       bool            // list the nodes
	full        bool            // events may have been missed: list everything
}

func (n *named) take() lookups {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.lookups
	n.lookups = lookups{}
	return t
}

func (n *named) add(allocation string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.allocations == nil {
		n.allocations = map[string]bool{}
	}
	n.allocations[allocation] = true
	if len(n.allocations) > maxNamed {
		n.full, n.allocations = true, nil
	}
}

func (n *named) addNodes() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes = true
}

func (n *named) all() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.full = true
}

// Run reads Nomad's event stream until ctx ends, and fires Wake for events about our jobs
// and about nodes. Without Run, Observe notices changes at its next full list only.
func (c *Cluster) Run(ctx context.Context) {
	var streams sync.WaitGroup
	for i, ns := range c.namespaces {
		streams.Go(func() { c.follow(ctx, ns, i == 0) })
	}
	streams.Wait()
}

// follow reads the stream of one namespace, and opens it again when it ends.
func (c *Cluster) follow(ctx context.Context, ns string, nodes bool) {
	wait := retryFirst
	for ctx.Err() == nil {
		began := c.now()
		err := c.stream(ctx, ns, nodes)
		if ctx.Err() != nil {
			return
		}
		if c.now().Sub(began) > retryMost {
			wait = retryFirst
		}
		c.log.Warn("Nomad's event stream ended; the master lists all jobs every 15 s until the stream is back",
			"namespace", ns, "error", err, "retry_in", wait)
		_ = sleep.For(ctx, wait)
		wait = min(2*wait, retryMost)
	}
}

// event has the fields of an event that we read. Its payload is not read, because it may
// be outdated.
type event struct {
	Topic      string
	Key        string
	FilterKeys []string
}

// stream reads events until the stream fails, or sends nothing for silentAfter.
func (c *Cluster) stream(ctx context.Context, ns string, nodes bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(silentAfter, func() {
		cancel(fmt.Errorf("received no event and no heartbeat for %v", silentAfter))
	})
	defer silence.Stop()
	topics := url.Values{"topic": {"Allocation"}}
	if nodes {
		topics.Add("topic", "Node")
	}
	body, err := c.api.Raw().Response("/v1"+streamPath+"?"+topics.Encode(), c.query(ctx, ns))
	if err != nil {
		return cause(ctx, err)
	}
	defer body.Close()
	// Changes before the stream was open cause no events.
	c.named.all()
	c.fire()
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 64<<10), maxEvent)
	for lines.Scan() {
		silence.Reset(silentAfter)
		var batch struct{ Events []event }
		if err := json.Unmarshal(lines.Bytes(), &batch); err != nil {
			return fmt.Errorf("an event is not valid JSON: %w", err)
		}
		if c.note(batch.Events) {
			c.fire()
		}
	}
	if err := lines.Err(); err != nil {
		return cause(ctx, err)
	}
	return cause(ctx, errors.New("the server closed it"))
}

func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return err
}

// note collects what events name, and reports whether the loop must observe.
func (c *Cluster) note(events []event) bool {
	any := false
	for _, e := range events {
		switch e.Topic {
		case "Node":
			c.named.addNodes()
			any = true
		case "Allocation":
			for _, key := range e.FilterKeys {
				if strings.HasPrefix(key, jobspecs.JobPrefix()) {
					c.named.add(e.Key)
					any = true
					break
				}
			}
		}
	}
	return any
}

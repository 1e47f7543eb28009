package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

// AuditQuery chooses entries of the audit trail; zero values choose all.
type AuditQuery struct {
	Username    string
	Kind        string
	Object      string
	Verb        string
	WorkspaceID int
	Failed      bool
	Since       *time.Time
	Until       *time.Time
	Limit       int // number of entries; 0: all
}

const auditPage = 1000

// Audit lists the audit trail, the newest entries first. It requests further pages when they
// are needed.
func (c *Client) Audit(ctx context.Context, query AuditQuery) iter.Seq2[v1.AuditEntry, error] {
	return func(yield func(v1.AuditEntry, error) bool) {
		q := query.values()
		for left := query.Limit; ; {
			n := auditPage
			if query.Limit > 0 {
				n = min(n, left)
			}
			q.Set("limit", strconv.Itoa(n))
			out, err := get(ctx, c, v1.ListAudit, q)
			if err != nil {
				yield(v1.AuditEntry{}, err)
				return
			}
			for _, e := range out.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if left -= len(out.Entries); out.Next == nil || query.Limit > 0 && left <= 0 {
				return
			}
			q.Set("before", strconv.FormatInt(*out.Next, 10))
		}
	}
}

func (query AuditQuery) values() url.Values {
	q := url.Values{}
	one(q, "username", query.Username)
	one(q, "kind", query.Kind)
	one(q, "object", query.Object)
	one(q, "verb", query.Verb)
	if query.WorkspaceID > 0 {
		q.Set("workspaceId", strconv.Itoa(query.WorkspaceID))
	}
	if query.Failed {
		q.Set("failed", "true")
	}
	for name, t := range map[string]*time.Time{"since": query.Since, "until": query.Until} {
		if t != nil {
			q.Set(name, t.Format(time.RFC3339Nano))
		}
	}
	return q
}

package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

const auditPage = 1000

// Audit lists the entries of the audit trail that a request chooses, the newest first; limit is
// their number, or 0 for all. It requests further pages when they are needed.
func (c *Client) Audit(ctx context.Context, request v1.GetAuditRequest, limit int) iter.Seq2[v1.AuditEntry, error] {
	return func(yield func(v1.AuditEntry, error) bool) {
		for left := limit; ; {
			n := auditPage
			if limit > 0 {
				n = min(n, left)
			}
			request.Limit = &n
			out, err := Send(ctx, c, v1.ListAudit, request)
			if err != nil {
				yield(v1.AuditEntry{}, err)
				return
			}
			for _, e := range out.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if left -= len(out.Entries); out.Next == nil || limit > 0 && left <= 0 {
				return
			}
			request.Before = out.Next
		}
	}
}

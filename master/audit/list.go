package audit

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	usualPage = 100
	maxPage   = 1000
)

// Routes adds the endpoint that lists entries.
func Routes(r *rest.Router, db *database.DB) {
	rest.Serve(r, v1.ListAudit, func(ctx context.Context, _ *rest.Call, req *v1.GetAuditRequest) (*v1.AuditResponse, error) {
		return list(ctx, db, req)
	})
}

func list(ctx context.Context, db *database.DB, req *v1.GetAuditRequest) (*v1.AuditResponse, error) {
	limit := usualPage
	if req.Limit != nil {
		limit = *req.Limit
	}
	if limit < 1 || limit > maxPage {
		return nil, fault.New(fault.Invalid, "limit: expected 1 to %d, found %d", maxPage, limit)
	}
	f := Filter{Username: req.Username, Kind: req.Kind, Object: req.Object, Verb: req.Verb, WorkspaceID: req.WorkspaceID, Failed: req.Failed,
		Since: req.Since, Until: req.Until, Before: optional.Value(req.Before)}
	if req.Before != nil && f.Before < 1 {
		return nil, fault.New(fault.Invalid, "before: expected the id of an entry, found %d", f.Before)
	}
	entries, err := Entries(ctx, db, f, limit)
	if err != nil {
		return nil, err
	}
	resp := &v1.AuditResponse{Entries: make([]v1.AuditEntry, len(entries))}
	for i, e := range entries {
		resp.Entries[i] = v1.AuditEntry{ID: e.ID, Time: e.At, EndTime: e.EndedAt, LastTime: e.LastAt, Times: e.Times, UserID: e.UserID, Username: e.Username,
			Credential: e.Credential, Address: e.Address, Method: e.Method, Path: e.Path, Verb: e.Verb, Kind: e.Kind, Object: e.Object,
			WorkspaceID: e.WorkspaceID, Names: v1.Struct(e.Names), Status: e.Status, Error: e.Error}
	}
	if len(entries) == limit {
		resp.Next = &entries[limit-1].ID
	}
	return resp, nil
}

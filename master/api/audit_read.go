package api

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	auditPage    = 100
	maxAuditPage = 1000
)

func (a *API) registerAudit() { rest.Serve(a.router, v1.ListAudit, a.listAudit) }

func (a *API) listAudit(ctx context.Context, c *rest.Call, req *v1.GetAuditRequest) (*v1.AuditResponse, error) {
	limit := auditPage
	if req.Limit != nil {
		limit = *req.Limit
	}
	if limit < 1 || limit > maxAuditPage {
		return nil, fault.New(fault.Invalid, "limit: expected 1 to %d, found %d", maxAuditPage, limit)
	}
	f := store.AuditFilter{Username: req.Username, Kind: req.Kind, Object: req.Object, Verb: req.Verb, WorkspaceID: req.WorkspaceID, Failed: req.Failed,
		Since: req.Since, Until: req.Until, Before: optional.Value(req.Before)}
	if req.Before != nil && f.Before < 1 {
		return nil, fault.New(fault.Invalid, "before: expected the id of an entry, found %d", f.Before)
	}
	list, err := a.db.Audit(ctx, f, limit)
	if err != nil {
		return nil, err
	}
	resp := &v1.AuditResponse{Entries: make([]v1.AuditEntry, len(list))}
	for i, e := range list {
		resp.Entries[i] = v1.AuditEntry{ID: e.ID, Time: e.At, EndTime: e.EndedAt, LastTime: e.LastAt, Times: e.Times, UserID: e.UserID, Username: e.Username,
			Credential: e.Credential, Address: e.Address, Method: e.Method, Path: e.Path, Verb: e.Verb, Kind: e.Kind, Object: e.Object,
			WorkspaceID: e.WorkspaceID, Names: v1.Struct(e.Names), Status: e.Status, Error: e.Error}
	}
	if len(list) == limit {
		resp.Next = &list[limit-1].ID
	}
	return resp, nil
}

package api

import (
	"context"
	"strconv"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	auditPage    = 100
	maxAuditPage = 1000
)

func (a *API) registerAudit() { serve(a, v1.ListAudit, a.listAudit) }

func (a *API) listAudit(ctx context.Context, c *call, _ *v1.None) (*v1.AuditResponse, error) {
	f, err := c.auditFilter()
	if err != nil {
		return nil, err
	}
	limit, err := c.intOr("limit", auditPage)
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > maxAuditPage {
		return nil, fault.New(fault.Invalid, "limit: expected 1 to %d, found %d", maxAuditPage, limit)
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

func (c *call) auditFilter() (f store.AuditFilter, err error) {
	f.Username, _ = c.query("username")
	f.Kind, _ = c.query("kind")
	f.Object, _ = c.query("object")
	f.Verb, _ = c.query("verb")
	if f.WorkspaceID, err = c.intOr("workspaceId", 0); err != nil {
		return f, err
	}
	failed, err := c.flag("failed")
	if err != nil {
		return f, err
	}
	f.Failed = failed != nil && *failed
	if f.Since, err = c.timeOf("since"); err != nil {
		return f, err
	}
	if f.Until, err = c.timeOf("until"); err != nil {
		return f, err
	}
	if text, given := c.query("before"); given && text != "" {
		if f.Before, err = strconv.ParseInt(text, 10, 64); err != nil || f.Before < 1 {
			return f, fault.New(fault.Invalid, "before: expected the id of an entry, found %q", fault.Clip(text))
		}
	}
	return f, nil
}

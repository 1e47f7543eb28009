package api

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// patchUsers activates or deactivates several users. A user whom it cannot change has an error,
// and the others are changed.
func (a *API) patchUsers(ctx context.Context, c *rest.Call, req *v1.PatchUsersRequest) (*v1.PatchUsersResponse, error) {
	ids := req.UserIDs
	if len(ids) > maxBulk {
		return nil, fault.New(fault.Invalid, "userIds: %d users are over the limit of %d", len(ids), maxBulk)
	}
	if req.Filters != nil {
		list, _, err := accounts.Users(ctx, a.db.DB, accounts.UserFilter{Name: req.Filters.Name, Admin: req.Filters.Admin})
		if err != nil {
			return nil, err
		}
		ids = nil
		for _, u := range list {
			ids = append(ids, u.ID)
		}
	}
	resp := &v1.PatchUsersResponse{}
	for _, id := range ids {
		_, err := a.changeUser(ctx, c, id, accounts.UserChange{Active: &req.Activate})
		if err != nil && fault.CodeOf(err) == fault.Internal {
			return nil, err
		}
		result := v1.UserActionResult{ID: id}
		if err != nil {
			result.Error = err.Error()
		}
		resp.Results = append(resp.Results, result)
	}
	return resp, nil
}

package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"github.com/detent-ml/detent/master/optional"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A QuotaQuery chooses quotas; 0 stands for all.
type QuotaQuery struct{ WorkspaceID, ProjectID, UserID int }

// Quotas lists quotas.
func (c *Client) Quotas(ctx context.Context, of QuotaQuery) iter.Seq2[v1.Quota, error] {
	q := url.Values{}
	for name, id := range map[string]int{"workspaceId": of.WorkspaceID, "projectId": of.ProjectID, "userId": of.UserID} {
		if id != 0 {
			q.Set(name, strconv.Itoa(id))
		}
	}
	return list(ctx, c, v1.ListQuotas, Page{}, q, func(r *v1.GetQuotasResponse) ([]v1.Quota, v1.Pagination) {
		return r.Quotas, optional.Value(r.Pagination)
	})
}

// SetQuota sets a quota.
func (c *Client) SetQuota(ctx context.Context, q v1.PutQuotaRequest) (*v1.Quota, error) {
	out, err := post(ctx, c, v1.PutQuota, q)
	if err != nil {
		return nil, err
	}
	return &out.Quota, nil
}

// DeleteQuota deletes a quota.
func (c *Client) DeleteQuota(ctx context.Context, id int) error {
	return act(ctx, c, v1.DeleteQuota, id)
}

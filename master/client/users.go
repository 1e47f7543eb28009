package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"github.com/detent-ml/detent/master/v1"
)

// Users lists users; active restricts the list to those that are, or are not.
func (c *Client) Users(ctx context.Context, active *bool, p Page) iter.Seq2[v1.User, error] {
	return pages(ctx, p, func(ctx context.Context, p Page) ([]v1.User, v1.Pagination, error) {
		q := url.Values{}
		if active != nil {
			q.Set("active", strconv.FormatBool(*active))
		}
		p.set(q)
		var out v1.GetUsersResponse
		err := c.get(ctx, "/users", q, &out)
		return out.Users, pagination(out.Pagination), err
	})
}

// pagination is the zero value where a response has none, which ends a list.
func pagination(p *v1.Pagination) v1.Pagination {
	if p == nil {
		return v1.Pagination{}
	}
	return *p
}

// UserByName finds a user.
func (c *Client) UserByName(ctx context.Context, name string) (*v1.User, error) {
	var out v1.GetUserByUsernameResponse
	if err := c.get(ctx, "/users/"+url.PathEscape(name)+"/by-username", nil, &out); err != nil {
		return nil, err
	}
	return &out.User, nil
}

// CreateUser adds a user. The password is in clear.
func (c *Client) CreateUser(ctx context.Context, u v1.User, password string) (*v1.User, error) {
	hashed, hash := true, HashPassword(password)
	var out v1.PostUserResponse
	if err := c.post(ctx, "/users", v1.PostUserRequest{User: &u, Password: &hash, IsHashed: &hashed}, &out); err != nil {
		return nil, err
	}
	if out.User == nil {
		out.User = &u
	}
	return out.User, nil
}

// PatchUser changes what the patch names. A password in it is to be hashed, with
// IsHashed set.
func (c *Client) PatchUser(ctx context.Context, id int, patch v1.PatchUser) (*v1.User, error) {
	var out v1.PatchUserResponse
	if err := c.patch(ctx, "/users/"+strconv.Itoa(id), patch, &out); err != nil {
		return nil, err
	}
	return &out.User, nil
}

// SetPassword changes the password of another user, given in clear.
func (c *Client) SetPassword(ctx context.Context, id int, password string) error {
	hashed, hash := true, HashPassword(password)
	_, err := c.PatchUser(ctx, id, v1.PatchUser{Password: &hash, IsHashed: &hashed})
	return err
}

// ReplacePassword changes one's own password, and shows the old one. Both are given in
// clear.
func (c *Client) ReplacePassword(ctx context.Context, id int, old, password string) error {
	hashed, hash, oldHash := true, HashPassword(password), HashPassword(old)
	_, err := c.PatchUser(ctx, id, v1.PatchUser{Password: &hash, OldPassword: &oldHash, IsHashed: &hashed})
	return err
}

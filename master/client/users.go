package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// UserByName returns a user.
func (c *Client) UserByName(ctx context.Context, name string) (*v1.User, error) {
	out, err := Call(ctx, c, v1.GetUserByName, name)
	return &out.User, err
}

// CreateUser creates a user. The password is plain text.
func (c *Client) CreateUser(ctx context.Context, u v1.User, password string) (*v1.User, error) {
	req := v1.PostUserRequest{User: &u}
	if !u.ServiceAccount { // which has no password
		req.Password, req.IsHashed = new(HashPassword(password)), new(true)
	}
	out, err := Send(ctx, c, v1.CreateUser, req)
	if err != nil {
		return nil, err
	}
	if out.User == nil {
		out.User = &u
	}
	return out.User, nil
}

// SetPassword changes the password of another user, given in plain text.
func (c *Client) SetPassword(ctx context.Context, id int, password string) error {
	_, err := Send(ctx, c, v1.ChangeUser, v1.PatchUser{Password: new(HashPassword(password)), IsHashed: new(true)}, id)
	return err
}

// ReplacePassword changes the password of the signed-in user, and proves the old one. Both are
// plain text.
func (c *Client) ReplacePassword(ctx context.Context, id int, old, password string) error {
	_, err := Send(ctx, c, v1.ChangeUser, v1.PatchUser{Password: new(HashPassword(password)), OldPassword: new(HashPassword(old)), IsHashed: new(true)}, id)
	return err
}

package client

import (
	"context"
	"crypto/sha512"
	"encoding/hex"

	v1 "github.com/detent-ml/detent/master/v1"
)

// passwordSalt is part of the API: every client of Determined uses it.
const passwordSalt = "GubPEmmotfiK9TMD6Zdw"

// HashPassword returns the form in which clients send a password. A blank password stays blank.
func HashPassword(password string) string {
	if password == "" {
		return ""
	}
	sum := sha512.Sum512([]byte(passwordSalt + password))
	return hex.EncodeToString(sum[:])
}

// Login opens a session and uses it for later calls. The password is plain text; only its hash
// is sent.
func (c *Client) Login(ctx context.Context, username, password string) (*v1.LoginResponse, error) {
	body, err := v1.Marshal(v1.LoginRequest{Username: username, Password: HashPassword(password), IsHashed: new(true)})
	if err != nil {
		return nil, err
	}
	k := callOf(v1.Login)
	k.body, k.repeat = body, never
	var out v1.LoginResponse
	if err := c.do(ctx, k, &out); err != nil {
		return nil, err
	}
	c.setToken(out.Token)
	return &out, nil
}

// LoginJob signs in as the service account of a job of Nomad, with the job's workload identity.
func (c *Client) LoginJob(ctx context.Context, identity string) (*v1.LoginResponse, error) {
	out, err := Send(ctx, c, v1.LoginJob, v1.LoginJobRequest{Identity: identity})
	if err != nil {
		return nil, err
	}
	c.setToken(out.Token)
	return out, nil
}

// Logout ends the current session.
func (c *Client) Logout(ctx context.Context) error {
	k := callOf(v1.Logout)
	k.repeat = never
	return c.do(ctx, k, nil)
}

// Me returns the signed-in user.
func (c *Client) Me(ctx context.Context) (*v1.User, error) {
	out, err := Call(ctx, c, v1.GetMe)
	return &out.User, err
}

package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Providers lists the identity providers of the cluster.
func (c *Client) Providers(ctx context.Context) ([]v1.InfoSSOProvider, error) {
	out, err := get(ctx, c, v1.GetInfo, nil)
	if err != nil {
		return nil, err
	}
	return out.SSOProviders, nil
}

// StartDeviceSignIn begins a sign-in with a device code.
func (c *Client) StartDeviceSignIn(ctx context.Context, req v1.StartDeviceSignInRequest) (*v1.StartDeviceSignInResponse, error) {
	return post(ctx, c, v1.StartDeviceSignIn, req)
}

// FinishDeviceSignIn asks once whether the user has signed in with a device code.
func (c *Client) FinishDeviceSignIn(ctx context.Context, req v1.FinishDeviceSignInRequest) (*v1.FinishDeviceSignInResponse, error) {
	return post(ctx, c, v1.FinishDeviceSignIn, req)
}

package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// ConfigPolicies returns the config policies for a type of workload: those of a workspace, or of
// the cluster for workspace 0.
func (c *Client) ConfigPolicies(ctx context.Context, workspace int, workload string) (v1.Struct, error) {
	if workspace == 0 {
		out, err := Call(ctx, c, v1.GetGlobalConfigPolicies, workload)
		return out.ConfigPolicies, err
	}
	out, err := Call(ctx, c, v1.GetWorkspaceConfigPolicies, workspace, workload)
	return out.ConfigPolicies, err
}

// SetConfigPolicies replaces the config policies, and returns them.
func (c *Client) SetConfigPolicies(ctx context.Context, workspace int, workload, text string) (v1.Struct, error) {
	if workspace == 0 {
		out, err := Send(ctx, c, v1.PutGlobalConfigPolicies, v1.PutGlobalConfigPoliciesRequest{WorkloadType: workload, ConfigPolicies: text}, workload)
		return out.ConfigPolicies, err
	}
	out, err := Send(ctx, c, v1.PutWorkspaceConfigPolicies,
		v1.PutWorkspaceConfigPoliciesRequest{WorkspaceID: workspace, WorkloadType: workload, ConfigPolicies: text}, workspace, workload)
	return out.ConfigPolicies, err
}

// DeleteConfigPolicies deletes the config policies.
func (c *Client) DeleteConfigPolicies(ctx context.Context, workspace int, workload string) error {
	if workspace == 0 {
		return Act(ctx, c, v1.DeleteGlobalConfigPolicies, workload)
	}
	return Act(ctx, c, v1.DeleteWorkspaceConfigPolicies, workspace, workload)
}

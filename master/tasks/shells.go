package tasks

import (
	"context"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// shellWire is a shell with its public keys, and with its private key for callers who may log in to it.
func shellWire(k shown) v1.Shell {
	user := v1.Struct(k.keys.AgentUser)
	if len(user) == 0 {
		user = v1.Struct(`{"user":"root","uid":0,"group":"root","gid":0}`)
	}
	w := v1.Shell{ID: k.ID, JobID: k.JobID, Description: k.Name, ResourcePool: k.Pool, StartTime: k.CreatedAt, State: k.state(),
		Username: k.Owner, DisplayName: k.OwnerName, UserID: k.OwnerID, WorkspaceID: k.WorkspaceID, ExitStatus: k.exit(),
		AgentUserGroup: user, PublicKey: k.keys.PublicKey, HostKey: k.keys.HostPublicKey}
	if k.private {
		w.PrivateKey = k.keys.PrivateKey
	}
	return w
}

func listedShells(list []shown, p v1.Pagination) *v1.GetShellsResponse {
	return &v1.GetShellsResponse{Shells: each.Of(list, shellWire), Pagination: p}
}

func oneShell(k shown, config v1.Struct) *v1.GetShellResponse {
	return &v1.GetShellResponse{Shell: shellWire(k), Config: config}
}

func asksShell(_ context.Context, _ *rest.Call, req *v1.LaunchShellRequest) (Request, error) {
	return Request{Config: req.Config, Template: req.TemplateName, WorkspaceID: req.WorkspaceID, Preview: req.Preview}, nil
}

func startedShell(s *started) *v1.LaunchShellResponse {
	s.task.private = true
	return &v1.LaunchShellResponse{Shell: shellWire(s.task), Config: s.config, Warnings: s.Warnings, Remarks: s.Remarks}
}

func changedShell(k shown) *v1.ShellResponse {
	return &v1.ShellResponse{Shell: shellWire(k)}
}

package tasks

import (
	"context"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func commandWire(k shown) v1.Command {
	return v1.Command{ID: k.ID, JobID: k.JobID, Description: k.Name, ResourcePool: k.Pool, StartTime: k.CreatedAt, State: k.state(),
		Username: k.Owner, DisplayName: k.OwnerName, UserID: k.OwnerID, WorkspaceID: k.WorkspaceID, ExitStatus: k.exit()}
}

func listedCommands(list []shown, p v1.Pagination) *v1.GetCommandsResponse {
	return &v1.GetCommandsResponse{Commands: each.Of(list, commandWire), Pagination: p}
}

func oneCommand(k shown, config v1.Struct) *v1.GetCommandResponse {
	return &v1.GetCommandResponse{Command: commandWire(k), Config: config}
}

func asksCommand(_ context.Context, _ *rest.Call, req *v1.LaunchCommandRequest) (Request, error) {
	return Request{Config: req.Config, Template: req.TemplateName, WorkspaceID: req.WorkspaceID, Preview: req.Preview}, nil
}

func startedCommand(s *started) *v1.LaunchCommandResponse {
	return &v1.LaunchCommandResponse{Command: commandWire(s.task), Config: s.config, Warnings: s.Warnings, Remarks: s.Remarks}
}

func changedCommand(k shown) *v1.KillCommandResponse {
	return &v1.KillCommandResponse{Command: commandWire(k)}
}

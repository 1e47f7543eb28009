package download

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// places fetches workspaces with what belongs to them.
func (d *copying) places(ctx context.Context) error {
	var workspaces, projects, templates []row
	spaces, err := list(ctx, d.lists(), v1.ListWorkspaces, askWorkspaces, func(w v1.Workspace) int { return w.ID })
	if err != nil {
		return err
	}
	for _, w := range spaces {
		within, err := list(ctx, d.lists(), v1.ListProjects, askProjects, func(p v1.Project) int { return p.ID }, w.ID)
		if fault.Is(err, fault.NotFound) { // it was deleted meanwhile
			continue
		}
		if err != nil {
			return err
		}
		storage, gone := withoutSecrets(w.CheckpointStorageConfig)
		if gone {
			d.note(fmt.Sprintf("the checkpoint storage of workspace %s needs its secrets again: the API does not tell them", w.Name))
		}
		g := w.AgentUserGroup
		if g == nil {
			g = &v1.AgentUserGroup{}
		}
		workspaces = append(workspaces, row{"id": w.ID, "name": w.Name, "archived": w.Archived, "user_id": w.UserID, "immutable": w.Immutable, "uid": g.AgentUid, "user_": g.AgentUser, "gid": g.AgentGid, "group_": g.AgentGroup,
			"checkpoint_storage_config": storage, "default_compute_pool": w.DefaultComputePool, "default_aux_pool": w.DefaultAuxPool})
		for _, p := range within {
			var key any // "": a project of a release without keys
			if p.Key != "" {
				key = p.Key
			}
			projects = append(projects, row{"id": p.ID, "name": p.Name, "description": p.Description, "archived": p.Archived, "notes": p.Notes, "workspace_id": p.WorkspaceID, "user_id": p.UserID, "immutable": p.Immutable, "key": key})
		}
	}
	all, err := list(ctx, d.lists(), v1.ListTemplates, func(w v1.Window) v1.GetTemplatesRequest {
		return v1.GetTemplatesRequest{Window: w, Order: ascending("SORT_BY_NAME")}
	}, func(t v1.Template) string { return t.Name })
	if err != nil {
		return err
	}
	for _, t := range all {
		config, _ := withoutSecrets(t.Config, secretSections...)
		templates = append(templates, row{"name": t.Name, "config": config, "workspace_id": t.WorkspaceID})
	}
	webhooks, triggers, err := d.webhooks(ctx)
	if err != nil {
		return err
	}
	bindings, err := d.bindings(ctx)
	if err != nil {
		return err
	}
	policies, err := d.policies(ctx, workspaces)
	if err != nil {
		return err
	}
	d.tell(int64(len(workspaces) + len(projects) + len(templates) + len(webhooks) + len(bindings) + len(policies)))
	return d.replace(ctx, []table{
		{"workspaces", "id, name, archived, created_at, user_id, immutable, uid, user_, gid, group_, checkpoint_storage_config, default_compute_pool, default_aux_pool", made(workspaces)},
		{"projects", "id, name, description, archived, created_at, notes, workspace_id, user_id, immutable, key", made(projects)},
		{"templates", "name, config, workspace_id", templates},
		{"webhooks", "id, url, webhook_type, workspace_id, name, mode", webhooks},
		{"webhook_triggers", "id, trigger_type, condition, webhook_id", triggers},
		{"rp_workspace_bindings", "workspace_id, pool_name", bindings},
		{"task_config_policies", "workspace_id, workload_type, last_updated_time, invariant_config, constraints", policies},
	})
}

func askWorkspaces(w v1.Window) v1.GetWorkspacesRequest {
	return v1.GetWorkspacesRequest{Window: w, Order: ascending("SORT_BY_ID")}
}

func askProjects(w v1.Window) v1.GetWorkspaceProjectsRequest {
	return v1.GetWorkspaceProjectsRequest{Window: w, Order: ascending("SORT_BY_ID")}
}

func askModels(w v1.Window) v1.GetModelsRequest {
	return v1.GetModelsRequest{Window: w, Order: ascending("SORT_BY_NAME")}
}

// secretSections are the sections of a configuration in which the API hides secrets.
var secretSections = []string{"checkpoint_storage", "environment", "data"}

// made gives rows the time of their making, which the API does not tell.
func made(rows []row) []row {
	for _, r := range rows {
		r["created_at"] = "now"
	}
	return rows
}

func (d *copying) webhooks(ctx context.Context) (webhooks, triggers []row, err error) {
	got, err := client.Call(ctx, d.c, v1.ListWebhooks)
	if absent(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, w := range got.Webhooks {
		var workspace any // none: all
		if w.WorkspaceID > 0 {
			workspace = w.WorkspaceID
		}
		webhooks = append(webhooks, row{"id": w.ID, "url": w.URL, "webhook_type": short(w.WebhookType, "WEBHOOK_TYPE_"), "workspace_id": workspace, "name": w.Name, "mode": short(w.Mode, "WEBHOOK_MODE_")})
		for _, t := range w.Triggers {
			condition := object(t.Condition)
			if condition == nil {
				condition = json.RawMessage("{}")
			}
			triggers = append(triggers, row{"id": t.ID, "trigger_type": short(t.TriggerType, "TRIGGER_TYPE_"), "condition": condition, "webhook_id": w.ID})
		}
	}
	return webhooks, triggers, nil
}

func (d *copying) bindings(ctx context.Context) (rows []row, err error) {
	pools, err := whole(d.lists(), "the list of resource pools", func(limit, offset int) ([]v1.ResourcePool, int, error) {
		got, err := client.Send(ctx, d.c, v1.ListPools, v1.GetListRequest{Window: v1.Window{Limit: limit, Offset: offset}})
		return got.ResourcePools, totalOf(got.Pagination), err
	}, func(p v1.ResourcePool) (string, string) { return p.Name, p.Name })
	if err != nil {
		return nil, err
	}
	for _, pool := range pools {
		bound, err := whole(d.lists(), "the workspaces of pool "+pool, func(limit, offset int) ([]int, int, error) {
			got, err := client.Send(ctx, d.c, v1.ListPoolWorkspaces, v1.GetListRequest{Window: v1.Window{Limit: limit, Offset: offset}}, pool)
			return got.WorkspaceIDs, totalOf(got.Pagination), err
		}, func(id int) (int, int) { return id, id })
		if absent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, w := range bound {
			rows = append(rows, row{"workspace_id": w, "pool_name": pool})
		}
	}
	return rows, nil
}

// totalOf is how many records a list has; 0: the old master does not tell.
func totalOf(p *v1.Pagination) int {
	if p == nil {
		return 0
	}
	return p.Total
}

func (d *copying) policies(ctx context.Context, workspaces []row) (rows []row, err error) {
	add := func(workspace any, workload string, policies v1.Struct, err error) error {
		if absent(err) {
			return nil
		}
		var parts struct {
			Invariant   json.RawMessage `json:"invariant_config"`
			Constraints json.RawMessage `json:"constraints"`
		}
		if err == nil && len(policies) > 0 {
			err = json.Unmarshal(policies, &parts)
		}
		if err == nil && (parts.Invariant != nil || parts.Constraints != nil) {
			rows = append(rows, row{"workspace_id": workspace, "workload_type": workload, "last_updated_time": "now", "invariant_config": parts.Invariant, "constraints": parts.Constraints})
		}
		return err
	}
	for _, workload := range []string{"EXPERIMENT", "NTSC"} {
		global, err := client.Call(ctx, d.c, v1.GetGlobalConfigPolicies, workload)
		if err := add(nil, workload, global.ConfigPolicies, err); err != nil {
			return nil, err
		}
		for _, w := range workspaces {
			own, err := client.Call(ctx, d.c, v1.GetWorkspaceConfigPolicies, w["id"], workload)
			if err := add(w["id"], workload, own.ConfigPolicies, err); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// models fetches the registry.
func (d *copying) models(ctx context.Context) error {
	var models, versions []row
	all, err := list(ctx, d.lists(), v1.ListModels, askModels, func(m v1.Model) int { return m.ID })
	if err != nil {
		return err
	}
	for _, m := range all {
		own, err := list(ctx, d.lists(), v1.ListModelVersions, func(w v1.Window) v1.GetModelVersionsRequest {
			return v1.GetModelVersionsRequest{Window: w, Order: ascending("SORT_BY_VERSION")}
		}, func(v v1.ModelVersion) int { return v.ID }, m.Name)
		if fault.Is(err, fault.NotFound) { // it was deleted meanwhile
			continue
		}
		if err != nil {
			return err
		}
		models = append(models, row{"id": m.ID, "name": m.Name, "description": m.Description, "creation_time": m.CreationTime, "last_updated_time": m.LastUpdatedTime, "metadata": object(m.Metadata), "labels": m.Labels,
			"user_id": m.UserID, "archived": m.Archived, "notes": m.Notes, "workspace_id": m.WorkspaceID})
		for _, v := range own {
			versions = append(versions, row{"id": v.ID, "model_id": m.ID, "version": v.Version, "checkpoint_uuid": v.Checkpoint.UUID, "creation_time": v.CreationTime, "last_updated_time": v.LastUpdatedTime,
				"metadata": object(v.Metadata), "name": v.Name, "comment": v.Comment, "user_id": v.UserID, "labels": v.Labels, "notes": v.Notes})
		}
	}
	d.tell(int64(len(models) + len(versions)))
	return d.replace(ctx, []table{
		{"models", "id, name, description, creation_time, last_updated_time, metadata, labels, user_id, archived, notes, workspace_id", models},
		{"model_versions", "id, model_id, version, checkpoint_uuid, creation_time, last_updated_time, metadata, name, comment, user_id, labels, notes", versions},
	})
}

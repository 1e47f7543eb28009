package download

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// places fetches workspaces with what belongs to them.
func (d *copying) places(ctx context.Context) error {
	var workspaces, projects []row
	err := each(ctx, d.lists(), v1.ListWorkspaces, v1.GetWorkspacesRequest{}, func(list []v1.Workspace) error {
		for _, w := range list {
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
		}
		return nil
	})
	for _, w := range workspaces {
		if err != nil {
			return err
		}
		err = each(ctx, d.lists(), v1.ListProjects, v1.GetWorkspaceProjectsRequest{}, func(list []v1.Project) error {
			for _, p := range list {
				var key any // "": a project of a release without keys
				if p.Key != "" {
					key = p.Key
				}
				projects = append(projects, row{"id": p.ID, "name": p.Name, "description": p.Description, "archived": p.Archived, "notes": p.Notes, "workspace_id": p.WorkspaceID, "user_id": p.UserID, "immutable": p.Immutable, "key": key})
			}
			return nil
		}, w["id"])
	}
	if err != nil {
		return err
	}
	var templates []row
	err = each(ctx, d.lists(), v1.ListTemplates, v1.GetTemplatesRequest{}, func(list []v1.Template) error {
		for _, t := range list {
			config, _ := withoutSecrets(t.Config, secretSections...)
			templates = append(templates, row{"name": t.Name, "config": config, "workspace_id": t.WorkspaceID})
		}
		return nil
	})
	if err != nil {
		return err
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
	all := v1.GetListRequest{Window: v1.Window{Limit: maxPools}}
	pools, err := client.Send(ctx, d.c, v1.ListPools, all)
	if err != nil {
		return nil, err
	}
	for _, p := range pools.ResourcePools {
		bound, err := client.Send(ctx, d.c, v1.ListPoolWorkspaces, all, p.Name)
		if absent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, w := range bound.WorkspaceIDs {
			rows = append(rows, row{"workspace_id": w, "pool_name": p.Name})
		}
	}
	return rows, nil
}

// maxPools is how many pools, and how many workspaces of one, are read.
const maxPools = 1000

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
	err := each(ctx, d.lists(), v1.ListModels, v1.GetModelsRequest{}, func(list []v1.Model) error {
		for _, m := range list {
			models = append(models, row{"id": m.ID, "name": m.Name, "description": m.Description, "creation_time": m.CreationTime, "last_updated_time": m.LastUpdatedTime, "metadata": object(m.Metadata), "labels": m.Labels,
				"user_id": m.UserID, "archived": m.Archived, "notes": m.Notes, "workspace_id": m.WorkspaceID})
		}
		return nil
	})
	for _, m := range models {
		if err != nil {
			return err
		}
		err = each(ctx, d.lists(), v1.ListModelVersions, v1.GetModelVersionsRequest{}, func(list []v1.ModelVersion) error {
			for _, v := range list {
				versions = append(versions, row{"id": v.ID, "model_id": m["id"], "version": v.Version, "checkpoint_uuid": v.Checkpoint.UUID, "creation_time": v.CreationTime, "last_updated_time": v.LastUpdatedTime,
					"metadata": object(v.Metadata), "name": v.Name, "comment": v.Comment, "user_id": v.UserID, "labels": v.Labels, "notes": v.Notes})
			}
			return nil
		}, m["name"])
	}
	if err != nil {
		return err
	}
	d.tell(int64(len(models) + len(versions)))
	return d.replace(ctx, []table{
		{"models", "id, name, description, creation_time, last_updated_time, metadata, labels, user_id, archived, notes, workspace_id", models},
		{"model_versions", "id, model_id, version, checkpoint_uuid, creation_time, last_updated_time, metadata, name, comment, user_id, labels, notes", versions},
	})
}

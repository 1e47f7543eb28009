package secrets

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// Grant writes the role of an attempt, before its job is submitted. Repeating it is harmless.
// Waiting does not help against an error with the code Invalid.
func (v *Vault) Grant(ctx context.Context, role string, g Grant) error {
	if g.nothing() { // the job reads a secret that is the same for all attempts
		v.mu.Lock()
		v.granted[role] = v.cfg.RemoveEntities // Vault will create an entity for the job, but no role
		v.mu.Unlock()
		return nil
	}
	policy, err := Policy(v.cfg.ClusterID, g)
	if err != nil {
		return err
	}
	seconds := fmt.Sprintf("%ds", int(v.cfg.TTL.Seconds()))
	err = v.do(ctx, func(ctx context.Context) error {
		_, err := v.api.Logical().WriteWithContext(ctx, v.role(role), map[string]any{
			"credential_type": "assumed_role", "role_arns": v.cfg.RoleARN, "policy_document": policy,
			"default_sts_ttl": seconds, "max_sts_ttl": seconds,
		})
		return err
	})
	if err == nil {
		v.mu.Lock()
		v.granted[role] = true
		v.mu.Unlock()
	}
	return err
}

// Granted reports whether this master has written a role and not removed it since.
func (v *Vault) Granted(role string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.granted[role]
}

// Revoke removes the role of an attempt that has ended. Issued credentials cannot be revoked:
// they expire.
func (v *Vault) Revoke(ctx context.Context, role string) error {
	err := v.do(ctx, func(ctx context.Context) error {
		if v.cfg.RoleARN == "" { // no S3 engine is configured
			return nil
		}
		_, err := v.api.Logical().DeleteWithContext(ctx, v.role(role))
		return err
	})
	if err == nil && v.cfg.RemoveEntities {
		err = v.forget(ctx, role)
	}
	if err == nil {
		v.mu.Lock()
		delete(v.granted, role)
		v.mu.Unlock()
	}
	return err
}

func (v *Vault) role(name string) string { return v.cfg.Engine + "/roles/" + name }

// forget removes the entity that Vault has created for a job that signed in.
func (v *Vault) forget(ctx context.Context, job string) error {
	accessor, err := v.jwtAccessor(ctx)
	if err != nil {
		return err
	}
	return v.do(ctx, func(ctx context.Context) error {
		found, err := v.api.Logical().WriteWithContext(ctx, "identity/lookup/entity",
			map[string]any{"alias_name": job, "alias_mount_accessor": accessor})
		if err != nil || found == nil {
			return err // no entity: the job never signed in
		}
		id, _ := found.Data["id"].(string)
		if id == "" {
			return nil
		}
		_, err = v.api.Logical().DeleteWithContext(ctx, "identity/entity/id/"+id)
		return err
	})
}

// jwtAccessor returns the name that Vault has given to the JWT auth method.
func (v *Vault) jwtAccessor(ctx context.Context) (string, error) {
	v.mu.Lock()
	known := v.accessor
	v.mu.Unlock()
	if known != "" {
		return known, nil
	}
	err := v.do(ctx, func(ctx context.Context) error {
		methods, err := v.api.Sys().ListAuthWithContext(ctx)
		if err != nil {
			return err
		}
		m := methods[v.cfg.AuthPath+"/"]
		if m == nil {
			return fault.New(fault.Invalid, "Vault has no authentication method at %s", v.cfg.AuthPath)
		}
		known = m.Accessor
		return nil
	})
	v.mu.Lock()
	v.accessor = known
	v.mu.Unlock()
	return known, err
}

// Sweep removes the roles of this cluster whose attempts have ended: roles that remain when a
// master is killed or does not get an answer. over returns those of the given names that belong
// to no attempt that may still run. It is called after the roles were listed, so it never sees
// a role that was written later.
func (v *Vault) Sweep(ctx context.Context, prefix string, over func(ctx context.Context, names []string) ([]string, error)) (removed int, err error) {
	if v.cfg.RoleARN == "" { // no S3 engine is configured
		return 0, nil
	}
	var names []string
	err = v.do(ctx, func(ctx context.Context) error {
		names = nil
		list, err := v.api.Logical().ListWithContext(ctx, v.cfg.Engine+"/roles")
		if err != nil || list == nil {
			return err
		}
		keys, _ := list.Data["keys"].([]any)
		for _, k := range keys {
			if name, ok := k.(string); ok && strings.HasPrefix(name, prefix) && !v.isForeign(name) {
				names = append(names, name)
			}
		}
		return nil
	})
	if err != nil || len(names) == 0 {
		return 0, err
	}
	ended, err := over(ctx, names)
	if err != nil {
		return 0, err
	}
	for _, name := range ended {
		ours, err := v.ours(ctx, name)
		if err == nil && ours {
			err = v.Revoke(ctx, name)
			removed++
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// ours reports whether a role belongs to this cluster: several clusters may share a Vault.
func (v *Vault) ours(ctx context.Context, name string) (bool, error) {
	policy := ""
	err := v.do(ctx, func(ctx context.Context) error {
		got, err := v.api.Logical().ReadWithContext(ctx, v.role(name))
		if err != nil || got == nil {
			return err
		}
		policy, _ = got.Data["policy_document"].(string)
		return nil
	})
	if err != nil || policy == "" {
		if statusOf(err) == http.StatusNotFound {
			err = nil
		}
		return false, err
	}
	if ownerOf(policy) == owner(v.cfg.ClusterID) {
		return true, nil
	}
	v.mu.Lock()
	v.foreign[name] = true
	v.mu.Unlock()
	return false, nil
}

func (v *Vault) isForeign(name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.foreign[name]
}

package secrets

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// roleName is what Vault accepts as the name of a role.
var roleName = regexp.MustCompile(`^\w([\w.@-]*\w)?$`)

// Grant writes the role of an attempt's job, before the job is submitted. The name of the role
// begins with the id of the job, up to the first dot. Repeating it is harmless. Waiting does not
// help against an error with the code Invalid.
func (v *Vault) Grant(ctx context.Context, job, role string, g Grant) error {
	if g.nothing() { // the job reads a secret that is the same for all attempts
		if v.cfg.RemoveEntities { // Vault will create entities for the job, but no role
			v.remember(job, "")
		}
		return nil
	}
	if !roleName.MatchString(role) {
		return fault.New(fault.Invalid, "Vault accepts no role with the name %q; a namespace of Nomad whose jobs get credentials for S3 must end with a letter or a digit", role)
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
		v.remember(job, role)
	}
	return err
}

func (v *Vault) remember(job, role string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.granted[job] = role
}

// Granted reports whether this master has let a job get credentials and not revoked it since.
func (v *Vault) Granted(job string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, granted := v.granted[job]
	return granted
}

// Revoke removes the role of a job whose attempt has ended, if this master has written it; Sweep
// removes those of other masters. Issued credentials cannot be revoked: they expire.
func (v *Vault) Revoke(ctx context.Context, job string) error {
	v.mu.Lock()
	role := v.granted[job]
	v.mu.Unlock()
	return v.remove(ctx, job, role)
}

// remove removes the role of a job ("": it has none), and its entities.
func (v *Vault) remove(ctx context.Context, job, role string) error {
	var err error
	if role != "" {
		err = v.do(ctx, func(ctx context.Context) error {
			_, err := v.api.Logical().DeleteWithContext(ctx, v.role(role))
			return err
		})
	}
	if err == nil && v.cfg.RemoveEntities {
		err = v.forget(ctx, job)
	}
	if err == nil {
		v.mu.Lock()
		delete(v.granted, job)
		v.mu.Unlock()
	}
	return err
}

func (v *Vault) role(name string) string { return v.cfg.Engine + "/roles/" + name }

// forget removes the entities that Vault has created for the processes of a job that signed in.
func (v *Vault) forget(ctx context.Context, job string) error {
	var names []string
	if v.cfg.Processes != nil {
		var err error
		if names, err = v.cfg.Processes(ctx, job); err != nil {
			return err
		}
	}
	accessor, err := v.jwtAccessor(ctx)
	for _, name := range names {
		if err == nil {
			err = v.forgetEntity(ctx, accessor, name)
		}
	}
	return err
}

func (v *Vault) forgetEntity(ctx context.Context, accessor, name string) error {
	return v.do(ctx, func(ctx context.Context) error {
		found, err := v.api.Logical().WriteWithContext(ctx, "identity/lookup/entity",
			map[string]any{"alias_name": name, "alias_mount_accessor": accessor})
		if err != nil || found == nil {
			return err // no entity: it never signed in
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
// master is killed or does not get an answer. over returns those of the given jobs that belong
// to no attempt that may still run. It is called after the roles were listed, so it never sees
// a role that was written later.
func (v *Vault) Sweep(ctx context.Context, prefix string, over func(ctx context.Context, jobs []string) ([]string, error)) (removed int, err error) {
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
	ended, err := over(ctx, each.Of(names, jobOf))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if !slices.Contains(ended, jobOf(name)) {
			continue
		}
		ours, err := v.ours(ctx, name)
		if err == nil && ours {
			err = v.remove(ctx, jobOf(name), name)
			removed++
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// jobOf is the job of a role.
func jobOf(role string) string {
	job, _, _ := strings.Cut(role, ".")
	return job
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

package importer

import (
	"context"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/database"
)

// A forkPool is a pool of the public fork that is not like those of Determined.
type forkPool struct {
	Name  string   `db:"name"`
	Users []string `db:"users"` // who may use a restricted pool, beside administrators
	State string   `db:"state"` // of a pool that was made while the cluster ran
}

// noteFork names what the public fork stores about pools. Detent has no rights of single users for a pool, and its pools are in the configuration of its masters, so both
// are for an operator to set: a restricted pool is never opened, or made, without somebody who decides that.
func (p *pass) noteFork(ctx context.Context, _ *database.DB) error {
	for _, part := range []struct {
		table, sql string
		note       func(forkPool) string
	}{
		{"resource_pool_restrictions", `SELECT r.pool_name AS name, ARRAY(SELECT u.username FROM resource_pool_grants g JOIN users u ON u.id = g.user_id WHERE g.pool_name = r.pool_name ORDER BY 1 LIMIT 101)::text[] AS users, '' AS state
			FROM resource_pool_restrictions r ORDER BY 1 LIMIT 1000`, restricted},
		{"dynamic_resource_pools", `SELECT d.pool_name AS name, '{}'::text[] AS users, d.state::text AS state FROM dynamic_resource_pools d ORDER BY 1 LIMIT 1000`, dynamic},
	} {
		there, err := database.Scalar[bool](ctx, p.source.DB, `SELECT to_regclass($1) IS NOT NULL`, part.table)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		list, err := database.Rows[forkPool](ctx, p.source.DB, part.sql)
		if err != nil {
			return err
		}
		for _, pool := range list {
			p.notes.add(part.note(pool), 0)
		}
	}
	return nil
}

func restricted(pool forkPool) string {
	who := "administrators only"
	if n := len(pool.Users); n > 0 {
		who = "administrators and " + strings.Join(pool.Users[:min(n, maxPeople)], ", ")
		if n > maxPeople {
			who += " …"
		}
	}
	return fmt.Sprintf("pool %s was for %s; here a pool is for the members of workspaces: det rp bindings add %[1]s WORKSPACE binds it, and a pool that is bound to none is for everybody", pool.Name, who)
}

func dynamic(pool forkPool) string {
	return fmt.Sprintf("pool %s was made while the old cluster ran (%s); here an operator writes it into resource_pools of the configuration (docs/operate/pools.md)", pool.Name, pool.State)
}
